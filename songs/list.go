package songs

import (
	"errors"
	"fmt"
	"slices"

	"crossover/gpu"
	"crossover/kernels"
)

// list is stages on a GPU that follow each other, as one launch plan.
type list struct {
	w      *wiring
	stages []int

	steps  []kernels.Step    // for which the kernels are
	of     []kernels.Kernels // by stage of the list
	ends   []func()
	shapes []kernels.Shape // for which the plan is
	plan   *gpu.Plan
	places []place // what the plan reads and writes, in its order
	data   [][]float32
}

// place is a tensor as elements of a type: that of a tensor may differ from what a stage reads.
type place struct {
	tensor  int
	element kernels.Element
}

// hosted returns the tensors that the processor sees: what the list reads from outside, and what others need of it. A tensor
// that is read as elements of two types counts twice.
func (l *list) hosted() (all []int) {
	var known []place
	for _, i := range l.stages {
		step, _ := l.w.Stages[i].step(0)
		for k, t := range inputs(step.Tensors(ones)) {
			p := place{l.w.reads[i][k], t.Type}
			if !slices.Contains(l.stages, l.w.tensors[p.tensor].stage) && !slices.Contains(known, p) {
				known = append(known, p)
				all = append(all, p.tensor)
			}
		}
		for _, t := range l.w.writes[i] {
			if l.needed(t) {
				all = append(all, t)
			}
		}
	}
	return all
}

// needed reports whether a tensor of the list is needed outside of it.
func (l *list) needed(t int) bool {
	if slices.Contains(l.w.outputs, t) || slices.Contains(l.w.of, t) {
		return true
	}
	for i := range l.w.Stages {
		for k, read := range l.w.reads[i] {
			decides := k >= len(l.w.Stages[i].Reads)
			if read == t && (decides || !slices.Contains(l.stages, i)) {
				return true
			}
		}
	}
	return false
}

// run computes the list.
func (l *list) run(p *Pipeline) error {
	begin := p.recorder.now()
	if err := l.prepare(p); err != nil {
		return err
	}
	for i, place := range l.places {
		words := p.layout.words[place.tensor]
		if l.w.tensors[place.tensor].input >= 0 {
			l.data[i] = p.memory.data[place.tensor]
			continue
		}
		data, err := p.memory.take(place.tensor, words)
		if err != nil {
			return err
		}
		l.data[i] = data
	}
	err := l.call(p, begin)
	clear(l.data)
	return err
}

// call calls the launch plan, and records the call if the pipeline is recorded.
func (l *list) call(p *Pipeline, begin float64) error {
	if p.recorder == nil {
		return l.plan.Call(l.data)
	}
	t, err := l.plan.CallTimed(l.data)
	if err == nil {
		p.recordList(l, begin, &t)
	}
	return err
}

// prepare makes the launch plan of this call's shapes, unless the last one fits.
func (l *list) prepare(p *Pipeline) error {
	same := l.plan != nil
	for k, i := range l.stages {
		same = same && l.shapes[k] == p.layout.shapes[i] && l.steps[k] == p.layout.steps[i]
	}
	if same {
		return nil
	}
	if err := l.open(p); err != nil {
		return err
	}
	l.shapes = l.shapes[:0]
	for _, i := range l.stages {
		l.shapes = append(l.shapes, p.layout.shapes[i])
	}
	b := l.of[0].Device().NewPlan()
	l.describe(b)
	spent := l.plan
	l.plan = nil
	plan, err := b.BuildOver(spent)
	if err != nil {
		return err
	}
	l.plan, l.data = plan, make([][]float32, len(l.places))
	return nil
}

// open makes the kernels of the stages, unless they are there.
func (l *list) open(p *Pipeline) error {
	if len(l.of) == 0 {
		l.of, l.ends, l.steps = make([]kernels.Kernels, len(l.stages)), make([]func(), len(l.stages)), make([]kernels.Step, len(l.stages))
	}
	for k, i := range l.stages {
		step := p.layout.steps[i]
		if l.of[k] != nil && l.steps[k] == step {
			continue
		}
		of, end, err := step.Kernels(p.backends, p.route[i])
		if err != nil {
			return fmt.Errorf("stage %s: %w", l.w.Stages[i].Name, err)
		}
		if l.ends[k] != nil {
			l.ends[k]()
		}
		l.of[k], l.ends[k], l.steps[k] = of, end, step
		if of.Device() != l.of[0].Device() {
			return errors.New("the stages of a list run on two GPUs")
		}
	}
	return nil
}

// describe appends the kernels of all stages to a launch plan.
func (l *list) describe(b *gpu.Builder) {
	buffers := map[place]*gpu.Buffer{}
	l.places = nil
	for k, i := range l.stages {
		var args []*gpu.Buffer
		reads := l.w.reads[i]
		for _, t := range l.steps[k].Tensors(l.shapes[k]) {
			at := place{element: t.Type}
			if t.Role == kernels.Out {
				at.tensor = l.w.writes[i][len(args)]
				if l.needed(at.tensor) {
					buffers[at] = kernels.BufferOf(t, b.Output)
					l.places = append(l.places, at)
				} else {
					buffers[at] = kernels.BufferOf(t, b.Scratch)
				}
			} else {
				at.tensor, reads = reads[0], reads[1:]
				if buffers[at] == nil {
					buffers[at] = l.read(b, t, at, buffers)
				}
			}
			args = append(args, buffers[at])
		}
		l.of[k].Append(b, l.shapes[k], args)
	}
}

// read returns a buffer of what a stage reads: an input, or a copy on the device where the list has the tensor as elements of
// another type.
func (l *list) read(b *gpu.Builder, t kernels.Tensor, at place, buffers map[place]*gpu.Buffer) *gpu.Buffer {
	if from := buffers[place{at.tensor, l.w.tensors[at.tensor].element}]; from != nil {
		to := kernels.BufferOf(t, b.Scratch)
		b.Copy(to, from)
		return to
	}
	l.places = append(l.places, at)
	return kernels.BufferOf(t, b.Input)
}

// close releases the launch plan and the kernels.
func (l *list) close() {
	if l.plan != nil {
		l.plan.Close()
	}
	for _, end := range l.ends {
		if end != nil {
			end()
		}
	}
	l.plan, l.of, l.ends, l.steps = nil, nil, nil, nil
}
