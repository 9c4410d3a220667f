package songs

import (
	"fmt"
	"slices"

	"crossover/kernels"
)

// GoOn makes the next call continue where another pipeline of the same graph is, as if all calls of that one had been p's. A
// program prepares a pipeline for each of several routes, and goes from one to another between two calls. GoOn copies what the
// next call reads of earlier ones. It allocates nothing if p has computed a call of these lengths before, and if no tensor grows
// from call to call. It fails, and changes nothing, if the graphs are two, or if there is no memory.
func (p *Pipeline) GoOn(from *Pipeline) error {
	if p == from {
		return nil
	}
	if p.w.Graph != from.w.Graph {
		return fmt.Errorf("songs: %s goes on where %s is (want pipelines of one graph)", p.w.Name, from.w.Name)
	}
	for pass := range 2 { // nothing may change if there is no memory
		for i := range p.w.Derived {
			t, words := p.w.carried(i, from.last)
			if words == 0 {
				continue
			}
			if err := from.memory.settle(t, from.calls); err != nil {
				return fmt.Errorf("songs: %s: %w", p.w.Name, err)
			}
			to, err := p.memory.take(t, words)
			if err != nil {
				return fmt.Errorf("songs: %s: %w", p.w.Name, err)
			}
			if pass == 1 {
				copy(to, from.memory.data[t])
			}
		}
	}
	p.calls, p.ready = from.calls, false
	p.memory.forgetRows()
	p.forgetGrown()
	if from.last == nil { // nothing came before, or it was computed in parts, of which the next call reads nothing
		p.Reset()
		p.calls = from.calls
		return nil
	}
	p.last = append(p.last[:0], from.last...)
	return nil
}

// carried returns the tensor of a derivation in which a call finds what came before, and its words after the last call.
func (w *wiring) carried(i int, last []int) (t, words int) {
	t = w.find(w.Derived[i].Name)
	if last == nil || w.Derived[i].How == Turned {
		return t, 0
	}
	if w.Derived[i].How == Last {
		return t, last[w.of[i]]
	}
	return t, last[t]
}

// Failed reports whether an implementation of the route has failed in a call, so that its stage, or its list, is now computed as
// the dispatcher chooses. Follow and Close forget that.
func (p *Pipeline) Failed() bool {
	return slices.Contains(p.broken, true) || p.parts != nil && (p.parts.frames.Failed() || p.parts.rest.Failed())
}

// Only returns the route whose stages are computed by accepted implementations alone, for inputs of so many elements: for each
// stage the one that is predicted to be fastest, or the first one if nothing is predicted. If a stage has no accepted
// implementation, all that can run here are accepted. Seconds is 0 if a stage has no prediction. Only fails if the graph does
// not take such inputs.
func (p *Pipeline) Only(name string, accepts func(kernels.Implementation) bool, elements ...int) (Entrant, error) {
	e := Entrant{Name: name, Route: make(Route, len(p.w.Stages))}
	if len(elements) != len(p.w.Inputs) {
		return e, fmt.Errorf("songs: %s: %d lengths (want %d)", p.w.Name, len(elements), len(p.w.Inputs))
	}
	c, err := p.costs(elements, p.calls)
	if err != nil {
		return e, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	known := true
	for i := range p.w.Stages {
		step, err := p.w.usual(&p.w.Stages[i])
		if err != nil {
			return e, fmt.Errorf("songs: %s: %w", p.w.Name, err)
		}
		here := slices.DeleteFunc(step.Implementations(p.backends), func(m kernels.Implementation) bool { return m.Missing() != nil })
		if len(here) == 0 {
			return e, fmt.Errorf("songs: %s: stage %s: no implementation can run here", p.w.Name, p.w.Stages[i].Name)
		}
		accepted := slices.DeleteFunc(slices.Clone(here), func(m kernels.Implementation) bool { return !accepts(m) })
		if len(accepted) == 0 {
			accepted = here
		}
		best, isKnown := fastest(accepted, slices.Concat(c.onCPU[i], c.onGPU[i]))
		e.Route[i], known = best.Name, known && isKnown
		e.OnGPU = e.OnGPU || best.Processor == kernels.GPU
	}
	if known {
		e.Seconds = c.seconds(e.Route)
	}
	return e, nil
}

// fastest returns the implementation of the least cost, or the first one if none has a cost.
func fastest(of []kernels.Implementation, costs []cost) (best kernels.Implementation, known bool) {
	least := 0.0
	for _, c := range costs {
		at := slices.IndexFunc(of, func(m kernels.Implementation) bool { return m.Name == c.implementation })
		if at >= 0 && (!known || c.seconds < least) {
			best, least, known = of[at], c.seconds, true
		}
	}
	if !known {
		best = of[0]
	}
	return best, known
}

// Implementations returns the implementations of each stage that can run here, in the order of [Graph].Stages.
func (p *Pipeline) Implementations() (all [][]kernels.Implementation, err error) {
	for i := range p.w.Stages {
		step, err := p.w.usual(&p.w.Stages[i])
		if err != nil {
			return nil, fmt.Errorf("songs: %s: %w", p.w.Name, err)
		}
		all = append(all, slices.DeleteFunc(step.Implementations(p.backends),
			func(m kernels.Implementation) bool { return m.Missing() != nil }))
	}
	return all, nil
}
