package kernels

import (
	"slices"
)

// Keep returns n zeros, aligned for float64, in which a typed plan keeps what one call leaves to the next. like are the data
// of the first call. If all of them are in shared memory, the zeros are too, so that the placement of the calls stays shared:
// see [Backends.Alloc]. Closing the plan frees the zeros, so the typed plan must then forget them. Like [RunSized], Keep is
// no method, because typed plans would inherit it.
//
// What a call writes must not overlap what it reads. So a plan keeps its state twice and changes over at each call. If a call
// fails, the state before it is still there.
func Keep[P any](p *SizedPlan[P], n int, like ...[]float32) []float32 {
	Made(p)
	for _, g := range p.plan.backends.GPUs {
		d := g.Opened()
		if d == nil || n < 1 || slices.ContainsFunc(like, func(x []float32) bool { return !d.InShared(x) }) {
			continue
		}
		if m, err := d.Alloc(n); err == nil {
			p.plan.held.free = append(p.plan.held.free, m.Free)
			return m.Floats()
		}
	}
	return Float64Words(make([]float64, (n+1)/2))[:n]
}
