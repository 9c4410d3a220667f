// Package double computes roots of unity and the discrete Fourier transform in float64. Tables of the other packages are
// made of these values, and tests compare with them. The package is not fast.
package double

import (
	"math"
	"math/cmplx"
)

// Root returns exp(−2πi·k/n) with the precision of float64. n is at least 1, and k may be any integer. Root first reduces
// the angle to an eighth of a turn.
func Root(k, n int) complex128 {
	k %= n
	if k < 0 {
		k += n
	}
	// Angles are eighths of a turn plus a rest: 8k/n = octant + rest.
	octant, rest := 8*k/n, 8*k%n
	angle := 2 * math.Pi / 8 / float64(n)
	var s, c float64
	if octant%2 == 0 {
		s, c = math.Sincos(angle * float64(rest))
	} else { // measured back from the next quarter turn
		s, c = math.Sincos(-angle * float64(n-rest))
	}
	switch (octant + 1) / 2 % 4 {
	case 0:
		return complex(c, -s)
	case 1:
		return complex(-s, -c)
	case 2:
		return complex(-c, s)
	default:
		return complex(s, c)
	}
}

// Transform writes the unscaled forward transform of x to dst. Both have the same length, at least 1, and must not overlap.
// It splits the transform by the least prime factor of the length, again and again, and sums the definition if a length is
// prime. A prime length above longestSum becomes a convolution (L. Bluestein, A linear filtering approach to the computation
// of discrete Fourier transform, IEEE Transactions on Audio and Electroacoustics 18 (1970), 451–455).
func Transform(dst, x []complex128) { New(len(x))(dst, x) }

// New returns a function that does what Transform does, for rows of n values. It computes the roots once. Only one goroutine
// at a time may call the function.
func New(n int) func(dst, x []complex128) {
	t := transformer{roots: make([]complex128, n), parts: make([]complex128, n)}
	for k := range t.roots {
		t.roots[k] = Root(k, n)
	}
	for n > 1 { // the greatest factor comes last
		p := leastFactor(n)
		if n /= p; n == 1 && p > longestSum {
			t.chirp = newChirp(p)
		}
	}
	return func(dst, x []complex128) { t.transform(dst, x, 1) }
}

// longestSum is the greatest prime length whose definition is summed where nothing is left to split. For a length of 10 007
// that takes a second.
const longestSum = 64

// transformer has the roots of the length of a row, and memory for the parts of one sum.
type transformer struct {
	roots, parts []complex128
	chirp        *chirp // for the greatest prime factor, if that is above longestSum
}

// transform writes the transform of every stride-th value of x to dst. The row has len(dst)·stride values.
func (t *transformer) transform(dst, x []complex128, stride int) {
	n := len(dst)
	if n == 1 {
		dst[0] = x[0]
		return
	}
	p := leastFactor(n)
	m := n / p
	if m == 1 && t.chirp != nil {
		t.chirp.transform(dst, x, stride)
		return
	}
	for r := range p {
		t.transform(dst[r*m:][:m], x[r*stride:], stride*p)
	}
	if p == 2 { // the general sum below, with the roots 1 and −1 left out
		for k := range m {
			even, odd := dst[k], dst[m+k]*t.roots[k*stride]
			dst[k], dst[m+k] = even+odd, even-odd
		}
		return
	}
	parts := t.parts[:p]
	for k := range m {
		for r := range parts {
			parts[r] = dst[r*m+k]
		}
		for q := range p {
			var sum complex128
			step, at := (k+q*m)*stride, 0 // at is r·step, less whole turns
			for _, part := range parts {
				sum += part * t.roots[at]
				if at += step; at >= len(t.roots) {
					at -= len(t.roots)
				}
			}
			dst[k+q*m] = sum
		}
	}
}

// chirp transforms rows of n values as a convolution. As 2jk = j² + k² − (k−j)², bin k is w[k] times the sum over j of
// x[j]·w[j] times the conjugate of w[k−j], where w[j] = exp(−πi·j²/n).
type chirp struct {
	w        []complex128
	spectrum []complex128 // of the conjugates of w, which begin at 0 and go both ways around
	in, out  []complex128
	forward  func(dst, x []complex128) // of a power of two, in which the convolution does not overlap itself
}

func newChirp(n int) *chirp {
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	c := &chirp{w: make([]complex128, n), spectrum: make([]complex128, m), in: make([]complex128, m), out: make([]complex128, m), forward: New(m)}
	for j := range c.w {
		c.w[j] = Root(j*j%(2*n), 2*n)
		c.in[j] = cmplx.Conj(c.w[j])
		c.in[(m-j)%m] = c.in[j]
	}
	c.forward(c.spectrum, c.in)
	return c
}

// transform writes the transform of every stride-th value of x to dst.
func (c *chirp) transform(dst, x []complex128, stride int) {
	clear(c.in)
	for j, w := range c.w {
		c.in[j] = x[j*stride] * w
	}
	c.forward(c.out, c.in)
	for k, v := range c.out { // the inverse transform is the conjugate of the transform of the conjugates, divided by m
		c.in[k] = cmplx.Conj(v * c.spectrum[k])
	}
	c.forward(c.out, c.in)
	for k, w := range c.w {
		dst[k] = cmplx.Conj(c.out[k]) / complex(float64(len(c.out)), 0) * w
	}
}

// leastFactor returns the least prime factor of n > 1.
func leastFactor(n int) int {
	for p := 2; p*p <= n; p++ {
		if n%p == 0 {
			return p
		}
	}
	return n
}
