package harness

import (
	"math"
	"slices"
	"time"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds/surfaces"
	"crossover/timings"
)

// Asked is a shape that somebody asked for. It is measured before everything else, exactly.
type Asked struct {
	Name  string // as it was asked for: "fft/n=441,batch=64"
	Case  string // of the space that it lies in, or of the case if the operation has a single axis
	Shape []int
	Calls int64 // how often a program called it, or 1
}

// An asked shape has several visits, because what the buffers of a visit do to times is luck. The second ones come after all
// first ones. If nothing else is measured, there are as many as the budget pays for, up to mostVisits.
const (
	askedBlocks = 5 // a visit
	askedVisits = 2
	mostVisits  = 10
	askedFor    = time.Second / 3 // about what askedVisits take
)

// The worth of visits to asked shapes is far above that of all others. More calls are worth more.
const (
	worthAsked = 1e6
	worthAgain = 1e4
)

// askedBudget is about what the asked shapes of the spaces take.
func (r *Run) askedBudget() time.Duration {
	n := 0
	for _, s := range r.Spaces {
		n += len(r.askedIn(s.Case.Name))
	}
	return time.Duration(n) * askedFor
}

// askedIn returns the shapes that were asked for in a space or a case, the most frequent first.
func (r *Run) askedIn(name string) []Asked {
	all := slices.DeleteFunc(slices.Clone(r.Asked), func(a Asked) bool { return a.Case != name })
	slices.SortStableFunc(all, func(a, b Asked) int {
		switch {
		case a.Calls > b.Calls:
			return -1
		case a.Calls < b.Calls:
			return 1
		}
		return 0
	})
	return all
}

// askedFirst proposes some sizes, and then what another planner proposes.
type askedFirst struct {
	next  sweeps.Planner // nil if there is nothing else to measure
	queue []askedVisit
	seen  map[int]bool // sizes that were visited
	high  int
}

type askedVisit struct {
	size  int
	worth float64
}

// planFirst returns a planner that proposes asked shapes first. size is the size that stands for a shape.
func planFirst(asked []Asked, size func(shape []int) int, next sweeps.Planner) sweeps.Planner {
	if len(asked) == 0 && next != nil {
		return next
	}
	p := &askedFirst{next: next, seen: map[int]bool{}, high: math.MaxInt}
	visits := askedVisits
	if next == nil {
		visits = mostVisits
	}
	for n := range visits {
		worth := worthAsked
		if n > 0 {
			worth = worthAgain / float64(n)
		}
		for _, a := range asked {
			p.queue = append(p.queue, askedVisit{size(a.Shape), worth * (1 + math.Log2(float64(a.Calls)))})
		}
	}
	return p
}

func (p *askedFirst) Next(set *timings.Set) (size, blocks int, worth float64) {
	p.queue = slices.DeleteFunc(p.queue, func(v askedVisit) bool { return v.size > p.high })
	if len(p.queue) > 0 {
		return p.queue[0].size, askedBlocks, p.queue[0].worth
	}
	if p.next == nil {
		return 0, 0, 0
	}
	return p.next.Next(set)
}

// Skips reports whether an implementation is left out at a size: none is at an asked shape.
func (p *askedFirst) Skips(size int, implementation string) bool {
	selective, ok := p.next.(sweeps.Selective)
	return ok && !(len(p.queue) > 0 && p.queue[0].size == size) && selective.Skips(size, implementation)
}

func (p *askedFirst) Visited(size int) {
	asked := len(p.queue) > 0 && p.queue[0].size == size
	if asked {
		p.queue = p.queue[1:]
	}
	if p.next != nil && !(asked && p.seen[size]) {
		p.next.Visited(size)
	}
	p.seen[size] = p.seen[size] || asked
}

func (p *askedFirst) Doubted(size int) {
	if p.seen[size] {
		delete(p.seen, size)
		p.queue = append(p.queue, askedVisit{size, worthAgain})
	}
	if p.next != nil {
		p.next.Doubted(size)
	}
}

func (p *askedFirst) Limit(high int) {
	p.high = min(p.high, high)
	if p.next != nil {
		p.next.Limit(high)
	}
}

// noteAsked notes which of the shapes that were measured somebody asked for.
func (r *Run) noteAsked(o *calibration.Operation, set *timings.Set) {
	o.Asked = nil
	for _, a := range r.askedIn(set.Case) {
		if sizeOf(set, a.Shape) > 0 && !slices.ContainsFunc(o.Asked, func(b calibration.Asked) bool { return slices.Equal(a.Shape, b.Shape) }) {
			o.Asked = append(o.Asked, calibration.Asked{Shape: a.Shape, Calls: a.Calls})
		}
	}
	sortAsked(o.Asked)
}

func sortAsked(all []calibration.Asked) {
	slices.SortFunc(all, func(a, b calibration.Asked) int { return slices.Compare(a.Shape, b.Shape) })
}

// sizeOf returns the size that stands for a shape, 0 if the set does not have it.
func sizeOf(set *timings.Set, shape []int) int {
	for size, other := range set.Shapes {
		if slices.Equal(shape, other) {
			return size
		}
	}
	return 0
}

