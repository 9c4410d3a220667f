package surfaces

import (
	"math"
	"math/rand/v2"
	"slices"

	"crossover/timings"
)

// ShapeAudit is the check of the committed choice at one fresh shape.
type ShapeAudit struct {
	Shape        []int
	Chosen, Best int     // implementations, as indexes of the set
	Loss         float64 // log of the ratio of the choice's time to the best one's, cross-fitted; below 0 by luck
	Weight       float64 // of the shape in the mean

	standardError float64 // of Loss
}

// Audit is the check of committed choices at fresh shapes.
type Audit struct {
	Judged
	Audited []ShapeAudit // in the order of the shapes' work

	// The next three are numbers of draws whose shapes show nothing of the choices.
	Dear      int // the shape takes too long for the budget, and no measured shape could stand for it
	Disturbed int // the machine was disturbed in all visits
	Untold    int // the choice was not timed, or there are too few blocks
}

// Auditor plans and judges the check of committed choices at fresh shapes. The shapes are drawn at random before anything is
// measured, so the mean of their losses is an estimate for the whole space. A shape that is drawn again counts again, but is
// not measured again.
//
// If two implementations are close in the first visit, the luck of its buffers may make either one the fastest. So the shape
// is visited again, whichever of them is chosen, and each visit judges the implementation that was fastest in the other one.
// At other shapes, the two halves of a visit's blocks judge each other.
type Auditor struct {
	space  Space
	choice func(shape []int) string
	draws  [][]int     // shapes that are still to come, in order
	known  [][]int     // shapes that are not fresh, sorted
	times  map[int]int // by size: number of draws so far
	looks  map[int]int // by size: number of visits so far
	sizes  []int       // that were drawn, in order
	open   []int       // drawn sizes that may need a visit
	high   int         // greatest size that can be measured
	finite bool        // whether the draws have all shapes of interest, and are no sample of a space

	group, turn int // see [Auditor.SetGroup]
	visits      int // number of all visits
}

// LeastAudited is the number of shapes of an operation without which nothing can be said of it.
const LeastAudited = 8

const (
	mostDrawn   = 400 // number of draws; with more, the mean loss would differ more from day to day than by the draw
	auditBlocks = 6   // of a visit
	mostTurns   = 3   // times LeastAudited visits are in the turn of a group; see the constant of that name in package thresholds
	mostLooks   = 4   // greatest number of visits to a shape, with those on a disturbed machine
)

// closeness is the log-ratio of the two fastest implementations below which one visit does not show which is the fastest.
var closeness = math.Log(1.1)

// NewAuditor returns an auditor of choices over a space with a number of axes. The shapes in known are not audited, because
// the choices may rest on them. choice returns the name of the implementation that is chosen at a shape. The seed draws the
// shapes.
func NewAuditor(space Space, axes int, known [][]int, choice func(shape []int) string, seed uint64) *Auditor {
	rng := rand.New(rand.NewPCG(seed, 0x6672657368))
	return newAuditor(space, drawn(space, axes, mostDrawn, rng), known, choice)
}

// NewAuditorOf returns an auditor of choices at shapes of a space that a program calls. Each shape is drawn in proportion to
// its calls, so the mean of the losses is that over the calls. The seed decides the order, and so which shapes a short
// budget reaches.
func NewAuditorOf(space Space, shapes [][]int, calls []int64, choice func(shape []int) string, seed uint64) *Auditor {
	rng := rand.New(rand.NewPCG(seed, 0x63616c6c73))
	all := 0.0
	for _, n := range calls {
		all += float64(n)
	}
	// This draws each shape as often as its share of the calls says, rounded down or up.
	var draws [][]int
	until, next := 0.0, rng.Float64()
	for k, shape := range shapes {
		for until += float64(calls[k]) / all * mostDrawn; next < until; next++ {
			draws = append(draws, shape)
		}
	}
	rng.Shuffle(len(draws), func(i, j int) { draws[i], draws[j] = draws[j], draws[i] })
	a := newAuditor(space, draws, nil, choice)
	a.finite = true
	return a
}

func newAuditor(space Space, draws, known [][]int, choice func(shape []int) string) *Auditor {
	known = slices.Clone(known)
	slices.SortFunc(known, slices.Compare)
	return &Auditor{
		space: space, choice: choice, draws: draws, known: known,
		times: map[int]int{}, looks: map[int]int{}, high: math.MaxInt,
	}
}

