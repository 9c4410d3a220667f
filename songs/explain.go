package songs

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/dispatch"
)

// plan plans the route of a call, unless the program has, or the present one is for about these lengths, or a tensor of the last
// call must be read, which is in the memory of the present route.
func (p *Pipeline) plan() error {
	if p.within != nil {
		return p.adopt()
	}
	if p.chosen || p.reference || p.last != nil && slices.ContainsFunc(p.w.Derived, func(d Derived) bool { return d.How != Turned }) {
		return nil
	}
	if p.isNear() {
		return nil
	}
	p.planned = slices.Clone(p.lengths)
	defer p.expect()
	followed, doubt := p.followMeasured()
	if followed {
		return nil
	}
	c, err := p.costs(p.lengths, p.calls)
	if err != nil {
		p.planned = nil
		return err
	}
	if !c.hasGPU() {
		p.leave("each stage as the dispatcher chooses, because the calibration has no times of a GPU for them" + doubt)
		return nil
	}
	ways, _ := c.placed()
	best := c.best(1, ways)[0]
	if err := p.follow(best.Route); err != nil {
		p.leave("each stage as the dispatcher chooses: " + err.Error() + doubt)
		return nil
	}
	p.reason = fmt.Sprintf("the least predicted time, %.3g ms", 1e3*best.Seconds)
	if of, found := p.dispatcher.Pipeline(p.w.Name, p.names); found {
		p.reason += fmt.Sprintf(" (such forecasts are off by %.0f %% in the median)", 100*calibration.ForecastError(of))
	}
	p.reason += doubt
	return nil
}

// isNear reports whether the present plan is for about the lengths of the call.
func (p *Pipeline) isNear() bool {
	near := p.planned != nil
	for i, n := range p.planned {
		near = near && n <= 2*p.lengths[i] && p.lengths[i] <= 2*n
	}
	return near
}

// expect finds out how many times as long the stages and the lists take in the pipeline as alone, for a watch of the dispatcher. It
// does nothing if the pipeline follows no route that was planned, and little if there is no watch.
func (p *Pipeline) expect() {
	p.watch = p.dispatcher.Watching()
	if p.dispatcher == nil || p.route == nil || p.chosen || p.planned == nil {
		return
	}
	for i := range p.groups {
		if l := p.groups[i].list; l != nil && l.choice.of == nil {
			l.ask(p)
		}
	}
	if p.watch == nil {
		return
	}
	c, err := p.costs(p.planned, p.calls)
	for i := range p.groups {
		if l := p.groups[i].list; l != nil && err == nil {
			l.expect(p, c)
		}
	}
	for i := range p.watched {
		p.watched[i].Factors = map[string]float64{} // the watch may still read the last one
		if err != nil {
			continue
		}
		for _, of := range c.onCPU[i] {
			if of.alone > 0 { // without a prediction nothing can be compared
				p.watched[i].Factors[of.implementation] = of.seconds / of.alone
			}
		}
	}
}

// worthwhile is by what part a route must be faster than the stages as the dispatcher chooses to be worth following. The
// dispatcher chooses by the length of each call, and a route is measured at one length.
const worthwhile = 0.01

// followMeasured follows the fastest route that was measured at about these lengths, and of which every implementation can run
// here. If that is hardly faster than each stage as the dispatcher chooses, it leaves the stages to the dispatcher. It returns
// false if there is no such route, and doubt if that is because an implementation of the fastest one has changed since: then
// another route may be the fastest.
func (p *Pipeline) followMeasured() (followed bool, doubt string) {
	elements, err := p.Elements(p.lengths...)
	if err != nil {
		return false, ""
	}
	of, found := p.dispatcher.Pipeline(p.w.Name, p.names)
	l := nearest(of.Lengths, elements)
	if !found || l == nil || apart(l.Elements, elements) > math.Log(mostApart) {
		return false, "" // the forecast is of this very length
	}
	for i := range l.Routes {
		r := &l.Routes[i]
		adapts := !slices.ContainsFunc(r.Implementations, func(name string) bool { return name != "" })
		if fastest := l.Routes[0].MedianSeconds; adapts && r.MedianSeconds <= (1+worthwhile)*fastest && p.doubt(l, r) == "" && p.follow(Route(r.Implementations)) == nil {
			p.reason = fmt.Sprintf("each stage as the dispatcher chooses, which took %.3g ms at %v elements and the fastest route %.3g ms",
				1e3*r.MedianSeconds, l.Elements[:len(p.lengths)], 1e3*fastest)
			return true, ""
		}
	}
	for i := range l.Routes {
		r := &l.Routes[i]
		if doubt := p.doubt(l, r); doubt != "" {
			return false, doubt
		}
		if p.follow(Route(r.Implementations)) == nil {
			p.reason = fmt.Sprintf("the fastest that was measured at %v elements: the route %s, %.3g ms, %.1f %% before the next",
				l.Elements[:len(p.lengths)], r.Title(), 1e3*r.MedianSeconds, 100*l.Margin)
			return true, ""
		}
	}
	return false, ""
}

