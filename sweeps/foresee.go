package sweeps

import (
	"context"
	"fmt"
	"math"
	"strings"

	"crossover/kernels"
)

// The first visits of a case are to small sizes, and their costs predict those of greater ones. If the least size is large,
// for example because only one size was asked for, a visit may take minutes, and nobody can stop it. So its cost is
// foreseen. A visit with less than heavyWork, in operations or bytes, is never expensive. A visit with less than leapWork
// times the work of a measured size is not too great a step. A probe has at most probeWork, which takes some milliseconds.
const (
	heavyWork = 1 << 26
	leapWork  = 1 << 10
	probeWork = 1 << 23
)

// probed has the costs of a small problem of a case.
type probed struct {
	size     int
	overhead float64   // seconds of the problem and its reference
	calls    []float64 // seconds of a call, by implementations; NaN if unknown
}

// foresee returns the least seconds of a visit to a size, from the costs of a small problem and the work of both. It returns
// 0 if measured sizes predict better.
func (s *sweep) foresee(ctx context.Context, e *entry, size int) float64 {
	if e.c.Work == nil || e.c.Shape != nil || e.heaviest(size) < heavyWork { // shapes of a space have bounds of their own
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

// work returns the work of a call at a size, in operations or bytes.
func (e *entry) work(size int, variant string) float64 {
	w := e.c.Work(size, variant)
	return max(w.Flops, w.Bytes, 1)
}

// memory returns about how many bytes a visit takes: the tensors and their reference in float64, and outputs for each
// implementation.
func (e *entry) memory(size int) float64 { return float64(3+len(e.implementations)) * e.c.Bytes(size) }

// heaviest returns the work of the variant with the most work, which may be that of the reference.
func (e *entry) heaviest(size int) float64 {
	most := e.work(size, "")
	for _, i := range e.implementations {
		if _, variant, ok := strings.Cut(i.Name, "/"); ok {
			most = max(most, e.work(size, variant))
		}
	}
	return most
}

// probe times a problem that is so much smaller than a size that it has little work. Failures are left to the visit.
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
		call, err := s.bindAndRun(func() (kernels.Call, error) { return problem.Bind(impl.Name) })
		if err != nil {
			continue
		}
		start := s.Clock.Now()
		if err := s.caller.run(call.Run); err == nil {
			p.calls[i] = (s.Clock.Now() - start).Seconds()
		}
		call.Release()
	}
	return p
}

// tooDear reports whether there is too little memory for a size, or too little budget for a first visit to it. If so, it
// limits the case to sizes below.
func (s *sweep) tooDear(ctx context.Context, e *entry, size int) bool {
	if need := e.memory(size); s.Memory > 0 && need > float64(s.Memory)/2 {
		e.unaffordable = fmt.Sprintf("stopped below %s: a visit to that would take about %.2g GiB of memory, and the machine has %.2g",
			e.c.At(size), need/(1<<30), float64(s.Memory)/(1<<30))
		e.stopAt(size - 1)
		return true
	}
	left := (s.Budget - s.elapsed()).Seconds()
	cost := s.foresee(ctx, e, size)
	if cost <= left {
		return false
	}
	if left > 0 { // a spent budget says nothing about a size
		e.unaffordable = fmt.Sprintf("stopped below %s: a visit to that would take about %.2g s, and %.2g s of the budget were left (a larger --budget goes further)",
			e.c.At(size), cost, left)
	}
	e.stopAt(size - 1)
	return true
}
