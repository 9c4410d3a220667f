//go:build !amd64

package fft

// newLanes returns nil: the kernels are there for amd64 alone.
func newLanes(int) transform { return nil }

// newLaneReal returns nil: the kernels are there for amd64 alone.
func newLaneReal(int) realTransform { return nil }
