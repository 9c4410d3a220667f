package surfaces

import (
	"math"
	"math/rand/v2"
	"slices"

	"crossover/timings"
)

// ShapeAudit is one fresh shape held against the committed choice.
type ShapeAudit struct {
	Shape        []int
	Chosen, Best int     // implementations of the set
	Loss         float64 // log of the time under the choice over that of the best one; below 0 by luck
	Weight       float64 // for how much the shape stands in the mean

	standardError float64 // of Loss
}

// Audit is what committed choices cost at fresh shapes.
type Audit struct {
	Judged
	Audited []ShapeAudit // in the order of the work that they are

	// Shapes that were drawn and say nothing of the choice, as often as they were drawn:
	Dear      int // the budget did not do for them, nor for others that are as much work and could stand for them
	Disturbed int // the machine was never quiet
	Untold    int // the choice was not timed there, or nothing else
}

// Auditor plans and judges the check of committed choices at fresh shapes. Chance alone draws the shapes, before anything is
// measured, so the mean of their losses is that of the whole space. A shape that is drawn again counts again, and is not
// measured again.
//
// Where two implementations are close at the first look, the luck of its buffers may make either one the best. So they are
// looked at again, whichever of them is chosen, and each look judges the best one of the other. Elsewhere the blocks of one
// look do, by halves.
type Auditor struct {
	space  Space
	choice func(shape []int) string
	draws  [][]int     // still to come, in their order
	known  [][]int     // shapes that are not fresh
	times  map[int]int // by size: how often it was drawn
	looks  map[int]int // by size: visits so far
	sizes  []int       // that were drawn, in their order
	open   []int       // those of them that may want a look
	high   int         // greatest size that can be measured
	finite bool        // nothing but the draws is of interest
}

const (
	mostDrawn   = 400 // shapes: more would say no more of the mean than the days differ by
	auditBlocks = 6   // of a look
	mostLooks   = 4   // at a shape, with those on a machine that was not quiet
)

// closeness is how close the two fastest implementations are, as a log-ratio, where one look does not tell which is the best.
var closeness = math.Log(1.1)

// NewAuditor returns an auditor of choices over a space with so many axes. known lists shapes that the choices may rest on. They
// are not drawn. choice returns the name of the implementation that is chosen at a shape. The seed decides which shapes are
// drawn.
func NewAuditor(space Space, axes int, known [][]int, choice func(shape []int) string, seed uint64) *Auditor {
	rng := rand.New(rand.NewPCG(seed, 0x6672657368))
	return newAuditor(space, drawn(space, axes, mostDrawn, rng), known, choice)
}

// NewAuditorOf returns an auditor of choices at shapes of a space that a program calls. They are drawn by chance, each as often
// as it is called, so the mean of the losses is that of the calls. If all of them are measured, chance has no part in it.
func NewAuditorOf(space Space, shapes [][]int, calls []int64, choice func(shape []int) string, seed uint64) *Auditor {
	rng := rand.New(rand.NewPCG(seed, 0x63616c6c73))
	all := 0.0
	for _, n := range calls {
		all += float64(n)
	}
	// Every n-th of the calls, where n is no whole number, draws each shape as often as the calls say or once more.
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

// Distinct returns how many different shapes are still to be drawn.
func (a *Auditor) Distinct() int {
	return len(slices.CompactFunc(slices.SortedFunc(slices.Values(a.draws), slices.Compare), slices.Equal))
}

// Next returns the next visit: a size, the number of blocks, and what it is worth. Of several operations the one with the
// fewest shapes comes first. A worth of 0 means that the audit is over.
func (a *Auditor) Next(set *timings.Set) (size, blocks int, worth float64) {
	worth = 1 / float64(1+len(a.looks))
	a.open = slices.DeleteFunc(a.open, func(size int) bool { return size > a.high || !a.wants(set, size) })
	if len(a.open) > 0 {
		return a.open[0], auditBlocks, worth
	}
	for len(a.draws) > 0 {
		if size := a.draw(); size > 0 && size <= a.high {
			return size, auditBlocks, worth
		}
	}
	return 0, 0, 0
}

// draw takes the next shape that was drawn. It returns its size, 0 where there is nothing to measure.
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

// wants reports whether a shape that was drawn is to be looked at: for the first time, again because the machine was not
// quiet, or again because two implementations are close.
func (a *Auditor) wants(set *timings.Set, size int) bool {
	blocks := set.At(size)
	if looks := a.looks[size]; looks == 0 || looks == mostLooks || len(blocks) == 0 {
		return looks == 0
	}
	quiet := undisturbed(blocks)
	return len(quiet) == 0 || oneLook(quiet) && isClose(quiet)
}

// Visited tells that a size was measured, or found impossible to measure.
func (a *Auditor) Visited(size int) { a.looks[size]++ }

// Doubted tells that the machine was disturbed at all visits to a size so far: it may want another look.
func (a *Auditor) Doubted(size int) {
	if a.looks[size] > 0 && !slices.Contains(a.open, size) {
		a.open = append(a.open, size)
	}
}

// Limit tells that sizes above high cannot be measured or paid for.
func (a *Auditor) Limit(high int) { a.high = min(a.high, high) }

// Judge returns what was measured. Shapes that the budget did not do for are stood for by others that are as much work, if
// there are any: what ends a budget is a shape that takes long.
func (a *Auditor) Judge(set *timings.Set) Audit {
	var audit Audit
	var drawn, told float64 // of the shapes above the limit
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

// judge audits one shape. If it says nothing, its draws are counted in the audit.
func (a *Auditor) judge(set *timings.Set, size int, audit *Audit) (one ShapeAudit, ok bool) {
	blocks := set.At(size)
	quiet := undisturbed(blocks)
	one = ShapeAudit{Shape: a.space.At(size), Weight: float64(a.times[size])}
	one.Chosen, one.Best, one.Loss = slices.Index(set.Implementations, a.choice(one.Shape)), fastest(quiet, quiet), math.NaN()
	if one.Chosen >= 0 && len(quiet) > 0 {
		one.Loss, one.standardError = lossOf(parted(quiet), one.Chosen)
	}
	switch {
	case !math.IsNaN(one.Loss):
		return one, true
	case len(blocks) == 0 && size > a.high:
		audit.Dear += a.times[size]
	case a.looks[size] == 0: // it was still to come
	case len(blocks) > 0 && len(quiet) == 0:
		audit.Disturbed += a.times[size]
	default:
		audit.Untold += a.times[size]
	}
	return one, false
}

// parted parts blocks into two that judge each other's best implementation: the first look and the rest, or the halves of
// one look.
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

// oneLook reports whether all blocks are of one look.
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

// undisturbed returns the blocks of a quiet machine.
func undisturbed(blocks []timings.Block) []timings.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b timings.Block) bool { return b.Disturbed })
}
