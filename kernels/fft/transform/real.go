package transform

import "crossover/kernels/fft/double"

// halved is the real transform of even length n by a complex one of length n/2. Even samples are the real parts and odd
// samples are the imaginary parts. The spectra of the two are separated by their symmetry.
//
//	X[k] = (Z[k] + conj(Z[h−k]))/2 − i·w^k·(Z[k] − conj(Z[h−k]))/2,   w = exp(−2πi/n),  h = n/2
type halved struct {
	n        int
	half     Complex
	twiddles []complex64 // −i·w^k/2 for k ≤ n/4
	work     []complex64
}

func newHalved(n int) *halved {
	h := n / 2
	t := &halved{n: n, half: NewComplex(h), twiddles: make([]complex64, h/2+1), work: make([]complex64, h)}
	for k := range t.twiddles {
		t.twiddles[k] = complex64(-0.5i * double.Root(k, n))
	}
	return t
}

func (t *halved) Clone() Real {
	c := *t
	c.half = t.half.Clone()
	c.work = make([]complex64, len(t.work))
	return &c
}

func (t *halved) Forward(dst []complex64, src []float32) {
	h := t.n / 2
	t.half.Forward(dst[:h], pairs(src))
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

func (t *halved) Inverse(dst []float32, src []complex64) {
	h := t.n / 2
	// The transform of the conjugate spectrum is the conjugate of the complex samples, h times too large.
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
	t.half.Forward(pairs(dst), t.work)
	for j := 1; j < len(dst); j += 2 {
		dst[j] = -dst[j]
	}
}

// widened is the real transform of odd length by a complex one of the same length.
type widened struct {
	n             int
	full          Complex
	samples, bins []complex64
}

func newWidened(n int) *widened {
	return &widened{n: n, full: NewComplex(n), samples: make([]complex64, n), bins: make([]complex64, n)}
}

func (t *widened) Clone() Real {
	return &widened{n: t.n, full: t.full.Clone(), samples: make([]complex64, t.n), bins: make([]complex64, t.n)}
}

func (t *widened) Forward(dst []complex64, src []float32) {
	for i, x := range src {
		t.samples[i] = complex(x, 0)
	}
	t.full.Forward(t.bins, t.samples)
	copy(dst, t.bins)
	dst[0] = complex(real(dst[0]), 0)
}

func (t *widened) Inverse(dst []float32, src []complex64) {
	// The inverse transform is the forward transform of the bins in reverse order (bin −k in place of bin k), divided by n.
	t.bins[0] = complex(real(src[0]), 0)
	for k := 1; k < len(src); k++ {
		t.bins[t.n-k] = src[k]
		t.bins[k] = complex(real(src[k]), -imag(src[k]))
	}
	t.full.Forward(t.samples, t.bins)
	scale := float32(1 / float64(t.n))
	for i, x := range t.samples {
		dst[i] = scale * real(x)
	}
}
