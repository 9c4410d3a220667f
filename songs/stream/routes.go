package stream

import (
	"context"
	"fmt"
	"slices"

	"crossover/kernels"
	"crossover/songs"
)

// The names of routes.
const (
	Warm   = "warm"   // each stage as the dispatcher chooses, by the times of calls one after the other
	Serial = "serial" // the fastest implementations on one core
	Pooled = "pooled" // the fastest ones on several cores
	GPU    = "gpu"    // everything on the GPU
	Tuned  = "tuned"  // each stage by the implementation that was fastest in a stream: see Tune
)

// Routes returns the routes that are worth comparing for a source: warm, serial, pooled, and gpu where there is one. The fastest
// implementations are those of the least predicted times. It opens the GPUs.
func Routes(o Options) ([]songs.Entrant, error) {
	p, err := o.pipeline()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	elements := o.Source.elements()
	entrants, err := p.Entrants(0, elements...)
	if err != nil {
		return nil, err
	}
	warm := entrants[0] // each stage as the dispatcher chooses
	warm.Name = Warm
	all := []songs.Entrant{warm}
	for _, kind := range []struct {
		name    string
		accepts func(kernels.Implementation) bool
	}{
		{Serial, func(m kernels.Implementation) bool { return m.Processor == kernels.CPU && m.Cores != kernels.AllCores }},
		{Pooled, func(m kernels.Implementation) bool { return m.Processor == kernels.CPU && m.Cores == kernels.AllCores }},
		{GPU, func(m kernels.Implementation) bool { return m.Processor == kernels.GPU }},
	} {
		r, err := p.Only(kind.name, kind.accepts, elements...)
		if err != nil {
			return nil, err
		}
		if r.OnGPU == (kind.name == GPU) {
			all = append(all, r)
		}
	}
	return all, nil
}

func (o *Options) pipeline() (*songs.Pipeline, error) {
	b := o.Backends
	if b == nil {
		b = kernels.Here()
	}
	return songs.NewOn(b, o.Dispatcher, o.Source.Graph)
}

// margin is by what share an implementation must be faster to replace that of the base. Medians of two slots with the same
// implementations differ by less.
const margin = 0.03

// mostTuned is the greatest number of streams of Tune, which holds many routes in memory.
const mostTuned = 10

// Tune plays o.Streams, but at most ten, for o.Seconds, and lets each implementation on the processor compute each stage in turn:
// in blocks of the base route that differ in this stage alone. So every implementation is measured as a stream calls it, after a
// pause, on a locked thread. Tune returns the base with the fastest implementation of each stage. It does not try them together:
// two stages on several cores may take less than the two alone, because the second one finds the cores awake. The base must name
// an implementation on the processor for each stage, such as those of [Serial].
func Tune(ctx context.Context, o Options, base songs.Entrant) (songs.Entrant, error) {
	p, err := o.pipeline()
	if err != nil {
		return base, err
	}
	all, err := p.Implementations()
	p.Close()
	if err != nil {
		return base, err
	}
	if len(base.Route) != len(all) || base.OnGPU {
		return base, fmt.Errorf("stream: route %s is no base (want one on the processor with %d stages)", base.Name, len(all))
	}
	type trial struct{ stage, route int }
	var trials []trial
	o.Routes, o.Spare, o.Streams = []songs.Entrant{base}, base, min(o.Streams, mostTuned)
	for i, of := range all {
		for _, m := range of {
			if m.Processor == kernels.CPU && m.Name != base.Route[i] {
				r := songs.Entrant{Name: fmt.Sprintf("%s, %s", o.Source.Graph.Stages[i].Name, m.Name), Route: slices.Clone(base.Route)}
				r.Route[i] = m.Name
				trials = append(trials, trial{i, len(o.Routes)})
				o.Routes = append(o.Routes, r)
			}
		}
	}
	report, err := Run(ctx, o)
	if err != nil {
		return base, err
	}
	best := songs.Entrant{Name: Tuned, Route: slices.Clone(base.Route)}
	fastest := slices.Repeat([]float64{report.Routes[0].Compute.P50}, len(all))
	limit := (1 - margin) * report.Routes[0].Compute.P50
	for _, t := range trials {
		if r := &report.Routes[t.route]; r.Compute.P50 > 0 && r.Compute.P50 < min(limit, fastest[t.stage]) {
			fastest[t.stage], best.Route[t.stage] = r.Compute.P50, o.Routes[t.route].Route[t.stage]
		}
	}
	return best, nil
}
