// Package race measures pipelines: whole calls by several routes, interleaved in one sweep. It keeps no clock of its own.
//
// The usual steps are Measure, and then calibration.Update with [calibration.Host.SetPipeline], so that pipelines of package
// songs follow the route that won.
package race

import (
	"context"
	"fmt"
	"slices"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/songs"
	"crossover/sweeps"
	"crossover/timings"
)

// Measure measures a graph at some lengths of its inputs. calls has the inputs of a call for each length. o has the budget, for
// all lengths together, and everything else that a sweep needs but its planner. Each call begins as after Reset. Measure fails
// if a graph or an input is wrong, if no route could be timed at a length, or if ctx ends.
func Measure(ctx context.Context, b *kernels.Backends, d *dispatch.Dispatcher, g *songs.Graph, calls [][][]float32,
	o sweeps.Options) (calibration.Pipeline, error) {
	of := calibration.Pipeline{Name: g.Name, Created: time.Now().UTC().Truncate(time.Second)}
	for i := range g.Stages {
		of.Stages = append(of.Stages, g.Stages[i].Name)
	}
	var races []*race
	var cases []kernels.Case
	for _, inputs := range calls {
		r, err := newRace(b, d, g, inputs)
		if err != nil {
			return of, err
		}
		races, cases = append(races, r), append(cases, r.kernelsCase())
	}
	o.Planner = func(c *kernels.Case) sweeps.Planner { return &visits{size: c.Axis.Min} }
	results, err := sweeps.Run(ctx, cases, o)
	if err != nil {
		return of, err
	}
	for i, r := range races {
		length, err := r.result(results[i])
		if err != nil {
			return of, err
		}
		of.Lengths = append(of.Lengths, length)
	}
	return of, nil
}

// visits plans a few visits to the only size of a case.
type visits struct{ size, made int }

const (
	mostVisits = 4
	blocks     = 5 // a visit
)

func (v *visits) Next(*timings.Set) (size, n int, worth float64) {
	if v.made == mostVisits {
		return v.size, 0, 0
	}
	return v.size, blocks, 1 / float64(1+v.made)
}

func (v *visits) Visited(int) { v.made++ }
func (v *visits) Doubted(int) {}
func (v *visits) Limit(high int) {
	if v.size > high {
		v.made = mostVisits
	}
}

// race is a graph at one length, with its entrants. It is the problem of a sweep.
type race struct {
	backends   *kernels.Backends
	dispatcher *dispatch.Dispatcher
	graph      *songs.Graph
	inputs     [][]float32
	elements   []int
	entrants   []songs.Entrant
}

func newRace(b *kernels.Backends, d *dispatch.Dispatcher, g *songs.Graph, inputs [][]float32) (*race, error) {
	p, err := songs.NewOn(b, d, g)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if len(inputs) != len(g.Inputs) {
		return nil, fmt.Errorf("songs: %s: %d inputs (want %d)", g.Name, len(inputs), len(g.Inputs))
	}
	r := &race{backends: b, dispatcher: d, graph: g, inputs: inputs}
	for i, data := range inputs {
		r.elements = append(r.elements, len(data)/kernels.Tensor{Type: g.Inputs[i].Type}.Len())
	}
	r.entrants, err = p.Entrants(r.elements...)
	return r, err
}

