//go:build !amd64 && !arm64

package norm

func fastest() loops { return inGo }
