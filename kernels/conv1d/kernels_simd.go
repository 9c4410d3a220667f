//go:build amd64 || arm64

package conv1d

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 and FMA, or NEON.
var haveSIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA || cpu.ARM64.HasASIMD

// fir is firGo by the fastest instructions of this processor. h must not be empty.
func fir(y, x, h []float32) {
	if haveSIMD {
		_, _ = y[width-1], x[len(h)+width-2]
		firSIMD(&y[0], &x[len(h)-1], &h[0], len(h))
		return
	}
	firGo(y, x, h)
}

// spectral is spectralGo by the fastest instructions of this processor. len(y) must be a positive multiple of 8.
func spectral(y, x, h []complex64) {
	if haveSIMD && len(h) > 0 {
		_ = x[len(h)-1]
		spectralSIMD(&y[0], &x[len(x)-len(y)], &h[0], len(y), len(h)/len(y))
		return
	}
	spectralGo(y, x, h)
}

// spread is spreadGo by the fastest instructions of this processor. len(y) must be a positive multiple of 8.
func spread(y, sum, x, h []complex64) {
	if haveSIMD {
		last := len(y) - 1
		_, _, _ = sum[last], x[last], h[last]
		spreadSIMD(&y[0], &sum[0], &x[0], &h[0], len(y))
		return
	}
	spreadGo(y, sum, x, h)
}
