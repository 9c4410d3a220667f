// Package timings holds what a sweep measured: blocks of times, as plain data, and their file format.
//
// It neither measures nor judges: package sweeps fills a Set, package thresholds fits it, package plots draws it.
package timings

import (
	"math"
	"slices"
)

// Block holds the times of a case's implementations at one size, taken one after the other in random order. It is
// the datum of every statistic: times inside a block are paired, blocks are exchangeable.
type Block struct {
	Size int
	// Visit numbers the stay at a size that the block belongs to. Blocks of one visit share buffers and plans, and so
	// the effect of the buffers' addresses on every time. Blocks of different visits do not.
	Visit int
	// Seconds is the time of one call of each implementation, in the order of Set.Implementations; NaN where the
	// implementation was not timed in this block.
	Seconds []float64
	// Iterations is the number of calls in each implementation's timed batch; 0 where it was not timed.
	Iterations []int
	// Twin is the A/A twin: the index of the implementation that was bound and timed a second time, under buffers and
	// plans of its own, and its second time. Twin is −1 where there was none.
	Twin        int
	TwinSeconds float64
	// GPU is the GPU's account of one further call of each implementation, in the order of Set.Implementations: the
	// zero value where there is none, as for a processor. It is nil if no GPU was timed in this block.
	GPU []GPUTimes
	// Positions is the place of each implementation in the order of the block's batches, from 1, and TwinPosition that of
	// the twin; 0 where it was not timed. Positions is nil where the order was not noted.
	Positions    []int
	TwinPosition int
	// Elapsed is when the first batch of the block began, in seconds since the run did, to the millisecond; 0 where that was
	// not noted.
	Elapsed float64
	// Epoch counts the lasting changes of the processor's clock in the run until the block.
	Epoch int
	// Disturbed says that the machine was not quiet: the sentinel was off its baseline, somebody else used the core of a
	// batch, or a GPU's clock was down. Crowded says that it was quiet, but that a neighbour used the core of a processor
	// that the work was spread over.
	Disturbed, Crowded bool
}

// GPUTimes is the GPU's account of one call: how long each part took, in seconds. Timing by the device takes a little
// time itself, so the call is not among those of Block.Seconds.
type GPUTimes struct {
	Busy   float64 // the device computed; 0 where it tells no more than Span
	Span   float64 // from the device's first command to the end of its last one, transfers and pauses included
	Encode float64 // the host handed the work over
	Gap    float64 // the mean pause between two kernels; 0 where there was none or the device does not tell
}

// Told reports whether there was such a call.
func (g GPUTimes) Told() bool { return g != GPUTimes{} }

// TimesOnGPU returns the account of implementation i, and whether there is one.
func (b *Block) TimesOnGPU(i int) (GPUTimes, bool) {
	if i >= len(b.GPU) {
		return GPUTimes{}, false
	}
	return b.GPU[i], b.GPU[i].Told()
}

// SetTimesOnGPU notes the account of implementation i. One that tells nothing changes nothing.
func (b *Block) SetTimesOnGPU(i int, account GPUTimes) {
	if !account.Told() {
		return
	}
	if b.GPU == nil {
		b.GPU = make([]GPUTimes, len(b.Seconds))
	}
	b.GPU[i] = account
}

// Position returns the place of implementation i in the block's order, from 1; 0 where that is not known.
func (b *Block) Position(i int) int {
	if i >= len(b.Positions) {
		return 0
	}
	return b.Positions[i]
}

// SetPosition notes the place of implementation i in the block's order, from 1. A place of 0 changes nothing.
func (b *Block) SetPosition(i, position int) {
	if position == 0 {
		return
	}
	if b.Positions == nil {
		b.Positions = make([]int, len(b.Seconds))
	}
	b.Positions[i] = position
}

// Erase removes the times of implementation i. The places of the others stay what they were.
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

// Set is every block of one case on one host, in the order of measurement.
type Set struct {
	Case            string
	Implementations []string
	Simulated       bool // on a model; nothing was measured
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

// For returns the set with the times of the given implementations, in their order. It leaves out those of others.
func (s *Set) For(implementations []string) *Set {
	if slices.Equal(s.Implementations, implementations) {
		return s
	}
	place := make([]int, len(s.Implementations))
	for i, name := range s.Implementations {
		place[i] = slices.Index(implementations, name)
	}
	out := &Set{Case: s.Case, Implementations: implementations, Simulated: s.Simulated, Blocks: slices.Clone(s.Blocks)}
	for n := range out.Blocks {
		b := &out.Blocks[n]
		was := *b
		b.Seconds, b.Iterations, b.GPU = make([]float64, len(implementations)), make([]int, len(implementations)), nil
		for i := range b.Seconds {
			b.Seconds[i] = math.NaN()
		}
		for i, to := range place {
			if to < 0 {
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

// Timed reports whether the block holds a time of implementation i.
func (b *Block) Timed(i int) bool { return i < len(b.Seconds) && !math.IsNaN(b.Seconds[i]) }
