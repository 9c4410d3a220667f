package thresholds

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"crossover/timings"
)

// Curves has one estimate for each implementation and size of a sweep.
type Curves struct {
	Implementations []string
	Sizes           []int // ascending
	Blocks          []int // number of blocks at each size

	// Seconds[i][s] is the median over blocks of implementation i's time at Sizes[s], in seconds per call, or NaN if it was
	// not measured. It is for display.
	Seconds [][]float64
	// Loss[i][s] is the log-ratio of implementation i's time to that of the best one at Sizes[s]: the difference of their
	// median log-ratios to their block's fastest. It is at least 0, and +Inf if i was not measured. Decisions use it.
	Loss [][]float64

	counterparts []int // by implementations: see timings.Counterparts
	divides      []int // by implementations: see timings.Set.Divides; 0 where it is not known
}

// Summarise returns the curves of a case. sets are its samples, one set for each run.
func Summarise(sets ...*timings.Set) Curves { return newHistory(sets).curves() }

// history holds the samples of a case, by runs.
type history struct {
	implementations []string // of all runs
	counterparts    []int    // see timings.Counterparts
	divides         []int    // see timings.Set.Divides; 0 where no run knows it
	runs            [][]group
	losses          [][][]float64 // by runs, implementations and sizes of the run
	pool            *pool
}

// newHistory returns the history of the runs with a usable block that is current: see [Current]. The runs know the same of where
// implementations begin to divide calls: see [timings.ShareDivides].
func newHistory(sets []*timings.Set) *history {
	h := &history{}
	for _, set := range sets {
		for _, name := range set.Implementations {
			if !slices.Contains(h.implementations, name) {
				h.implementations = append(h.implementations, name)
			}
		}
	}
	h.divides = make([]int, len(h.implementations))
	for _, set := range timings.ShareDivides(sets) {
		for i, name := range h.implementations {
			h.divides[i] = set.Divides[name]
		}
	}
	for _, set := range Current(sets) {
		if groups := groupBySize(set.For(h.implementations)); len(groups) > 0 {
			h.runs = append(h.runs, groups)
		}
	}
	return h.of(h.runs)
}

// of returns a history with the given groups of runs of the same case.
func (h *history) of(runs [][]group) *history {
	part := &history{
		implementations: h.implementations, counterparts: timings.Counterparts(h.implementations), divides: h.divides,
		runs: runs,
	}
	for _, groups := range runs {
		part.losses = append(part.losses, lossTable(groups, len(h.implementations)))
	}
	part.pool = newPool(runs, part.losses)
	return part
}

// timedAs returns the implementation whose log-ratios in some blocks are those of implementation i: itself, or its counterpart
// if i was not timed in any of them.
func (h *history) timedAs(logs [][]float64, i int) int {
	one := h.counterparts[i]
	if one < 0 || slices.ContainsFunc(logs, func(l []float64) bool { return !math.IsNaN(l[i]) }) {
		return i
	}
	return one
}

func (h *history) curves() Curves {
	c := Curves{
		Implementations: h.implementations, Sizes: h.pool.sizes, Blocks: make([]int, len(h.pool.sizes)),
		counterparts: h.counterparts, divides: h.divides,
	}
	c.Seconds, c.Loss = newTable(len(h.implementations), len(c.Sizes)), newTable(len(h.implementations), len(c.Sizes))
	for s, size := range c.Sizes {
		for i := range h.implementations {
			var all []float64
			for _, groups := range h.runs {
				k, found := slices.BinarySearchFunc(groups, size, func(g group, size int) int { return g.size - size })
				if !found {
					continue
				}
				if i == 0 {
					c.Blocks[s] += len(groups[k].blocks)
				}
				for _, b := range groups[k].blocks {
					if usable(b, i) {
						all = append(all, b.Seconds[i])
					}
				}
			}
			c.Seconds[i][s] = median(all)
		}
	}
	h.pool.join(h.losses, c.Loss)
	return c
}

// groups returns the groups of all runs, one run after the other.
func (h *history) groups() []group {
	var all []group
	for _, groups := range h.runs {
		all = append(all, groups...)
	}
	return all
}

// group has the usable blocks of one size, in the order of measurement.
type group struct {
	size   int
	blocks []*timings.Block
	// logs[b][i] is the log-ratio of implementation i to the fastest one of block b; NaN if it was not timed.
	logs   [][]float64
	values []float64 // those of logs, block after block, with room for every block of the size
}

// groupBySize returns the groups of a set in ascending order of sizes. It leaves out blocks without a usable time.
func groupBySize(set *timings.Set) []group {
	counts := map[int]int{}
	for n := range set.Blocks {
		counts[set.Blocks[n].Size]++
	}
	groups := make([]group, 0, len(counts))
	for _, size := range slices.Sorted(maps.Keys(counts)) {
		if size >= 1 {
			groups = append(groups, newGroup(size, counts[size], len(set.Implementations)))
		}
	}
	for n := range set.Blocks {
		b := &set.Blocks[n]
		k, found := slices.BinarySearchFunc(groups, b.Size, func(g group, size int) int { return g.size - size })
		if found {
			groups[k].add(b, len(set.Implementations))
		}
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.blocks) == 0 })
}

