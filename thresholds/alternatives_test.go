package thresholds_test

import (
	"math"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

func TestAlternativesAreOnlyThoseMeasuredInTheSegment(t *testing.T) {
	w := newWorld(2, costA, costB, until(500, linear(1e-4, 1e-7)))
	r := thresholds.Fit([]*timings.Set{w.set(11, geometric(64, 1<<20, 2)...)}, thresholds.Options{Resamples: 50})
	if len(r.Segments) != 2 {
		t.Fatalf("segments: %+v", r.Segments)
	}
	if next := r.Segments[0].Next; len(next) != 2 || next[0].Implementation != 1 || next[1].Implementation != 2 {
		t.Errorf("alternatives below are %+v, want 1 and then 2", next)
	}
	if next := r.Segments[1].Next; len(next) != 1 || next[0].Implementation != 0 {
		t.Errorf("alternatives above are %+v, want 0 alone", next)
	}
}

func TestAlternativesTellTheSlowdown(t *testing.T) {
	w := newWorld(2, costA, func(n float64) float64 { return 1.5 * costA(n) })
	w.noise = quiet
	r := thresholds.Fit([]*timings.Set{w.set(5, 64, 256, 1024)}, thresholds.Options{})
	if next := r.Segments[0].Next; len(next) != 1 || math.Abs(next[0].Slowdown-1.5) > 1e-9 {
		t.Errorf("alternatives are %+v, want a slowdown of 1.5", next)
	}
}
