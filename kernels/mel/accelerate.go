package mel

import "crossover/accelerate"

// framework multiplies by the filterbank as a dense matrix, with the BLAS of Apple's Accelerate, which chooses its
// number of threads itself.
type framework struct{ *dense }

func newFramework(p Params) (engine, error) { return framework{newDense(p, 1)}, nil }

func (e framework) transform(dst, power []float32) error {
	accelerate.Gemm(false, false, len(power)/e.bins, e.bands, e.bins, 1, power, e.transposed, 0, dst)
	return nil
}
