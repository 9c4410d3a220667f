package songs

import (
	"fmt"
	"slices"
	"strings"

	"crossover/kernels"
)

// The plans by which a pipeline can compute all of its stages.
const (
	Best      = "best"      // the route that was measured or is predicted to be fastest
	Stages    = "stages"    // each stage as the dispatcher chooses
	Processor = "processor" // every stage on the processor
	GPU       = "gpu"       // every stage on a GPU that has an implementation there
)

// PlanNames are the names of the plans.
var PlanNames = []string{Best, Stages, Processor, GPU}

// FollowPlan makes the pipeline compute by a plan for inputs of so many elements. It fails if the plan is unknown, if the graph
// does not take such inputs, or if [GPU] is asked for and no GPU can run a stage. See [Pipeline.Follow] for what follows.
func (p *Pipeline) FollowPlan(name string, elements ...int) error {
	switch name {
	case Best:
		p.chosen, p.planned = false, nil
		p.leave("") // until the next call plans
		return nil
	case Stages:
		return p.Follow(make(Route, len(p.w.Stages)))
	case Processor, GPU:
		r, err := p.alone(name == GPU, elements)
		if err != nil {
			return err
		}
		return p.Follow(r)
	}
	return fmt.Errorf("songs: %s: there is no plan %q (want %s)", p.w.Name, name, strings.Join(PlanNames, ", "))
}

// alone returns the route with every stage on one side, by the fastest implementation there as far as the calibration knows,
// and otherwise by the first one that can run.
func (p *Pipeline) alone(onGPU bool, elements []int) (Route, error) {
	c, err := p.costs(elements, p.calls)
	if err != nil {
		return nil, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	route, found, missing := c.alone(onGPU), false, error(nil)
	for i := range route {
		step, err := p.w.usual(&p.w.Stages[i])
		if err != nil {
			return nil, fmt.Errorf("songs: %s: %w", p.w.Name, err)
		}
		all := step.Implementations(p.backends)
		first := func(side kernels.Processor) string {
			for _, m := range all {
				if m.Processor != side {
					continue
				}
				if err := m.Missing(); err != nil {
					missing = err
					continue
				}
				return m.Name
			}
			return ""
		}
		is := func(side kernels.Processor) bool {
			return slices.ContainsFunc(all, func(m kernels.Implementation) bool { return m.Name == route[i] && m.Processor == side })
		}
		if onGPU && !is(kernels.GPU) {
			if name := first(kernels.GPU); name != "" {
				route[i] = name
			}
		}
		if route[i] == "" {
			route[i] = first(kernels.CPU)
		}
		found = found || is(kernels.GPU)
	}
	switch {
	case onGPU && !found && missing != nil:
		return nil, fmt.Errorf("songs: %s: no stage can run on a GPU here: %w", p.w.Name, missing)
	case onGPU && !found:
		return nil, fmt.Errorf("songs: %s: no stage can run on a GPU here, because there is none", p.w.Name)
	}
	return route, nil
}

// mayUseGPU reports whether a stage may run on a GPU in calls of inputs of so many elements.
func (p *Pipeline) mayUseGPU(elements ...int) (bool, error) {
	if slices.ContainsFunc(p.groups, func(g group) bool { return g.list != nil }) {
		return true, nil
	}
	if p.chosen && !slices.Contains(p.route, "") {
		return false, nil
	}
	c, err := p.costs(elements, p.calls)
	if err != nil {
		return false, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	return c.hasGPU(), nil
}

// Follow makes the analysis of a recording of so many samples follow a plan: see [Pipeline.FollowPlan].
func (a *Analysis) Follow(plan string, samples int) error {
	if err := a.whole.FollowPlan(plan, samples); err != nil {
		return err
	}
	a.most = 0
	if err := a.decide(samples); err != nil {
		return err
	}
	frames := a.Frames(samples)
	if frames <= a.most {
		return nil
	}
	if err := a.spectra.FollowPlan(plan, (a.partOf(frames)-1)*a.params.Hop+a.params.NFFT); err != nil {
		return err
	}
	return a.features.FollowPlan(plan, frames*a.params.Bands)
}
