//go:build !amd64 && !arm64

package stft

func multiply(dst, a, b []float32) { multiplyGo(dst, a, b) }

func multiplyAdd(dst, a, b []float32) { multiplyAddGo(dst, a, b) }
