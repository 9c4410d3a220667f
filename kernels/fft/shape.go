package fft

import (
	"math/bits"

	"crossover/gpu"
)

// shape is how the threads of a threadgroup share out transforms of a power of two: what passes.metal is specialised
// by.
type shape struct {
	radices []int // of the passes, 2 to 32; their product is the length
	points  int   // a thread holds: a multiple of every radix
	side    int   // transforms, or columns, that a threadgroup takes at a time

	squares bool // twiddle factors are multiplied from more of them: slower, and more exact
	split   bool // real and imaginary parts change threads one after the other, in half of the memory
	slices  int  // in which the points change threads, a power of two; 0 stands for 1
}

// layout is how a tile of transforms lies in threadgroup memory.
type layout int

const (
	rowTile    layout = iota // transform after transform
	columnTile               // interleaved
	turnedTile               // transform after transform, the last pass taken up by columns
)

func (s shape) length() int {
	n := 1
	for _, r := range s.radices {
		n *= r
	}
	return n
}

func (s shape) lanes() int   { return s.length() / s.points }
func (s shape) threads() int { return s.lanes() * s.side }

// define specialises a text that begins with passes.metal, and returns the tables of roots that it takes.
func (s shape) define(source gpu.Source, tile layout) (gpu.Source, []float32) {
	n, slices := s.length(), max(s.slices, 1)
	width := 16 // cells side by side in the banks of threadgroup memory
	if s.split {
		width = 32
	}
	banks, spread := width, 1
	if tile == columnTile {
		banks, spread = max(1, width/s.side), s.side
	}
	var table []float32
	pitch, d := n/slices, 1
	for i, r := range s.radices {
		source = source.Define(indexed("RADIX", i), r)
		if i > 0 {
			source = source.Define(indexed("TABLE", i), len(table)/2)
			table = append(table, s.roots(r, d)...)
		}
		if i < len(s.radices)-1 {
			shift := 31 // none: neighbours stay neighbours
			if d < banks {
				shift = bits.Len(uint(max(banks, d*r))) - 1
			}
			source = source.Define(indexed("SHIFT", i), shift)
		}
		d *= r
	}
	switch {
	case tile == rowTile && s.lanes() < width && s.side > 1:
		pitch += s.lanes()
	case tile == turnedTile:
		pitch += max(1, width/s.side)
	}
	source = source.Define("SPLIT", flag(s.split)).Define("SQUARES", flag(s.squares))
	for _, m := range []struct {
		name  string
		value int
	}{
		{"N", n}, {"POINTS", s.points}, {"LANES", s.lanes()}, {"PASSES", len(s.radices)}, {"SLICES", slices},
		{"BANKS", banks}, {"SPREAD", spread}, {"PITCH", pitch}, {"MEMORY", pitch * s.side},
	} {
		source = source.Define(m.name, m.value)
	}
	if len(table) == 0 {
		table = []float32{1, 0}
	}
	return source, table
}

// roots returns the rows of roots that the twiddle factors of a pass of radix r at distance d are made of.
func (s shape) roots(r, d int) []float32 {
	var table []float32
	for q := 1; q < r; q++ {
		if q > 1 && !(s.squares && isPowerOfTwo(q)) {
			continue
		}
		for k := range d {
			table = appendPair(table, root(q*k, d*r))
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
