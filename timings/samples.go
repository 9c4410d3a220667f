// Package timings holds what a sweep measured: blocks of times, as plain data, and their file format.
//
// The package neither measures nor judges. Package sweeps fills a Set, package thresholds fits it, and package plots draws
// it.
package timings

import (
	"math"
	"slices"
)

// Block holds the times of a case's implementations at one size. They were taken one after the other in random order. The
// block is the datum of every statistic: times in a block are paired, and blocks are exchangeable.
type Block struct {
	Size int
	// Visit is the number of the visit to which the block belongs. Blocks of one visit share buffers and plans, and so the
	// effect of the buffers' addresses on times. Blocks of different visits do not.
	Visit int
	// Seconds are the times of one call of each implementation, in the order of Set.Implementations. A time is NaN if the
	// implementation was not timed in this block.
	Seconds []float64
	// Iterations are the numbers of calls in each implementation's timed batch; 0 if it was not timed.
	Iterations []int
	// Twin is the index of the implementation that was bound and timed a second time, with buffers and plans of its own: the
	// A/A twin. TwinSeconds is the second time. Twin is −1 if there was none.
	Twin        int
	TwinSeconds float64
	// GPU has the times that the GPU measured in one more call of each implementation, in the order of Set.Implementations.
	// They are the zero value if there are none, as for an implementation on the processor. GPU is nil if no GPU was timed
	// in this block.
	GPU []GPUTimes
	// Positions are the places of the implementations in the order of the block's batches, from 1, and TwinPosition is that
	// of the twin. A place is 0 if the implementation was not timed. Positions is nil if the order was not recorded.
	Positions    []int
	TwinPosition int
	// Elapsed is the time from the start of the run to the start of the block's first batch, in seconds, to the millisecond;
	// 0 if it was not recorded.
	Elapsed float64
	// Epoch counts the lasting changes of the machine in the run until the block: of the processor's clock, of what all
	// processors take at once, and of a hand-over from one to the next.
	Epoch int
	// Disturbed says that the machine was not quiet: the sentinel was off its baseline, another program used the core of a
	// batch, or a GPU's clock was low. Crowded says that the machine was quiet, but that a neighbour used the core of one of
	// several processors of a batch.
	Disturbed, Crowded bool
}

// GPUTimes are the times that a GPU measured in one call, in seconds. Such a measurement takes a little time itself, so the
// call is not among those of Block.Seconds.
type GPUTimes struct {
	Busy   float64 // the device computed; 0 if it measures only Span
	Span   float64 // from the device's first command to the end of its last one, transfers and pauses included
	Encode float64 // the host handed the work over
	Gap    float64 // mean pause between two kernels; 0 if there was none or the device does not say
}

// Told reports whether the GPU measured a call.
func (g GPUTimes) Told() bool { return g != GPUTimes{} }

// TimesOnGPU returns the GPU's times of implementation i, and whether there are any.
func (b *Block) TimesOnGPU(i int) (GPUTimes, bool) {
	if i >= len(b.GPU) {
		return GPUTimes{}, false
	}
	return b.GPU[i], b.GPU[i].Told()
}

// SetTimesOnGPU records the GPU's times of implementation i. The zero value changes nothing.
func (b *Block) SetTimesOnGPU(i int, account GPUTimes) {
	if !account.Told() {
		return
	}
	if b.GPU == nil {
		b.GPU = make([]GPUTimes, len(b.Seconds))
	}
	b.GPU[i] = account
}

// Position returns the place of implementation i in the block's order, from 1, or 0 if it is not known.
func (b *Block) Position(i int) int {
	if i >= len(b.Positions) {
		return 0
	}
	return b.Positions[i]
}

// SetPosition records the place of implementation i in the block's order, from 1. A place of 0 changes nothing.
func (b *Block) SetPosition(i, position int) {
	if position == 0 {
		return
	}
	if b.Positions == nil {
		b.Positions = make([]int, len(b.Seconds))
	}
	b.Positions[i] = position
}

