//go:build !amd64 && !arm64

package transform

import "crossover/pool"

// newLaneTransform returns nil, because this processor has no kernels.
func newLaneTransform(int) Complex { return nil }

// newLaneReal returns nil, because this processor has no kernels.
func newLaneReal(int) Real { return nil }

// Splits returns false, because only kernels can divide a transform.
func Splits() bool { return false }

// NewSplit returns nil, because only kernels can divide a transform.
func NewSplit(int, *pool.Pool) Split { return nil }

// NewComplexSplit returns nil, because only kernels can divide a transform.
func NewComplexSplit(int, *pool.Pool) ComplexSplit { return nil }

// Scale multiplies the values of x by a factor.
func Scale(x []float32, by float32) { scaleGo(x, by) }

func multiply(dst, a, b []complex64) { multiplyGo(dst, a, b) }
