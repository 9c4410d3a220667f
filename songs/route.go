package songs

import (
	"fmt"
	"slices"

	"crossover/gpu"
	"crossover/kernels"
)

// Route names the implementation of each stage, in the order of [Graph].Stages. An empty name leaves the choice to the
// dispatcher at each call. Stages on a GPU that follow each other are one list of kernels: data that only they need stay on the
// GPU, and the list is launched once. So the data of a stage are where its neighbours leave them.
type Route []string

// group is what is computed at once: a stage, or a list of kernels.
type group struct {
	first, end int   // in the order of the stages
	list       *list // nil for a stage on the processor, or one that the dispatcher chooses
}

// Follow makes the pipeline compute by a route. It fails, and changes nothing, if the route has another number of stages, or if
// an implementation is unknown or cannot run here. It opens the GPUs of the route. If an implementation fails in a call, its
// group is computed as the dispatcher chooses, in this call and until the next Follow or Close. The next call begins as after
// Reset. No [dispatch.Watch] times the stages that the route names an implementation for, or its lists, because the program has
// decided.
func (p *Pipeline) Follow(r Route) error {
	if err := p.follow(r); err != nil {
		return err
	}
	p.chosen, p.reason = true, "as the program says"
	return nil
}

func (p *Pipeline) follow(r Route) error {
	if len(r) != len(p.w.Stages) {
		return fmt.Errorf("songs: %s: a route of %d stages (want %d)", p.w.Name, len(r), len(p.w.Stages))
	}
	onGPU := make([]bool, len(r))
	for i, name := range r {
		if name == "" {
			continue
		}
		step, err := p.w.usual(&p.w.Stages[i])
		if err != nil {
			return fmt.Errorf("songs: %s: %w", p.w.Name, err)
		}
		all := step.Implementations(p.backends)
		at := slices.IndexFunc(all, func(m kernels.Implementation) bool { return m.Name == name })
		if at < 0 {
			return fmt.Errorf("songs: %s: stage %s: %w: %q", p.w.Name, p.w.Stages[i].Name, kernels.ErrUnknownImplementation, name)
		}
		if err := all[at].Missing(); err != nil {
			return fmt.Errorf("songs: %s: stage %s: %s: %w", p.w.Name, p.w.Stages[i].Name, name, err)
		}
		onGPU[i] = all[at].Processor == kernels.GPU
	}
	p.forgetPlans()
	p.Reset()
	p.routes++
	p.route, p.groups = slices.Clone(r), p.w.group(onGPU)
	for i := range p.groups {
		if l := p.groups[i].list; l != nil {
			for _, t := range l.hosted() {
				p.memory.share(t)
			}
		}
	}
	return nil
}

// group divides the stages into groups. Stages on a GPU join the list before them unless they need what only the processor can
// derive from it.
func (w *wiring) group(onGPU []bool) (all []group) {
	for k, i := range w.order {
		if n := len(all); n > 0 && all[n-1].list != nil && onGPU[i] && w.joins(all[n-1].list, i) {
			all[n-1].list.stages = append(all[n-1].list.stages, i)
			all[n-1].end = k + 1
			continue
		}
		g := group{first: k, end: k + 1}
		if onGPU[i] {
			g.list = &list{w: w, stages: []int{i}}
		}
		all = append(all, g)
	}
	return all
}

// joins reports whether a stage can join a list.
func (w *wiring) joins(l *list, i int) bool {
	for k, t := range w.reads[i] {
		decides := k >= len(w.Stages[i].Reads)
		derived := w.tensors[t].derived >= 0 && !w.growsIn(i, t)
		if from := w.maker(t); (decides || derived) && slices.Contains(l.stages, from) {
			return false
		}
	}
	joined := &list{w: w, stages: append(slices.Clone(l.stages), i)}
	return joined.transfers() <= gpu.MostHosted
}

// groupsOfOne are the groups of stages that the dispatcher chooses.
func (w *wiring) groupsOfOne() (all []group) {
	for k := range w.order {
		all = append(all, group{first: k, end: k + 1})
	}
	return all
}
