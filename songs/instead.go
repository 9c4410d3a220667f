package songs

import (
	"errors"
	"slices"
	"time"
	"weak"

	"crossover/dispatch"
	"crossover/kernels"
)

// choice is whether a list of kernels is launched, or its stages are computed on the processor instead, each by the implementation
// that is predicted to be the fastest there. A watch of the dispatcher may decide so, if the route was planned.
type choice struct {
	of      *dispatch.Operation // nil if the list is always launched
	instead []string            // by stage of the list; nil until they are needed
	turn    dispatch.Turn
	call    dispatch.Timed // all but the implementation and the time
}

// ask makes the list ask the dispatcher. It does nothing if something else than the lengths of the pipeline's inputs decides how long
// the list takes: a value, or the number of calls.
func (l *list) ask(p *Pipeline) {
	decided := slices.ContainsFunc(l.stages, func(i int) bool { return l.w.Stages[i].Decides != "" })
	longer := slices.ContainsFunc(l.w.Derived, func(d Derived) bool { return d.How == All })
	if decided || longer {
		return
	}
	stage := dispatch.Stage{Pipeline: p.w.Name, Name: l.name(), Implementation: l.implementation(p)}
	l.choice.of = p.dispatcher.ListIn(&stage, Processor)
}

// expect finds out what a watch needs, and what the stages are computed by instead. costs are those of the planned lengths. A list is
// always launched if the calibration does not predict each stage on both sides.
func (l *list) expect(p *Pipeline, c *costs) {
	if l.choice.of == nil {
		return
	}
	route, instead := slices.Clone(p.route), slices.Clone(p.route)
	t := c.take(route)
	var names []string
	var alone, seconds, aloneInstead, secondsInstead float64
	for _, i := range l.stages {
		if len(c.onCPU[i]) == 0 || t.alone[i] <= 0 || c.onCPU[i][0].alone <= 0 {
			l.choice.of = nil
			return
		}
		best := &c.onCPU[i][0]
		instead[i], names = best.implementation, append(names, best.implementation)
		alone, seconds = alone+t.alone[i], seconds+t.seconds[i]
		aloneInstead, secondsInstead = aloneInstead+best.alone, secondsInstead+best.seconds
	}
	for k, i := range l.stages {
		if p.plans[i] != nil && !p.broken[i] && l.choice.instead != nil && l.choice.instead[k] != names[k] {
			p.plans[i].Close()
			p.plans[i] = nil
		}
	}
	name := l.implementation(p)
	e := &exercise{weak.Make(p.w), p.backends, p.dispatcher, slices.Clone(l.stages), map[string]Route{name: route, Processor: instead}}
	l.choice.instead, l.choice.turn = names, p.watch.Turn()
	l.choice.call = dispatch.Timed{Trial: e.trial, Forecast: e.forecast,
		Factors: map[string]float64{name: seconds / alone, Processor: secondsInstead / aloneInstead}}
}

// implementation stands for those of all stages of the list.
func (l *list) implementation(p *Pipeline) string { return p.route[l.stages[0]] }

// isAside reports whether the stages of the list are computed on the processor instead, at the lengths of the present call.
func (l *list) isAside(p *Pipeline) bool {
	if l.choice.of == nil || l.choice.of.ChooseShape(p.lengths...) != Processor {
		return false
	}
	if l.choice.instead == nil { // a watch of the past has swapped it
		c, err := p.costs(p.planned, p.calls)
		if err != nil {
			l.choice.of = nil // or each call would try again
			return false
		}
		l.expect(p, c)
	}
	return l.choice.of != nil
}

// insteadOf returns what computes a stage of a list on the processor instead, "" for other stages.
func (p *Pipeline) insteadOf(i int) string {
	for n := range p.groups {
		if l := p.groups[n].list; l != nil && l.choice.instead != nil {
			if k := slices.Index(l.stages, i); k >= 0 {
				return l.choice.instead[k]
			}
		}
	}
	return ""
}

// list computes a list, by its launch plan or by its stages. A call that makes a plan is not timed. Like the spans that the
// calibration has, the time is without the moves of derived tensors.
func (p *Pipeline) list(g *group) error {
	l := g.list
	due := l.choice.turn.Due()
	if l.isAside(p) {
		warm := !slices.ContainsFunc(l.stages, func(i int) bool { return p.plans[i] == nil })
		took, err := p.singly(g, due)
		if due && warm && err == nil {
			l.handOver(p, Processor, took)
		}
		return err
	}
	for k := g.first; k < g.end; k++ {
		if err := p.prepare(k, l); err != nil {
			return err
		}
	}
	plan := l.plan
	var start time.Time
	if due {
		start = time.Now()
	}
	err := l.run(p)
	if due && err == nil && l.plan == plan {
		l.handOver(p, l.implementation(p), time.Since(start))
	}
	if err != nil {
		p.abandon(g, err)
		_, err = p.singly(g, false)
	}
	return err
}

