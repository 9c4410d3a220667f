package harness

import (
	"cmp"
	"maps"
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
	Calls int64 // how often a program called it, or 1 if that is not known
}

// An asked shape has several visits, because what the buffers of a visit do to times is luck. The second ones come after all
// first ones. The shapes that take most of a program's time, by their calls and the times of the first visits, then have long
// visits. If nothing else is measured, all visits are long, and there are as many as the budget pays for, up to mostVisits.
const (
	askedBlocks = 5 // a visit
	askedVisits = 2
	longVisits  = 2 // beside the first one
	longShapes  = 16
	mostVisits  = 10
	askedFor    = time.Second / 3 // about what askedVisits take
	longFor     = time.Second     // about what longVisits take longer
)

// The worth of visits to asked shapes is far above that of all others. More calls are worth more.
const (
	worthAsked = 1e6
	worthLong  = 1e5
	worthAgain = 1e4
)

// AskedBudget is about what some shapes take that somebody asked for.
func AskedBudget(shapes int) time.Duration {
	return time.Duration(shapes)*askedFor + time.Duration(min(shapes, longShapes))*longFor
}

// askedBudget is the budget of the asked shapes of the spaces.
func (r *Run) askedBudget() time.Duration {
	n := 0
	for _, s := range r.Spaces {
		n += len(r.askedIn(s.Case.Name))
	}
	return AskedBudget(n)
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

// askedTimes are how much of a program's time shapes take: calls times the seconds of a call.
type askedTimes struct {
	of    map[askedAt]float64
	most  float64 // of all
	limit float64 // the least of the longShapes that take most
}

// askedAt is a shape, by the name of its space or case and the size that stands for it there.
type askedAt struct {
	name string
	size int
}

func newAskedTimes() *askedTimes { return &askedTimes{of: map[askedAt]float64{}} }

// note adds the times of the shapes of a space.
func (t *askedTimes) note(name string, sizes map[int]float64) {
	for size, of := range sizes {
		t.of[askedAt{name, size}] = of
	}
	all := slices.Sorted(maps.Values(t.of))
	if len(all) > 0 {
		t.most, t.limit = all[len(all)-1], all[max(0, len(all)-longShapes)]
	}
}

// isLong reports whether a shape is one of those that take most.
func (t *askedTimes) isLong(of float64) bool { return of > 0 && of >= t.limit }

// share returns a shape's time over that of the shape that takes most.
func (t *askedTimes) share(of float64) float64 {
	if t.most == 0 {
		return 0
	}
	return of / t.most
}

// askedFirst proposes some sizes, and then what another planner proposes.
type askedFirst struct {
	name  string
	asked []askedSize
	times *askedTimes    // of all spaces
	next  sweeps.Planner // nil if there is nothing else to measure
	queue []askedVisit
	again bool         // the visits behind the first ones are in the queue
	seen  map[int]bool // sizes that were visited
	high  int
}

// askedSize is a size that stands for a shape.
type askedSize struct {
	size  int
	calls int64
}

type askedVisit struct {
	askedSize
	number int     // from 0
	time   float64 // of the program, as in askedTimes; 0 if it is not known
}

// planFirst returns a planner of a space or a case that proposes asked shapes first. size is the size that stands for a shape.
func planFirst(name string, asked []Asked, times *askedTimes, size func(shape []int) int, next sweeps.Planner) sweeps.Planner {
	if len(asked) == 0 && next != nil {
		return next
	}
	p := &askedFirst{name: name, times: times, next: next, seen: map[int]bool{}, high: math.MaxInt}
	for _, a := range asked {
		one := askedSize{size(a.Shape), a.Calls}
		p.asked = append(p.asked, one)
		p.queue = append(p.queue, askedVisit{askedSize: one})
	}
	return p
}

// planAgain plans the visits behind the first ones, those of the shapes that take most first.
func (p *askedFirst) planAgain(set *timings.Set) {
	p.again = true
	visits := 1 + longVisits
	if p.next == nil {
		visits = mostVisits
	}
	times := map[int]float64{}
	for _, a := range p.asked {
		if exact := surfaces.ExactAt(set, a.size); exact.Fastest() >= 0 {
			times[a.size] = float64(a.calls) * exact.Seconds[exact.Fastest()]
		}
		for n := 1; n < visits; n++ {
			p.queue = append(p.queue, askedVisit{a, n, times[a.size]})
		}
	}
	p.times.note(p.name, times)
	slices.SortStableFunc(p.queue, func(a, b askedVisit) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(b.time, a.time))
	})
}

