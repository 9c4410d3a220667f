package kernels

import (
	"path"
	"reflect"
	"strings"

	"crossover/dispatch"
)

// SizedPlan is a plan whose calls differ in one number, their size: the value of one axis of the operation, such as the
// number of rows or of samples. The other axes are fixed, as on a [Line]. The typed plans of most operations embed one. Only
// one goroutine at a time may use a SizedPlan.
type SizedPlan[P any] struct {
	plan  *Plan[P]
	axis  int
	fixed Shape
}

// Along returns the plan of calls that differ only on one axis, an index of [Op].Axes. The values of the other axes are in
// fixed.
func (p *Plan[P]) Along(axis int, fixed Shape) *SizedPlan[P] { return &SizedPlan[P]{p, axis, fixed} }

// shape returns the shape of a call.
func (p *SizedPlan[P]) shape(size int) Shape {
	s := p.fixed
	s[p.axis] = size
	return s
}

// Explain says which implementation computes a call of a size, and why. It assumes the placement of the last call. A size below
// 1 is that of no call.
func (p *SizedPlan[P]) Explain(size int) dispatch.Explanation {
	Made(p)
	return p.plan.Explain(p.shape(size))
}

// SetMaxError sets the greatest error that calls accept: see [Plan.SetMaxError].
func (p *SizedPlan[P]) SetMaxError(most float64) error {
	Made(p)
	return p.plan.SetMaxError(most)
}

// Close releases what the implementations hold, such as GPU memory. The garbage collector does the same for a dropped plan.
// A call after Close makes its implementation anew.
func (p *SizedPlan[P]) Close() {
	Made(p)
	p.plan.Close()
}

// RunSized computes a call of a size as [Plan.Run] does. It does nothing if the first output is empty. RunSized is not a
// method, because typed plans would inherit it, and it does not check lengths as they do.
func RunSized[P any](p *SizedPlan[P], size int, a *Args) error {
	Made(p)
	if len(a[0]) == 0 {
		return nil
	}
	return p.plan.run(p.shape(size), a)
}

// Made panics if what a constructor puts inside of a value is nil, such as the plan inside of a typed plan: then nobody has made
// the value. The methods of [Plan] and [SizedPlan] call Made, and so does RunSized. A typed plan calls it before it checks
// lengths by what only a constructor sets, because it would divide by 0 or name the wrong mistake.
func Made[T any](inside *T) {
	if inside == nil {
		unmade[T]()
	}
}

// unmade is apart from Made so that the compiler inlines that.
func unmade[T any]() {
	of, _, _ := strings.Cut(path.Base(reflect.TypeFor[T]().String()), ".") // "kernels.SizedPlan[crossover/kernels/softmax.Params]"
	panic(of + ": used as a zero value (make it by a function of the package whose name begins with New)")
}
