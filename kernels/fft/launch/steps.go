package launch

import (
	"math/bits"

	"crossover/gpu"
	"crossover/kernels/fft/double"
)

// division is how a transform that is longer than a threadgroup's goes in steps, 2 or 3: its length is the product of
// theirs. All steps but the last one transform the columns of a matrix, and the last one its rows.
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
		// Each step has its own memory for the result, since a kernel's input is not its output.
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

// stepRoots returns two tables, one after the other, and the length of the first one: root k of n is the product of
// value k mod fine of the first and value k / fine of the second.
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
