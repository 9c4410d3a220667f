package glu

import "crossover/kernels/elementwise/approx"

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg glu
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// gateGo sets dst[i] to a[i]·σ(b[i]).
func gateGo(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * approx.Logistic(b[i])
	}
}
