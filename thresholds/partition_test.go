package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var inf = math.Inf(1)

// randomLoss draws a loss table as a fit makes it: least 0 at every size, holes here and there, and many ties.
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

// geometricSizes returns so many sizes from 100 on, a factor apart.
func geometricSizes(n int, ratio float64) []int {
	sizes := make([]int, n)
	for k := range sizes {
		sizes[k] = int(math.Round(100 * math.Pow(ratio, float64(k))))
	}
	return sizes
}

func pathCost(path []int, loss [][]float64, band float64) float64 {
	var cost float64
	for s, i := range path {
		cost += weighted(loss[i][s], band)
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
		least := inf
		path := make([]int, sizes)
		for code := range int(math.Pow(float64(implementations), float64(sizes))) {
			for s := range path {
				path[s] = code % implementations
				code /= implementations
			}
			least = min(least, pathCost(path, loss, band))
		}
		got := cheapestPath(loss, band)
		if cost := pathCost(got, loss, band); math.Abs(cost-least) > 1e-12 {
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
		stretches, _ := partition(loss, geometricSizes(len(loss[0]), 1.2), 0.03)
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
		// Two switches cost 2.5 bands, 0.075: a gain of 0.07 at one size is not worth them, one of 0.08 is.
		"a small gain at one size":  {[][]float64{{0, 0.07, 0}, {0.5, 0, 0.5}}, []stretch{{0, 0, 3}}},
		"a larger gain at one size": {[][]float64{{0, 0.08, 0}, {0.5, 0, 0.5}}, []stretch{{0, 0, 1}, {1, 1, 2}, {0, 2, 3}}},
		"ties buy nothing":          {[][]float64{{0, 0, 0.029, 0.029, 0.029}, {0.029, 0.029, 0, 0, 0}}, []stretch{{1, 0, 5}}},
		"unmeasured from a size on": {[][]float64{{0, 0, inf}, {0.9, 0.9, 0}}, []stretch{{0, 0, 2}, {1, 2, 3}}},
		// Ties hardly count on the path, so it would rather have two of them than 0.031 at one size; an edge is settled
		// by what all sizes lose.
		"the boundary among ties": {
			[][]float64{{0, 0.029, 0.029, 0, 0.5}, {0.5, 0, 0, 0.031, 0}},
			[]stretch{{0, 0, 1}, {1, 1, 5}},
		},
		// Inside the band the path does not care where it switches; the boundary goes to the change of sign.
		"the boundary inside a tie": {
			[][]float64{{0, 0, 0, 0.01, 0.02, 0.5}, {0.5, 0.02, 0.01, 0, 0, 0}},
			[]stretch{{0, 0, 3}, {1, 3, 6}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := partition(c.loss, []int{1, 4, 16, 64, 256, 1024}, band)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(stretch{})); diff != "" {
				t.Errorf("stretches differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASingleSizeMustConvince(t *testing.T) {
	const band = 0.03
	for name, c := range map[string]struct {
		sizes []int
		loss  [][]float64
		want  []stretch
		bumps []int
	}{
		"a bump at the end": {
			[]int{746496, 900000, 1048576}, [][]float64{{0, 0, 0.1}, {1, 0.85, 0}},
			[]stretch{{0, 0, 3}}, []int{2},
		},
		"a bump at the start": {
			[]int{1000, 1200, 1400}, [][]float64{{0.1, 0, 0}, {0, 0.85, 1}},
			[]stretch{{0, 0, 3}}, []int{0},
		},
		"a bump in the middle": {
			[]int{800, 1000, 1200, 1400}, [][]float64{{0, 0, 0.1, 0}, {0.3, 0.3, 0, 0.3}},
			[]stretch{{0, 0, 4}}, []int{2},
		},
		"two bumps": {
			[]int{1000, 1100, 1200, 1300, 1400}, [][]float64{{0, 0.1, 0, 0.1, 0}, {0.3, 0, 0.3, 0, 0.3}},
			[]stretch{{0, 0, 5}}, []int{1, 3},
		},
		// Once the first bump is gone, what stood between the two is no longer a single size.
		"a bump beside a bump": {
			[]int{1000, 1100, 1200, 1300}, [][]float64{{0, 0.3, 0, 1}, {1, 0, 0.4, 0}},
			[]stretch{{0, 0, 3}, {1, 3, 4}}, []int{1},
		},
		"a bump between two others goes to the better one": {
			[]int{1000, 1100, 1200, 1300, 1400},
			[][]float64{{0, 0, 0.5, 0.5, 0.5}, {0.5, 0.5, 0.1, 0, 0}, {0.9, 0.9, 0, 0.9, 0.9}},
			[]stretch{{0, 0, 2}, {1, 2, 5}}, []int{2},
		},
		"a crossing at the end": {
			[]int{1000, 1200, 1400}, [][]float64{{0, 0, 0.1}, {0.4, 0.13, 0}},
			[]stretch{{0, 0, 2}, {1, 2, 3}}, nil,
		},
		"a crossing at the start": {
			[]int{1000, 1200, 1400}, [][]float64{{0.1, 0, 0}, {0, 0.13, 0.4}},
			[]stretch{{1, 0, 1}, {0, 1, 3}}, nil,
		},
		// The sizes next to the last one are too near each other to say where their line leads.
		"a tilted neighbour": {
			[]int{1000, 1190, 1200, 1400}, [][]float64{{0, 0, 0, 0.1}, {0.4, 0.17, 0.2, 0}},
			[]stretch{{0, 0, 3}, {1, 3, 4}}, nil,
		},
		"a short segment between two others": {
			[]int{1000, 1200, 1400}, [][]float64{{0, 0.1, 0.4}, {0.05, 0, 0.1}, {0.4, 0.1, 0}},
			[]stretch{{0, 0, 1}, {1, 1, 2}, {2, 2, 3}}, nil,
		},
		"a gain larger than what the neighbours lose": {
			[]int{1000, 1200, 1400}, [][]float64{{0, 0, 0.3}, {0.06, 0.06, 0}},
			[]stretch{{0, 0, 2}, {1, 2, 3}}, nil,
		},
		"no size in between": {
			[]int{8, 9, 10}, [][]float64{{0.1, 0, 0}, {0, 0.3, 0.3}},
			[]stretch{{1, 0, 1}, {0, 1, 3}}, nil,
		},
		"no size in between, in the middle": {
			[]int{8, 9, 10}, [][]float64{{0, 0.1, 0}, {0.3, 0, 0.3}},
			[]stretch{{0, 0, 1}, {1, 1, 2}, {0, 2, 3}}, nil,
		},
		"a size in between": {
			[]int{8, 10, 11}, [][]float64{{0.1, 0, 0}, {0, 0.3, 0.3}},
			[]stretch{{0, 0, 3}}, []int{0},
		},
		"neighbours too far away": {
			[]int{100, 200, 400}, [][]float64{{0, 0, 0.1}, {0.3, 0.3, 0}},
			[]stretch{{0, 0, 2}, {1, 2, 3}}, nil,
		},
		"neighbours too far away, in the middle": {
			[]int{100, 200, 400}, [][]float64{{0, 0.1, 0}, {0.3, 0, 0.3}},
			[]stretch{{0, 0, 1}, {1, 1, 2}, {0, 2, 3}}, nil,
		},
		"the other implementation stops": {
			[]int{1000, 1200, 1400}, [][]float64{{0, 0, inf}, {0.8, 0.8, 0}},
			[]stretch{{0, 0, 2}, {1, 2, 3}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, bumps := partition(c.loss, c.sizes, band)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(stretch{})); diff != "" {
				t.Errorf("stretches differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.bumps, bumps); diff != "" {
				t.Errorf("bumps differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettlePutsTheBoundaryWhereTheLossIsLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for trial := range 300 {
		sizes := 2 + rng.IntN(8)
		loss := randomLoss(rng, 2, sizes)
		for i := range loss {
			for s := range loss[i] {
				loss[i][s] = min(loss[i][s], 9)
			}
		}
		at := func(cut int) (sum float64) {
			for s := range sizes {
				if s < cut {
					sum += loss[0][s]
				} else {
					sum += loss[1][s]
				}
			}
			return sum
		}
		least := inf
		for cut := 1; cut < sizes; cut++ {
			least = min(least, at(cut))
		}
		start := 1 + rng.IntN(sizes-1)
		got := settle([]stretch{{0, 0, start}, {1, start, sizes}}, loss)
		if got[0].to != got[1].from || got[0].to < 1 || got[0].to >= sizes || math.Abs(at(got[0].to)-least) > 1e-9 {
			t.Fatalf("trial %d: boundary %+v costs %v, the best one %v; loss %v", trial, got, at(got[0].to), least, loss)
		}
	}
}
