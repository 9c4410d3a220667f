package biquad

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// framework filters by Apple's vDSP, channel after channel on one core. vDSP's section is of direct form I. Its state is the
// last two inputs and outputs, which cannot be computed from the state of a plan (transposed direct form II). So the first
// two samples of a call are filtered in Go. Then the last two inputs and outputs are known. The state of the plan after the
// call follows from the last two inputs and outputs.
//
// vDSP_biquadm filters many channels at once, but keeps their states inside. A plan could not go on from them by another
// implementation.
type framework struct {
	section
	b1, b2  float64 // of the definition: c1 = b1 − a1·b0 and c2 = b2 − a2·b0
	filters *accelerate.Biquad
	history [4]float32
}

func newFramework(c Coefficients) (kernels.Runner, error) {
	s := newSection(c)
	e := &framework{section: s, b1: s.c1 + s.a1*s.b0, b2: s.c2 + s.a2*s.b0}
	var err error
	e.filters, err = accelerate.NewBiquad(c.values())
	return runner{e}, err
}

func (e *framework) process(state []state, dst, src []float32) {
	n := len(src) / len(state)
	for c := range state {
		e.channel(&state[c], dst[c*n:(c+1)*n], src[c*n:(c+1)*n])
	}
}

// channel filters one channel. dst may be src.
func (e *framework) channel(s *state, dst, src []float32) {
	n := len(src)
	if n <= 2 {
		e.one(s, dst, src)
		return
	}
	e.history[0], e.history[1] = src[0], src[1]
	x2, x1 := float64(src[n-2]), float64(src[n-1])
	e.one(s, dst[:2], src[:2])
	e.history[2], e.history[3] = dst[0], dst[1]
	e.filters.Filter(dst[2:], src[2:], e.history[:])
	y2, y1 := float64(dst[n-2]), float64(dst[n-1])

	s.s1 = e.b1*x1 - e.a1*y1 + (e.b2*x2 - e.a2*y2)
	s.s2 = e.b2*x1 - e.a2*y1
	s.settle()
}
