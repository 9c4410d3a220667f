package surfaces

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"crossover/calibration/surface"
	"crossover/timings"
)

// Space is the shapes that a planner chooses from.
type Space interface {
	// Draw returns the shape at a point of the unit cube, and false where there is none.
	Draw(at []float64) (shape []int, ok bool)
	// Add returns the size that stands for a shape in the blocks of a set. A greater size is more work.
	Add(shape []int) (size int)
	// At returns the shape that a size stands for.
	At(size int) []int
}

// Planner decides which shape of an operation is measured next: first some that are spread over the space, then by turns
// one of those and one at which a wrong choice is expected to cost most. A part of the spread shapes is held out of every fit.
type Planner struct {
	space    Space
	axes     []string
	features []surface.Feature
	rng      *rand.Rand

	spread          [][]int // shapes still to come, in order
	visits          int
	high            int // greatest size that can be measured
	fit             *Fit
	implementations []string // that the fit knows by number
	fitted          int      // visits when the fit was made
	expects         float64  // mean expected loss over the candidates, by the fit
	weight          float64  // of the worth
	pending         int      // size that was proposed and not visited yet; 0 for none
	wanted          int      // blocks there
	skipped         []string // implementations that are not timed there
	done            map[int]bool
}

// How a planner goes about it.
const (
	firstShapes  = 24   // that are spread before the first fit
	mostSpread   = 4096 // shapes that there are
	candidates   = 48   // shapes that are compared to find the one that teaches most in its time
	refitEach    = 8    // visits between two fits at least
	refitShare   = 8    // and at least one of so many of those before, because the work of a fit grows with their cube
	fewBlocks    = 3    // of a shape that is fitted
	heldBlocks   = 6    // of a shape that is held out, whose loss is judged by parts
	rescaleUntil = 96   // visits after which the scales of the features are kept
)

// NewPlanner returns a planner over a space with the given axes. The seed decides which shapes are drawn.
func NewPlanner(space Space, axes []string, features []surface.Feature, seed uint64) *Planner {
	p := &Planner{
		space: space, axes: axes, features: features, rng: rand.New(rand.NewPCG(seed, 0x7370616365)), high: int(^uint(0) >> 1),
		done: map[int]bool{}, expects: 1, weight: 1,
	}
	p.spread = drawn(space, len(axes), mostSpread, p.rng)
	return p
}

// Weigh makes the operation's visits worth more or less beside those of others.
func (p *Planner) Weigh(factor float64) { p.weight = factor }

// Next returns the visit that would teach most: the size that stands for a shape, the number of blocks, and what it is
// worth. The worth is the loss that is still expected of the operation, so that operations whose choices are clear get
// fewer visits.
func (p *Planner) Next(set *timings.Set) (size, blocks int, worth float64) {
	if p.pending == 0 {
		shape := p.choose(set)
		if shape == nil {
			return 0, 0, 0
		}
		p.pending, p.wanted = p.space.Add(shape), fewBlocks
		if HeldOut(shape) {
			p.wanted = heldBlocks
		}
		p.skipped = p.hopeless(shape)
	}
	return p.pending, p.wanted, p.worth()
}

// An implementation is hopeless at a shape where it is predicted to take hopelessRatio times as long as the best one or
// longer, and sureOf deviations of both predictions less would not change that. At one shape of seenEach it is timed all the
// same, so that its surface is fitted there too.
const (
	hopelessRatio = 8
	sureOf        = 2
	seenEach      = 3
)

// hopeless returns the implementations that are not worth their time at a shape. At a shape that is held out there are
// none: the truth is wanted there.
func (p *Planner) hopeless(shape []int) (names []string) {
	if p.fit == nil || HeldOut(shape) || p.visits%seenEach == 0 {
		return nil
	}
	of := p.fit.Predict(shape)
	best := slices.MinFunc(of, func(a, b Prediction) int { return cmp.Compare(a.LogSeconds, b.LogSeconds) })
	for _, q := range of {
		if q.LogSeconds-best.LogSeconds-sureOf*math.Hypot(q.Deviation, best.Deviation) > math.Log(hopelessRatio) {
			names = append(names, p.implementations[q.Implementation])
		}
	}
	return names
}

