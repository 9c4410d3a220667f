package main

import (
	"errors"
	"slices"

	"crossover/gpu"
	"crossover/kernels"
)

// memory is where the data of calls lie. alloc returns n values, and free frees all that alloc returned before.
type memory struct {
	alloc func(n int) ([]float32, error)
	free  func()
}

// ordinary is the memory of the program's own.
var ordinary = memory{func(n int) ([]float32, error) { return make([]float32, n), nil }, func() {}}

// memoryOf returns the memory of a placement. It fails if no GPU shares memory with the program.
func memoryOf(p kernels.Placement) (memory, error) {
	if p == kernels.Caller {
		return ordinary, nil
	}
	here := kernels.Here()
	data, release, err := here.Alloc(1)
	if err != nil {
		return memory{}, err
	}
	defer release()
	// Without a GPU that works, Alloc returns ordinary memory.
	if !slices.ContainsFunc(here.GPUs, func(g *gpu.Backend) bool { d := g.Opened(); return d != nil && d.InShared(data) }) {
		return memory{}, coded{exitTooLittle, errors.New("no GPU shares memory with this program (want --placement caller)")}
	}
	var held []func()
	return memory{
		alloc: func(n int) ([]float32, error) {
			data, release, err := here.Alloc(n)
			if err == nil {
				held = append(held, release)
			}
			return data, err
		},
		free: func() {
			for _, release := range held {
				release()
			}
			held = nil
		},
	}, nil
}
