package launch

import (
	"crossover/gpu"
	"crossover/kernels/fft/double"
)

// appendBluestein appends transforms of any length. The formula is at bluestein in package transform.
func appendBluestein(b *gpu.Builder, dst, src gpu.Argument, n, batch int, inverse bool) {
	m := 1
	for m < 2*n-1 {
		m *= 2
	}
	chirp, filter := chirpTables(n, m)
	chirps, filters := b.Constant(gpu.Float2, chirp), b.Constant(gpu.Float2, filter)
	if m <= longestRow(b.Facts()) {
		// The kernel ends with an inverse transform of length m.
		s, scale := rowShape(m), scaleOf(m, true)*scaleOf(n, inverse)
		source, table := s.define(bluesteinSource.Define("ROWS", s.side).Define("INVERSE", flag(inverse)), rowTile)
		b.Dispatch(b.Kernel(source, "bluestein_rows"), threadgroups(divideUp(batch, s.side)), threads(s.threads()), dst, src,
			b.Constant(gpu.Float2, table), chirps, filters, gpu.Values(n), gpu.Values(batch), gpu.Values(scale))
		return
	}
	swap := 0
	if inverse {
		swap = 1
	}
	x, y := b.Scratch(gpu.Float2, m*batch), b.Scratch(gpu.Float2, m*batch)
	perValue(b, chirpSource, "chirp_load", m*batch, x, src, chirps, gpu.Values(n), gpu.Values(m), gpu.Values(m*batch),
		gpu.Values(swap))
	appendComplex(b, y, x, m, batch, false)
	perValue(b, chirpSource, "chirp_filter", m*batch, x, y, filters, gpu.Values(m), gpu.Values(m*batch))
	appendComplex(b, y, x, m, batch, true)
	perValue(b, chirpSource, "chirp_store", n*batch, dst, y, chirps, gpu.Values(n), gpu.Values(m), gpu.Values(n*batch),
		gpu.Values(swap), gpu.Values(scaleOf(n, inverse)))
}

// chirpTables returns the chirp c[j] = exp(−πi·j²/n), j < n, and the transform of its conjugate, which is wrapped around m
// values. Both are computed in float64.
func chirpTables(n, m int) (chirp, filter []float32) {
	wrapped, spectrum := make([]complex128, m), make([]complex128, m)
	for j := range n {
		c := double.Root(j*j%(2*n), 2*n)
		chirp = appendPair(chirp, c)
		wrapped[j] = complex(real(c), -imag(c))
		if j > 0 {
			wrapped[m-j] = wrapped[j]
		}
	}
	double.Transform(spectrum, wrapped)
	for _, v := range spectrum {
		filter = appendPair(filter, v)
	}
	return chirp, filter
}