// groupAt returns the blocks of one size.
func groupAt(set *timings.Set, size int) group {
	g := newGroup(size, set.Count(size), len(set.Implementations))
	for n := range set.Blocks {
		if b := &set.Blocks[n]; b.Size == size && size >= 1 {
			g.add(b, len(set.Implementations))
		}
	}
	return g
}

// newGroup returns a group without blocks that has room for some.
func newGroup(size, blocks, implementations int) group {
	return group{size, make([]*timings.Block, 0, blocks), make([][]float64, 0, blocks), make([]float64, blocks*implementations)}
}

// add adds a block. It leaves out one without a usable time.
func (g *group) add(b *timings.Block, implementations int) {
	logs := g.values[len(g.logs)*implementations:][:implementations:implementations]
	if logRatios(b, logs) {
		g.blocks, g.logs = append(g.blocks, b), append(g.logs, logs)
	}
}

// logRatios sets logs to ln(time / fastest time of the block) for each implementation. It returns false for a block without a
// usable time.
func logRatios(b *timings.Block, logs []float64) bool {
	fastest := math.Inf(1)
	for i := range logs {
		if usable(b, i) {
			fastest = min(fastest, b.Seconds[i])
		}
	}
	if math.IsInf(fastest, 1) {
		return false
	}
	for i := range logs {
		logs[i] = math.NaN()
		if usable(b, i) {
			logs[i] = math.Log(b.Seconds[i] / fastest)
		}
	}
	return true
}

// usable reports whether the block has a time of implementation i with a finite logarithm. Sweeps measure no other times,
// but a set may come from anywhere.
func usable(b *timings.Block, i int) bool {
	return b.Timed(i) && b.Seconds[i] > 0 && !math.IsInf(b.Seconds[i], 1)
}

// lossTable returns the loss of each implementation at each size.
func lossTable(groups []group, implementations int) [][]float64 {
	loss := newTable(implementations, len(groups))
	var buffer []float64
	for s := range groups {
		for i := range loss {
			buffer = buffer[:0]
			for _, logs := range groups[s].logs {
				if !math.IsNaN(logs[i]) {
					buffer = append(buffer, logs[i])
				}
			}
			loss[i][s] = math.Inf(1)
			if len(buffer) > 0 {
				loss[i][s] = median(buffer)
			}
		}
		subtractLeast(loss, s)
	}
	return loss
}

// newTable returns a table of implementations × sizes.
func newTable(implementations, sizes int) [][]float64 {
	table := make([][]float64, implementations)
	for i := range table {
		table[i] = make([]float64, sizes)
	}
	return table
}

// subtractLeast subtracts the least value at size s from all values there, which gives losses.
func subtractLeast(loss [][]float64, s int) {
	least := math.Inf(1)
	for i := range loss {
		least = min(least, loss[i][s])
	}
	if math.IsInf(least, 1) {
		return
	}
	for i := range loss {
		loss[i][s] -= least
	}
}

// ranking has the blocks of one size in which one implementation was timed, in ascending order of log-ratio. A bootstrap
// takes the medians of many resamples of the same blocks. Once the blocks are ranked, finding a median is a walk to the
// middle instead of a sort.
type ranking []ranked

type ranked struct {
	block int
	log   float64
}

// rank ranks the blocks for each implementation.
func (g *group) rank(implementations int) []ranking {
	ranks := make([]ranking, implementations)
	for i := range ranks {
		for b, logs := range g.logs {
			if !math.IsNaN(logs[i]) {
				ranks[i] = append(ranks[i], ranked{b, logs[i]})
			}
		}
		slices.SortFunc(ranks[i], func(a, b ranked) int { return cmp.Compare(a.log, b.log) })
	}
	return ranks
}

// median returns the median log-ratio of a resample that has block b times[b] times, or +Inf if it has no block.
func (r ranking) median(times []int) float64 {
	count := 0
	for _, x := range r {
		count += times[x.block]
	}
	below, above := (count-1)/2, count/2 // the middle ones, counted from 0; equal if the count is odd
	lower, passed := math.Inf(1), 0
	for _, x := range r {
		if passed <= below {
			lower = x.log
		}
		passed += times[x.block]
		if passed > above {
			return (lower + x.log) / 2
		}
	}
	return math.Inf(1)
}

// median returns the middle value, or the mean of the two middle ones, or NaN if there are no values. It reorders values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	m := len(values) / 2
	if len(values)%2 == 1 {
		return values[m]
	}
	return (values[m-1] + values[m]) / 2
}
