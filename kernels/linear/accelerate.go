package linear

import "crossover/accelerate"

// framework multiplies by the BLAS of Apple's Accelerate, which chooses its number of threads itself.
type framework struct{ layer }

func newFramework(l layer) (engine, error) { return framework{l}, nil }

func (e framework) forward(dst, x []float32, rows int) error {
	e.addBias(dst)
	accelerate.Gemm(false, false, rows, e.out, e.in, 1, x, e.weights, 1, dst)
	return nil
}
