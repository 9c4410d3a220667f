package sweeps

import (
	"context"
	"time"

	"crossover/kernels"
)

// division says from which size on the calls of an implementation on several cores are divided among them, as far as calls have
// shown it.
type division struct {
	whole, divided int  // greatest size of an undivided call, and least size of a divided one; 0 if there was none
	known          bool // whether the operation takes no size between the two
	mixed          bool // whether an undivided call was longer than a divided one, or failed between the two
}

// note says whether a call was divided.
func (d *division) note(size int, divided bool) {
	switch {
	case !divided:
		d.whole = max(d.whole, size)
	case d.divided == 0 || size < d.divided:
		d.divided = size
	}
	if d.divided > 0 && d.whole >= d.divided {
		d.mixed, d.known = true, false
	}
}

// probeMost is the greatest duration of the shortest divided call, for its size to be looked for. Loops are divided from some
// microseconds on. One that begins later has sizes of its own for which it costs too much to try twenty of them.
const probeMost = time.Millisecond

// findDivisions looks for the least size at which each implementation divides a call, between a visited size at which it does
// not and one at which it does. That takes no times: a call either is divided or is not. The planner and the fit then know
// where the implementation begins to differ from its counterpart on one core, which few sizes would show.
func (v *visit) findDivisions(ctx context.Context) {
	if v.e.c.Shape != nil {
		return
	}
	for _, impl := range v.e.implementations {
		d := &impl.division
		if d.whole == 0 || d.divided == 0 || d.known || d.mixed || v.e.costs.call(d.divided, impl.index) > probeMost.Seconds() {
			continue
		}
		for {
			size := v.e.c.Axis.Nearest(d.whole + (d.divided-d.whole)/2)
			if size <= d.whole || size >= d.divided {
				d.known = true
				break
			}
			if ctx.Err() != nil || v.over() {
				return
			}
			divided, err := v.divides(impl, size)
			if err != nil {
				d.mixed = true
				break
			}
			d.note(size, divided)
		}
		v.e.noteDivision(impl)
	}
}

// divides reports whether an implementation divides a call at a size.
func (v *visit) divides(impl *implementation, size int) (divided bool, err error) {
	var problem kernels.Problem
	call, err := v.bindAndRun(func() (kernels.Call, error) {
		problem = v.e.c.Problem(size, v.Input)
		return problem.Bind(impl.Name)
	})
	if problem != nil {
		defer kernels.Release(problem)
	}
	if err != nil {
		return false, err
	}
	defer call.Release()
	return v.dividesAgain(call)
}

// dividesAgain reports whether a call is divided that was made once before. The first call also makes plans.
func (v *visit) dividesAgain(call kernels.Call) (bool, error) {
	before := call.Divided()
	err := v.caller.run(call.Run)
	return call.Divided() != before, err
}

// noteDivision writes what is known of an implementation's divided calls to the samples.
func (e *entry) noteDivision(impl *implementation) {
	size := 0
	if impl.division.known {
		size = impl.division.divided
	}
	if e.result.Samples.Divides[impl.Name] != size {
		e.result.Samples.SetDivides(impl.Name, size)
		e.dirty = true
	}
}
