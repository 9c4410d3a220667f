package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/timings"
)

func TestMedian(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median of three is %v", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median of four is %v", got)
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v", got)
	}
}

// A resample's median must be exactly that of the drawn log-ratios in order.
func TestMedianOfAResample(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for blocks := range 12 {
		for range 200 {
			g := group{}
			for range blocks {
				logs := []float64{float64(rng.IntN(5)) / 7, math.NaN()} // with ties
				if rng.IntN(4) == 0 {
					logs[0] = math.NaN()
				}
				g.logs = append(g.logs, logs)
			}
			times := make([]int, blocks)
			var drawn []float64
			for range blocks {
				b := rng.IntN(blocks)
				times[b]++
				if v := g.logs[b][0]; !math.IsNaN(v) {
					drawn = append(drawn, v)
				}
			}
			want := math.Inf(1)
			if len(drawn) > 0 {
				want = median(drawn)
			}
			ranks := g.rank(2)
			if got := ranks[0].median(times); got != want {
				t.Fatalf("of the log-ratios %v, drawn %v times, the median is %v, want %v", g.logs, times, got, want)
			}
			if got := ranks[1].median(times); !math.IsInf(got, 1) {
				t.Fatalf("the median of what was never timed is %v", got)
			}
		}
	}
}

// A resample has as many blocks of each visit as the visit.
func TestVisitRanges(t *testing.T) {
	g := group{blocks: []*timings.Block{{Visit: 4}, {Visit: 4}, {Visit: 7}, {Visit: 9}, {Visit: 9}, {Visit: 9}}}
	if got, want := visitRanges(g), [][2]int{{0, 2}, {2, 3}, {3, 6}}; !slices.Equal(got, want) {
		t.Errorf("the visits are %v, want %v", got, want)
	}
}
