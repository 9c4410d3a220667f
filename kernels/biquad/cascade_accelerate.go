package biquad

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// frameworkCascade is [framework] with several sections. vDSP's history has the outputs of each section, so the states of all
// sections follow from it.
type frameworkCascade struct {
	sections cascade
	usual    []Coefficients
	filters  *accelerate.Biquad
	history  []float32 // the last two inputs, and then the last two outputs of each section
	between  stretch
}

func newFrameworkCascade(p CascadeParams) (kernels.Runner, error) {
	e := &frameworkCascade{sections: newCascade(p), usual: p.Sections, history: make([]float32, 2*len(p.Sections)+2)}
	var values [][5]float64
	for _, c := range p.Sections {
		values = append(values, c.values())
	}
	var err error
	e.filters, err = accelerate.NewBiquad(values...)
	return e, err
}

// values returns the coefficients in the order of vDSP.
func (c Coefficients) values() [5]float64 { return [5]float64{c.B0, c.B1, c.B2, c.A1, c.A2} }

func (e *frameworkCascade) Run(s kernels.Shape, a *kernels.Args) error {
	copy(a[1], a[3])
	states, n, count := statesOf(a[1]), s[samples], len(e.sections)
	for c := range s[channels] {
		e.channel(states[c*count:(c+1)*count], a[0][c*n:(c+1)*n], a[2][c*n:(c+1)*n])
	}
	return nil
}

// channel filters one channel. dst may be src.
func (e *frameworkCascade) channel(states []state, dst, src []float32) {
	if len(src) <= 2 {
		e.sections.filter(states, dst, src, &e.between)
		return
	}
	// The first two samples, section by section.
	x := e.between[:2]
	x[0], x[1] = float64(src[0]), float64(src[1])
	e.history[0], e.history[1] = src[0], src[1]
	for k := range e.sections {
		e.sections[k].alone(&states[k], x)
		e.history[2*k+2], e.history[2*k+3] = float32(x[0]), float32(x[1])
	}
	dst[0], dst[1] = float32(x[0]), float32(x[1])
	e.filters.Filter(dst[2:], src[2:], e.history)
	for k, c := range e.usual {
		x2, x1 := float64(e.history[2*k]), float64(e.history[2*k+1])
		y2, y1 := float64(e.history[2*k+2]), float64(e.history[2*k+3])
		states[k] = state{c.B1*x1 - c.A1*y1 + (c.B2*x2 - c.A2*y2), c.B2*x1 - c.A2*y1}
		states[k].settle()
	}
}
