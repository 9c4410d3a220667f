package songs

import (
	"errors"
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

// FollowPlan makes the pipeline compute by a plan for inputs of so many elements, at which [Best] and [Stages] do not look. It fails
// if the plan is unknown, if the graph does not take such inputs, or if [GPU] is asked for and no GPU can run a stage. See
// [Pipeline.Follow] for what follows.
func (p *Pipeline) FollowPlan(name string, elements ...int) error {
	switch name {
	case Best:
		p.chosen, p.planned = false, nil
		p.leave("")
		p.lengths = nil // so that the next call plans, also if it has the lengths of the last one
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

// alone returns the route with every stage on one side, as far as it has an implementation there: see [Pipeline.Only].
func (p *Pipeline) alone(onGPU bool, elements []int) (Route, error) {
	side := kernels.CPU
	if onGPU {
		side = kernels.GPU
	}
	e, err := p.Only("", func(m kernels.Implementation) bool { return m.Processor == side }, elements...)
	if err == nil && onGPU && !e.OnGPU {
		err = fmt.Errorf("songs: %s: no stage can run on a GPU here: %w", p.w.Name, p.noGPU())
	}
	return e.Route, err
}

// noGPU says why no implementation on a GPU can run.
func (p *Pipeline) noGPU() error {
	for i := range p.w.Stages {
		step, err := p.w.usual(&p.w.Stages[i])
		if err != nil {
			return err
		}
		for _, m := range step.Implementations(p.backends) {
			if err := m.Missing(); m.Processor == kernels.GPU && err != nil {
				return err
			}
		}
	}
	return errors.New("there is none")
}

// mayUseGPU reports whether some of the stages may run on a GPU in calls of inputs of so many elements.
func (p *Pipeline) mayUseGPU(stages []int, elements ...int) (bool, error) {
	if slices.ContainsFunc(p.groups, func(g group) bool {
		return g.list != nil && slices.ContainsFunc(stages, func(i int) bool { return slices.Contains(g.list.stages, i) })
	}) {
		return true, nil
	}
	open := func(i int) bool { return p.route == nil || p.route[i] == "" }
	if !slices.ContainsFunc(stages, open) {
		return false, nil
	}
	c, err := p.costs(elements, p.calls)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(stages, func(i int) bool { return open(i) && len(c.onGPU[i]) > 0 }), nil
}

// Follow makes the analysis of a recording of so many samples follow a plan: see [Pipeline.FollowPlan].
func (a *Analysis) Follow(plan string, samples int) error {
	return a.pipeline.FollowPlan(plan, samples)
}
