package songs

import (
	"fmt"
	"math/bits"
	"slices"
)

// Forecast is a route with its predicted time.
type Forecast struct {
	Route   Route
	Seconds float64
}

// mostPlaced is the number of stages whose place, processor or GPU, is searched in full. The others stay on the processor.
const mostPlaced = 12

// placed is a route with the fastest implementation of each stage in its place, and the set of the open stages that it has on the
// GPU, a bit for each.
type placed struct {
	Forecast
	onGPU uint
}

// placed returns a route for each way to place the open stages, which can be on the processor and on the GPU, and how many stages are
// open. All ways are tried, because what a stage costs on the GPU depends on where its neighbours are, and a graph forks. The
// fastest route is the first.
func (c *costs) placed() (all []placed, stages int) {
	route := make(Route, len(c.w.Stages))
	var open []int
	for i := range route {
		switch {
		case len(c.onCPU[i]) > 0:
			route[i] = c.onCPU[i][0].implementation
			if len(c.onGPU[i]) > 0 && len(open) < mostPlaced {
				open = append(open, i)
			}
		case len(c.onGPU[i]) > 0:
			route[i] = c.onGPU[i][0].implementation
		}
	}
	for set := range uint(1) << len(open) {
		r := slices.Clone(route)
		for k, i := range open {
			if set>>k&1 == 1 {
				r[i] = c.onGPU[i][0].implementation
			}
		}
		all = append(all, placed{Forecast{r, c.seconds(r)}, set})
	}
	slices.SortStableFunc(all, func(a, b placed) int { return compare(a.Seconds, b.Seconds) })
	return all, len(open)
}

