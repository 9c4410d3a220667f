package thresholds

import (
	"math"
	"slices"

	"crossover/timings"
)

// suspicion is the relative slowdown at which a first look nominates a size.
const suspicion = 0.05

const (
	// firstBlocks is how many blocks a first look has.
	firstBlocks = 5
	// quietBlocks is how many of them must be of a quiet machine, or the look is repeated.
	quietBlocks = 3
)

// firstLooks are the looks of an audit that nominate: one at each size, repeated where the machine was not quiet. They find
// sizes at which the choice seems slow, and decide nothing.
type firstLooks struct {
	pending   []int       // sizes not yet visited
	repeated  map[int]int // how often the look at a size was
	repeating int         // the size of the repetition that was proposed last; 0 for none
	blocks    map[int]int // number of blocks of a look that is over
}

func newFirstLooks(sizes []int) firstLooks {
	return firstLooks{pending: inPasses(sizes), repeated: map[int]int{}, blocks: map[int]int{}}
}

// inPasses returns the sizes in the order of several passes upwards through all of them, so that a check that runs out of
// its budget has still seen the whole range.
func inPasses(sizes []int) []int {
	const passes = 4
	sizes = slices.Clone(sizes)
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var order []int
	for _, first := range [passes]int{0, 2, 1, 3} {
		for k := first; k < len(sizes); k += passes {
			order = append(order, sizes[k])
		}
	}
	return order
}

// spoiled reports whether the look at a size should be repeated, because it has few quiet blocks.
func (f *firstLooks) spoiled(set *timings.Set, size int) bool {
	if _, over := f.blocks[size]; over {
		return false
	}
	blocks := set.At(size)
	quiet := len(blocks)
	for _, b := range blocks {
		if b.Disturbed {
			quiet--
		}
	}
	return quiet < quietBlocks && len(blocks) > 0 && f.repeated[size] < quietVisits-1
}

// end ends the look at a size. Blocks from now on belong to later looks.
func (f *firstLooks) end(set *timings.Set, size int) {
	if _, over := f.blocks[size]; !over {
		f.blocks[size] = len(set.At(size))
	}
}

// part returns how many blocks of a group belong to its first look, 0 while that is not over.
func (f *firstLooks) part(g group) int { return min(f.blocks[g.size], len(g.logs)) }

// judge sets what all blocks of a size say. The size holds unless its log-slowdown is above doubtful, and then it is
// ambiguous.
func (f *firstLooks) judge(g group, doubtful float64, out *SizeAudit) {
	out.Best = fastest(g.logs)
	loss, ok := halfLoss(g.logs, out.Chosen)
	if !ok {
		return
	}
	out.Slowdown, out.Finding = math.Exp(loss), Holds
	if loss > doubtful {
		out.Finding = Ambiguous
	}
}

// fastest returns the implementation with the least median log-ratio.
func fastest(logs [][]float64) int {
	best, _ := bestTwo(logs)
	return max(best, 0)
}
