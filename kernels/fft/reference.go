package fft

// Reference returns bins 0 to n/2 of the transform of x, of length n, in float64. Bin 0 is real, and so is bin n/2 of an
// even n. It splits the definition by the
// least prime factor of the length until nothing is left to split, and sums the definition where a length is prime:
// it takes time in proportion to n times the sum of the prime factors.
func Reference(x []float32) []complex128 {
	n := len(x)
	if n == 0 {
		return nil
	}
	roots, samples, bins := make([]complex128, n), make([]complex128, n), make([]complex128, n)
	for i, v := range x {
		roots[i] = root(i, n)
		samples[i] = complex(float64(v), 0)
	}
	reference(bins, samples, roots, 1)
	bins[0] = complex(real(bins[0]), 0)
	if n%2 == 0 {
		bins[n/2] = complex(real(bins[n/2]), 0)
	}
	return bins[:n/2+1]
}

// reference writes the transform of every stride-th value of x to dst. roots are those of len(dst)·stride.
func reference(dst, x, roots []complex128, stride int) {
	n := len(dst)
	if n == 1 {
		dst[0] = x[0]
		return
	}
	p := leastFactor(n)
	m := n / p
	for r := range p {
		reference(dst[r*m:][:m], x[r*stride:], roots, stride*p)
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
