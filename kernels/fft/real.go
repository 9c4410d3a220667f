package fft

import (
	"fmt"

	"crossover/kernels"
)

// Real transforms n real samples to the n/2+1 bins of their spectrum and back. It is not safe for concurrent use: take
// one Clone a goroutine.
type Real struct {
	n         int
	transform realTransform
}

// realTransform is the real transform of one fixed length.
type realTransform interface {
	forward(dst []complex64, src []float32)
	inverse(dst []float32, src []complex64)
	clone() realTransform
}

// NewReal returns the transform of n real samples. It panics if n < 1.
func NewReal(n int) *Real {
	if n < 1 {
		panic(fmt.Sprintf("fft: length %d is below 1", n))
	}
	if t := newLaneReal(n); t != nil {
		return &Real{n: n, transform: t}
	}
	if n%2 == 0 {
		return &Real{n: n, transform: newHalved(n)}
	}
	return &Real{n: n, transform: newWidened(n)}
}

// Len returns n.
func (r *Real) Len() int { return r.n }

// Clone returns a transform that shares the tables and has its own scratch memory.
func (r *Real) Clone() *Real { return &Real{n: r.n, transform: r.transform.clone()} }

// Forward writes bins 0 to n/2 of the unscaled transform of src to dst. src has length n, dst has length n/2+1, and
// they must not overlap; src is unchanged. It panics where a length is wrong.
func (r *Real) Forward(dst []complex64, src []float32) {
	if len(src) != r.n || len(dst) != r.n/2+1 {
		panic(fmt.Sprintf("fft: real transform of length %d got src of %d and dst of %d", r.n, len(src), len(dst)))
	}
	r.transform.forward(dst, src)
}

// Inverse writes the n samples whose spectrum is src, divided by n, to dst. src has length n/2+1, dst has length n, and
// they must not overlap; src is unchanged. The imaginary parts of bin 0 and, for even n, of bin n/2 are taken as 0. It
// panics where a length is wrong.
func (r *Real) Inverse(dst []float32, src []complex64) {
	if len(dst) != r.n || len(src) != r.n/2+1 {
		panic(fmt.Sprintf("fft: real transform of length %d got src of %d and dst of %d", r.n, len(src), len(dst)))
	}
	r.transform.inverse(dst, src)
}

// halved is the real transform of even length n as a complex one of length n/2: even samples are taken as real parts
// and odd samples as imaginary parts, and the two interleaved spectra are told apart by their symmetry.
//
//	X[k] = (Z[k] + conj(Z[h−k]))/2 − i·w^k·(Z[k] − conj(Z[h−k]))/2,   w = exp(−2πi/n),  h = n/2
type halved struct {
	n        int
	half     transform
	twiddles []complex64 // −i·w^k/2 for k ≤ n/4
	work     []complex64
}

func newHalved(n int) *halved {
	h := n / 2
	t := &halved{n: n, half: newTransform(h), twiddles: make([]complex64, h/2+1), work: make([]complex64, h)}
	for k := range t.twiddles {
		t.twiddles[k] = complex64(-0.5i * root(k, n))
	}
	return t
}

func (t *halved) clone() realTransform {
	c := *t
	c.half = t.half.clone()
	c.work = make([]complex64, len(t.work))
	return &c
}

func (t *halved) forward(dst []complex64, src []float32) {
	h := t.n / 2
	t.half.forward(dst[:h], pairs(src))
	z0 := dst[0]
	dst[0] = complex(real(z0)+imag(z0), 0)
	dst[h] = complex(real(z0)-imag(z0), 0)
	for k := 1; k <= h/2; k++ {
		a, b := dst[k], dst[h-k]
		sum := complex(0.5*(real(a)+real(b)), 0.5*(imag(a)-imag(b)))
		turned := complex(real(a)-real(b), imag(a)+imag(b)) * t.twiddles[k]
		low, high := sum+turned, sum-turned
		dst[k] = low
		dst[h-k] = complex(real(high), -imag(high))
	}
}

func (t *halved) inverse(dst []float32, src []complex64) {
	h := t.n / 2
	// The transform of the conjugate spectrum is the conjugate of the samples, h times too large.
	scale := float32(1 / float64(t.n))
	first, last := scale*real(src[0]), scale*real(src[h])
	t.work[0] = complex(first+last, last-first)
	scale *= 2
	for k := 1; k <= h/2; k++ {
		a, b, w := src[k], src[h-k], t.twiddles[k]
		sum := complex(0.5*(real(a)+real(b)), 0.5*(imag(a)-imag(b)))
		turned := complex(real(a)-real(b), imag(a)+imag(b)) * complex(real(w), -imag(w))
		low, high := sum+turned, sum-turned
		t.work[k] = complex(scale*real(low), -scale*imag(low))
		t.work[h-k] = complex(scale*real(high), scale*imag(high))
	}
	t.half.forward(pairs(dst), t.work)
	for j := 1; j < len(dst); j += 2 {
		dst[j] = -dst[j]
	}
}

// pairs views 2h samples as h complex values.
func pairs(samples []float32) []complex64 { return kernels.Complex(samples) }

// floats views complex values as their parts.
func floats(x []complex64) []float32 { return kernels.ComplexWords(x) }

// widened is the real transform of odd length as a complex one of the same length.
type widened struct {
	n             int
	full          transform
	samples, bins []complex64
}

func newWidened(n int) *widened {
	return &widened{n: n, full: newTransform(n), samples: make([]complex64, n), bins: make([]complex64, n)}
}

func (t *widened) clone() realTransform {
	return &widened{n: t.n, full: t.full.clone(), samples: make([]complex64, t.n), bins: make([]complex64, t.n)}
}

func (t *widened) forward(dst []complex64, src []float32) {
	for i, x := range src {
		t.samples[i] = complex(x, 0)
	}
	t.full.forward(t.bins, t.samples)
	copy(dst, t.bins)
	dst[0] = complex(real(dst[0]), 0)
}

func (t *widened) inverse(dst []float32, src []complex64) {
	// The inverse transform is the forward one of the bins in reverse order, bin −k in the place of bin k, over n.
	t.bins[0] = complex(real(src[0]), 0)
	for k := 1; k < len(src); k++ {
		t.bins[t.n-k] = src[k]
		t.bins[k] = complex(real(src[k]), -imag(src[k]))
	}
	t.full.forward(t.samples, t.bins)
	scale := float32(1 / float64(t.n))
	for i, x := range t.samples {
		dst[i] = scale * real(x)
	}
}
