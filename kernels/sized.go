package kernels

import "crossover/dispatch"

// SizedPlan is a plan whose calls differ in one number, their size: the value of one axis of the operation, such as the
// number of rows or of samples. The other axes are fixed, as on a [Line]. The typed plans of most operations embed one. It
// is for one goroutine at a time.
type SizedPlan[P any] struct {
	plan  *Plan[P]
	axis  int
	fixed Shape
}

// Along returns the plan of the calls whose size is the value of an axis, an index of [Op].Axes. The other axes have their
// values in fixed.
func (p *Plan[P]) Along(axis int, fixed Shape) *SizedPlan[P] { return &SizedPlan[P]{p, axis, fixed} }

// shape returns the shape of a call.
func (p *SizedPlan[P]) shape(size int) Shape {
	s := p.fixed
	s[p.axis] = size
	return s
}

// Explain gives the reason for the implementation that computes a call of a size, with its data in the placement of the
// last call.
func (p *SizedPlan[P]) Explain(size int) dispatch.Explanation { return p.plan.Explain(p.shape(size)) }

// Close releases what the implementations hold. The garbage collector does the same for a plan that is dropped.
func (p *SizedPlan[P]) Close() { p.plan.Close() }

// RunSized computes a call of a size as [Plan.Run] does. If the first output is empty, there is nothing to compute. RunSized
// is no method because a typed plan would inherit it, and with it a call that skips the checks of the typed plan.
func RunSized[P any](p *SizedPlan[P], size int, a Args) error {
	if len(a[0]) == 0 {
		return nil
	}
	return p.plan.Run(p.shape(size), a)
}
