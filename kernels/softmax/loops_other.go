//go:build !amd64 && !arm64

package softmax

func fastest() loops { return inGo }
