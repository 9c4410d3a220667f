package thresholds_test

import (
	"slices"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// Of returns the thresholds of a fit of one run.
func TestOf(t *testing.T) {
	w := newWorld(3, linear(0, 1e-9), linear(2e-6, 0.5e-9), linear(30e-6, 0.05e-9))
	set := w.set(6, geometric(64, 1<<20, 1.5)...)
	before := set.Digest()
	got := thresholds.Of(set, 1)
	var want []int
	for _, s := range thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: 2}).Segments[1:] {
		want = append(want, s.From)
	}
	if len(want) != 2 || !slices.Equal(got, want) {
		t.Errorf("%v, want the two of the fit, %v", got, want)
	}
	if set.Digest() != before {
		t.Error("the samples were changed")
	}
	if got := thresholds.Of(&timings.Set{}, 1); len(got) != 0 {
		t.Errorf("%v of nothing", got)
	}
}
