package fft

// bluestein is the transform of a length with large prime factors, as a convolution of a length without:
//
//	X[k] = c[k] · Σ_j (x[j]·c[j]) · conj(c[k−j]),   c[j] = exp(−πi·j²/n)
//
// Source: L. Bluestein, A linear filtering approach to the computation of discrete Fourier transform, IEEE
// Transactions on Audio and Electroacoustics 18 (1970), 451–455.
type bluestein struct {
	n          int
	chirp      []complex64 // c[j]
	filter     []complex64 // conj of the transform of conj(c), wrapped around, divided by the convolution's length
	convolve   transform
	work, spec []complex64
}

func newBluestein(n int) *bluestein {
	length := convolutionLength(2*n - 1)
	t := &bluestein{
		n:        n,
		chirp:    make([]complex64, n),
		filter:   make([]complex64, length),
		convolve: newTransform(length),
		work:     make([]complex64, length),
		spec:     make([]complex64, length),
	}
	wrapped := make([]complex64, length)
	for j := range n {
		c := root(j*j%(2*n), 2*n)
		t.chirp[j] = complex64(c)
		conj := complex64(complex(real(c), -imag(c)))
		wrapped[j] = conj
		if j > 0 {
			wrapped[length-j] = conj
		}
	}
	t.convolve.forward(t.filter, wrapped)
	scale := float32(1 / float64(length))
	for i, f := range t.filter {
		t.filter[i] = complex(scale*real(f), -scale*imag(f))
	}
	return t
}

// convolutionLength returns the least power of two that is at least n.
func convolutionLength(n int) int {
	length := 1
	for length < n {
		length *= 2
	}
	return length
}

func (t *bluestein) clone() transform {
	c := *t
	c.convolve = t.convolve.clone()
	c.work = make([]complex64, len(t.work))
	c.spec = make([]complex64, len(t.spec))
	return &c
}

func (t *bluestein) forward(dst, src []complex64) {
	for j, c := range t.chirp {
		t.work[j] = src[j] * c
	}
	clear(t.work[t.n:])
	t.convolve.forward(t.spec, t.work)
	// The inverse transform is the conjugate of the forward transform of the conjugate.
	for i, f := range t.filter {
		s := t.spec[i]
		t.spec[i] = complex(real(s), -imag(s)) * f
	}
	t.convolve.forward(t.work, t.spec)
	for k, c := range t.chirp {
		w := t.work[k]
		dst[k] = complex(real(w), -imag(w)) * c
	}
}

func (t *bluestein) inverse(dst, src []complex64) {
	t.forward(dst, src)
	reverse(dst)
}
