package songs

import (
	"errors"
	"fmt"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// ErrEmpty is wrapped by Run for an input without elements.
var ErrEmpty = errors.New("the input is empty")

// Pipeline computes a graph. Only one goroutine at a time may use a Pipeline.
type Pipeline struct {
	w          *wiring
	backends   *kernels.Backends
	dispatcher *dispatch.Dispatcher

	layout  *layout
	lengths []int    // of the inputs, for which the layout is; nil where there is none
	values  []uint32 // by stage, that decided its step; the plan of a stage is made for it
	memory  memory
	calls   int   // since Reset
	last    []int // words of the tensors after the last call; nil after Reset
	plans   []kernels.StepPlan
	ready   bool // outputs can be read

	route   Route            // nil if the dispatcher chooses every stage
	groups  []group          // of the route
	broken  []bool           // by stage: its implementation of the route has failed
	watched []dispatch.Stage // by stage, for those on the processor in a route that was planned
	watch   *dispatch.Watch  // that was told what the stages take; nil for none

	chosen  bool   // the program has called Follow
	planned []int  // lengths for which the route was planned; nil if none was
	routes  int    // that were planned or followed until now: the number of the route
	reason  string // for the route

	parts  *parts  // nil unless long inputs are computed in parts
	within *within // nil unless the pipeline computes a part of another one

	reference bool // computes by references: see NewReference

	recorder *Recorder  // nil unless spans are recorded
	names    []string   // of the stages
	recorded []recorded // by stage
}

// New returns a pipeline of a graph. The dispatcher chooses how each stage is computed: see [Pipeline.Explain]. It may be
// nil: see [kernels.NewPlan].
// New fails if the graph does not pass [Graph.Check]. It opens no GPU. The graph must not change afterwards.
func New(d *dispatch.Dispatcher, g *Graph) (*Pipeline, error) { return NewOn(kernels.Here(), d, g) }

// NewOn is [New] on the given backends.
func NewOn(b *kernels.Backends, d *dispatch.Dispatcher, g *Graph) (*Pipeline, error) {
	w, err := g.wire()
	if err != nil {
		return nil, err
	}
	p := &Pipeline{w: w, names: w.names(), recorded: make([]recorded, len(w.Stages)), backends: b, dispatcher: d, layout: newLayout(w), values: make([]uint32, len(w.Stages)),
		plans: make([]kernels.StepPlan, len(w.Stages)), memory: newMemory(b, w), groups: w.groupsOfOne(),
		broken: make([]bool, len(w.Stages)), watched: make([]dispatch.Stage, len(w.Stages))}
	p.parts, err = newParts(b, d, p)
	return p, err
}

// Run computes a call. inputs are the words of the graph's inputs in their order: see [kernels.Args]. They must not be empty,
// and Run keeps none of them. Their lengths may differ from call to call, unless a tensor of the last call is read: then it
// must still fit. Outputs are valid until the next call.
//
// If Run fails, it did not happen: what the next call reads of earlier ones is unchanged. It fails if a stage fails, which is
// if all of its implementations do.
func (p *Pipeline) Run(inputs ...[]float32) error {
	kernels.Made(p.w)
	if err := p.run(inputs); err != nil {
		return fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	return nil
}

func (p *Pipeline) run(inputs [][]float32) error {
	if err := p.accept(inputs); err != nil {
		return err
	}
	p.ready = false
	if p.watch != p.dispatcher.Watching() {
		p.expect()
	}
	if p.parts != nil {
		if done, err := p.parts.run(inputs[0]); done {
			return p.end(err)
		}
	}
	err := p.arrange(inputs)
	if err == nil {
		copy(p.memory.data, inputs) // inputs are the first tensors
		err = p.stages()
		p.memory.end(err == nil, p.layout.words, p.calls)
	}
	if err == nil {
		p.last = append(p.last[:0], p.layout.words...)
	}
	return p.end(err)
}

// end ends a call, which has failed or not.
func (p *Pipeline) end(err error) error {
	if err != nil {
		p.lengths = nil
		return err
	}
	p.calls++
	p.ready = true
	return nil
}

// isInParts reports whether the last call was computed in parts.
func (p *Pipeline) isInParts() bool { return p.parts != nil && p.parts.used }

// accept checks inputs.
func (p *Pipeline) accept(inputs [][]float32) error {
	if len(inputs) != len(p.w.Inputs) {
		return fmt.Errorf("%d inputs (want %d)", len(inputs), len(p.w.Inputs))
	}
	for i, data := range inputs {
		in := &p.w.Inputs[i]
		each := wordsOf(in.Type)
		switch {
		case len(data) == 0:
			return fmt.Errorf("%s: %w", in.Name, ErrEmpty)
		case len(data)%each != 0:
			return fmt.Errorf("%s has %d words (want %d for each element)", in.Name, len(data), each)
		}
	}
	return nil
}

// arrange finds the lengths of all tensors, as far as no value decides. The layout of a call is that of the call before, unless
// lengths are others.
func (p *Pipeline) arrange(inputs [][]float32) error {
	same := p.lengths != nil && !slices.ContainsFunc(p.w.Derived, func(d Derived) bool { return d.How == All })
	for i, data := range inputs {
		same = same && p.lengths[i] == len(data)/wordsOf(p.w.Inputs[i].Type)
	}
	if same {
		return nil
	}
	p.lengths = p.lengths[:0]
	for i, data := range inputs {
		p.lengths = append(p.lengths, len(data)/wordsOf(p.w.Inputs[i].Type))
	}
	for i := range p.w.Stages {
		if p.w.Stages[i].Decides != "" {
			p.layout.steps[i] = nil
		}
	}
	if err := p.plan(); err != nil {
		return err
	}
	_, err := p.layout.arrange(p.lengths, p.last, p.calls)
	return err
}

// stages computes the stages in their order.
func (p *Pipeline) stages() error {
	for i := range p.groups {
		g, err := &p.groups[i], error(nil)
		if g.list != nil && !p.broken[p.w.order[g.first]] {
			err = p.list(g)
		} else {
			_, err = p.singly(g, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// abandon leaves a list to the dispatcher, because it has failed, and reports the failure.
func (p *Pipeline) abandon(g *group, err error) {
	g.list.close()
	first := p.w.order[g.first]
	if !errors.Is(err, kernels.ErrRefused) {
		p.dispatcher.Failed(p.route[first], err)
	}
	for _, i := range p.w.order[g.first:g.end] {
		p.broken[i] = true
	}
}

// prepare makes the k-th stage of the order ready: what a value decides, and derived tensors. If the stage is in a list, that keeps
// the tensors that grow there.
func (p *Pipeline) prepare(k int, in *list) error {
	i := p.w.order[k]
	if p.w.Stages[i].Decides != "" {
		if err := p.decide(k); err != nil {
			return err
		}
	}
	for _, t := range p.w.reads[i] {
		if in != nil && p.w.growsIn(i, t) {
			continue
		}
		if err := p.derive(t); err != nil {
			return fmt.Errorf("stage %s: %w", p.w.Stages[i].Name, err)
		}
	}
	return nil
}

// derive derives a tensor, and records a move of data.
func (p *Pipeline) derive(t int) error {
	name := p.w.tensors[t].name
	if p.memory.moves(t) {
		defer interval(p.recorder.marks().Moves, name).end()
	}
	begin := p.recorder.now()
	moved, err := p.memory.derive(t, p.layout.words, p.calls)
	if moved {
		p.recorder.move(name, begin, p.layout.words[t])
	}
	return err
}

// decide takes the step of the k-th stage of the order by the value that decides it.
func (p *Pipeline) decide(k int) error {
	i := p.w.order[k]
	s, reads := &p.w.Stages[i], p.w.reads[i]
	value := kernels.Uint32s(p.memory.data[reads[len(reads)-1]])[0]
	if p.layout.steps[i] != nil && p.values[i] == value {
		return nil
	}
	if p.plans[i] != nil && p.values[i] != value {
		p.plans[i].Close()
		p.plans[i] = nil
	}
	step, err := s.Decided(value)
	if err != nil {
		return fmt.Errorf("stage %s: %w", s.Name, err)
	}
	p.values[i], p.layout.steps[i], p.layout.known = value, step, k
	_, err = p.layout.resume(p.last, p.calls)
	return err
}

// args returns the data of a stage's call.
func (p *Pipeline) args(i int) (a kernels.Args) {
	for k, t := range p.w.writes[i] {
		a[k] = p.memory.data[t][:p.layout.words[t]]
	}
	n := len(p.w.writes[i])
	for k := range p.w.Stages[i].Reads {
		t := p.w.reads[i][k]
		a[n+k] = p.memory.data[t][:p.layout.words[t]]
	}
	return a
}

// stage computes one stage by its plan.
func (p *Pipeline) stage(i int) error {
	err := p.runPlan(i)
	if err != nil && p.routed(i) {
		p.broken[i] = true
		p.plans[i].Close()
		p.plans[i] = nil
		err = p.runPlan(i)
	}
	if err != nil {
		return fmt.Errorf("stage %s: %w", p.w.Stages[i].Name, err)
	}
	return nil
}

// routed reports whether the route names a stage's implementation, and it has not failed.
func (p *Pipeline) routed(i int) bool { return p.route != nil && p.route[i] != "" && !p.broken[i] }

func (p *Pipeline) runPlan(i int) (err error) {
	defer interval(p.recorder.marks().Stages, p.names[i]).end()
	begin := p.recorder.now()
	for _, t := range p.w.writes[i] {
		if _, err := p.memory.take(t, p.layout.words[t]); err != nil {
			return err
		}
	}
	if p.plans[i] == nil {
		switch step := p.layout.steps[i]; {
		case p.reference:
			p.plans[i] = referencePlan{step}
		case p.routed(i):
			if p.plans[i], err = p.planOf(i); err != nil {
				p.plans[i] = step.Plan(p.backends, p.dispatcher)
			}
		default:
			p.plans[i] = step.Plan(p.backends, p.dispatcher)
		}
	}
	r := p.recorder
	if r == nil {
		return p.plans[i].Run(p.layout.shapes[i], p.args(i))
	}
	if err = p.plans[i].RunTimed(p.layout.shapes[i], p.args(i), &r.times); err == nil {
		p.recordStage(i, begin)
	}
	return err
}

// planOf returns a plan of the implementation that the route names for a stage. If the route was planned, a watch may swap the
// implementation. What the program says is no choice that can be doubtful.
func (p *Pipeline) planOf(i int) (kernels.StepPlan, error) {
	step := p.layout.steps[i]
	if p.chosen || p.dispatcher == nil {
		return step.PlanOf(p.backends, p.route[i])
	}
	if name := p.insteadOf(i); name != "" {
		return step.PlanOf(p.backends, name)
	}
	p.watched[i].Pipeline, p.watched[i].Name, p.watched[i].Implementation = p.w.Name, p.names[i], p.route[i]
	return step.PlanIn(p.backends, p.dispatcher, &p.watched[i])
}

// Floats returns an output of the last call, as words: two for a complex value. It is nil if the last call failed or there was
// none. Floats panics if the graph has no such output.
func (p *Pipeline) Floats(output string) []float32 {
	if !slices.Contains(p.w.Outputs, output) {
		panic(fmt.Sprintf("songs: %s has no output %q", p.w.Name, output))
	}
	if !p.ready {
		return nil
	}
	if p.isInParts() {
		return p.parts.floats(output)
	}
	t := p.w.find(output)
	return p.memory.result(t)[:p.last[t]]
}

// Complex returns an output of complex values: see Floats.
func (p *Pipeline) Complex(output string) []complex64 { return kernels.Complex(p.Floats(output)) }

// Uint32s returns an output of integers: see Floats.
func (p *Pipeline) Uint32s(output string) []uint32 { return kernels.Uint32s(p.Floats(output)) }

// Calls returns the number of calls since Reset.
func (p *Pipeline) Calls() int { return p.calls }

// Reset forgets what came before, as if the next call were the first one.
func (p *Pipeline) Reset() {
	p.calls, p.last, p.ready = 0, nil, false
	p.memory.reset()
	p.forgetGrown()
}

// forgetGrown makes the lists take the rows of earlier calls from the memory of the pipeline.
func (p *Pipeline) forgetGrown() {
	for i := range p.groups {
		if l := p.groups[i].list; l != nil {
			l.grown = 0
		}
	}
}

// Close releases what the plans of the stages hold, such as GPU memory, and the memory of all tensors. A call after Close
// begins as after Reset.
func (p *Pipeline) Close() {
	p.forgetPlans()
	p.planned = nil
	p.Reset()
	p.memory.close()
	if s := p.parts; s != nil {
		s.used = false
		s.frames.Close()
		s.rest.Close()
		s.padded, s.joined = nil, make([][]float32, len(s.each))
	}
}

// forgetPlans closes the plans of all stages and lists.
func (p *Pipeline) forgetPlans() {
	for i, plan := range p.plans {
		if plan != nil {
			plan.Close()
		}
		p.plans[i] = nil
	}
	for i := range p.groups {
		if l := p.groups[i].list; l != nil {
			l.close()
		}
	}
	clear(p.broken)
	if s := p.parts; s != nil { // they follow the route
		s.used = false
		s.frames.forgetPlans()
		s.rest.forgetPlans()
	}
}
