package resample

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// framework resamples by Apple's vDSP, on one core. The outputs of one row are those of a filter that keeps each down-th
// value, which vDSP_desamp computes. With more than one row they are spread out afterwards.
type framework struct {
	*polyphase
	padded []float32 // the signal with zeros on both sides
	row    []float32 // outputs of one row
}

func newFramework(p Params) (kernels.Runner, error) {
	return &framework{polyphase: newPolyphase(p)}, nil
}

func (e *framework) Run(_ kernels.Shape, a *kernels.Args) error {
	y, x := a[0], a[1]
	if size := len(x) + 2*e.taps; size > len(e.padded) {
		e.padded = make([]float32, size)
		e.row = make([]float32, (len(y)-1)/e.up+1)
	}
	padded := e.padded[:len(x)+2*e.taps]
	clear(padded[:e.taps])
	copy(padded[e.taps:], x)
	clear(padded[e.taps+len(x):])
	for r := range min(e.up, len(y)) {
		count := (len(y)-1-r)/e.up + 1
		out := e.row[:count]
		if e.up == 1 {
			out = y
		}
		from := e.taps + e.first[r]
		accelerate.Decimate(out, padded[from:from+(count-1)*e.down+e.taps], e.rows[r*e.taps:(r+1)*e.taps], e.down)
		if e.up > 1 {
			for i, v := range out {
				y[r+i*e.up] = v
			}
		}
	}
	return nil
}
