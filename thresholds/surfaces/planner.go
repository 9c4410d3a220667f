package surfaces

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"crossover/calibration/surface"
	"crossover/timings"
)

// Space has the shapes that a planner chooses from.
type Space interface {
	// Draw returns the shape at a point of the unit cube. It returns false if there is none.
	Draw(at []float64) (shape []int, ok bool)
	// Add returns the size that stands for a shape in the blocks of a set. Shapes of more work have greater sizes.
	Add(shape []int) (size int)
	// At returns the shape that a size stands for.
	At(size int) []int
}

// Planner decides which shape of an operation is measured next. The first shapes are spread over the space, unless earlier runs
// measured such shapes. After them, every other shape is one of those, and each shape in between is one at which a wrong
// choice is expected to cost most for the time of a visit. A part of the spread shapes is held out of every fit.
type Planner struct {
	space    Space
	axes     []string
	features []surface.Feature
	rng      *rand.Rand

	spread          [][]int // shapes that are still to come, in order
	queue           [][]int // shapes that come before those
	visits          int     // number of visits so far
	before          int     // number of shapes that were measured before
	known           func(implementations []string) []Point
	high            int // greatest size that can be measured
	fit             *Fit
	implementations []string     // names, by the indexes in the fit
	fitted          int          // number of visits when the fit was made
	expects         float64      // mean expected loss of the candidates, by the fit
	weight          float64      // factor of the worth
	pending         int          // size that was proposed and is not visited yet; 0 if there is none
	wanted          int          // number of blocks at that size
	skipped         []string     // implementations that are not timed at that size
	done            map[int]bool // sizes that were visited
}

// Parameters of a planner.
const (
	firstShapes  = 12   // spread shapes before the first fit
	fewFirst     = 6    // of them where visits are worth less: as few as a fit takes
	unknown      = 0.05 // expected loss before the first fit
	mostSpread   = 4096 // greatest number of spread shapes
	candidates   = 48   // shapes that are compared to find the one that teaches most for its time
	refitEach    = 8    // least number of visits between two fits
	refitShare   = 8    // and at least one of refitShare of the visits before, because a fit's work grows with their cube
	fewBlocks    = 3    // of a fitted shape
	heldBlocks   = 6    // of a held-out shape, whose loss is judged by parts of them
	rescaleUntil = 96   // number of visits after which the scales of the features are kept
)

// NewPlanner returns a planner over a space with the given axes. The seed draws the shapes.
func NewPlanner(space Space, axes []string, features []surface.Feature, seed uint64) *Planner {
	p := &Planner{
		space: space, axes: axes, features: features, rng: rand.New(rand.NewPCG(seed, 0x7370616365)), high: int(^uint(0) >> 1),
		done: map[int]bool{}, expects: unknown, weight: 1, known: func([]string) []Point { return nil },
	}
	p.spread = drawn(space, len(axes), mostSpread, p.rng)
	return p
}

// Weigh sets a factor of the worth of the operation's visits. With less than 1, only a few first visits come before those that
// other operations have after their first ones.
func (p *Planner) Weigh(factor float64) { p.weight = factor }

// Know adds points that were measured before the planner's first visit. points returns them for the implementations of a set.
// So many of their shapes are spread over the space. Know must be called before Next.
func (p *Planner) Know(shapes int, points func(implementations []string) []Point) {
	p.before, p.known = shapes, points
}

// First returns the first n shapes that a planner proposes, or fewer if there are not so many. A fit may change their order.
func (p *Planner) First(n int) [][]int { return slices.Clone(p.spread[:min(n, len(p.spread))]) }

// Next returns the visit that would teach most: the size that stands for a shape, the number of blocks, and the worth. The
// worth grows with the expected loss of the operation, so operations whose choices are clear get fewer visits.
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

// An implementation is hopelessly slow at a shape if its predicted time is more than hopelessRatio times that of the fastest
// one, even if their ratio is wrong by sureOf standard deviations. It is then not timed. In one of seenEach visits it is
// timed all the same, so that its surface is fitted there too.
const (
	hopelessRatio = 8
	sureOf        = 2
	seenEach      = 3
)

// hopeless returns the implementations that are hopelessly slow at a shape and need not be timed. At a held-out shape it
// returns none, because all implementations are needed to judge the choice.
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

// worth returns the worth of the next visit.
func (p *Planner) worth() float64 {
	if first := p.first(); p.visits+p.before < first {
		return p.weight * (1 + 1/float64(1+p.visits))
	}
	return p.weight * (leastExpected + p.expects) / (1 + float64(p.visits)/fading)
}

// first returns the number of shapes that are measured before all that a fit may ask for.
func (p *Planner) first() int {
	if p.weight < 1 {
		return fewFirst
	}
	return firstShapes
}

// fading is the number of visits that halves the worth of further ones.
const fading = 24

// leastExpected is added to the expected loss of every operation, so that every operation gets visits.
const leastExpected = 0.01

