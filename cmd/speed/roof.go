package main

import (
	"crossover/cmd/internal/roof"
	"crossover/gpu"
)

// copySide is a copy on the device that reads and writes moved bytes in all. Kernels that are bound by memory are compared
// with it.
func copySide(d *gpu.Device, moved float64) (*side, error) {
	p, bytes, err := roof.CopyPlan(d, moved)
	if err != nil {
		return nil, err
	}
	return planSide("copy", traffic(bytes), p), nil
}

// multiplyAddSide is a run of multiply-adds with about flops floating-point operations in all, in whole rounds. Kernels that are
// bound by arithmetic are compared with it.
func multiplyAddSide(d *gpu.Device, flops float64) (*side, error) {
	p, operations, err := roof.MultiplyAddPlan(d, flops)
	if err != nil {
		return nil, err
	}
	return planSide("multiply-adds", arithmetic(operations), p), nil
}