// mostApart is by what factor the elements of a call may differ from those of a measured length whose routes it follows.
const mostApart = 4

// nearest returns the measured length that is nearest to some elements, by ratio, or nil if there is none.
func nearest(all []calibration.PipelineLength, elements []int) (near *calibration.PipelineLength) {
	for i := range all {
		if l := &all[i]; len(l.Elements) == len(elements) && (near == nil || apart(l.Elements, elements) < apart(near.Elements, elements)) {
			near = l
		}
	}
	return near
}

// apart returns how far apart lengths are: the greatest logarithm of a ratio.
func apart(a, b []int) (most float64) {
	for i := range a {
		most = max(most, math.Abs(math.Log(float64(a[i])/float64(max(1, b[i])))))
	}
	return most
}

// leave leaves all stages to the dispatcher.
func (p *Pipeline) leave(reason string) {
	if p.route != nil {
		p.forgetPlans()
	} else if p.parts != nil {
		p.parts.used = false
	}
	p.routes++
	p.route, p.groups, p.reason = nil, p.w.groupsOfOne(), reason
}

// arranged returns the layout of a call with inputs of so many elements, after so many calls.
func (p *Pipeline) arranged(elements []int, calls int) (*layout, error) {
	return p.w.arranged(elements, calls)
}

func (w *wiring) arranged(elements []int, calls int) (*layout, error) {
	if len(elements) != len(w.Inputs) {
		return nil, fmt.Errorf("%d lengths (want %d)", len(elements), len(w.Inputs))
	}
	l := newLayout(w)
	for i := range w.Stages {
		step, err := w.Stages[i].step(0)
		if err != nil {
			return nil, err
		}
		l.steps[i] = step
	}
	_, err := l.arrange(elements, nil, calls)
	return l, err
}

// costs predicts costs for inputs of so many elements, after so many calls.
func (p *Pipeline) costs(elements []int, calls int) (*costs, error) {
	l, err := p.arranged(elements, calls)
	if err != nil {
		return nil, err
	}
	m, err := p.measurements(elements)
	if err != nil {
		return nil, err
	}
	return newCosts(p.backends, p.dispatcher, l, p.parts, &m), nil
}

