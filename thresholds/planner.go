package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"crossover/timings"
)

// Planner decides, during a sweep, which size of one case is measured next. First it goes up the rungs of a geometric grid, in
// large steps and then in smaller ones. What earlier runs make worth a visit comes right after the least one: see guide. Then it
// takes a size between each two rungs: one at which a loop begins to be divided among cores, or a jittered one. Then its rules
// refine the result: see rules.
type Planner struct {
	low, high int
	ratio     float64
	round     func(int) int
	weight    float64
	options   Options
	rng       *rand.Rand

	sides     []int   // of thresholds that earlier runs know
	divisions []int   // sizes at which loops begin to be divided and that no earlier run has measured
	shift     float64 // of the rungs between the ends, downwards, as a share of a rung

	grid     []int // sizes of the grid that are left
	whole    int   // number of sizes that the grid had
	jittered bool  // whether grid has the sizes between the rungs
	visits   map[int]int
	planned  bool
	fitted   int // number of blocks in the set at the last proposal of a refinement
	next     proposal
}

// PlannerOptions limit the sizes of a planner.
type PlannerOptions struct {
	Low, High int           // least and greatest size, at least 1
	Ratio     float64       // ratio of the rungs of the grid, at least 1.05; 0 means 4
	Round     func(int) int // returns the nearest size that the operation takes; nil means every size
	Weight    float64       // factor of the worth of every visit; 0 means 1
	// Work returns the work of a call at a size, in any unit. It may be nil. Then the planner goes up in small steps only.
	Work func(size int) float64
	// Earlier are the samples of earlier runs, one set for each. They guide the first sizes. Each implementation of the case must
	// be in them.
	Earlier []*timings.Set
	Fit     Options
}

// proposal is a visit: its size, its number of blocks, and its worth. A worth of 0 means that there is none.
type proposal struct {
	size, blocks int
	worth        float64
}

// The rungs of the grid are worth more than everything else. The sizes between them are worth more than what the rules
// propose. Both have gridBlocks blocks in a visit. The share that is left is added, so that the grids of all cases shrink
// together, whether they have two sizes or ten.
const (
	worthRung   = 1000
	worthJitter = 500
	gridBlocks  = 5
)

// planResamples is the size of the bootstrap during a sweep. It suffices to find wide intervals.
const planResamples = 60

// maxBarren is the number of sizes between two neighbouring measured ones that are tried if none of them yields a block.
const maxBarren = 3

// NewPlanner returns a planner for one case.
func NewPlanner(o PlannerOptions) *Planner {
	if o.Ratio == 0 {
		o.Ratio = 4
	}
	// Closer rungs would only measure noise, and with a ratio near 1 there would be millions.
	o.Ratio = max(o.Ratio, 1.05)
	if o.Weight == 0 {
		o.Weight = 1
	}
	o.Low = max(o.Low, 1)
	o.High = max(o.High, o.Low)
	if o.Fit.Precision == 0 {
		o.Fit.Precision = 0.1
	}
	o.Fit.Resamples = planResamples
	o.Fit.withinRun = true
	p := &Planner{
		low: o.Low, high: o.High, ratio: o.Ratio, round: o.Round, weight: o.Weight, options: o.Fit,
		rng:    rand.New(rand.NewPCG(o.Fit.Seed, 0x9147)),
		visits: map[int]int{},
	}
	p.low, p.high = p.taken(p.low, +1), p.taken(p.high, -1)
	if len(o.Earlier) > 0 && p.low <= p.high {
		p.guide(o.Earlier)
	}
	order := inLargeSteps(p.Rungs(), o.Work)
	if len(p.sides)+len(p.divisions) > 0 {
		order = p.earlyFirst(order, o.Work)
	}
	p.take(order)
	return p
}

// largeStep is the greatest ratio of the work of two sizes that are measured one after the other. The cost of a visit does not
// follow from sizes with much less work.
const largeStep = 64

// inLargeSteps returns rungs in the order of their visits: upwards from the least to the greatest in large steps, then upwards
// through the middles of these steps, and so on until none is left. If a budget ends early, the greatest sizes have been
// measured too.
func inLargeSteps(rungs []int, work func(size int) float64) (order []int) {
	step := 1
	for work != nil && growth(rungs, 2*step, work) <= largeStep {
		step *= 2
	}
	visited := map[int]bool{}
	for ; step >= 1; step /= 2 {
		for k, size := range rungs {
			if last := len(rungs) - 1; (k == 0 || (last-k)%step == 0) && !visited[size] {
				visited[size] = true
				order = append(order, size)
			}
		}
	}
	return order
}

// growth returns the greatest ratio of the work of two rungs with a number of steps between them. It is infinite if there are
// no such two.
func growth(rungs []int, steps int, work func(size int) float64) float64 {
	if steps >= len(rungs) {
		return math.Inf(1)
	}
	most := 0.0
	for k, size := range rungs[steps:] {
		most = max(most, work(size)/work(rungs[k]))
	}
	return most
}

// taken returns the first size from n on, upwards or downwards, that the operation takes. The ends of a range from the
// command line need not be such sizes.
func (p *Planner) taken(n, direction int) int {
	if p.round == nil {
		return n
	}
	for step := 0; n+direction*step >= 1 && step <= 4*n; step = 2*step + 1 {
		if size := p.round(n + direction*step); (size-n)*direction >= 0 {
			return size
		}
	}
	return n
}

