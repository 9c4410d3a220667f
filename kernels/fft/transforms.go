package fft

import (
	"fmt"

	"crossover/kernels/fft/transform"
)

// Complex transforms n complex samples on one core. It is not safe for concurrent use: make a Clone for each goroutine.
type Complex struct {
	n         int
	transform transform.Complex
}

// NewComplex returns the transform of length n. It panics if n < 1.
func NewComplex(n int) *Complex {
	if n < 1 {
		panic(fmt.Sprintf("fft: length %d is below 1", n))
	}
	return &Complex{n: n, transform: transform.NewComplex(n)}
}

// Len returns n.
func (c *Complex) Len() int { return c.n }

// Clone returns a transform that shares the tables and has its own scratch memory.
func (c *Complex) Clone() *Complex { return &Complex{n: c.n, transform: c.transform.Clone()} }

// Forward writes the unscaled transform of src to dst. Both have length n and must not overlap; src is unchanged. It
// panics if a length is not n.
func (c *Complex) Forward(dst, src []complex64) {
	c.check(dst, src)
	c.transform.Forward(dst, src)
}

// Inverse writes the inverse transform of src, divided by n, to dst. Both have length n and must not overlap; src is
// unchanged. It panics if a length is not n.
func (c *Complex) Inverse(dst, src []complex64) {
	c.check(dst, src)
	c.transform.Inverse(dst, src)
}

func (c *Complex) check(dst, src []complex64) {
	if len(dst) != c.n || len(src) != c.n {
		panic(fmt.Sprintf("fft: complex transform of length %d got dst of %d and src of %d", c.n, len(dst), len(src)))
	}
}

// Real transforms n real samples to the n/2+1 bins of their spectrum and back, on one core. It is not safe for concurrent
// use: make a Clone for each goroutine.
type Real struct {
	n         int
	transform transform.Real
}

// NewReal returns the transform of n real samples. It panics if n < 1.
func NewReal(n int) *Real {
	if n < 1 {
		panic(fmt.Sprintf("fft: length %d is below 1", n))
	}
	return &Real{n: n, transform: transform.NewReal(n)}
}

// Len returns n.
func (r *Real) Len() int { return r.n }

// Clone returns a transform that shares the tables and has its own scratch memory.
func (r *Real) Clone() *Real { return &Real{n: r.n, transform: r.transform.Clone()} }

// Forward writes bins 0 to n/2 of the unscaled transform of src to dst. src has length n, dst has length n/2+1, and they
// must not overlap; src is unchanged. It panics if a length is wrong.
func (r *Real) Forward(dst []complex64, src []float32) {
	if len(src) != r.n || len(dst) != r.n/2+1 {
		panic(fmt.Sprintf("fft: real transform of length %d got src of %d and dst of %d", r.n, len(src), len(dst)))
	}
	r.transform.Forward(dst, src)
}

// Inverse writes the n samples whose spectrum is src, divided by n, to dst. src has length n/2+1, dst has length n, and they
// must not overlap; src is unchanged. The imaginary parts of bin 0 and, for even n, of bin n/2 are taken as 0. It panics if
// a length is wrong.
func (r *Real) Inverse(dst []float32, src []complex64) {
	if len(dst) != r.n || len(src) != r.n/2+1 {
		panic(fmt.Sprintf("fft: real transform of length %d got src of %d and dst of %d", r.n, len(src), len(dst)))
	}
	r.transform.Inverse(dst, src)
}

// FastLength returns the least multiple of 16 from n on without prime factors above 5, to which signals are padded that are
// transformed for a convolution or a correlation. Transforms of such lengths are fast.
func FastLength(n int) int {
	for length := max(16, (n+15)&^15); ; length += 16 {
		rest := length
		for _, prime := range []int{2, 3, 5} {
			for rest%prime == 0 {
				rest /= prime
			}
		}
		if rest == 1 {
			return length
		}
	}
}
