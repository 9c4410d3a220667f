package softmax

import "crossover/native/accelerate"

// frameworkRow computes a row by Apple's vDSP and vForce, in five passes. Usual rows stay in the first-level cache
// meanwhile.
func frameworkRow(y, x []float32) {
	accelerate.Add(y, x, -accelerate.Max(x))
	accelerate.Exp(y, y)
	accelerate.Multiply(y, y, 1/accelerate.Sum(y))
}
