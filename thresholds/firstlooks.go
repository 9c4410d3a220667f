package thresholds

import (
	"math"
	"slices"

	"crossover/timings"
)

// suspicion is the relative slowdown from which a first look nominates a size.
const suspicion = 0.05

const (
	// firstBlocks is the number of blocks of a first look.
	firstBlocks = 5
	// quietBlocks is the number of them that must be of a quiet machine. Otherwise the look is repeated.
	quietBlocks = 3
)

// firstLooks are the looks of an audit that nominate sizes: one at each size, repeated if the machine was not quiet. They
// find sizes at which the choice seems slow, and decide nothing.
type firstLooks struct {
	pending   []int       // sizes not yet visited
	repeated  map[int]int // number of repetitions at a size
	repeating int         // the size of the last proposed repetition, or 0
	blocks    map[int]int // number of blocks of a finished look
}

func newFirstLooks(sizes []int) firstLooks {
	return firstLooks{pending: inPasses(sizes), repeated: map[int]int{}, blocks: map[int]int{}}
}

// inPasses returns the sizes in the order of several passes upwards, so that a check with too small a budget has still been
// everywhere in the range.
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

// end ends the look at a size. Later blocks belong to later looks.
func (f *firstLooks) end(set *timings.Set, size int) {
	if _, over := f.blocks[size]; !over {
		f.blocks[size] = set.Count(size)
	}
}

// part returns the number of a group's blocks that belong to its first look, or 0 before the look's end.
func (f *firstLooks) part(g group) int { return min(f.blocks[g.size], len(g.logs)) }

// judge judges a size by all of its blocks. The size holds unless its log-slowdown is above doubtful. Then it is ambiguous.
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
