package launch

import (
	"fmt"

	"crossover/gpu"
	"crossover/kernels/fft/double"
)

// LongestShared is the length of the longest rows that one threadgroup of every device transforms. ShareRows takes no longer
// ones.
const LongestShared = 4096

// Shared is what a kernel text needs that transforms rows of complex values within a threadgroup, and does more with them.
type Shared struct {
	Source  gpu.Source // the passes, then the text
	Roots   []float32  // the tables of the passes, as pairs
	Rows    int        // that a threadgroup takes at a time; the macro ROWS
	Lanes   int        // threads of a row; the macro LANES
	Threads int        // of a threadgroup

	// Halves are −i·exp(−2πi·k/n), as pairs, for the butterflies k of the first pass that are not the greater of two mirror images.
	// They are for real rows of n values only.
	Halves []float32
}

// ShareRows returns a text for rows of n complex values. The text follows passes.metal, and uses TRANSFORM as complex.metal
// does. ShareRows panics if n is not a power of two from 8 to LongestShared.
func ShareRows(text gpu.Source, n int) Shared {
	if n < shortestRow || n > LongestShared || !isPowerOfTwo(n) {
		panic(fmt.Sprintf("fft: no threadgroup transforms rows of %d values", n))
	}
	return share(text, rowShape(n))
}

// ShortestInverse is the length of the shortest rows that ShareInverse takes.
const ShortestInverse = 64

// ShareInverse returns a text that makes rows of n real values of their bins, by transforms of n/2 complex values. A thread has an
// even number of butterflies of the first pass, so that it can have each one together with its mirror image. ShareInverse panics if n
// is not a power of two from ShortestInverse to 2·LongestShared.
func ShareInverse(text gpu.Source, n int) Shared {
	if n < ShortestInverse || n > 2*LongestShared || !isPowerOfTwo(n) {
		panic(fmt.Sprintf("fft: no threadgroup makes rows of %d values of their bins", n))
	}
	s := inverseShape(n)
	shared := share(text, s)
	for k := range n / 2 / s.radices[0] / 2 {
		shared.Halves = appendPair(shared.Halves, -1i*double.Root(k, n))
	}
	return shared
}

func share(text gpu.Source, s shape) Shared {
	text.Text = butterfliesText + passesText + text.Text
	source, table := s.define(text.Define("ROWS", s.side), rowTile)
	return Shared{Source: source, Roots: table, Rows: s.side, Lanes: s.lanes(), Threads: s.threads()}
}