// Limit says that the budget does not allow sizes above high.
func (p *Planner) Limit(high int) {
	p.high = min(p.high, high)
	p.grid = slices.DeleteFunc(p.grid, func(size int) bool { return size > p.high })
	p.planned = false
}

// Next returns the visit that would teach most about the case: a size, the number of blocks, and the worth. A worth of 0
// means that nothing more can be learnt.
func (p *Planner) Next(set *timings.Set) (size, blocks int, worth float64) {
	if !p.planned || len(set.Blocks) != p.fitted {
		p.next = p.propose(set)
		p.next.worth *= p.weight
		p.planned, p.fitted = true, len(set.Blocks)
	}
	return p.next.size, p.next.blocks, p.next.worth
}

// Visited says that a proposed size was measured, or cannot be measured.
func (p *Planner) Visited(size int) {
	p.visits[size]++
	if len(p.grid) > 0 && p.grid[0] == size {
		p.grid = p.grid[1:]
	}
	p.planned = false
}

// Doubted says that the machine was disturbed at all visits to a size so far, so that none of them counts. The size comes first
// again, because a segment may rest on it.
func (p *Planner) Doubted(size int) {
	delete(p.visits, size)
	if size <= p.high && !slices.Contains(p.grid, size) {
		p.grid = slices.Insert(p.grid, 0, size)
		p.whole = max(p.whole, len(p.grid))
	}
	p.planned = false
}

// take makes sizes the grid.
func (p *Planner) take(sizes []int) { p.grid, p.whole = sizes, len(sizes) }

// propose returns the next rung, or else the next size between rungs, or else a proposal of the rules.
func (p *Planner) propose(set *timings.Set) proposal {
	if len(p.grid) == 0 && !p.jittered {
		p.jittered = true
		p.take(p.between(set))
	}
	if len(p.grid) == 0 {
		return p.refine(set)
	}
	worth := float64(worthRung)
	if p.jittered {
		worth = worthJitter
	}
	return proposal{p.grid[0], gridBlocks, worth + float64(len(p.grid))/float64(p.whole)}
}

// Rungs returns the first sizes of the planner, in ascending order: the geometric grid from the least to the greatest size, both
// included, and what earlier runs know to be worth a visit in place of the rungs beside it: see guide.
func (p *Planner) Rungs() []int {
	grid := slices.DeleteFunc(p.geometric(p.shift), func(size int) bool {
		return size > p.low && size < p.high && p.beside(size)
	})
	grid = append(grid, p.early()...)
	slices.Sort(grid)
	return slices.Compact(grid)
}

// geometric returns a geometric grid from the least to the greatest size, both included. The sizes between the two are lower by a
// share of a rung.
func (p *Planner) geometric(shift float64) []int {
	if p.high < p.low {
		return nil // the operation takes no size in the range
	}
	grid := []int{p.low}
	for x := float64(p.low) * math.Pow(p.ratio, 1-shift); x < float64(p.high); x *= p.ratio {
		grid = append(grid, p.nearest(x))
	}
	// A last step of less than half a rung would only repeat its neighbour.
	if last := len(grid) - 1; last > 0 && float64(p.high) < float64(grid[last])*math.Sqrt(p.ratio) {
		grid = grid[:last]
	}
	grid = append(grid, p.nearest(float64(p.high)))
	slices.Sort(grid)
	return slices.Compact(grid)
}

// between returns one size in each gap between measured sizes: one at which an implementation begins to divide calls, or else a
// jittered one, away from the ends of the gap. Those of the first kind come first, because a threshold is often there.
func (p *Planner) between(set *timings.Set) []int {
	var first, jittered []int
	sizes := set.Sizes()
	for k := 1; k < len(sizes); k++ {
		if size := dividedBetween(set, sizes[k-1], sizes[k]); size > 0 {
			first = append(first, size)
		} else if size, ok := p.inside(sizes[k-1], sizes[k], 0.35+0.3*p.rng.Float64()); ok {
			jittered = append(jittered, size)
		}
	}
	return append(first, jittered...)
}

// dividedBetween returns the least size strictly between two at which an implementation begins to divide calls, or 0 if none
// does.
func dividedBetween(set *timings.Set, low, high int) int {
	least := 0
	for _, size := range set.Divides {
		if size > low && size < high && (least == 0 || size < least) {
			least = size
		}
	}
	return least
}

// inside returns the size at about the share t of the way from low to high in log-size, strictly between the two. If the
// nearest size that the operation takes is one of the ends, inside tries other shares. It reports false if there is no such
// size, or if maxBarren sizes in between yielded no block.
func (p *Planner) inside(low, high int, t float64) (int, bool) {
	barren := 0
	for size := range p.visits {
		if size > low && size < high {
			barren++
		}
	}
	if barren >= maxBarren {
		return 0, false
	}
	for _, share := range []float64{t, 0.5, 0.25, 0.75, 0.1, 0.9} {
		size := p.nearest(float64(low) * math.Pow(float64(high)/float64(low), share))
		if size > low && size < high {
			return size, true
		}
	}
	return 0, false
}

// nearest returns the size in the range that is nearest to x and that the operation takes.
func (p *Planner) nearest(x float64) int {
	size := min(max(int(math.Round(x)), p.low), p.high)
	if p.round != nil {
		size = min(max(p.round(size), p.low), p.high)
	}
	return size
}
