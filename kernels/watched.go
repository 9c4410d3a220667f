package kernels

import (
	"errors"
	"time"
	"weak"

	"crossover/dispatch"
)

// runInTurn runs an implementation, and times the call if a [dispatch.Watch] wants to know how long it takes.
func (p *Plan[P]) runInTurn(i int, s Shape) error {
	if !p.turn.Due() {
		return p.runBy(i, s)
	}
	if i < 0 || p.held.runners[i] == nil { // the first call makes the runner, too
		return p.runBy(i, s)
	}
	if p.op.alike(&p.params, s) != s { // its time is not the one that was measured
		return p.runBy(i, s)
	}
	start := time.Now()
	err := p.runBy(i, s)
	took := time.Since(start)
	if err == nil {
		p.handOver(i, s, took)
	}
	return err
}

// handOver hands a timed call to the watch. Only a call of an operation whose shapes are judged, or of a line, is known by what
// the plan asked the dispatcher.
func (p *Plan[P]) handOver(i int, s Shape, took time.Duration) {
	call := dispatch.Timed{Implementation: p.makers[i].Name, Took: took, Trial: p.trial()}
	if p.stage != nil {
		call.Factors = p.stage.Factors
	}
	if p.op.Judged != nil {
		p.turn.Operation(p.operation(p.placed), call, s[:len(p.op.Axes)]...)
		return
	}
	c, size := p.choiceIn(s, p.placed)
	p.turn.Case(c.of, size, call, s[:len(p.op.Axes)]...)
}

// trial returns what runs the plan's implementations in a duel, with the data in the placement of the current call.
func (p *Plan[P]) trial() dispatch.Trial {
	t := &p.trials[0]
	if p.placed == Shared {
		t = &p.trials[1]
	}
	if *t == nil {
		*t = trialOf(weak.Make(p), p.placed)
	}
	return *t
}

var errDropped = errors.New("the plan whose calls were timed is gone")

// trialOf returns the trial of a plan. It does not keep the plan, which may hold much memory. It computes on the inputs with
// which a sweep measures the shape, by plans of its own, and reads what never changes in a plan, because the plan may compute
// at the same time.
func trialOf[P any](of weak.Pointer[Plan[P]], placement Placement) dispatch.Trial {
	return func(implementation string, shape []int) (run func() error, end func(), err error) {
		plan := of.Value()
		if plan == nil {
			return nil, nil, errDropped
		}
		var s Shape
		copy(s[:], shape)
		p := plan.op.problem(plan.backends, plan.params, s, placement, GeneratedInput())
		call, err := p.Bind(implementation)
		if err != nil {
			p.Release()
			return nil, nil, err
		}
		return call.Run, func() {
			call.Release()
			p.Release()
		}, nil
	}
}
