package fft

import (
	"fmt"
	"math"
	"slices"
)

// Complex transforms n complex samples. It is not safe for concurrent use: take one Clone a goroutine.
type Complex struct {
	n         int
	transform transform
}

// transform is a forward complex transform of one fixed length.
type transform interface {
	// forward writes the transform of src to dst, which does not overlap it, and leaves src as it was.
	forward(dst, src []complex64)
	// inverse does the same for the inverse transform, divided by the length.
	inverse(dst, src []complex64)
	// clone returns a transform with the same tables and its own scratch memory.
	clone() transform
}

// NewComplex returns the transform of length n. It panics if n < 1.
func NewComplex(n int) *Complex {
	if n < 1 {
		panic(fmt.Sprintf("fft: length %d is below 1", n))
	}
	return &Complex{n: n, transform: newTransform(n)}
}

func newTransform(n int) transform {
	if t := newLaneTransform(n); t != nil {
		return t
	}
	if radices, ok := factor(n); ok {
		return newStockham(n, radices)
	}
	return newBluestein(n)
}

// Len returns n.
func (c *Complex) Len() int { return c.n }

// Clone returns a transform that shares the tables and has its own scratch memory.
func (c *Complex) Clone() *Complex { return &Complex{n: c.n, transform: c.transform.clone()} }

// Forward writes the unscaled transform of src to dst. Both have length n and must not overlap; src is unchanged. It
// panics where a length is not n.
func (c *Complex) Forward(dst, src []complex64) {
	c.check(dst, src)
	c.transform.forward(dst, src)
}

// Inverse writes the inverse transform of src, divided by n, to dst. Both have length n and must not overlap; src is
// unchanged. It panics where a length is not n.
func (c *Complex) Inverse(dst, src []complex64) {
	c.check(dst, src)
	c.transform.inverse(dst, src)
}

// reverse turns the forward transform of x into the inverse one: with exp(+2πi·jk/n) in place of exp(−2πi·jk/n) the
// same values come out in reverse order, n times too large.
func reverse(x []complex64) {
	slices.Reverse(x[1:])
	scale := float32(1 / float64(len(x)))
	for i, v := range x {
		x[i] = complex(scale*real(v), scale*imag(v))
	}
}

func (c *Complex) check(dst, src []complex64) {
	if len(dst) != c.n || len(src) != c.n {
		panic(fmt.Sprintf("fft: complex transform of length %d got dst of %d and src of %d", c.n, len(dst), len(src)))
	}
}

// factor returns the radices of the passes for a length, or false where it has a prime factor above 5. The first pass
// is the dearest to walk, so it is the one that does most.
func factor(n int) (radices []int, ok bool) {
	for _, r := range []int{4, 5, 3, 2} {
		for n%r == 0 {
			radices = append(radices, r)
			n /= r
		}
	}
	return radices, n == 1
}

// root returns exp(−2πi·k/n), exact to float64: the angle is reduced to an eighth of a turn first.
func root(k, n int) complex128 {
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
