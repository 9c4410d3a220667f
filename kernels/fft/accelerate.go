package fft

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// newFramework transforms row after row by Apple's vDSP, on one core. vDSP has no transform of an odd length: such rows
// are transformed in Go.
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
