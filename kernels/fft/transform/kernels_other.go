//go:build !amd64

package transform

import "crossover/pool"

// newLaneTransform returns nil, because only amd64 has kernels.
func newLaneTransform(int) Complex { return nil }

// newLaneReal returns nil, because only amd64 has kernels.
func newLaneReal(int) Real { return nil }

// Splits returns false, because only kernels can divide a transform.
func Splits() bool { return false }

// NewSplit returns nil, because only kernels can divide a transform.
func NewSplit(int, *pool.Pool) Split { return nil }

func multiply(dst, a, b []complex64) { multiplyGo(dst, a, b) }