// Erase removes the times of implementation i. The places of the others stay unchanged.
func (b *Block) Erase(i int) {
	b.Seconds[i], b.Iterations[i] = math.NaN(), 0
	if b.Twin == i {
		b.Twin, b.TwinSeconds, b.TwinPosition = -1, 0, 0
	}
	if i < len(b.Positions) {
		b.Positions[i] = 0
	}
	if i < len(b.GPU) {
		b.GPU[i] = GPUTimes{}
	}
	if !slices.ContainsFunc(b.GPU, GPUTimes.Told) {
		b.GPU = nil
	}
}

// Set holds the blocks of one case on one host, in the order of measurement.
type Set struct {
	Case            string
	Implementations []string
	Simulated       bool // the times are those of a model
	Blocks          []Block

	// Revisions are those of the implementations whose revision is not 0, by name; nil if there is none.
	Revisions map[string]int

	// Divides has, by name, the least size at which an implementation on several cores divides a call, where a sweep of the case
	// has looked for that size. Below it, its calls are those of its counterpart: see OnOne. It is nil if there is none.
	Divides map[string]int

	// Axes and Shapes are of a set over all shapes of an operation, and nil for a case: the names of a shape's values, and
	// the shape that a size of the blocks stands for.
	Axes   []string
	Shapes map[int][]int
}

// Shape returns the shape that a size stands for.
func (s *Set) Shape(size int) []int { return s.Shapes[size] }

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
	count := s.Count(size)
	if count == 0 {
		return nil
	}
	at := make([]Block, 0, count)
	for i := range s.Blocks {
		if s.Blocks[i].Size == size {
			at = append(at, s.Blocks[i])
		}
	}
	return at
}

// Knows reports whether the set has a time of an implementation.
func (s *Set) Knows(implementation string) bool {
	i := slices.Index(s.Implementations, implementation)
	return i >= 0 && slices.ContainsFunc(s.Blocks, func(b Block) bool { return b.Timed(i) })
}

// Count returns the number of blocks of one size.
func (s *Set) Count(size int) int {
	count := 0
	for i := range s.Blocks {
		if s.Blocks[i].Size == size {
			count++
		}
	}
	return count
}

// For returns the set with the given implementations, in their order. It leaves out the times of others.
func (s *Set) For(implementations []string) *Set {
	if slices.Equal(s.Implementations, implementations) {
		return s
	}
	place := make([]int, len(s.Implementations))
	for i, name := range s.Implementations {
		place[i] = slices.Index(implementations, name)
	}
	out := &Set{
		Case: s.Case, Implementations: implementations, Simulated: s.Simulated, Blocks: slices.Clone(s.Blocks),
		Revisions: s.Revisions, Divides: s.Divides, Axes: s.Axes, Shapes: s.Shapes,
	}
	for n := range out.Blocks {
		b := &out.Blocks[n]
		was := *b
		b.Seconds, b.Iterations, b.GPU = make([]float64, len(implementations)), make([]int, len(implementations)), nil
		for i := range b.Seconds {
			b.Seconds[i] = math.NaN()
		}
		for i, to := range place {
			if to < 0 || !was.Timed(i) {
				continue
			}
			b.Seconds[to], b.Iterations[to] = was.Seconds[i], was.Iterations[i]
			if account, told := was.TimesOnGPU(i); told {
				b.SetTimesOnGPU(to, account)
			}
		}
		if b.Twin = -1; was.Twin >= 0 && place[was.Twin] >= 0 {
			b.Twin = place[was.Twin]
		} else {
			b.TwinSeconds = 0
		}
	}
	return out
}

// Brief returns the set without what no fit reads: the order of the batches in a block, when the block began, and the times that
// a GPU measured.
func (s *Set) Brief() *Set {
	out := *s
	out.Blocks = slices.Clone(s.Blocks)
	for i := range out.Blocks {
		b := &out.Blocks[i]
		b.GPU, b.Positions, b.TwinPosition, b.Elapsed = nil, nil, 0, 0
	}
	return &out
}

// Quiet returns the blocks that were measured while the machine was quiet and no neighbour was there.
func (s *Set) Quiet() *Set {
	out := *s
	out.Blocks = slices.DeleteFunc(slices.Clone(s.Blocks), func(b Block) bool { return b.Disturbed || b.Crowded })
	return &out
}

// Timed reports whether the block holds a time of implementation i.
func (b *Block) Timed(i int) bool { return i < len(b.Seconds) && !math.IsNaN(b.Seconds[i]) }
