package transform

import "crossover/kernels/fft/double"

// bluestein is the transform of a length with large prime factors, by a convolution of a length without them:
//
//	X[k] = c[k] · Σ_j (x[j]·c[j]) · conj(c[k−j]),   c[j] = exp(−πi·j²/n)
//
// Source: L. Bluestein, A linear filtering approach to the computation of discrete Fourier transform, IEEE
// Transactions on Audio and Electroacoustics 18 (1970), 451–455.
type bluestein struct {
	n          int
	chirp      []complex64 // c[j]
	filter     []complex64 // transform of conj(c), wrapped around
	convolve   Complex
	work, spec []complex64
}

func newBluestein(n int) *bluestein {
	length := convolutionLength(2*n - 1)
	t := &bluestein{
		n:        n,
		chirp:    make([]complex64, n),
		filter:   make([]complex64, length),
		convolve: NewComplex(length),
		work:     make([]complex64, length),
		spec:     make([]complex64, length),
	}
	wrapped := make([]complex64, length)
	for j := range n {
		c := double.Root(j*j%(2*n), 2*n)
		t.chirp[j] = complex64(c)
		wrapped[j] = complex64(complex(real(c), -imag(c)))
		if j > 0 {
			wrapped[length-j] = wrapped[j]
		}
	}
	t.convolve.Forward(t.filter, wrapped)
	return t
}

// convolutionLength returns the least length from n on that is 1, 3, 5, 9 or 15 times a power of two.
func convolutionLength(n int) int {
	best := 0
	for _, odd := range []int{1, 3, 5, 9, 15} {
		length := odd
		for length < n {
			length *= 2
		}
		if best == 0 || length < best {
			best = length
		}
	}
	return best
}

func (t *bluestein) Clone() Complex {
	c := *t
	c.convolve = t.convolve.Clone()
	c.work = make([]complex64, len(t.work))
	c.spec = make([]complex64, len(t.spec))
	return &c
}

func (t *bluestein) Forward(dst, src []complex64) {
	multiply(t.work[:t.n], src, t.chirp)
	clear(t.work[t.n:])
	t.convolve.Forward(t.spec, t.work)
	multiply(t.spec, t.spec, t.filter)
	t.convolve.Inverse(t.work, t.spec)
	multiply(dst, t.work[:t.n], t.chirp)
}

func (t *bluestein) Inverse(dst, src []complex64) {
	t.Forward(dst, src)
	reverse(dst)
}

// multiplyGo writes the element-wise product of a and b to dst, which may be a or b. a and b have the same length.
func multiplyGo(dst, a, b []complex64) {
	for i, v := range a {
		dst[i] = v * b[i]
	}
}
