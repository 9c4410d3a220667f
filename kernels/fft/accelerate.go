package fft

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// newFramework transforms row after row by Apple's vDSP, on one core. vDSP has no transforms of odd lengths, so rows of odd
// lengths are transformed in Go.
func newFramework(p Params) (kernels.Runner, error) {
	if p.N%2 != 0 {
		return newSerial(p), nil
	}
	row, err := accelerate.NewReal(p.N)
	if err != nil {
		return nil, err
	}
	return &serial{n: p.N, row: row}, nil
}