func (p *askedFirst) Next(set *timings.Set) (size, blocks int, worth float64) {
	if len(p.queue) == 0 && !p.again {
		p.planAgain(set)
	}
	p.queue = slices.DeleteFunc(p.queue, func(v askedVisit) bool {
		return v.size > p.high || p.next != nil && v.number >= askedVisits && !p.times.isLong(v.time)
	})
	if len(p.queue) > 0 {
		v := &p.queue[0]
		switch {
		case v.number == 0:
			worth = worthAsked * (1 + math.Log2(float64(v.calls)))
		case v.number == 1 && p.next != nil && p.Full(v.size):
			worth = worthLong * (1 + p.times.share(v.time))
		default:
			worth = worthAgain * (1 + p.times.share(v.time)) / float64(v.number)
		}
		return v.size, askedBlocks, worth
	}
	if p.next == nil {
		return 0, 0, 0
	}
	return p.next.Next(set)
}

// Upcoming returns the size of the first visit in the queue, or what the other planner returns.
func (p *askedFirst) Upcoming() []int {
	if len(p.queue) > 0 {
		return []int{p.queue[0].size}
	}
	if f, ok := p.next.(sweeps.Foresighted); ok {
		return f.Upcoming()
	}
	return nil
}

// Full reports whether the next visit is a long one.
func (p *askedFirst) Full(size int) bool {
	return len(p.queue) > 0 && p.queue[0].size == size && p.queue[0].number > 0 && p.times.isLong(p.queue[0].time)
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
		k := slices.IndexFunc(p.asked, func(a askedSize) bool { return a.size == size })
		p.queue = append(p.queue, askedVisit{p.asked[k], 1, p.times.of[askedAt{p.name, size}]})
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
// called. A count of 1 does not replace another: it is also that of a shape of which nobody counted the calls.
func joinAsked(newer, older []calibration.Asked, set *timings.Set) []calibration.Asked {
	var all []calibration.Asked
	for _, a := range append(slices.Clone(newer), older...) {
		if sizeOf(set, a.Shape) == 0 {
			continue
		}
		k := slices.IndexFunc(all, func(b calibration.Asked) bool { return slices.Equal(a.Shape, b.Shape) })
		switch {
		case k < 0:
			all = append(all, calibration.Asked{Shape: a.Shape, Calls: a.Calls})
		case all[k].Calls == 1:
			all[k].Calls = a.Calls
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
	// Least and Most are how many times as long the next best one takes in either half of the samples; 0 if there is none. If
	// the regret is above 0, the halves disagree on the fastest one, and Least is below 1.
	Least, Most float64
	Regret      *float64
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
		out.Calls = o.Asked[at].Calls
		set := r.Shapes[a.Case]
		out.judge(set.For(competingOf(o.Implementations, set.Implementations)), sizeOf(set, a.Shape))
		return out
	}
	if set := r.Timings[a.Case]; set != nil && len(a.Shape) == 1 {
		out.judge(set, onlyValue(a.Shape))
	}
	return out
}

// judge fills in what a set says of the shape that a size stands for.
func (s *ShapeResult) judge(set *timings.Set, size int) {
	exact := surfaces.ExactAt(set, size)
	best := exact.Fastest()
	if best < 0 {
		return
	}
	s.Implementation, s.Seconds = set.Implementations[best], exact.Seconds[best]
	s.Least, s.Most = exact.Lead(best)
	if !math.IsNaN(exact.Loss) {
		s.Regret = new(math.Expm1(exact.Loss))
	}
}

// sizeIn returns what gives a shape of a space its size.
func sizeIn(s *kernels.Space) func(shape []int) int {
	return func(shape []int) int { return shapesOf{s}.Add(shape) }
}
