package songs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"crossover/gpu"
	"crossover/kernels"
)

// list is stages on a GPU that follow each other, as one launch plan.
type list struct {
	w      *wiring
	stages []int
	title  string // see name
	choice choice

	steps  []kernels.Step    // for which the kernels are
	of     []kernels.Kernels // by stage of the list
	ends   []func()
	shapes []kernels.Shape // for which the plan is
	plan   *gpu.Plan
	places []place // what the plan reads and writes, in its order
	data   [][]float32

	room    int // rows that the tensors have room for that grow; 0 if there are none
	grown   int // calls whose rows they have at least
	growing []growing
	length  []float32 // the number of rows as an integer, in whole vectors
}

// growing is a tensor that grows on the GPU. The plan keeps it from call to call, and a call hands in its row alone.
type growing struct {
	tensor int
	buffer *gpu.Buffer
}

// lengthOfGrowing stands for the number of rows among the places.
const lengthOfGrowing = -1

// leastRoom is the least number of rows that a growing tensor has room for. It is doubled as often as needed, each time with another
// plan.
const leastRoom = 64

// place is a tensor as elements of a type: that of a tensor may differ from what a stage reads.
type place struct {
	tensor  int
	element kernels.Element
}

// hosted returns the tensors that the processor sees: what the list reads from outside, and what others need of it. A tensor
// that is read as elements of two types counts twice. One that grows counts as its row.
func (l *list) hosted() (all []int) {
	var known []place
	for _, i := range l.stages {
		step, _ := l.w.Stages[i].step(0)
		for k, t := range inputs(step.Tensors(ones)) {
			p := place{l.w.reads[i][k], t.Type}
			if l.w.growsIn(i, p.tensor) {
				p.tensor = l.w.rowOf(p.tensor)
			}
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

// transfers returns the number of hosted tensors, with the number of rows if tensors grow.
func (l *list) transfers() int {
	n := len(l.hosted())
	if l.grows() {
		n++
	}
	return n
}

// grows reports whether a stage of the list lets tensors grow.
func (l *list) grows() bool {
	return slices.ContainsFunc(l.stages, func(i int) bool { return l.w.growing[i] })
}

// rowOf returns the tensor that has the row of a call for one that grows.
func (w *wiring) rowOf(t int) int { return w.of[w.tensors[t].derived] }

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
	if of := p.recorder.marks().Lists; of != nil {
		defer interval(of, l.name()).end()
	}
	begin := p.recorder.now()
	if err := l.prepare(p); err != nil {
		return err
	}
	if l.grown < p.calls && l.room > 0 {
		if err := l.load(p); err != nil {
			return err
		}
	}
	for i, place := range l.places {
		if place.tensor == lengthOfGrowing {
			kernels.Uint32s(l.length)[0] = uint32(p.calls + 1)
			l.data[i] = l.length
			continue
		}
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
	if err == nil {
		l.grown = p.calls + 1
	}
	return err
}

// name returns the name of the list's spans: those of its stages.
func (l *list) name() string {
	if l.title == "" {
		var names []string
		for _, i := range l.stages {
			names = append(names, l.w.Stages[i].Name)
		}
		l.title = strings.Join(names, " + ")
	}
	return l.title
}

// load writes the rows of earlier calls into the tensors that grow.
func (l *list) load(p *Pipeline) error {
	for _, g := range l.growing {
		if err := p.memory.settle(g.tensor, p.calls); err != nil {
			return err
		}
		each, columns := p.layout.words[l.w.rowOf(g.tensor)], l.w.Derived[l.w.tensors[g.tensor].derived].Columns
		rows, have := make([]float32, each*l.room), p.calls*columns
		for m := range each / columns {
			copy(rows[m*l.room*columns:], p.memory.data[g.tensor][m*have:(m+1)*have])
		}
		if err := l.plan.Write(g.buffer, rows); err != nil {
			return err
		}
	}
	return nil
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
	room := l.roomFor(p.calls + 1)
	same := l.plan != nil
	for k, i := range l.stages {
		same = same && l.shapes[k] == l.shape(p, i, room) && l.steps[k] == p.layout.steps[i]
	}
	if same {
		return nil
	}
	if err := l.open(p); err != nil {
		return err
	}
	l.shapes, l.room, l.grown = l.shapes[:0], room, 0
	for _, i := range l.stages {
		l.shapes = append(l.shapes, l.shape(p, i, room))
	}
	b := l.of[0].Device().NewPlan()
	l.describe(b, p.layout.words)
	spent := l.plan
	l.plan = nil
	plan, err := b.BuildOver(spent)
	if err != nil {
		return err
	}
	l.plan, l.data = plan, make([][]float32, len(l.places))
	return nil
}

// roomFor returns the room of the tensors that grow for so many rows. It is never less than before. 0 stands for none.
func (l *list) roomFor(rows int) int {
	if !l.grows() {
		return 0
	}
	room := max(leastRoom, l.room)
	for room < rows {
		room *= 2
	}
	return room
}

// shape returns the shape of a stage's kernels in a call, with room for tensors that grow.
func (l *list) shape(p *Pipeline, i, room int) kernels.Shape {
	s := p.layout.shapes[i]
	if l.w.growing[i] {
		s[l.w.Stages[i].Step.Grows()] = room
	}
	return s
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

// describe appends the kernels of all stages to a launch plan. words are the lengths of the tensors.
func (l *list) describe(b *gpu.Builder, words []int) {
	buffers := map[place]*gpu.Buffer{}
	l.places, l.growing = nil, nil
	var length *gpu.Buffer
	if l.grows() {
		number := kernels.Tensor{Type: kernels.Uint32}
		length, l.length = kernels.BufferOf(number, b.Input), kernels.Uint32Words(make([]uint32, 1))
		l.places = append(l.places, place{lengthOfGrowing, number.Type})
	}
	for k, i := range l.stages {
		var args []*gpu.Buffer
		var rows [kernels.MostTensors]*gpu.Buffer
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
				switch grows := l.w.growsIn(i, at.tensor); {
				case grows:
					rows[len(args)] = l.row(b, t, at, buffers, words)
					if buffers[at] == nil {
						buffers[at] = kernels.BufferOf(t, b.Kept)
						l.growing = append(l.growing, growing{at.tensor, buffers[at]})
					}
				case buffers[at] == nil:
					buffers[at] = l.read(b, t, at, buffers)
				}
			}
			args = append(args, buffers[at])
		}
		if l.w.growing[i] {
			l.of[k].AppendGrowing(b, l.shapes[k], args, rows[:len(args)], length)
		} else {
			l.of[k].Append(b, l.shapes[k], args)
		}
	}
}

// row returns the buffer with the row of a call for a tensor that grows.
func (l *list) row(b *gpu.Builder, t kernels.Tensor, of place, buffers map[place]*gpu.Buffer, words []int) *gpu.Buffer {
	at := place{l.w.rowOf(of.tensor), of.element}
	if buffers[at] == nil {
		t.Dims = []int{words[at.tensor] / wordsOf(t.Type)}
		buffers[at] = l.read(b, t, at, buffers)
	}
	return buffers[at]
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
	l.room, l.grown, l.growing = 0, 0, nil
}
