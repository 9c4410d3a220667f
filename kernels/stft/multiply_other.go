//go:build !amd64

package stft

func multiply(dst, a, b []float32) { multiplyGo(dst, a, b) }
