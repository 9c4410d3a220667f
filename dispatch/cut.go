package dispatch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// cut turns the surface of an operation into the segments of a line, in the form of a measured case. It predicts times at
// sizes all along the axis. If two neighbouring sizes have different winners, it searches for the size at which they change.
type cut struct {
	*line
	times  map[int]*logSeconds // by size
	usable []bool              // by implementation of the surface
	most   int                 // sizes at which times are predicted
}

// slight is the least saving, in log-time, that a segment must have at some size to be worth a threshold.
var slight = math.Log(1.01)

const (
	sizesPerOctave = 3
	mostSizes      = 96  // of the grid
	mostPredicted  = 160 // sizes in all, for one set of usable implementations
	narrowest      = 16  // a threshold is interpolated once it is known to this part of its size
)

func newCut(l *line) *cut {
	c := &cut{line: l, times: map[int]*logSeconds{}, usable: make([]bool, len(l.of.Surface.Implementations))}
	for i := range c.usable {
		c.usable[i] = true
	}
	return c
}

// at returns the predicted times at a size.
func (c *cut) at(size int) *logSeconds {
	if known := c.times[size]; known != nil {
		return known
	}
	var times logSeconds
	shape := c.shape(size)
	c.of.predict(shape[:len(c.of.Axes)], &times)
	c.times[size] = &times
	return &times
}

// least returns the usable implementation of least predicted time, −1 if there is none.
func least(times *logSeconds, usable []bool) int {
	best := -1
	for i, ok := range usable {
		if ok && (best < 0 || times[i] < times[best]) {
			best = i
		}
	}
	return best
}

// grid returns the first sizes at which the surface is evaluated: the ends of the axis, sizes at equal ratios between them,
// and both sides of sizes at which a padded length doubles.
func (c *cut) grid() []int {
	axis := c.of.Axes[c.axis]
	sizes := []int{axis.From, axis.To}
	octaves := math.Log2(float64(axis.To) / float64(axis.From))
	steps := math.Ceil(sizesPerOctave * octaves)
	for i := 1.0; i < steps; i++ {
		sizes = append(sizes, int(math.Round(float64(axis.From)*math.Exp2(octaves*i/steps))))
	}
	for i := range c.of.Surface.Features {
		for _, jump := range c.jumps(&c.of.Surface.Features[i]) {
			sizes = append(sizes, jump, jump+1)
		}
	}
	sizes = slices.DeleteFunc(sizes, func(size int) bool { return size < axis.From || size > axis.To })
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	return thinned(sizes, mostSizes)
}

// thinned returns at most most of the values, with the first and the last.
func thinned(values []int, most int) []int {
	if len(values) <= most {
		return values
	}
	var few []int
	for i := range most {
		few = append(few, values[i*(len(values)-1)/(most-1)])
	}
	return few
}

// jumps returns the greatest sizes before a feature pads the length to a greater power of two.
func (c *cut) jumps(f *surface.Feature) []int {
	factor := f.Weights[c.axis]
	if f.Kind != surface.Padding || factor <= 0 {
		return nil
	}
	rest := f.Offset
	for i, weight := range f.Weights {
		if i != c.axis {
			rest += weight * float64(c.base[i])
		}
	}
	var sizes []int
	axis := c.of.Axes[c.axis]
	for power := 1.0; power <= math.MaxInt32; power *= 2 {
		if size := (power - rest) / factor; size >= float64(axis.From) && size < float64(axis.To) {
			sizes = append(sizes, int(size))
		}
	}
	return sizes
}

// run is a stretch of the grid with one winner.
type run struct {
	first, last int // in the grid
	winner      int // implementation of the surface
}

// segments returns the segments among the usable implementations, none if there are none.
func (c *cut) segments() []calibration.Segment {
	if !slices.Contains(c.usable, true) {
		return nil
	}
	c.most = max(mostPredicted, len(c.times)+mostPredicted-mostSizes)
	sizes := c.grid()
	grid := make([]*logSeconds, len(sizes))
	for i, size := range sizes {
		grid[i] = c.at(size)
	}
	runs := c.runs(grid)
	var segments []calibration.Segment
	from := sizes[0]
	for i, r := range runs {
		s := calibration.Segment{From: from, To: c.of.Axes[c.axis].To, Implementation: c.of.Surface.Implementations[r.winner].Name}
		s.Next = c.ranking(grid[r.first:r.last+1], r.winner)
		if i+1 < len(runs) {
			from = c.change(sizes[r.last], sizes[r.last+1], r.winner, runs[i+1].winner)
			s.To = from - 1
		}
		segments = append(segments, s)
	}
	return segments
}