// Upcoming returns the sizes of the shape that was proposed last and of those that follow it unless they turn out to be too
// large. Shapes behind them depend on the next fit.
func (p *Planner) Upcoming() []int {
	var sizes []int
	if p.pending != 0 {
		sizes = append(sizes, p.pending)
	}
	for _, shape := range p.queue {
		if size := p.space.Add(shape); p.open(size) {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// open reports whether a size can be measured and was not measured yet.
func (p *Planner) open(size int) bool { return size <= p.high && !p.done[size] }

// choose returns the next shape, or nil if there is none.
func (p *Planner) choose(set *timings.Set) []int {
	for {
		if len(p.queue) == 0 {
			p.enqueue(set)
		}
		if len(p.queue) == 0 {
			return nil
		}
		shape := p.queue[0]
		p.queue = p.queue[1:]
		if p.open(p.space.Add(shape)) {
			return shape
		}
	}
}

// enqueue fills the queue with the shapes up to the next fit, or with one shape if there is no fit. It fits first if enough
// shapes were visited since the last fit.
func (p *Planner) enqueue(set *timings.Set) {
	shapes := p.visits + p.before
	if p.visits > 0 && shapes >= firstShapes && (p.fit == nil || p.visits >= p.fitted+max(refitEach, shapes/refitShare)) {
		p.refit(set)
	}
	if p.fit == nil {
		if shape := p.nextSpread(); shape != nil {
			p.queue = append(p.queue, shape)
		}
		return
	}
	for n := range refitEach {
		next := p.mostTelling
		if (p.visits+n)%2 == 0 {
			next = p.nextSpread
		}
		if shape := next(); shape != nil {
			p.queue = append(p.queue, shape)
		}
	}
}

// refit fits the points so far. If that fails, the fit before stays.
func (p *Planner) refit(set *timings.Set) {
	fit, err := p.fit, error(nil)
	if fit == nil {
		fit, err = New(p.problem(set))
	} else {
		fit, err = fit.More(p.problem(set), p.visits+p.before < rescaleUntil)
	}
	if err == nil {
		p.fit = fit
	}
	p.fitted, p.implementations = p.visits, set.Implementations
}

func (p *Planner) problem(set *timings.Set) *Problem {
	return &Problem{
		Axes: p.axes, Features: p.features, Implementations: set.Implementations,
		Points: Fitted(slices.Concat(p.known(set.Implementations), Points(set, p.space.At))),
	}
}

// Fitted returns the points that are not held out.
func Fitted(points []Point) []Point {
	return slices.DeleteFunc(points, func(q Point) bool { return HeldOut(q.Shape) })
}

// nextSpread takes the next spread shape that can be measured and was not measured yet.
func (p *Planner) nextSpread() []int {
	for k, shape := range p.spread {
		if !p.open(p.space.Add(shape)) {
			continue
		}
		p.spread = slices.Delete(p.spread, k, k+1)
		return shape
	}
	return nil
}

// mostTelling takes the shape, of some candidates, at which a wrong choice is expected to cost most for the time of a visit.
// It returns nil if there is no candidate.
func (p *Planner) mostTelling() []int {
	var shapes [][]int
	for _, shape := range p.spread {
		if len(shapes) == candidates {
			break
		}
		if !HeldOut(shape) && p.space.Add(shape) <= p.high {
			shapes = append(shapes, shape)
		}
	}
	predictions := make([][]Prediction, len(shapes))
	inParallel(len(shapes), func(k int) { predictions[k] = p.fit.Predict(shapes[k]) })
	var best []int
	most, sum, n := -1.0, 0.0, len(shapes)
	for k, of := range predictions {
		loss := Loss(of)
		sum += loss
		if teaches := loss / cost(of); teaches > most {
			best, most = shapes[k], teaches
		}
	}
	if n == 0 {
		return nil
	}
	p.expects = sum / float64(n)
	p.spread = slices.DeleteFunc(p.spread, func(shape []int) bool { return slices.Equal(shape, best) })
	// The other candidates go to the end, so that the next candidates are other shapes.
	p.spread = append(p.spread[min(n, len(p.spread)):], p.spread[:min(n, len(p.spread))]...)
	return best
}

// cost returns about how many seconds a visit takes: a fixed time, and the batches of all implementations.
func cost(of []Prediction) float64 {
	const visit = 0.1
	seconds := visit
	for _, p := range of {
		seconds += 2 * fewBlocks * math.Exp(p.LogSeconds)
	}
	return seconds
}

// Visited is called after a proposed size was measured, or found impossible to measure.
func (p *Planner) Visited(size int) {
	p.done[size] = true
	if size == p.pending {
		p.pending = 0
	}
	p.visits++
}

// Doubted is called if the machine was disturbed in all visits to a size so far. The shape is proposed again.
func (p *Planner) Doubted(size int) {
	if p.done[size] {
		delete(p.done, size)
		p.spread = slices.Insert(p.spread, 0, p.space.At(size))
	}
}

// Limit is called if sizes above high cannot be measured, or would take too long.
func (p *Planner) Limit(high int) {
	p.high = min(p.high, high)
	if p.pending > p.high {
		p.pending = 0
	}
}