// Skips reports whether an implementation is left out at the shape that was proposed last.
func (p *Planner) Skips(size int, implementation string) bool {
	return size == p.pending && slices.Contains(p.skipped, implementation)
}

// worth is what the next visit is worth.
func (p *Planner) worth() float64 {
	if p.visits < firstShapes {
		return p.weight * (1 + 1/float64(1+p.visits))
	}
	return p.weight * (leastExpected + p.expects) / (1 + float64(p.visits)/firstShapes)
}

// leastExpected is a loss that every operation is held for having, so that none is left alone.
const leastExpected = 0.01

// choose returns the next shape, nil where there is none.
func (p *Planner) choose(set *timings.Set) []int {
	if p.visits >= firstShapes && (p.fit == nil || p.visits >= p.fitted+max(refitEach, p.fitted/refitShare)) {
		p.refit(set)
	}
	if p.fit == nil || p.visits%2 == 0 {
		return p.nextSpread(func([]int) bool { return true })
	}
	return p.mostTelling()
}

// refit fits what there is.
func (p *Planner) refit(set *timings.Set) {
	fit, err := p.fit, error(nil)
	if fit == nil {
		fit, err = New(p.problem(set))
	} else {
		fit, err = fit.More(p.problem(set), p.visits < rescaleUntil)
	}
	if err == nil {
		p.fit = fit
	}
	p.fitted, p.implementations = p.visits, set.Implementations
}

func (p *Planner) problem(set *timings.Set) *Problem {
	return &Problem{
		Axes: p.axes, Features: p.features, Implementations: set.Implementations, Points: Fitted(Points(set, p.space.At)),
	}
}

// Fitted returns the points that are not held out.
func Fitted(points []Point) []Point {
	return slices.DeleteFunc(points, func(q Point) bool { return HeldOut(q.Shape) })
}

// nextSpread takes the next spread shape that fits a condition, can be measured and was not.
func (p *Planner) nextSpread(fits func(shape []int) bool) []int {
	for k, shape := range p.spread {
		if !fits(shape) {
			continue
		}
		if size := p.space.Add(shape); size > p.high || p.done[size] {
			continue
		}
		p.spread = slices.Delete(p.spread, k, k+1)
		return shape
	}
	return nil
}

// mostTelling returns the shape, of some, at which a wrong choice is expected to cost most.
func (p *Planner) mostTelling() []int {
	var best []int
	most, sum, n := -1.0, 0.0, 0
	for _, shape := range p.spread {
		if n == candidates {
			break
		}
		if HeldOut(shape) || p.space.Add(shape) > p.high {
			continue
		}
		predictions := p.fit.Predict(shape)
		loss := Loss(predictions)
		sum, n = sum+loss, n+1
		if teaches := loss / cost(predictions); teaches > most {
			best, most = shape, teaches
		}
	}
	if n == 0 {
		return nil
	}
	p.expects = sum / float64(n)
	p.spread = slices.DeleteFunc(p.spread, func(shape []int) bool { return slices.Equal(shape, best) })
	// The candidates that were not taken go to the end, so that the next ones are others.
	p.spread = append(p.spread[min(n, len(p.spread)):], p.spread[:min(n, len(p.spread))]...)
	return best
}

// cost is about how many seconds a visit takes: what every visit does, and the batches of all implementations.
func cost(of []Prediction) float64 {
	const visit = 0.1
	seconds := visit
	for _, p := range of {
		seconds += 2 * fewBlocks * math.Exp(p.LogSeconds)
	}
	return seconds
}

// Visited tells that a proposed size was measured, or found impossible to measure.
func (p *Planner) Visited(size int) {
	p.done[size] = true
	if size == p.pending {
		p.pending = 0
	}
	p.visits++
}

// Doubted tells that the machine was disturbed at all visits to a size so far: its shape comes up again.
func (p *Planner) Doubted(size int) {
	if p.done[size] {
		delete(p.done, size)
		p.spread = slices.Insert(p.spread, 0, p.space.At(size))
	}
}

// Limit tells that sizes above high cannot be measured or paid for.
func (p *Planner) Limit(high int) {
	p.high = min(p.high, high)
	if p.pending > p.high {
		p.pending = 0
	}
}
