package norm

import (
	"crossover/kernels"
	"crossover/native/accelerate"
)

// newFrameworkLayer returns layer norm by Apple's vDSP, in seven passes over a row. It adds up in float32. The mean of a row far from 0
// is then inexact, so that of what is left is taken away too.
func newFrameworkLayer(p LayerParams, _ int) (kernels.Loop, error) {
	return kernels.RowLoop(len(p.Weights), AboutAMicrosecond, func(dst, src []float32) {
		accelerate.Add(dst, src, -accelerate.Mean(src))
		accelerate.Add(dst, dst, -accelerate.Mean(dst))
		accelerate.Multiply(dst, dst, factor(float64(accelerate.MeanSquare(dst))))
		accelerate.MultiplyAdd(dst, p.Weights, p.Bias)
	}), nil
}

// NewFrameworkRMS returns the RMS norm of rows by Apple's vDSP, which package rmsnorm declares. It keeps the weights.
func NewFrameworkRMS(weights []float32) kernels.Loop {
	return kernels.RowLoop(len(weights), AboutAMicrosecond, func(dst, src []float32) {
		accelerate.Multiply(dst, src, factor(float64(accelerate.MeanSquare(src))))
		accelerate.MultiplyBy(dst, weights)
	})
}
