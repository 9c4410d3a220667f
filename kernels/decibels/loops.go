package decibels

import (
	"math"

	"crossover/kernels/elementwise/approx"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg decibels
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// convertGo sets dst[i] to the decibels of src[i], or of floor if that is greater, plus offset. If floor is NaN, every dst[i]
// is.
func convertGo(dst, src []float32, floor, offset float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = 10/math.Ln10*approx.Log(max(v, floor)) + offset
	}
}
