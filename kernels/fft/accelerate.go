package fft

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// newFramework transforms row after row by Apple's vDSP, on one core. vDSP has no real transforms of odd lengths, so real
// rows of odd lengths are transformed in Go. vDSP does not divide inverse transforms by n.
func newFramework(r rows) (kernels.Runner, error) {
	if r.n%2 != 0 && !r.complex {
		return newSerial(r), nil
	}
	row, err := r.byFramework()
	if err != nil {
		return nil, err
	}
	return &serial{r, row}, nil
}

func (r rows) byFramework() (rowTransform, error) {
	scale := float32(1 / float64(r.n))
	if r.complex {
		t, err := accelerate.NewComplex(r.n)
		if err != nil {
			return nil, err
		}
		if !r.inverse {
			return func(dst, src []float32) { t.Forward(kernels.Complex(dst), kernels.Complex(src)) }, nil
		}
		return func(dst, src []float32) {
			t.InverseUnscaled(kernels.Complex(dst), kernels.Complex(src))
			accelerate.Multiply(dst, dst, scale)
		}, nil
	}
	t, err := accelerate.NewReal(r.n)
	if err != nil {
		return nil, err
	}
	if !r.inverse {
		return func(dst, src []float32) { t.Forward(kernels.Complex(dst), src) }, nil
	}
	return func(dst, src []float32) {
		t.InverseUnscaled(dst, kernels.Complex(src))
		accelerate.Multiply(dst, dst, scale)
	}, nil
}
