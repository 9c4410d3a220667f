package roof

import (
	"context"
	"errors"
	"testing"

	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/profiles"
)

// small makes copies short for a test.
func small(t *testing.T) {
	before := Sizes
	Sizes = Sizes[:2]
	t.Cleanup(func() { Sizes = before })
}

func TestProcessor(t *testing.T) {
	small(t)
	r, err := Processor(t.Context(), &kernels.Backends{Pool: kernels.Here().Pool})
	if err != nil {
		t.Fatal(err)
	}
	if r.Place != profiles.Processor || len(r.Copies) != 2 || r.Copies[1].Bytes != 256<<10 || !(r.Operations >= r.OneCore) || !(r.OneCore > 1e6) {
		t.Errorf("the processor's roof is %+v", r)
	}
	for _, c := range r.Copies {
		if !(c.Rate > 1e6) {
			t.Errorf("a copy at %g bytes a second", c.Rate)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Processor(ctx, kernels.Here()); !errors.Is(err, context.Canceled) {
		t.Errorf("a probe that is cancelled ends with %v", err)
	}
}

// A copy copies everything, and every value once. Its source was written, so that it has memory of its own.
func TestCopying(t *testing.T) {
	for _, n := range []int{1, unit, unit + 1, 3*unit - 1} {
		c := newCopying(n)
		for k := range c.units() {
			c.Do(0, k, k+1)
		}
		for i, v := range c.dst {
			if v != float32(i+1) {
				t.Fatalf("of %d values, value %d is %g", n, i, v)
			}
		}
	}
}

func TestPlansOfTheGPU(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(false))
	device, err := b.GPUs[0].OpenFit()
	if err != nil {
		t.Fatal(err)
	}
	p, moved, err := CopyPlan(device, 1000)
	if err != nil || moved != 992 {
		t.Errorf("a copy of 1000 bytes moves %g (%v), want 992: 31 vectors, read and written", moved, err)
	}
	least, err := span(t.Context(), p)
	if err != nil || !(least > 0) {
		t.Errorf("a copy takes %g s (%v)", least, err)
	}
	for flops, rounds := range map[float64]float64{1: 1, 1.6 * RoundOperations: 2} {
		p, operations, err := MultiplyAddPlan(device, flops)
		if err != nil {
			t.Fatal(err)
		}
		if operations != rounds*RoundOperations {
			t.Errorf("%g operations for %g, want %g rounds", operations, flops, rounds)
		}
		p.Close()
	}
}
