package launch

import (
	"fmt"

	"crossover/gpu"
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
}

// ShareRows returns a text for rows of n complex values. The text follows passes.metal, and uses TRANSFORM as complex.metal
// does. ShareRows panics if n is not a power of two from 8 to LongestShared.
func ShareRows(text gpu.Source, n int) Shared {
	return share(text, shapeOfShared(n))
}

// ShareWhole is ShareRows for a text that computes much for each value that it reads. Points change threads as a whole, unless
// the threadgroup memory is too small for that: so there are fewer barriers, and fewer threadgroups in a core.
func ShareWhole(text gpu.Source, n int) Shared {
	s := shapeOfShared(n)
	s.split = s.split && n > mostWhole
	return share(text, s)
}

// mostWhole is the length of the longest rows whose points change threads as a whole in ShareWhole.
const mostWhole = 2048

func shapeOfShared(n int) shape {
	if n < shortestRow || n > LongestShared || !isPowerOfTwo(n) {
		panic(fmt.Sprintf("fft: no threadgroup transforms rows of %d values", n))
	}
	return rowShape(n)
}

func share(text gpu.Source, s shape) Shared {
	text.Text = butterfliesText + passesText + text.Text
	source, table := s.define(text.Define("ROWS", s.side), rowTile)
	return Shared{source, table, s.side, s.lanes(), s.threads()}
}