// Elements returns the elements of the inputs, which are given, and of the outputs of a first call with such inputs. By these a
// calibration knows which graphs of one name are alike. It fails if the graph does not take such inputs.
func (p *Pipeline) Elements(inputs ...int) ([]int, error) {
	l, err := p.arranged(inputs, 0)
	if err != nil {
		return nil, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	all := slices.Clone(inputs)
	for _, t := range p.w.outputs {
		all = append(all, l.words[t]/wordsOf(p.w.tensors[t].element))
	}
	return all, nil
}

// Forecasts returns the routes that the calibration predicts to be fastest for inputs of so many elements, at most n, the least
// time first. It fails if a graph does not take such inputs.
func (p *Pipeline) Forecasts(n int, elements ...int) ([]Forecast, error) {
	c, err := p.costs(elements, p.calls)
	if err != nil {
		return nil, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	ways, _ := c.placed()
	return c.best(n, ways), nil
}

// Explain says how the last call was computed, and why: a line for the pipeline, and one for each stage. Before the first call,
// and after a call that has failed, it is one line, which says so.
func (p *Pipeline) Explain() string {
	var b strings.Builder
	switch {
	case p.lengths != nil || p.isInParts():
		fmt.Fprintf(&b, "%s: %s\n", p.w.Name, p.reason)
	case p.reason == "":
		return p.w.Name + ": nothing was planned yet, because the first call plans for its lengths\n"
	default:
		return p.w.Name + ": no call was computed by the route until now, or the last one has failed; " + p.reason + "\n"
	}
	if !p.isInParts() {
		p.explainStages(&b)
		return b.String()
	}
	for _, part := range []*Pipeline{p.parts.frames, p.parts.rest} {
		part.explainStages(&b)
	}
	return b.String()
}

// explainStages writes a line for each stage.
func (p *Pipeline) explainStages(b *strings.Builder) {
	for n, g := range p.groups {
		aside := g.list != nil && !p.broken[p.w.order[g.first]] && g.list.isAside(p)
		for _, i := range p.w.order[g.first:g.end] {
			name := p.w.Stages[i].Name
			switch {
			case aside && !p.broken[i]:
				fmt.Fprintf(b, "  %s: %s, instead of list %d: %s\n", name, p.insteadOf(i), n+1, g.list.choice.of.ExplainShape(p.lengths...).Reason)
			case g.list != nil && !p.broken[i]:
				fmt.Fprintf(b, "  %s: %s, in list %d\n", name, p.route[i], n+1)
			case p.routed(i):
				how := p.route[i]
				if e, swapped := p.swapped(i); swapped {
					how = e.String()
				}
				fmt.Fprintf(b, "  %s: %s\n", name, how)
			default:
				fmt.Fprintf(b, "  %s: %s\n", name, p.explained(i))
			}
		}
	}
}

// Unknown returns the stages that the last call left to the dispatcher though it knows nothing of them: Go computes them on one core.
// Without a calibration these are all stages that a route does not name. Those that CROSSOVER_FORCE names do not count.
func (p *Pipeline) Unknown() (stages []string) {
	if p.isInParts() {
		return append(p.parts.frames.Unknown(), p.parts.rest.Unknown()...)
	}
	if p.lengths == nil {
		return nil
	}
	for _, g := range p.groups {
		for _, i := range p.w.order[g.first:g.end] {
			if g.list != nil && !p.broken[i] || p.routed(i) {
				continue
			}
			if e := p.explained(i); e.Answer == dispatch.Unknown && !strings.Contains(e.Reason, dispatch.ForceVariable) {
				stages = append(stages, p.names[i])
			}
		}
	}
	return stages
}

// explained explains a stage that is left to the dispatcher.
func (p *Pipeline) explained(i int) dispatch.Explanation {
	plan := p.plans[i]
	if plan == nil {
		plan = p.layout.steps[i].Plan(p.backends, p.dispatcher)
	}
	return plan.Explain(p.layout.shapes[i])
}

// swapped explains a stage of the route, and reports whether a watch has swapped its implementation.
func (p *Pipeline) swapped(i int) (e dispatch.Explanation, is bool) {
	if p.plans[i] == nil || !p.routed(i) || p.chosen {
		return e, false
	}
	e = p.plans[i].Explain(p.layout.shapes[i])
	return e, e.Answer == dispatch.Swapped
}

// Chosen returns the implementations by which the last call was computed. It is nil before the first call.
func (p *Pipeline) Chosen() Route {
	r := make(Route, len(p.w.Stages))
	switch {
	case p.isInParts():
		for _, part := range []*Pipeline{p.parts.frames, p.parts.rest} {
			for i, implementation := range part.Chosen() {
				r[slices.Index(p.names, part.names[i])] = implementation
			}
		}
		return r
	case p.lengths == nil:
		return nil
	}
	for n := range p.groups {
		g := &p.groups[n]
		aside := g.list != nil && !p.broken[p.w.order[g.first]] && g.list.isAside(p)
		for _, i := range p.w.order[g.first:g.end] {
			if aside && !p.broken[i] {
				r[i] = p.insteadOf(i)
			} else if plan := p.plans[i]; plan != nil && !p.routed(i) {
				r[i] = plan.Explain(p.layout.shapes[i]).Implementation
			} else if e, swapped := p.swapped(i); swapped {
				r[i] = e.Implementation
			} else {
				r[i] = p.route[i]
			}
		}
	}
	return r
}
