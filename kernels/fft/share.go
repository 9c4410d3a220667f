package fft

import (
	"fmt"

	"crossover/gpu"
)

// The lengths of rows that ShareRows takes, powers of two between them included: those that one threadgroup of every
// device transforms.
const (
	ShortestShared = shortestRow
	LongestShared  = 4096
)

// Shared is what a text needs that transforms rows of complex values within a threadgroup and does more with them.
type Shared struct {
	Source  gpu.Source // the passes, and the text behind them
	Roots   []float32  // the tables of the passes, as pairs
	Rows    int        // that a threadgroup takes at a time: ROWS
	Threads int        // of a threadgroup
}

// ShareRows specialises a text for rows of n complex values. The text goes on where passes.metal ends, and uses TRANSFORM
// as complex.metal does. It panics where n is no power of two from ShortestShared to LongestShared.
func ShareRows(text gpu.Source, n int) Shared {
	if n < ShortestShared || n > LongestShared || !isPowerOfTwo(n) {
		panic(fmt.Sprintf("fft: no threadgroup transforms rows of %d values", n))
	}
	s := rowShape(n)
	text.Text = butterfliesText + passesText + text.Text
	source, table := s.define(text.Define("ROWS", s.side), rowTile)
	return Shared{source, table, s.side, s.threads()}
}
