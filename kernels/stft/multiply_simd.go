//go:build amd64 || arm64

package stft

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX or NEON.
var haveSIMD = cpu.X86.HasAVX || cpu.ARM64.HasASIMD

// multiply is multiplyGo by the fastest instructions of this processor.
func multiply(dst, a, b []float32) {
	n := 0
	if haveSIMD {
		if n = len(dst) &^ 31; n > 0 {
			_, _ = a[n-1], b[n-1]
			multiplySIMD(&dst[0], &a[0], &b[0], n)
		}
	}
	multiplyGo(dst[n:], a[n:], b[n:])
}

// multiplyAdd is multiplyAddGo by the fastest instructions of this processor.
func multiplyAdd(dst, a, b []float32) {
	n := 0
	if haveSIMD {
		if n = len(dst) &^ 31; n > 0 {
			_, _ = a[n-1], b[n-1]
			multiplyAddSIMD(&dst[0], &a[0], &b[0], n)
		}
	}
	multiplyAddGo(dst[n:], a[n:], b[n:])
}
