//go:build !amd64 && !arm64

package elementwise

// fastest returns the loop of an operation by the fastest instructions of this processor: its loop in Go.
func fastest(_ string, inGo loop) loop { return inGo }
