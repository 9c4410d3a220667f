package elementwise

import "crossover/kernels/elementwise/approx"

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg elementwise

// scaleGo sets dst[i] to src[i]·a + b.
func scaleGo(dst, src []float32, a, b float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = v*a + b
	}
}

// logGo sets dst[i] to the natural logarithm of src[i].
func logGo(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = approx.Log(v)
	}
}