// Distinct returns the number of different shapes that are still to come.
func (a *Auditor) Distinct() int {
	return len(slices.CompactFunc(slices.SortedFunc(slices.Values(a.draws), slices.Compare), slices.Equal))
}

// SetGroup says in which group of operations the operation is checked, counted from 0. The operations of a group get the shapes
// that a finding takes before those of the next group begin, so that a short budget decides some operations.
func (a *Auditor) SetGroup(group int) { a.group = group }

// Turn returns the turn of the visit that was proposed last: a lower one comes first.
func (a *Auditor) Turn() int { return a.turn }

// Begun reports whether a shape was visited.
func (a *Auditor) Begun() bool { return a.visits > 0 }

// Settled reports whether the operation has had its group's turn: enough shapes show something, or no visit would help.
func (a *Auditor) Settled(set *timings.Set) bool {
	return a.enough(set) || len(a.draws) == 0 && !slices.ContainsFunc(a.open, func(size int) bool { return size <= a.high && a.wants(set, size) })
}

// enough reports whether the operation needs no more visits in its group's turn.
func (a *Auditor) enough(set *timings.Set) bool {
	if a.visits >= mostTurns*LeastAudited {
		return true
	}
	told := 0
	for _, size := range a.sizes {
		if _, ok := a.judge(set, size, new(Audit)); ok {
			told++
		}
		if told == LeastAudited {
			return true
		}
	}
	return false
}

// Next returns the next visit: its size, its number of blocks, and its worth. Of several operations of a group, the one with the
// fewest visited shapes comes first. Shapes at which two implementations are close are visited again after LeastAudited shapes have
// shown something. A worth of 0 means that the audit is over.
func (a *Auditor) Next(set *timings.Set) (size, blocks int, worth float64) {
	worth = 1 / float64(1+len(a.looks))
	a.open = slices.DeleteFunc(a.open, func(size int) bool { return size > a.high || !a.wants(set, size) })
	enough := a.enough(set)
	a.turn = a.group
	if enough {
		a.turn = math.MaxInt
	}
	again := len(a.looks) >= LeastAudited
	if k := slices.IndexFunc(a.open, func(size int) bool {
		return a.looks[size] == 0 || again && (enough || len(undisturbed(set.At(size))) == 0)
	}); k >= 0 {
		return a.open[k], auditBlocks, worth
	}
	for len(a.draws) > 0 {
		if size := a.draw(); size > 0 && size <= a.high {
			return size, auditBlocks, worth
		}
	}
	if len(a.open) > 0 {
		return a.open[0], auditBlocks, worth
	}
	return 0, 0, 0
}

// Upcoming returns the drawn sizes that may need a visit, and those of the next draws: as many as a finding takes.
func (a *Auditor) Upcoming() []int {
	sizes := slices.Clone(a.open)
	for _, shape := range a.draws[:min(len(a.draws), max(0, LeastAudited-len(a.sizes)))] {
		sizes = append(sizes, a.space.Add(shape))
	}
	return sizes
}

// draw takes the next draw and returns the size of its shape. It returns 0 if the shape is not fresh or was drawn before.
func (a *Auditor) draw() int {
	shape := a.draws[0]
	a.draws = a.draws[1:]
	if _, known := slices.BinarySearchFunc(a.known, shape, slices.Compare[[]int]); known {
		return 0
	}
	size := a.space.Add(shape)
	a.times[size]++
	if a.times[size] > 1 {
		return 0
	}
	a.sizes, a.open = append(a.sizes, size), append(a.open, size)
	return size
}

// wants reports whether a drawn shape needs a visit: a first one, another one because the machine was disturbed, or another
// one because two implementations are close.
func (a *Auditor) wants(set *timings.Set, size int) bool {
	blocks := set.At(size)
	if looks := a.looks[size]; looks == 0 || looks == mostLooks || len(blocks) == 0 {
		return looks == 0
	}
	quiet := undisturbed(blocks)
	return len(quiet) == 0 || oneLook(quiet) && isClose(quiet)
}

