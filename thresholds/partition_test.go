package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var inf = math.Inf(1)

// randomLoss draws a loss table like those of a fit: the least loss at every size is 0, some values are missing, and many
// are ties.
func randomLoss(rng *rand.Rand, implementations, sizes int) [][]float64 {
	loss := make([][]float64, implementations)
	for i := range loss {
		loss[i] = make([]float64, sizes)
	}
	for s := range sizes {
		least := inf
		for i := range loss {
			loss[i][s] = 0.2 * rng.Float64() * rng.Float64()
			if i > 0 && rng.IntN(8) == 0 {
				loss[i][s] = inf
			}
			least = min(least, loss[i][s])
		}
		for i := range loss {
			loss[i][s] -= least
		}
	}
	return loss
}

// geometricSizes returns n sizes from 100 on with a ratio of neighbours.
func geometricSizes(n int, ratio float64) []int {
	sizes := make([]int, n)
	for k := range sizes {
		sizes[k] = int(math.Round(100 * math.Pow(ratio, float64(k))))
	}
	return sizes
}

func pathCost(path []int, loss [][]float64, spans []float64, band float64) float64 {
	var cost float64
	for s, i := range path {
		cost += spans[s] * weighted(loss[i][s], band)
		if s > 0 && path[s-1] != i {
			cost += switchPrice * band
		}
	}
	return cost
}

func TestCheapestPathAgainstEveryPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	switched := 0
	for trial := range 300 {
		implementations, sizes := 1+rng.IntN(4), 1+rng.IntN(6)
		band := 0.01 + 0.05*rng.Float64()
		loss := randomLoss(rng, implementations, sizes)
		spans := make([]float64, sizes)
		for s := range spans {
			spans[s] = 0.1 + 2*rng.Float64()
		}
		least := inf
		path := make([]int, sizes)
		for code := range int(math.Pow(float64(implementations), float64(sizes))) {
			for s := range path {
				path[s] = code % implementations
				code /= implementations
			}
			least = min(least, pathCost(path, loss, spans, band))
		}
		got := cheapestPath(loss, spans, band)
		if cost := pathCost(got, loss, spans, band); math.Abs(cost-least) > 1e-12 {
			t.Fatalf("trial %d: path %v costs %v, the best one costs %v; loss %v, band %v", trial, got, cost, least, loss, band)
		}
		for s := 1; s < sizes; s++ {
			if got[s] != got[s-1] {
				switched++
				break
			}
		}
	}
	if switched < 50 {
		t.Errorf("only %d of the tables have a switch: they prove little", switched)
	}
}

func TestRunsCoverEverySizeOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 500 {
		loss := randomLoss(rng, 1+rng.IntN(4), 1+rng.IntN(30))
		stretches := partition(loss, geometricSizes(len(loss[0]), 1.2), 0.03)
		next := 0
		for n, r := range stretches {
			if r.from != next || r.to <= r.from {
				t.Fatalf("trial %d: stretch %d is %d:%d after %d", trial, n, r.from, r.to, next)
			}
			if n > 0 && stretches[n-1].implementation == r.implementation {
				t.Fatalf("trial %d: stretches %d and %d are both of implementation %d", trial, n-1, n, r.implementation)
			}
			for s := r.from; s < r.to; s++ {
				if math.IsInf(loss[r.implementation][s], 1) {
					t.Fatalf("trial %d: implementation %d is chosen at size %d, where it was not measured", trial, r.implementation, s)
				}
			}
			next = r.to
		}
		if next != len(loss[0]) {
			t.Fatalf("trial %d: stretches end at %d of %d", trial, next, len(loss[0]))
		}
	}
}

func TestPartition(t *testing.T) {
	const band = 0.03
	for name, c := range map[string]struct {
		loss [][]float64
		want []stretch
	}{
		"nothing":            {nil, nil},
		"no size":            {[][]float64{{}, {}}, nil},
		"one implementation": {[][]float64{{0, 0, 0}}, []stretch{{0, 0, 3}}},
		"one size":           {[][]float64{{0.5}, {0}}, []stretch{{1, 0, 1}}},
		"a switch":           {[][]float64{{0, 0, 0.2, 0.4}, {0.3, 0.1, 0, 0}}, []stretch{{0, 0, 2}, {1, 2, 4}}},
		"there and back":     {[][]float64{{0, 0.5, 0.5, 0}, {0.5, 0, 0, 0.5}}, []stretch{{0, 0, 1}, {1, 1, 3}, {0, 3, 4}}},
		// Two switches cost a band times a log-size of 1. The size stands for a factor of 4, a log-size of 1.39. A gain of a
		// band there pays for them, and half a band more than the weight of ties does not.
		"a small gain at one size":  {[][]float64{{0, 0.02, 0}, {0.5, 0, 0.5}}, []stretch{{0, 0, 3}}},
		"a larger gain at one size": {[][]float64{{0, 0.04, 0}, {0.5, 0, 0.5}}, []stretch{{0, 0, 1}, {1, 1, 2}, {0, 2, 3}}},
		"ties buy nothing":          {[][]float64{{0, 0, 0.029, 0.029, 0.029}, {0.029, 0.029, 0, 0, 0}}, []stretch{{1, 0, 5}}},
		"unmeasured from a size on": {[][]float64{{0, 0, inf}, {0.9, 0.9, 0}}, []stretch{{0, 0, 2}, {1, 2, 3}}},
		// Ties have little weight, but enough to put the boundary where the sign changes.
		"the boundary inside a tie": {
			[][]float64{{0, 0, 0, 0.01, 0.02, 0.5}, {0.5, 0.02, 0.01, 0, 0, 0}},
			[]stretch{{0, 0, 3}, {1, 3, 6}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := partition(c.loss, []int{1, 4, 16, 64, 256, 1024}, band)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(stretch{})); diff != "" {
				t.Errorf("stretches differ (-want +got):\n%s", diff)
			}
		})
	}
}

// Ten sizes within a factor of 1.1 say no more than two: their gain counts with the log-size that they cover.
func TestDenselyMeasuredSizesDoNotCountMore(t *testing.T) {
	const band = 0.03
	sizes := []int{1000, 2000, 2020, 2040, 2060, 2080, 2100, 2120, 2140, 2160, 2180, 4000}
	loss := newTable(2, len(sizes))
	for s := range sizes {
		loss[1][s] = 0.5
		if s > 1 && s < len(sizes)-2 {
			loss[0][s], loss[1][s] = 0.06, 0
		}
	}
	want := []stretch{{0, 0, len(sizes)}}
	if diff := cmp.Diff(want, partition(loss, sizes, band), cmp.AllowUnexported(stretch{})); diff != "" {
		t.Errorf("stretches differ (-want +got):\n%s", diff)
	}
	for s := range sizes { // the same losses over a factor of 8 are a segment
		sizes[s] = int(1000 * math.Pow(2, float64(s)/4))
	}
	if got := partition(loss, sizes, band); len(got) != 3 {
		t.Errorf("stretches are %v, want three", got)
	}
}
