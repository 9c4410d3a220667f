package softmax

import (
	"math"

	"crossover/kernels/elementwise/approx"
)

//go:generate go run ./asm -out avx2_amd64.s -stubs avx2_amd64.go -pkg softmax
//go:generate go run ../neon -in avx2_amd64.s -in-stubs avx2_amd64.go -out neon_arm64.s -stubs neon_arm64.go

// block is the number of exponentials that are added up in float32. A float64 adds the sums of the blocks. So a row of a
// hundred thousand columns is as accurate as a row of a thousand.
const block = 1024

// loops are the three passes over a row, in Go or in vector code.
type loops struct {
	// largest returns the greatest value of x, which is not empty. If x has a NaN, it may return any value.
	largest func(x []float32) float32
	// exponentials sets dst[i] to e^(src[i]−shift) and returns the sum of dst. No src[i] is greater than shift.
	exponentials func(dst, src []float32, shift float32) float32
	// scale multiplies x by factor.
	scale func(x []float32, factor float32)
}

var inGo = loops{largest: largestGo, exponentials: exponentialsGo, scale: scaleGo}

// row sets dst to the softmax of src, which has the same length and may be the same slice.
func (l *loops) row(dst, src []float32) {
	shift := l.largest(src)
	var sum float64
	for lo := 0; lo < len(src); lo += block {
		hi := min(lo+block, len(src))
		sum += float64(l.exponentials(dst[lo:hi], src[lo:hi], shift))
	}
	l.scale(dst, float32(1/sum))
}

func largestGo(x []float32) float32 {
	most := float32(math.Inf(-1))
	for _, v := range x {
		if v > most {
			most = v
		}
	}
	return most
}

func exponentialsGo(dst, src []float32, shift float32) float32 {
	dst = dst[:len(src)]
	var sums [4]float32
	for i, v := range src {
		e := approx.Exp(v - shift)
		dst[i] = e
		sums[i%len(sums)] += e
	}
	return (sums[0] + sums[2]) + (sums[1] + sums[3])
}

func scaleGo(x []float32, factor float32) {
	for i := range x {
		x[i] *= factor
	}
}