func (l *list) handOver(p *Pipeline, implementation string, took time.Duration) {
	call := l.choice.call
	call.Implementation, call.Took = implementation, took
	l.choice.turn.Operation(l.choice.of, call, p.lengths...)
}

// singly computes the stages of a group one after the other, and returns how long that took if it is timed.
func (p *Pipeline) singly(g *group, timed bool) (took time.Duration, err error) {
	for k := g.first; k < g.end; k++ {
		if err := p.prepare(k, nil); err != nil {
			return 0, err
		}
		var start time.Time
		if timed {
			start = time.Now()
		}
		if err := p.stage(p.w.order[k]); err != nil {
			return 0, err
		}
		if timed {
			took += time.Since(start)
		}
	}
	return took, nil
}

// exercise computes the stages of a list alone, in a duel, and predicts how long that takes. It does not keep the graph, which may
// hold a model's weights, nor the memory of a pipeline. It reads what never changes, because the pipeline may compute at the same
// time.
type exercise struct {
	w          weak.Pointer[wiring]
	backends   *kernels.Backends
	dispatcher *dispatch.Dispatcher
	stages     []int
	routes     map[string]Route // by implementation of the list
}

var errDropped = errors.New("the pipeline whose calls were timed is gone")

// forecast is what the list takes alone, or its stages on the processor, for inputs of so many elements.
func (e *exercise) forecast(implementation string, elements []int) (seconds float64, known bool) {
	w, route := e.w.Value(), e.routes[implementation]
	if w == nil || route == nil {
		return 0, false
	}
	l, err := w.arranged(elements, 0)
	if err != nil {
		return 0, false
	}
	c := newCosts(e.backends, e.dispatcher, l, nil, &measured{})
	t := c.take(route)
	if slices.ContainsFunc(e.stages, func(i int) bool { return t.alone[i] <= 0 }) {
		return 0, false
	}
	for _, g := range c.groups(t.onGPU) {
		if slices.Contains(e.stages, w.order[g.first]) {
			seconds += c.group(&g, t)
		}
	}
	return seconds, true
}

// trial makes a pipeline of its own compute the list alone, or its stages on the processor. What they read from outside is filled
// with the inputs with which a sweep measures the stages.
func (e *exercise) trial(implementation string, elements []int) (run func() error, end func(), err error) {
	w, route := e.w.Value(), e.routes[implementation]
	if w == nil {
		return nil, nil, errDropped
	}
	p, err := NewOn(e.backends, nil, w.Graph)
	if err != nil {
		return nil, nil, err
	}
	alone := make(Route, len(route))
	for _, i := range e.stages {
		alone[i] = route[i]
	}
	if err = p.Follow(alone); err == nil {
		p.layout, err = w.arranged(elements, 0)
	}
	if err == nil {
		p.lengths = slices.Clone(elements)
		err = p.fill(e.stages)
	}
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	at := slices.IndexFunc(p.groups, func(g group) bool { return g.list != nil && slices.Equal(g.list.stages, e.stages) })
	if at >= 0 {
		return func() error { return p.groups[at].list.run(p) }, p.Close, nil
	}
	return func() error {
		for _, i := range e.stages {
			if err := p.runPlan(i); err != nil {
				return err
			}
		}
		return nil
	}, p.Close, nil
}

// fill fills what some stages read from outside.
func (p *Pipeline) fill(stages []int) error {
	filled := map[int]bool{}
	for _, i := range stages {
		step, shape := p.layout.steps[i], p.layout.shapes[i]
		var a kernels.Args
		for k, t := range step.Tensors(shape) {
			a[k] = make([]float32, t.Len())
		}
		step.FillInputs(shape, kernels.GeneratedInput(), &a)
		for k, t := range p.w.reads[i] {
			if filled[t] || slices.Contains(stages, p.w.tensors[t].stage) {
				continue
			}
			data := a[len(p.w.writes[i])+k]
			if p.w.tensors[t].input >= 0 {
				p.memory.data[t] = data
			} else if to, err := p.memory.take(t, p.layout.words[t]); err != nil {
				return err
			} else {
				copy(to, data)
			}
			filled[t] = true
		}
	}
	return nil
}
