package conv1d

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// fir is firGo by the fastest instructions of this processor. h must not be empty.
func fir(y, x, h []float32) {
	if haveAVX2 {
		_, _ = y[width-1], x[len(h)+width-2]
		firAVX2(&y[0], &x[len(h)-1], &h[0], len(h))
		return
	}
	firGo(y, x, h)
}

// spectral is spectralGo by the fastest instructions of this processor. len(y) must be a positive multiple of 8.
func spectral(y, x, h []complex64) {
	if haveAVX2 && len(h) > 0 {
		_ = x[len(h)-1]
		spectralAVX2(&y[0], &x[len(x)-len(y)], &h[0], len(y), len(h)/len(y))
		return
	}
	spectralGo(y, x, h)
}

// spread is spreadGo by the fastest instructions of this processor. len(y) must be a positive multiple of 8.
func spread(y, sum, x, h []complex64) {
	if haveAVX2 {
		last := len(y) - 1
		_, _, _ = sum[last], x[last], h[last]
		spreadAVX2(&y[0], &sum[0], &x[0], &h[0], len(y))
		return
	}
	spreadGo(y, sum, x, h)
}