// kernelsCase returns the race as a case of a sweep, with an implementation for each entrant.
func (r *race) kernelsCase() kernels.Case {
	bytes := 0
	for _, data := range r.inputs {
		bytes += 4 * len(data)
	}
	c := kernels.Case{
		Name: fmt.Sprintf("%s/%s=%d", r.graph.Name, r.graph.Inputs[0].Name, r.elements[0]), Operation: r.graph.Name,
		Axis:      kernels.Axis{Name: r.graph.Inputs[0].Name, Unit: "elements", Min: r.elements[0], Max: r.elements[0]},
		Tolerance: func(int) float64 { return tolerance },
		Bytes:     func(int) float64 { return float64(bytes) },
		Work:      func(int, string) kernels.Work { return kernels.Work{Bytes: float64(bytes)} },
		Placement: kernels.Caller,
		Problem:   func(int, kernels.Input) kernels.Problem { return r },
	}
	for _, e := range r.entrants {
		i := kernels.Implementation{Name: e.Name, Processor: kernels.CPU, Cores: kernels.AllCores}
		if e.OnGPU {
			i.Processor = kernels.GPU
		}
		c.Implementations = append(c.Implementations, i)
	}
	return c
}

// tolerance is the greatest relative error of an output. Errors of stages add up.
const tolerance = 1e-3

// Reference computes the outputs by the references of all stages. It returns them as numbers, one output after the other.
func (r *race) Reference() []float64 {
	p, err := songs.NewReference(r.graph)
	if err == nil {
		defer p.Close()
		if err = p.Run(r.inputs...); err == nil {
			return p.Numbers()
		}
	}
	return nil // no output is as long, so that nothing counts
}

// Bind makes a pipeline that follows an entrant's route.
func (r *race) Bind(implementation string) (kernels.Call, error) {
	at := slices.IndexFunc(r.entrants, func(e songs.Entrant) bool { return e.Name == implementation })
	if at < 0 {
		return kernels.Call{}, fmt.Errorf("%w: %q", kernels.ErrUnknownImplementation, implementation)
	}
	p, err := songs.NewOn(r.backends, r.dispatcher, r.graph)
	if err != nil {
		return kernels.Call{}, err
	}
	if err := p.Follow(r.entrants[at].Route); err != nil {
		p.Close()
		return kernels.Call{}, err
	}
	return kernels.Call{
		Run: func() error {
			p.Reset()
			return p.Run(r.inputs...)
		},
		Output: func() []float32 {
			var all []float32
			for _, v := range p.Numbers() {
				all = append(all, float32(v))
			}
			return all
		},
		Numbers: p.Numbers,
		Error:   p.ErrorAgainst,
		Close:   p.Close,
	}, nil
}

// result returns what was measured, the fastest route first.
func (r *race) result(of *sweeps.Result) (calibration.PipelineLength, error) {
	l := calibration.PipelineLength{Elements: r.elements, Blocks: len(of.Samples.Blocks)}
	for _, e := range r.entrants {
		at := slices.Index(of.Samples.Implementations, e.Name)
		var times []float64
		for i := range of.Samples.Blocks {
			if b := &of.Samples.Blocks[i]; at >= 0 && b.Timed(at) {
				times = append(times, b.Seconds[at])
			}
		}
		if len(times) == 0 {
			continue
		}
		slices.Sort(times)
		l.Routes = append(l.Routes, calibration.Route{Name: e.Name, Implementations: e.Route,
			MedianSeconds: (times[(len(times)-1)/2] + times[len(times)/2]) / 2, PredictedSeconds: e.Seconds})
	}
	if len(l.Routes) == 0 {
		return l, fmt.Errorf("songs: %s at %v elements: no route was timed%s", r.graph.Name, r.elements, excluded(of))
	}
	slices.SortStableFunc(l.Routes, func(a, b calibration.Route) int {
		switch {
		case a.MedianSeconds < b.MedianSeconds:
			return -1
		case a.MedianSeconds > b.MedianSeconds:
			return 1
		}
		return 0
	})
	if len(l.Routes) > 1 {
		l.Margin = l.Routes[1].MedianSeconds/l.Routes[0].MedianSeconds - 1
	}
	return l, nil
}

// excluded says why implementations were not timed.
func excluded(of *sweeps.Result) (why string) {
	for _, s := range of.Implementations {
		if s.Excluded != "" {
			why += fmt.Sprintf("; %s: %s", s.Name, s.Excluded)
		}
	}
	return why
}
