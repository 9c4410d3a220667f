package launch

import (
	"math/bits"

	"crossover/gpu"
	"crossover/kernels/fft/double"
)

// division holds the two or three steps of a transform that is too long for one threadgroup. The length of the transform is
// the product of the steps' lengths. The last step transforms the rows of a matrix, and the others transform columns.
type division []shape

func (d division) length() int {
	n := 1
	for _, s := range d {
		n *= s.length()
	}
	return n
}

// launch appends rows transforms. dst and src are rows of length complex values.
func (d division) launch(b *gpu.Builder, dst, src gpu.Argument, rows int, inverse bool) {
	from, matrices, stride := src, rows, d.length()
	for i, s := range d[:len(d)-1] {
		stride /= s.length()
		roots, fine := stepRoots(s.length() * stride)
		source, table := s.define(columnsSource.Define("STRIDE", stride).Define("COLUMNS", s.side).
			Define("INVERSE", flag(inverse && i == 0)).Define("FINE", fine), columnTile)
		// Each step has memory of its own for the result, because a kernel must not write to its input.
		to := b.Scratch(gpu.Float2, d.length()*rows)
		b.Dispatch(b.Kernel(source, "columns"), threadgroups(matrices*(stride/s.side)), threads(s.threads()), to, from,
			b.Constant(gpu.Float2, table), b.Constant(gpu.Float2, roots))
		from, matrices = to, matrices*s.length()
	}
	s, first := d[len(d)-1], d[0].length()
	middle := d.length() / first / s.length()
	source, table := s.define(transposedSource.Define("FIRST", first).Define("MIDDLE", middle).Define("COLUMNS", s.side).
		Define("INVERSE", flag(inverse)), turnedTile)
	b.Dispatch(b.Kernel(source, "transposed"), threadgroups(rows*middle*(first/s.side)), threads(s.threads()), dst, from,
		b.Constant(gpu.Float2, table), gpu.Values(scaleOf(d.length(), inverse)))
}

// stepRoots returns two tables, one after the other, and the length of the first. Root k of n is the product of value k mod
// fine of the first table and value k / fine of the second.
func stepRoots(n int) (table []float32, fine int) {
	fine = 1 << (bits.Len(uint(n)) / 2)
	for k := range fine {
		table = appendPair(table, double.Root(k, n))
	}
	for k := range divideUp(n, fine) {
		table = appendPair(table, double.Root(k*fine, n))
	}
	return table, fine
}
