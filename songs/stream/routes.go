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
	Idle   = "idle"   // each stage as it is chosen by the times of calls after a pause
	Serial = "serial" // the fastest implementations on one core
	Pooled = "pooled" // the fastest ones on several cores
	GPU    = "gpu"    // everything on the GPU
	Tuned  = "tuned"  // each stage by the implementation that was fastest in a stream: see Tune
)

// Routes returns the routes that are worth comparing for a source: warm, idle where there is an AfterIdle, serial, pooled, and gpu
// where there is one. The fastest implementations are those of the least predicted times. It opens the GPUs.
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
	if o.AfterIdle != nil {
		after := o
		after.Dispatcher = o.AfterIdle
		q, err := after.pipeline()
		if err != nil {
			return nil, err
		}
		defer q.Close()
		idle, err := q.StageByStage(Idle, elements...)
		if err != nil {
			return nil, err
		}
		all = append(all, idle)
	}
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

// mostTuned is the greatest number of streams of Tune, which holds many routes in memory.
const mostTuned = 10

// Tune plays o.Streams, but at most ten, for o.Seconds, and lets other implementations compute the stages: in blocks of the base
// route that differ in one stage, on the processor, or in two neighbours. So every implementation is measured as a stream calls
// it, after a pause, on a locked thread. Tune returns the base with the fastest ones: see [trial]. The base must name an
// implementation on the processor for each stage, such as those of [Serial].
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
	o.Routes, o.Spare, o.Streams = []songs.Entrant{base}, base, min(o.Streams, mostTuned)
	trials := trialsOf(o.Source.Graph, all, base.Route)
	for _, t := range trials {
		o.Routes = append(o.Routes, songs.Entrant{Name: t.name, Route: t.on(base.Route), OnGPU: t.onGPU})
	}
	report, err := Run(ctx, o)
	if err != nil {
		return base, err
	}
	for i := range trials {
		trials[i].seconds = report.Routes[i+1].Compute.P50
	}
	best := songs.Entrant{Name: Tuned, Route: slices.Clone(base.Route)}
	for _, t := range fastest(trials, report.Routes[0].Compute.P50) {
		best.Route, best.OnGPU = t.on(best.Route), best.OnGPU || t.onGPU
	}
	return best, nil
}
