// Package samples holds what a sweep measured: blocks of times, as plain data, and their file format.
//
// It neither measures nor judges: package sweeps fills a Set, package crossover fits it, package plots draws it.
package samples

import (
	"math"
	"slices"
)

// Block holds the times of a case's implementations at one size, taken one after the other in random order. It is
// the datum of every statistic: times inside a block are paired, blocks are exchangeable.
type Block struct {
	Size int
	// Visit numbers the stay at a size that the block belongs to. Blocks of one visit share their buffers and plans,
	// and with them whatever luck those had with addresses; blocks of different visits do not.
	Visit int
	// Seconds is the time of one call of each implementation, in the order of Set.Implementations; NaN where the
	// implementation was not timed in this block.
	Seconds []float64
	// Iterations is the number of calls in each implementation's timed batch; 0 where it was not timed.
	Iterations []int
	// Twin is the A/A arm: the index of the implementation that was bound and timed a second time, under buffers and
	// plans of its own, and its second time. Twin is −1 where there was none.
	Twin        int
	TwinSeconds float64
}

// Set is every block of one case on one host, in the order of measurement.
type Set struct {
	Case            string
	Implementations []string
	Blocks          []Block
}

// Sizes returns the measured sizes, ascending, each once.
func (s *Set) Sizes() []int {
	var sizes []int
	for i := range s.Blocks {
		sizes = append(sizes, s.Blocks[i].Size)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// At returns the blocks of one size, in the order of measurement.
func (s *Set) At(size int) []Block {
	var at []Block
	for _, b := range s.Blocks {
		if b.Size == size {
			at = append(at, b)
		}
	}
	return at
}

// Timed reports whether the block holds a time of implementation i.
func (b *Block) Timed(i int) bool { return i < len(b.Seconds) && !math.IsNaN(b.Seconds[i]) }
