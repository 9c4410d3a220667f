//go:build !amd64

package softmax

func fastest() loops { return inGo }
