//go:build !amd64

package fft

import "crossover/pool"

// newLaneTransform returns nil: the kernels are there for amd64 alone.
func newLaneTransform(int) transform { return nil }

// newLaneReal returns nil: the kernels are there for amd64 alone.
func newLaneReal(int) realTransform { return nil }

// splitsOne returns false: a single transform is split by the kernels' passes.
func splitsOne() bool { return false }

// newSplit returns nil.
func newSplit(int, *pool.Pool) rowTransform { return nil }

func multiply(dst, a, b []complex64) { multiplyGo(dst, a, b) }
