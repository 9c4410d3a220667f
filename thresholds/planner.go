package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"

	"crossover/timings"
)

// Planner decides, while a sweep is under way, which size of one case to measure next. First it walks up a geometric
// grid. Then it takes a jittered size between each two rungs. Then its rules refine what was found: see rules.
type Planner struct {
	low, high int
	ratio     float64
	round     func(int) int
	options   Options
	rng       *rand.Rand

	grid     []int // what is left of it
	jittered bool  // the grid is that of the sizes between the rungs
	visits   map[int]int
	planned  bool
	fitted   int // blocks in the set when the last proposal of the refinement was made
	next     proposal
}

// PlannerOptions say where a planner may go.
type PlannerOptions struct {
	Low, High int           // least and greatest size, at least 1
	Ratio     float64       // between the rungs of the grid, at least 1.05; 0 means 4
	Round     func(int) int // to the nearest size that the operation takes; nil means every size
	Fit       Options
}

// proposal is a visit: its size, its number of blocks, and what it is worth, 0 for nothing.
type proposal struct {
	size, blocks int
	worth        float64
}

// The rungs of the grid are worth more than everything else, in every case, and the sizes between them more than what the
// rules propose. Both get gridBlocks blocks a visit.
const (
	worthRung   = 1000
	worthJitter = 500
	gridBlocks  = 5
)

// planResamples is the bootstrap's size during the sweep. It is enough to see which interval is wide.
const planResamples = 60

// maxBarren is how many sizes between two neighbouring measured ones are tried where none of them yields a block.
const maxBarren = 3

// NewPlanner returns a planner for one case.
func NewPlanner(o PlannerOptions) *Planner {
	if o.Ratio == 0 {
		o.Ratio = 4
	}
	// Closer rungs would only measure noise, and a ratio of hardly more than 1 would make millions of them.
	o.Ratio = max(o.Ratio, 1.05)
	o.Low = max(o.Low, 1)
	o.High = max(o.High, o.Low)
	if o.Fit.Precision == 0 {
		o.Fit.Precision = 0.1
	}
	o.Fit.Resamples = planResamples
	o.Fit.withinRun = true
	p := &Planner{
		low: o.Low, high: o.High, ratio: o.Ratio, round: o.Round, options: o.Fit,
		rng:    rand.New(rand.NewPCG(o.Fit.Seed, 0x9147)),
		visits: map[int]int{},
	}
	p.low, p.high = p.taken(p.low, +1), p.taken(p.high, -1)
	p.grid = p.Rungs()
	return p
}

// taken returns the first size from n on, upwards or downwards, that the operation takes. The ends of a range that
// somebody typed need not be such sizes.
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

// Limit tells the planner that sizes above high cannot be afforded.
func (p *Planner) Limit(high int) {
	p.high = min(p.high, high)
	p.grid = slices.DeleteFunc(p.grid, func(size int) bool { return size > p.high })
	p.planned = false
}

// Next returns the visit that would teach most about the case: a size, the number of blocks, and what it is worth. A worth
// of 0 means that nothing is left to learn.
func (p *Planner) Next(set *timings.Set) (size, blocks int, worth float64) {
	if !p.planned || len(set.Blocks) != p.fitted {
		p.next = p.propose(set)
		p.planned, p.fitted = true, len(set.Blocks)
	}
	return p.next.size, p.next.blocks, p.next.worth
}

// Visited tells the planner that a proposed size was measured, or found not to be measurable.
func (p *Planner) Visited(size int) {
	p.visits[size]++
	if len(p.grid) > 0 && p.grid[0] == size {
		p.grid = p.grid[1:]
	}
	p.planned = false
}

// Doubted tells the planner that the machine was disturbed at all visits to a size so far: none of them counts.
func (p *Planner) Doubted(size int) {
	delete(p.visits, size)
	p.planned = false
}

// propose returns the next rung, else the next size between rungs, else what the rules propose.
func (p *Planner) propose(set *timings.Set) proposal {
	if len(p.grid) == 0 && !p.jittered {
		p.jittered, p.grid = true, p.between(set.Sizes())
	}
	if len(p.grid) == 0 {
		return p.refine(set)
	}
	worth := float64(worthRung)
	if p.jittered {
		worth = worthJitter
	}
	// Low sizes come first everywhere, so that the cost of the high ones is known before they are tried.
	return proposal{p.grid[0], gridBlocks, worth + float64(len(p.grid))}
}

// Rungs returns the sizes that the planner starts with, ascending: the geometric grid from the least to the greatest size,
// both included.
func (p *Planner) Rungs() []int {
	if p.high < p.low {
		return nil // the operation takes no size in the range
	}
	var grid []int
	for x := float64(p.low); x < float64(p.high); x *= p.ratio {
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

// between returns one jittered size in each gap between measured sizes, away from its ends.
func (p *Planner) between(sizes []int) []int {
	var grid []int
	for k := 1; k < len(sizes); k++ {
		if size, ok := p.inside(sizes[k-1], sizes[k], 0.35+0.3*p.rng.Float64()); ok {
			grid = append(grid, size)
		}
	}
	return grid
}

// inside returns the size about a share t of the way from low to high in log-size, strictly between the two. Where the
// nearest size that the operation takes is one of the ends, it tries other shares. It reports false if there is no such
// size, and where maxBarren sizes in between yielded no block.
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
