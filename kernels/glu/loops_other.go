//go:build !amd64 && !arm64

package glu

// gate is gateGo by the fastest instructions of this processor.
func gate(dst, a, b []float32) { gateGo(dst, a, b) }