// Visited is called after a proposed size was measured, or found impossible to measure.
func (a *Auditor) Visited(size int) {
	a.visits++
	a.looks[size]++
}

// Doubted is called if the machine was disturbed in all visits to a size so far. The size may then need another visit.
func (a *Auditor) Doubted(size int) {
	if a.looks[size] > 0 && !slices.Contains(a.open, size) {
		a.open = append(a.open, size)
	}
}

// Limit is called if sizes above high cannot be measured, or would take too long.
func (a *Auditor) Limit(high int) { a.high = min(a.high, high) }

// Judge returns the audit of what was measured. A limit keeps shapes that take long out of the audit. Those that were
// measured before the limit stand for the others above it, if there are any.
func (a *Auditor) Judge(set *timings.Set) Audit {
	var audit Audit
	var drawn, told float64 // draws of shapes above the limit: all of them, and those with a loss
	for _, size := range slices.Sorted(slices.Values(a.sizes)) {
		if size > a.high {
			drawn += float64(a.times[size])
		}
		one, ok := a.judge(set, size, &audit)
		if !ok {
			continue
		}
		if size > a.high {
			told += one.Weight
		}
		audit.Audited = append(audit.Audited, one)
	}
	if told > 0 {
		audit.Dear = 0
	}
	for k := range audit.Audited {
		one := &audit.Audited[k]
		if told > 0 && a.space.Add(one.Shape) > a.high {
			one.Weight *= drawn / told
		}
		audit.Shapes, audit.Losses = append(audit.Shapes, one.Shape), append(audit.Losses, one.Loss)
		audit.Weights = append(audit.Weights, one.Weight)
		if a.finite && len(a.draws) == 0 && len(audit.Audited) == len(a.sizes) {
			audit.standardErrors = append(audit.standardErrors, one.standardError)
		}
	}
	audit.sum()
	return audit
}

// judge audits one shape. If the shape shows nothing of the choice, judge counts its draws in the audit.
func (a *Auditor) judge(set *timings.Set, size int, audit *Audit) (one ShapeAudit, ok bool) {
	blocks := set.At(size)
	quiet := undisturbed(blocks)
	one = ShapeAudit{Shape: a.space.At(size), Weight: float64(a.times[size])}
	one.Chosen, one.Best, one.Loss = slices.Index(set.Implementations, a.choice(one.Shape)), fastest(quiet, quiet), math.NaN()
	if one.Chosen >= 0 {
		one.Chosen = set.TimedAs(quiet, one.Chosen)
	}
	if one.Chosen >= 0 && len(quiet) > 0 {
		one.Loss, one.standardError = lossOf(parted(quiet), one.Chosen)
	}
	switch {
	case !math.IsNaN(one.Loss):
		return one, true
	case len(blocks) == 0 && size > a.high:
		audit.Dear += a.times[size]
	case a.looks[size] == 0: // the audit ended before
	case len(blocks) > 0 && len(quiet) == 0:
		audit.Disturbed += a.times[size]
	default:
		audit.Untold += a.times[size]
	}
	return one, false
}

// parted divides blocks into two parts that judge each other's fastest implementation: the first visit and the others, or
// two halves of a single visit.
func parted(blocks []timings.Block) [][]timings.Block {
	if oneLook(blocks) {
		return alternating(blocks, 2)
	}
	parts := make([][]timings.Block, 2)
	for _, b := range blocks {
		k := 0
		if b.Visit != blocks[0].Visit {
			k = 1
		}
		parts[k] = append(parts[k], b)
	}
	return parts
}

// oneLook reports whether all blocks are of one visit.
func oneLook(blocks []timings.Block) bool {
	return !slices.ContainsFunc(blocks, func(b timings.Block) bool { return b.Visit != blocks[0].Visit })
}

// isClose reports whether the second fastest implementation is close to the fastest one.
func isClose(blocks []timings.Block) bool {
	best, next := math.Inf(1), math.Inf(1)
	for i := range blocks[0].Seconds {
		if log := medianLog(blocks, i); log < best {
			best, next = log, best
		} else if log < next {
			next = log
		}
	}
	return next-best < closeness
}

// undisturbed returns the blocks that are not disturbed.
func undisturbed(blocks []timings.Block) []timings.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b timings.Block) bool { return b.Disturbed })
}
