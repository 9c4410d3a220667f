package harness

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
	"crossover/timings"
)

// Compiling a kernel takes some tenths of a second, and many shapes have kernels of their own. If each visit compiled its
// own, one processor would do it while the others and the GPU waited, and compiling would take a third of the budget.
const (
	// aheadShare is the greatest part of the budget for compiling before the first visit.
	aheadShare = 0.1
	// aheadShapes is the number of shapes of each space whose kernels are compiled then.
	aheadShapes = 48
)

// kernel is what an implementation on the GPU compiles at a size of a case.
type kernel struct {
	of             *kernels.Case
	size           int
	implementation string
}

// compile compiles the kernel. A failure is met again, and told, at the visit to the size.
func (k kernel) compile() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return k.of.Compile(k.size, k.implementation)
}

// kernelsAhead returns the kernels of the first visits: those of the cases, and then those of the spaces. Kernels do not depend
// on the placement.
func (r *Run) kernelsAhead() []kernel {
	var cases, spaces [][]kernel
	for i := range r.cases {
		c := &r.cases[i]
		if names := r.compiles(c); len(names) > 0 {
			cases = append(cases, kernelsOf(c, r.FirstSizes(c), names))
		}
	}
	for _, s := range r.Spaces {
		names := r.compiles(&s.Case)
		if len(names) == 0 {
			continue // a machine without a GPU draws no shapes twice
		}
		if p := r.spread(s); p != nil {
			var sizes []int
			for _, shape := range p.First(aheadShapes) {
				sizes = append(sizes, shapesOf{s}.Add(shape))
			}
			spaces = append(spaces, kernelsOf(&s.Case, sizes, names))
		}
	}
	return append(inTurn(cases), inTurn(spaces)...)
}

// compiles returns the implementations of a case whose kernels are compiled ahead.
func (r *Run) compiles(c *kernels.Case) []string {
	if c.Placement != kernels.Caller {
		return nil
	}
	return r.onGPU(c)
}

// kernelsOf returns the kernels of implementations at some sizes of a case.
func kernelsOf(c *kernels.Case, sizes []int, names []string) (all []kernel) {
	for _, size := range sizes {
		for _, name := range names {
			all = append(all, kernel{c, size, name})
		}
	}
	return all
}

// inTurn returns the first kernel of each list, then the second ones, and so on. Neighbours in a list often have the same
// program, which one processor compiles while others that ask for it wait.
func inTurn(lists [][]kernel) (all []kernel) {
	for n := 0; ; n++ {
		before := len(all)
		for _, list := range lists {
			if n < len(list) {
				all = append(all, list[n])
			}
		}
		if len(all) == before {
			return all
		}
	}
}

// compileAhead compiles the kernels of the first visits on all processors, for at most aheadShare of the budget, and returns
// the time that it took. Calls from nothing are timed with their compilation, so it does nothing in the state sweeps.Cold.
func (r *Run) compileAhead(ctx context.Context, clock sweeps.Clock) time.Duration {
	if r.options.State == sweeps.Cold {
		return 0
	}
	start := clock.Now()
	all := r.kernelsAhead()
	if len(all) > 0 && r.options.Progress != nil {
		r.options.Progress(sweeps.Progress{Waiting: "kernels that are compiled", Budget: r.options.Budget})
	}
	limit := time.Duration(aheadShare * float64(r.options.Budget))
	compileAll(all, func() bool { return ctx.Err() == nil && clock.Now()-start < limit })
	return clock.Now() - start
}

// casesTogether is the number of cases whose kernels keep all processors busy.
const casesTogether = 16

// firstShare is the greatest part of the budget of a check of some cases for compiling before their first visit.
const firstShare = 0.25

// compileFirst compiles the kernels of the sizes that the planners of some cases are likely to propose first, on all processors,
// for at most firstShare of a budget, and returns the time that it took. The kernels of a single case keep few processors busy.
// Beside an H200, a check that compiled them case by case spent 43 % of its time on cases and 52 % of that on shapes so.
func compileFirst(ctx context.Context, cases []kernels.Case, o *sweeps.Options, budget time.Duration) time.Duration {
	if o.Ahead == nil || o.State == sweeps.Cold {
		return 0
	}
	start := o.Clock.Now()
	var all [][]kernel
	for i := range cases {
		c := &cases[i]
		names := new(Run).onGPU(c)
		if len(names) == 0 {
			continue
		}
		if planner, ok := o.Planner(c).(sweeps.Foresighted); ok {
			planner.Next(&timings.Set{})
			all = append(all, kernelsOf(c, planner.Upcoming(), names))
		}
	}
	if len(all) > 0 && o.Progress != nil {
		o.Progress(sweeps.Progress{Waiting: "kernels that are compiled", Budget: budget})
	}
	// A short budget reaches only the first cases, so their kernels come first.
	var ordered []kernel
	for together := range slices.Chunk(all, casesTogether) {
		ordered = append(ordered, inTurn(together)...)
	}
	limit := time.Duration(firstShare * float64(budget))
	compileAll(ordered, func() bool { return ctx.Err() == nil && o.Clock.Now()-start < limit })
	return o.Clock.Now() - start
}

// compileAll compiles kernels on all processors, as long as more returns true.
func compileAll(all []kernel, more func() bool) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		workers.Go(func() {
			for more() {
				n := int(next.Add(1)) - 1
				if n >= len(all) {
					return
				}
				_ = all[n].compile()
			}
		})
	}
	workers.Wait()
}

// compileUpcoming compiles the kernels of upcoming visits.
func (r *Run) compileUpcoming(upcoming []sweeps.Upcoming) {
	var all [][]kernel
	for _, u := range upcoming {
		all = append(all, kernelsOf(u.Case, u.Sizes, r.onGPU(u.Case)))
	}
	compileAll(inTurn(all), func() bool { return true })
}

// compileUpcoming does the same for all implementations of the cases.
func compileUpcoming(upcoming []sweeps.Upcoming) { new(Run).compileUpcoming(upcoming) }

// onGPU returns the implementations of a case that may compile kernels.
func (r *Run) onGPU(c *kernels.Case) (names []string) {
	if c.Compile == nil {
		return nil
	}
	for _, i := range c.Implementations {
		if i.Processor == kernels.GPU && r.options.includes(i.Name) && i.Missing() == nil {
			names = append(names, i.Name)
		}
	}
	return names
}
