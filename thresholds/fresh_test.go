package thresholds_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/thresholds"
)

// A case is checked at twenty sizes that were not measured before, with few thresholds or many. If the axis has fewer, all
// of them are checked.
func TestFreshSizes(t *testing.T) {
	for name, c := range map[string]struct {
		low, high   int
		thresholds  []int
		least, most int
	}{
		"no threshold":    {64, 1 << 20, nil, 20, 20},
		"one threshold":   {64, 1 << 20, []int{5000}, 20, 20},
		"many":            {64, 1 << 20, []int{300, 5000, 70_000, 400_000}, 40, 40},
		"one decade":      {1, 1024, nil, 20, 20},
		"few whole sizes": {1, 16, []int{3}, 14, 16},
		"one size in all": {7, 7, nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			measured := []int{64, 256, 1024, 4096}
			f := thresholds.NewFresh(c.low, c.high, nil, measured, rand.New(rand.NewPCG(1, 2)))
			sizes := f.Sizes(c.thresholds)
			if n := len(sizes); n < c.least || n > c.most {
				t.Errorf("%d sizes, want %d to %d: %v", n, c.least, c.most, sizes)
			}
			for n, size := range sizes {
				if size < c.low || size > c.high || slices.Contains(measured, size) || n > 0 && size <= sizes[n-1] {
					t.Errorf("size %d of %v", size, sizes)
				}
			}
		})
	}
}