// best returns the routes of the least predicted times, at most n of them, the least first. They are among all ways to place the
// stages, and those in which one stage of the best way is computed by the next best implementation in its place.
func (c *costs) best(n int, ways []placed) []Forecast {
	if n < 1 {
		return nil
	}
	var all []Forecast
	for _, way := range ways[:min(n, len(ways))] {
		all = append(all, way.Forecast)
	}
	first := ways[0].Route
	for i, name := range first {
		for _, side := range [][]cost{c.onCPU[i], c.onGPU[i]} {
			if len(side) > 1 && side[0].implementation == name {
				r := slices.Clone(first)
				r[i] = side[1].implementation
				all = append(all, Forecast{r, c.seconds(r)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Forecast) int { return compare(a.Seconds, b.Seconds) })
	return all[:min(n, len(all))]
}

// elsewhere returns the best way that has at least two stages, and a third of those that are open, in other places than the best way of
// all. The best ways are often much alike, so one error of a forecast may hide a faster route from all of them. Of 20 lengths beside
// an H200, such a route was the fastest one for a separator of one second, by 5 %. It returns false if all such ways are in entered, or
// are forecast to take more than worthARace times as long as the best one.
func elsewhere(ways []placed, open int, entered func(Route) bool) (Route, bool) {
	least := max(2, (open+2)/3)
	for _, way := range ways {
		if way.Seconds > worthARace*ways[0].Seconds {
			break
		}
		if bits.OnesCount(way.onGPU^ways[0].onGPU) >= least && !entered(way.Route) {
			return way.Route, true
		}
	}
	return nil, false
}

// worthARace is how many times as long as the best forecast that of a route in other places may be. Forecasts are off by a tenth in the
// median, and by a third at times.
const worthARace = 1.5

// alone returns the route with every stage on one side: on the processor, or on the GPU as far as it has an implementation of
// a stage.
func (c *costs) alone(gpu bool) Route {
	route := make(Route, len(c.w.Stages))
	for i := range route {
		if side := c.onCPU[i]; len(side) > 0 {
			route[i] = side[0].implementation
		}
		if side := c.onGPU[i]; gpu && len(side) > 0 {
			route[i] = side[0].implementation
		}
	}
	return route
}

// hasGPU reports whether a stage may be faster on a GPU.
func (c *costs) hasGPU() bool {
	return slices.ContainsFunc(c.onGPU, func(side []cost) bool { return len(side) > 0 })
}

// Entrant is a route that is measured against others.
type Entrant struct {
	Name     string // "best-1" to "best-3", "stages", "processor", "gpu", "elsewhere", "followed"
	Route    Route
	Seconds  float64 // predicted; 0 if that is not possible
	OnGPU    bool    // a stage may run on a GPU
	OneSided bool    // everything is on the processor, or everything that can be on the GPU
}

// entrant returns a route as an entrant.
func (c *costs) entrant(name string, r Route) Entrant {
	e := Entrant{Name: name, Route: r, OnGPU: slices.Contains(r, "") && c.hasGPU()}
	if !slices.Contains(r, "") {
		e.Seconds = c.seconds(r)
	}
	for i, name := range r {
		e.OnGPU = e.OnGPU || slices.ContainsFunc(c.onGPU[i], func(m cost) bool { return m.implementation == name })
	}
	return e
}

// Entrants returns the routes that are worth measuring for calls with inputs of so many elements, after so many others: each stage
// as the dispatcher chooses, the three best forecasts, everything on the processor, everything on the GPU, and the best forecast with
// many stages in other places. A route is there once, by its first name, and those for which the calibration knows too little are left
// out.
func (p *Pipeline) Entrants(calls int, elements ...int) ([]Entrant, error) {
	c, err := p.costs(elements, calls)
	if err != nil {
		return nil, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	var all []Entrant
	add := func(name string, r Route) *Entrant {
		at := slices.IndexFunc(all, func(e Entrant) bool { return slices.Equal(e.Route, r) })
		if at < 0 {
			at, all = len(all), append(all, c.entrant(name, r))
		}
		return &all[at]
	}
	add("stages", make(Route, len(p.w.Stages)))
	ways, open := c.placed()
	for i, f := range c.best(3, ways) {
		add([]string{"best-1", "best-2", "best-3"}[i], f.Route)
	}
	add("processor", c.alone(false)).OneSided = true
	if c.hasGPU() {
		add("gpu", c.alone(true)).OneSided = true
	}
	entered := func(r Route) bool {
		return slices.ContainsFunc(all, func(e Entrant) bool { return slices.Equal(e.Route, r) })
	}
	if r, ok := elsewhere(ways, open, entered); ok {
		add("elsewhere", r)
	}
	return all, nil
}

// WithEntrants adds further routes to entrants, under their names, unless they are there: see [Pipeline.Entrants].
func (p *Pipeline) WithEntrants(all, further []Entrant, calls int, elements ...int) ([]Entrant, error) {
	c, err := p.costs(elements, calls)
	if err != nil {
		return nil, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	for _, e := range further {
		if !slices.ContainsFunc(all, func(of Entrant) bool { return slices.Equal(of.Route, e.Route) }) {
			all = append(all, c.entrant(e.Name, e.Route))
		}
	}
	return all, nil
}

// Followed returns the route that a new pipeline of the graph follows in its first call with inputs of so many elements, and why.
// A stage that the dispatcher chooses has no name in it. Followed fails if the graph does not take such inputs.
func (p *Pipeline) Followed(elements ...int) (e Entrant, reason string, err error) {
	if _, err := p.Elements(elements...); err != nil {
		return e, "", err
	}
	c, err := p.costs(elements, 0)
	if err != nil {
		return e, "", fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	first, err := NewOn(p.backends, p.dispatcher, p.w.Graph)
	if err != nil {
		return e, "", err
	}
	defer first.Close()
	first.lengths = elements
	if err := first.plan(); err != nil {
		return e, "", fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	r := first.route
	if r == nil {
		r = make(Route, len(p.w.Stages))
	}
	return c.entrant("followed", slices.Clone(r)), first.reason, nil
}
