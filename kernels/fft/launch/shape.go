package launch

import (
	"math/bits"

	"crossover/gpu"
	"crossover/kernels/fft/double"
)

// shape says how the threads of a threadgroup divide transforms whose length is a power of two. passes.metal is compiled for
// a shape.
type shape struct {
	radices []int // of the passes, 2 to 32; their product is the length
	points  int   // that a thread holds: a multiple of every radix
	side    int   // transforms, or columns, that a threadgroup takes at a time

	split  bool // real and imaginary parts change threads one after the other, which takes half of the memory
	slices int  // parts in which the points change threads, a power of two; 0 stands for 1
	lean   bool // fewer instructions for more threadgroup memory; for rows without slices
}

// layout is how a tile of transforms lies in threadgroup memory.
type layout int

const (
	rowTile    layout = iota // transform after transform
	columnTile               // interleaved
	turnedTile               // transform after transform; the last pass reads it by columns
)

func (s shape) length() int {
	n := 1
	for _, r := range s.radices {
		n *= r
	}
	return n
}

func (s shape) lanes() int     { return s.length() / s.points }
func (s shape) threads() int   { return s.lanes() * s.side }
func (s shape) lastRadix() int { return s.radices[len(s.radices)-1] }

// width returns the number of cells in one row of banks of threadgroup memory, which is 32 banks of 4 bytes.
func (s shape) width() int {
	if s.split {
		return 32
	}
	return 16
}

// pitch returns the number of cells from one transform of a tile to the next. It is padded if threads of one simdgroup work
// on several transforms, so that they access different banks.
func (s shape) pitch(tile layout) int {
	n := s.length()/max(s.slices, 1) + s.room()
	switch {
	case tile == rowTile && s.lanes() < s.width() && s.side > 1 && s.lean:
		return n + (s.lanes()-n%s.width()+s.width())%s.width()
	case tile == rowTile && s.lanes() < s.width() && s.side > 1:
		return n + s.lanes()
	case tile == turnedTile:
		return n + max(1, s.width()/s.side)
	}
	return n
}

// room returns how many more cells the padding of a transform takes, between the passes for which it is the most.
func (s shape) room() int {
	room, d := 0, 1
	for _, r := range s.radices[:len(s.radices)-1] {
		if s.lean && d < s.width() {
			room = max(room, s.length()/max(s.width(), d*r)*d)
		}
		d *= r
	}
	return room
}

// memory returns the bytes of threadgroup memory that a tile takes.
func (s shape) memory(tile layout) int {
	cell := 8
	if s.split {
		cell = 4
	}
	return s.pitch(tile) * s.side * cell
}

// define sets the macros of a text that begins with passes.metal. It also returns the tables of roots for the text.
func (s shape) define(source gpu.Source, tile layout) (gpu.Source, []float32) {
	banks, spread := s.width(), 1
	if tile == columnTile {
		banks, spread = max(1, banks/s.side), s.side
	}
	var table []float32
	d := 1
	for i, r := range s.radices {
		source = source.Define(indexed("RADIX", i), r)
		if i > 0 {
			source = source.Define(indexed("TABLE", i), len(table)/2)
			table = append(table, twiddles(r, d)...)
		}
		if i < len(s.radices)-1 {
			shift := 31 // no shift: neighbours stay neighbours
			if d < banks {
				shift = bits.Len(uint(max(banks, d*r))) - 1
			}
			source = source.Define(indexed("SHIFT", i), shift)
		}
		d *= r
	}
	for _, m := range []struct {
		name  string
		value int
	}{
		{"LENGTH", s.length()}, {"POINTS", s.points}, {"LANES", s.lanes()}, {"PASSES", len(s.radices)},
		{"SLICES", max(s.slices, 1)}, {"BANKS", banks}, {"SPREAD", spread}, {"PITCH", s.pitch(tile)},
		{"MEMORY", s.pitch(tile) * s.side},
	} {
		source = source.Define(m.name, m.value)
	}
	if len(table) == 0 {
		table = []float32{1, 0}
	}
	return source.Define("SPLIT", flag(s.split)).Define("LEAN", flag(s.lean)), table
}

// twiddles returns the rows of roots from which a pass of radix r at distance d makes its twiddle factors: see turn in
// passes.metal.
func twiddles(r, d int) []float32 {
	var table []float32
	for q := 1; q < r; q *= 2 {
		for k := range d {
			table = appendPair(table, double.Root(q*k, d*r))
		}
		if r < 32 {
			break
		}
	}
	return table
}

func indexed(name string, i int) string { return name + string(rune('0'+i)) }

func flag(set bool) string {
	if set {
		return "1"
	}
	return "0"
}
