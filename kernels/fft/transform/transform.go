// Package transform computes the discrete Fourier transform of complex and of real float32 samples on the processor. Lengths
// 2^a·3^b·5^c·7^d take mixed-radix Stockham passes. All other lengths take Bluestein's chirp convolution. A real transform of
// even length is a complex one of half the length. If the processor has AVX2 and FMA, or NEON, lengths 2^a·3^b·5^c·7^d
// from 16 on (complex), and even ones from 32 on (real), run in assembly, with up to eight transforms side by side. Other
// lengths run in Go, by the same passes.
//
// The package checks no lengths. Programs call package fft, which does.
package transform

import (
	"slices"

	"crossover/kernels"
)

// Complex is a complex transform of one fixed length. It is not safe for concurrent use.
type Complex interface {
	// Forward writes the unscaled transform of src to dst. They must not overlap; src is unchanged.
	Forward(dst, src []complex64)
	// Inverse writes the inverse transform of src, divided by the length, to dst. They must not overlap; src is unchanged.
	Inverse(dst, src []complex64)
	// Clone returns a transform with the same tables and its own scratch memory.
	Clone() Complex
}

// Real is a transform of one fixed number n of real samples. It is not safe for concurrent use.
type Real interface {
	// Forward writes bins 0 to n/2 of the unscaled transform of src to dst. They must not overlap; src is unchanged.
	Forward(dst []complex64, src []float32)
	// Inverse writes the n samples with the bins src to dst. The imaginary parts of bin 0 and, for even n, of bin n/2 are
	// taken as 0.
	Inverse(dst []float32, src []complex64)
	// Clone returns a transform with the same tables and its own scratch memory.
	Clone() Real
}

// Split is a transform of one fixed number of real samples, over several cores.
type Split interface {
	// Forward does what Real.Forward does.
	Forward(dst []complex64, src []float32)
	// Inverse does what Real.Inverse does.
	Inverse(dst []float32, src []complex64)
}

// ComplexSplit is a complex transform of one fixed length, over several cores.
type ComplexSplit interface {
	// Forward does what Complex.Forward does.
	Forward(dst, src []complex64)
	// Inverse does what Complex.Inverse does.
	Inverse(dst, src []complex64)
}

// MostShared returns the greatest number of rows of n real samples each of which workers should share, by a transform of NewSplit. Of
// more rows, each worker should transform some alone. A complex value counts as two samples. Workers who share a row meet three or four
// times. Sixteen cores of a Xeon took 0.33 times as long so for one row of 131 072 samples, and 0.65 and 1.13 times for four and six.
// They took 1.3 and 2.8 times as long for four rows of 65 536 and of 32 768. Of 262 144 and 524 288 samples, eight rows took 1.6 and
// 1.2 times as long.
func MostShared(n, workers int) int { return min(n/sharedSamples, mostShared, workers-1) }

const (
	sharedSamples = 1 << 15 // for each row
	mostShared    = 6
)

// SharedSince reports whether so many workers transform count rows of n real samples in another way since MostShared decides. Until
// then they shared each row of 65 536 samples and more, if there were fewer rows than workers. Three workers and fewer do as before,
// because they share longer rows only: see NewSplit.
func SharedSince(count, n, workers int) bool {
	before, now := n >= 1<<16, count <= MostShared(n, workers)
	return workers > 3 && count < workers && before != now
}

// NewComplex returns the transform of length n, at least 1.
func NewComplex(n int) Complex {
	if t := newLaneTransform(n); t != nil {
		return t
	}
	if radices, ok := factor(n); ok {
		return newStockham(n, radices)
	}
	return newBluestein(n)
}

// NewReal returns the transform of n real samples, at least 1.
func NewReal(n int) Real {
	if t := newLaneReal(n); t != nil {
		return t
	}
	if n%2 == 0 {
		return newHalved(n)
	}
	return newWidened(n)
}

// factor returns the radices of the passes for a length, or false if the length has a prime factor above 7. A 4 comes first,
// because the first pass costs most whatever its radix.
func factor(n int) (radices []int, ok bool) {
	for _, r := range []int{4, 7, 5, 3, 2} {
		for n%r == 0 {
			radices = append(radices, r)
			n /= r
		}
	}
	return radices, n == 1
}

// reverse turns a forward transform into the inverse one. The transform with exp(+2πi·jk/n) has the same values as that with
// exp(−2πi·jk/n), in reverse order after value 0, and is n times too large.
func reverse(x []complex64) {
	slices.Reverse(x[1:])
	scale := float32(1 / float64(len(x)))
	for i, v := range x {
		x[i] = complex(scale*real(v), scale*imag(v))
	}
}

// scaleGo multiplies the values of x by a factor.
func scaleGo(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

// pairs returns 2h samples as h complex values in the same memory.
func pairs(samples []float32) []complex64 { return kernels.Complex(samples) }

// floats returns complex values as their parts in the same memory.
func floats(x []complex64) []float32 { return kernels.ComplexWords(x) }
