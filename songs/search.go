package songs

import (
	"fmt"
	"slices"
)

// Forecast is a route with its predicted time.
type Forecast struct {
	Route   Route
	Seconds float64
}

// mostPlaced is the number of stages whose place, processor or GPU, is searched in full. The others stay on the processor.
const mostPlaced = 12

// best returns the routes of the least predicted times, at most n of them, the least first. Each stage is computed by the
// fastest implementation on the processor or by the one of the fastest kernels on the GPU. All combinations of the two are
// tried, because what a stage costs on the GPU depends on where its neighbours are, and a graph forks. Then each stage of the
// best route is also tried by the next best implementation in its place.
func (c *costs) best(n int) []Forecast {
	if n < 1 {
		return nil
	}
	route := make(Route, len(c.w.Stages))
	var open []int // stages that can be on either side
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
	var all []Forecast
	for set := range 1 << len(open) {
		r := slices.Clone(route)
		for k, i := range open {
			if set>>k&1 == 1 {
				r[i] = c.onGPU[i][0].implementation
			}
		}
		all = append(all, Forecast{r, c.seconds(r)})
	}
	bySeconds := func(a, b Forecast) int { return compare(a.Seconds, b.Seconds) }
	slices.SortStableFunc(all, bySeconds)
	all = all[:min(n, len(all))]
	first := all[0].Route
	for i, name := range first {
		for _, side := range [][]cost{c.onCPU[i], c.onGPU[i]} {
			if len(side) > 1 && side[0].implementation == name {
				r := slices.Clone(first)
				r[i] = side[1].implementation
				all = append(all, Forecast{r, c.seconds(r)})
			}
		}
	}
	slices.SortStableFunc(all, bySeconds)
	return all[:min(n, len(all))]
}

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
	Name     string // "best-1" to "best-3", "stages", "processor", "gpu", "followed"
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
// as the dispatcher chooses, the three best forecasts, everything on the processor, and everything on the GPU. A route is there
// once, by its first name, and those for which the calibration knows too little are left out.
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
	for i, f := range c.best(3) {
		add([]string{"best-1", "best-2", "best-3"}[i], f.Route)
	}
	add("processor", c.alone(false)).OneSided = true
	if c.hasGPU() {
		add("gpu", c.alone(true)).OneSided = true
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
