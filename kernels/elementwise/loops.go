package elementwise

import (
	"math"

	"crossover/kernels/elementwise/approx"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg elementwise
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// loop sets dst[i] to a function of src[i], or of src[2i] and src[2i+1] if these are the parts of a complex value.
type loop func(dst, src []float32, p Params)

// Logs sets dst[i] to the natural logarithm of src[i], and Exps sets it to the exponential, on the calling goroutine by the
// fastest loop of this processor. Operations use them that compute a function of each sample among other things. dst may be
// src.
func Logs(dst, src []float32) { logs(dst, src, Params{}) }

// Exps is described at [Logs].
func Exps(dst, src []float32) { exps(dst, src, Params{}) }

var logs, exps = fastest("log", each(approx.Log)), fastest("exp", each(approx.Exp))

// scaleGo sets dst[i] to src[i]·a + b.
func scaleGo(dst, src []float32, p Params) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = v*p.A + p.B
	}
}

// gainGo sets dst[i] to src[i]·a.
func gainGo(dst, src []float32, p Params) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = v * p.A
	}
}

// absGo sets dst[i] to |src[i]|.
func absGo(dst, src []float32, _ Params) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = math.Float32frombits(math.Float32bits(v) &^ (1 << 31))
	}
}

// each returns the loop that sets dst[i] to f of src[i].
func each(f func(x float32) float32) loop {
	return func(dst, src []float32, _ Params) {
		dst = dst[:len(src)]
		for i, v := range src {
			dst[i] = f(v)
		}
	}
}

// powGo sets dst[i] to src[i]^a.
func powGo(dst, src []float32, p Params) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = approx.Pow(v, p.A)
	}
}

// softClipGo sets dst[i] to tanh(a·src[i]).
func softClipGo(dst, src []float32, p Params) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = approx.Tanh(p.A * v)
	}
}

// powerGo sets dst[i] to the power of the complex value i.
func powerGo(dst, src []float32, _ Params) {
	for len(dst) > 0 && len(src) > 1 {
		dst[0] = src[0]*src[0] + src[1]*src[1]
		dst, src = dst[1:], src[2:]
	}
}

// magnitudeGo sets dst[i] to the magnitude of the complex value i.
func magnitudeGo(dst, src []float32, _ Params) {
	for len(dst) > 0 && len(src) > 1 {
		dst[0] = float32(math.Sqrt(float64(src[0]*src[0] + src[1]*src[1])))
		dst, src = dst[1:], src[2:]
	}
}
