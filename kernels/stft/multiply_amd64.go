package stft

import "golang.org/x/sys/cpu"

var haveAVX = cpu.X86.HasAVX

// multiply is multiplyGo by the fastest instructions of this processor.
func multiply(dst, a, b []float32) {
	n := 0
	if haveAVX {
		if n = len(dst) &^ 31; n > 0 {
			_, _ = a[n-1], b[n-1]
			multiplyAVX(&dst[0], &a[0], &b[0], n)
		}
	}
	multiplyGo(dst[n:], a[n:], b[n:])
}

// multiplyAdd is multiplyAddGo by the fastest instructions of this processor.
func multiplyAdd(dst, a, b []float32) {
	n := 0
	if haveAVX {
		if n = len(dst) &^ 31; n > 0 {
			_, _ = a[n-1], b[n-1]
			multiplyAddAVX(&dst[0], &a[0], &b[0], n)
		}
	}
	multiplyAddGo(dst[n:], a[n:], b[n:])
}