// runs returns the runs of the grid, without those that save too little to be worth a threshold.
func (c *cut) runs(grid []*logSeconds) []run {
	var runs []run
	for i, times := range grid {
		runs = append(runs, run{i, i, least(times, c.usable)})
	}
	for runs = joined(runs); len(runs) > 1; runs = joined(runs) {
		at, instead, loss := c.leastWorth(grid, runs)
		if loss >= slight {
			break
		}
		runs[at].winner = instead
	}
	return runs
}

// leastWorth returns the run that can take the winner of a neighbour at the least loss, that winner, and the loss. The loss
// of a run is its greatest loss in log-time.
func (c *cut) leastWorth(grid []*logSeconds, runs []run) (at, instead int, loss float64) {
	loss = math.Inf(1)
	for i, r := range runs {
		for _, neighbour := range []int{i - 1, i + 1} {
			if neighbour < 0 || neighbour == len(runs) {
				continue
			}
			winner := runs[neighbour].winner
			most := 0.0
			for _, times := range grid[r.first : r.last+1] {
				most = max(most, times[winner]-times[least(times, c.usable)])
			}
			if most < loss {
				at, instead, loss = i, winner, most
			}
		}
	}
	return at, instead, loss
}

// joined joins neighbours with the same winner.
func joined(runs []run) []run {
	var fewer []run
	for _, r := range runs {
		if n := len(fewer); n > 0 && fewer[n-1].winner == r.winner {
			fewer[n-1].last = r.last
			continue
		}
		fewer = append(fewer, r)
	}
	return fewer
}

// change returns the first size above below, and at most above, at which implementation to is as fast as implementation
// from. from is faster at below.
func (c *cut) change(below, above, from, to int) int {
	for above-below > max(1, below/narrowest) && len(c.times) < c.most {
		middle := below + (above-below)/2
		if times := c.at(middle); times[to] <= times[from] {
			above = middle
		} else {
			below = middle
		}
	}
	// Between the two the difference is about linear.
	before, behind := c.at(below), c.at(above)
	loss, gain := max(0, before[to]-before[from]), max(0, behind[from]-behind[to])
	if loss+gain == 0 {
		return above
	}
	return below + max(1, int(math.Round(float64(above-below)*loss/(loss+gain))))
}

// ranking returns the other implementations, the best first. Each has its time divided by the winner's, as a mean over a
// part of the grid.
func (c *cut) ranking(grid []*logSeconds, winner int) []calibration.Alternative {
	var others []calibration.Alternative
	for i := range c.of.Surface.Implementations {
		if i == winner {
			continue
		}
		sum := 0.0
		for _, times := range grid {
			sum += times[i] - times[winner]
		}
		others = append(others, calibration.Alternative{
			Implementation: c.of.Surface.Implementations[i].Name, Slowdown: math.Exp(sum / float64(len(grid))),
		})
	}
	slices.SortStableFunc(others, func(a, b calibration.Alternative) int { return cmp.Compare(a.Slowdown, b.Slowdown) })
	return others
}

// predict returns the choices on a line by the surface of the operation. It also returns, by name, why faster
// implementations cannot be used.
func (b *builder) predict(l *line) (choices []choice, obstacles map[string]string) {
	c := newCut(l)
	obstacles = map[string]string{}
	asked := map[string]bool{}
	segments := c.segments()
	for i := 0; i < len(segments); i++ {
		name := segments[i].Implementation
		if asked[name] {
			continue
		}
		asked[name] = true
		if obstacle := b.obstacle(name); obstacle != "" {
			obstacles[name] = obstacle
			c.usable[l.of.index(name)] = false
			segments, i = c.segments(), -1
		}
	}
	for i := range segments {
		choices = append(choices, b.predicted(l, &segments[i]))
	}
	if len(choices) == 0 {
		choices = []choice{{implementation: CPU, reason: "nothing on record can be used: " + listed(obstacles)}}
	}
	return choices, obstacles
}

// predicted returns the choice in a segment of a line.
func (b *builder) predicted(l *line, s *calibration.Segment) choice {
	c := choice{implementation: s.Implementation, gpu: b.onGPU(s.Implementation), segment: s}
	if !c.gpu {
		return c
	}
	var next []string
	for _, other := range s.Next {
		next = append(next, other.Implementation)
	}
	if name := b.firstOnCPU(next); name != "" {
		c.depends = &relief{busy: s.Implementation, implementation: name,
			gpu: l.seconds(s.Implementation), cpu: l.seconds(name), wait: &b.d.gpuWait}
	}
	return c
}

// listed lists obstacles: "cuda is not there, metal is not there".
func listed(obstacles map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(obstacles)) {
		list = append(list, name+" "+obstacles[name])
	}
	return strings.Join(list, ", ")
}
