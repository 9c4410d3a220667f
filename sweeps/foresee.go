package sweeps

import (
	"context"
	"fmt"
	"math"
	"strings"

	"crossover/kernels"
)

// The first visits of a case go to small sizes, and what they cost tells what greater ones will. Where the least size is
// large itself, as when one size was asked for, a visit may take minutes that nobody can stop: so it is foreseen. A visit
// of less than heavyWork, in operations or bytes, is never dear, nor is one of less than leapWork times the work of a
// measured size a leap. A probe has probeWork at most: some milliseconds.
const (
	heavyWork = 1 << 26
	leapWork  = 1 << 10
	probeWork = 1 << 23
)

// probed is what a small problem of a case took.
type probed struct {
	size     int
	overhead float64   // seconds of the problem and its reference
	calls    []float64 // seconds of a call, by implementation; NaN where unknown
}

// foresee returns the least that a visit to a size costs, in seconds, by what a small problem takes and by the work of
// both; 0 where what was measured tells better.
func (s *sweep) foresee(ctx context.Context, e *entry, size int) float64 {
	if e.c.Work == nil || e.c.Shape != nil || e.heaviest(size) < heavyWork { // shapes of a space have their bounds
		return 0
	}
	if measured := e.costs.greatest(); measured > 0 && e.heaviest(size) < leapWork*e.heaviest(measured) {
		return 0
	}
	if e.probed == nil {
		e.probed = s.probe(ctx, e, size)
	}
	predicted := costs{demands: e.costs.demands, hopelessBlocks: e.costs.hopelessBlocks}
	calls, first := make([]float64, len(e.probed.calls)), 0.0
	for i, seconds := range e.probed.calls {
		_, variant, _ := strings.Cut(e.implementations[i].Name, "/")
		calls[i] = seconds * e.work(size, variant) / e.work(e.probed.size, variant)
		if calls[i] > 0 {
			first += calls[i]
		}
	}
	predicted.record(size, e.probed.overhead*e.heaviest(size)/e.heaviest(e.probed.size), 0, calls)
	growing, fixed := predicted.visit(size, leastBlocks, e.alive(size))
	return first + growing + fixed
}

// work is what a call has to do at a size, in operations or bytes.
func (e *entry) work(size int, variant string) float64 {
	w := e.c.Work(size, variant)
	return max(w.Flops, w.Bytes, 1)
}

// memory is about how many bytes a visit holds: the tensors and their reference in float64, and for each implementation
// outputs of its own.
func (e *entry) memory(size int) float64 { return float64(3+len(e.implementations)) * e.c.Bytes(size) }

// heaviest is the work of the variant that has most to do, as the reference may.
func (e *entry) heaviest(size int) float64 {
	most := e.work(size, "")
	for _, i := range e.implementations {
		if _, variant, ok := strings.Cut(i.Name, "/"); ok {
			most = max(most, e.work(size, variant))
		}
	}
	return most
}

// probe times a problem that is so much smaller than a size that it has little work. What fails is found out by a visit.
func (s *sweep) probe(ctx context.Context, e *entry, size int) *probed {
	for size > 1 && e.heaviest(size) > probeWork {
		if size /= 2; e.c.Axis.Round != nil {
			size = min(size, max(e.c.Axis.Round(size), 1))
		}
	}
	p := &probed{size: size, calls: make([]float64, len(e.implementations))}
	start := s.Clock.Now()
	var problem kernels.Problem
	broken := safely(func() error {
		problem = e.c.Problem(size, s.Input)
		problem.Reference()
		return nil
	})
	p.overhead = (s.Clock.Now() - start).Seconds()
	defer kernels.Release(problem)
	for i, impl := range e.implementations {
		p.calls[i] = math.NaN()
		if broken != nil || ctx.Err() != nil || s.over() {
			continue
		}
		call, err := s.bindAndRun(impl, func() (kernels.Call, error) { return problem.Bind(impl.Name) })
		if err != nil {
			continue
		}
		start := s.Clock.Now()
		if err := s.calling(impl, func() error { return safely(call.Run) }); err == nil {
			p.calls[i] = (s.Clock.Now() - start).Seconds()
		}
		call.Release()
	}
	return p
}

// tooDear reports whether the memory does not do for a size, or the budget does not last for a first visit to it, and keeps
// the case below it then.
func (s *sweep) tooDear(ctx context.Context, e *entry, size int) bool {
	if need := e.memory(size); s.Memory > 0 && need > float64(s.Memory)/2 {
		e.unaffordable = fmt.Sprintf("stopped below %d %s: a visit to that would take about %.2g GiB of memory, and the machine has %.2g",
			size, e.c.Axis.Unit, need/(1<<30), float64(s.Memory)/(1<<30))
		e.stopAt(size - 1)
		return true
	}
	left := (s.Budget - s.elapsed()).Seconds()
	cost := s.foresee(ctx, e, size)
	if cost <= left {
		return false
	}
	if left > 0 { // a budget that is over says nothing of a size
		e.unaffordable = fmt.Sprintf("stopped below %d %s: a visit to that would take about %.2g s, and %.2g s of the budget were left (a larger --budget goes further)",
			size, e.c.Axis.Unit, cost, left)
	}
	e.stopAt(size - 1)
	return true
}
