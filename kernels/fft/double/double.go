// Package double computes roots of unity and the discrete Fourier transform in float64. Tables of the other packages are
// made of these values, and tests compare with them. The package is not fast.
package double

import "math"

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
// prime. The time is proportional to the length times the sum of its prime factors.
func Transform(dst, x []complex128) {
	roots := make([]complex128, len(x))
	for k := range roots {
		roots[k] = Root(k, len(x))
	}
	transform(dst, x, roots, 1)
}

// transform writes the transform of every stride-th value of x to dst. roots are those of len(dst)·stride.
func transform(dst, x, roots []complex128, stride int) {
	n := len(dst)
	if n == 1 {
		dst[0] = x[0]
		return
	}
	p := leastFactor(n)
	m := n / p
	for r := range p {
		transform(dst[r*m:][:m], x[r*stride:], roots, stride*p)
	}
	parts := make([]complex128, p)
	for k := range m {
		for r := range parts {
			parts[r] = dst[r*m+k]
		}
		for q := range p {
			var sum complex128
			for r, part := range parts {
				sum += part * roots[r*(k+q*m)%n*stride]
			}
			dst[k+q*m] = sum
		}
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