// joinAsked returns the asked shapes of a newer and an older run that a set has. The newer one knows how often they are
// called.
func joinAsked(newer, older []calibration.Asked, set *timings.Set) []calibration.Asked {
	var all []calibration.Asked
	for _, a := range append(slices.Clone(newer), older...) {
		if sizeOf(set, a.Shape) > 0 && !slices.ContainsFunc(all, func(b calibration.Asked) bool { return slices.Equal(a.Shape, b.Shape) }) {
			all = append(all, calibration.Asked{Shape: a.Shape, Calls: a.Calls})
		}
	}
	sortAsked(all)
	return all[:min(len(all), calibration.MostAsked)]
}

// fitAsked fills in what was measured at the asked shapes of an operation. set has the implementations that compete.
func fitAsked(o *calibration.Operation, set *timings.Set) {
	for k := range o.Asked {
		a := &o.Asked[k]
		exact := surfaces.ExactAt(set, sizeOf(set, a.Shape))
		a.MedianSeconds = make([]float64, len(o.Implementations))
		for i := range o.Implementations {
			if n := slices.Index(set.Implementations, o.Implementations[i].Name); n >= 0 && exact.Seconds[n] > 0 {
				a.MedianSeconds[i] = rounded(exact.Seconds[n])
			}
		}
		if a.Regret = nil; !math.IsNaN(exact.Loss) {
			a.Regret = new(rounded(math.Expm1(exact.Loss)))
		}
	}
}

// unasked returns the blocks of a set at shapes that nobody asked for.
func unasked(o *calibration.Operation, set *timings.Set) *timings.Set {
	out := *set
	out.Blocks = slices.DeleteFunc(slices.Clone(set.Blocks), func(b timings.Block) bool {
		_, found := o.FindAsked(set.Shape(b.Size))
		return found
	})
	return &out
}

// span sets the ranges of axes to what was measured at shapes that nobody asked for, or, if there are none, at all shapes: a
// single shape far away says nothing of those between.
func span(o *calibration.Operation, set *timings.Set) {
	known := unasked(o, set)
	if len(known.Blocks) == 0 {
		known = set
	}
	sizes := known.Sizes()
	for i := range o.Axes {
		a := &o.Axes[i]
		a.From, a.To = math.MaxInt, 0
		for _, size := range sizes {
			v := set.Shape(size)[i]
			a.From, a.To = min(a.From, v), max(a.To, v)
		}
	}
}

// onlyValue returns the size of a shape of an operation with a single axis.
func onlyValue(shape []int) int { return shape[0] }

// ShapeResult is what was measured at a shape that was asked for.
type ShapeResult struct {
	Asked
	Implementation string  // the fastest; "" if none could be timed
	Seconds        float64 // of a call by it
	Next           float64 // how many times as long the next best one takes; 0 if there is none
	Regret         *float64
}

// Measured reports whether the run has blocks of a shape that was asked for.
func (r *Run) Measured(a Asked) bool {
	if set := r.Shapes[a.Case]; set != nil && sizeOf(set, a.Shape) > 0 {
		return true
	}
	set := r.Timings[a.Case]
	return set != nil && len(a.Shape) == 1 && len(set.At(a.Shape[0])) > 0
}

// ResultOf returns what a fitted run knows of a shape that was asked for.
func (r *Run) ResultOf(a Asked) ShapeResult {
	out := ShapeResult{Asked: a}
	for k := range r.Entry.Operations {
		o := &r.Entry.Operations[k]
		at, found := o.FindAsked(a.Shape)
		if shapesName(o) != a.Case || !found {
			continue
		}
		names := make([]string, len(o.Implementations))
		for i := range names {
			names[i] = o.Implementations[i].Name
		}
		out.rank(names, o.Asked[at].MedianSeconds)
		out.Regret = o.Asked[at].Regret
		return out
	}
	if set := r.Timings[a.Case]; set != nil && len(a.Shape) == 1 {
		exact := surfaces.ExactAt(set, onlyValue(a.Shape))
		out.rank(set.Implementations, exact.Seconds)
		if !math.IsNaN(exact.Loss) {
			out.Regret = new(math.Expm1(exact.Loss))
		}
	}
	return out
}

// rank fills in the fastest implementation and how far the next one is behind.
func (s *ShapeResult) rank(names []string, seconds []float64) {
	next := math.Inf(1)
	for i, v := range seconds {
		switch {
		case !(v > 0):
		case s.Implementation == "" || v < s.Seconds:
			if s.Implementation != "" {
				next = s.Seconds
			}
			s.Implementation, s.Seconds = names[i], v
		default:
			next = min(next, v)
		}
	}
	if !math.IsInf(next, 1) {
		s.Next = next / s.Seconds
	}
}

// sizeIn returns what gives a shape of a space its size.
func sizeIn(s *kernels.Space) func(shape []int) int {
	return func(shape []int) int { return shapesOf{s}.Add(shape) }
}
