//go:build !amd64

package transform

import "crossover/pool"

// newLaneTransform returns nil: the kernels are there for amd64 alone.
func newLaneTransform(int) Complex { return nil }

// newLaneReal returns nil: the kernels are there for amd64 alone.
func newLaneReal(int) Real { return nil }

// Splits returns false: a single transform is split by the kernels' passes.
func Splits() bool { return false }

// NewSplit returns nil.
func NewSplit(int, *pool.Pool) Split { return nil }

func multiply(dst, a, b []complex64) { multiplyGo(dst, a, b) }
