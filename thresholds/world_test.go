package thresholds_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// world draws blocks from closed-form costs.
type world struct {
	names []string
	costs []func(n float64) float64 // seconds per call; NaN if the implementation is not measured
	noise func(rng *rand.Rand) float64
	luck  float64 // standard deviation of a visit's part in each log-time, and in the twin's
	apart float64 // the same for all but the first implementation, which run on another processor
	rng   *rand.Rand

	disturbed func(size int) bool // whether the machine is disturbed during a visit; nil means never

	visits int
}

func newWorld(seed uint64, costs ...func(n float64) float64) *world {
	names := []string{"a", "b", "c", "d"}
	return &world{
		names: names[:len(costs)], costs: costs,
		noise: spiky(0.02), rng: rand.New(rand.NewPCG(seed, 1)),
	}
}

// linear is the cost fixed + perSize·n, in seconds.
func linear(fixed, perSize float64) func(float64) float64 {
	return func(n float64) float64 { return fixed + perSize*n }
}

// spiky is the noise of timings: a narrow bell, and sometimes a delay by another program.
func spiky(width float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 {
		factor := math.Exp(width * rng.NormFloat64())
		if rng.Float64() < 0.05 {
			factor *= 1 + 0.5*rng.ExpFloat64()
		}
		return factor
	}
}

func quiet(*rand.Rand) float64 { return 1 }

// visit draws a number of blocks at a size. The times of a block share a drift, which pairing must cancel. The blocks of a
// visit share each implementation's luck.
func (w *world) visit(set *timings.Set, size, blocks int) {
	twin := w.rng.IntN(len(w.costs))
	luck := make([]float64, len(w.costs)+1)
	for i := range luck {
		luck[i] = math.Exp(w.luck * w.rng.NormFloat64())
	}
	apart := 1.0
	if w.apart > 0 {
		apart = math.Exp(w.apart * w.rng.NormFloat64())
	}
	for range blocks {
		drift := math.Exp(0.1 * w.rng.NormFloat64())
		draw := func(i int, luck float64) float64 {
			if i > 0 {
				luck *= apart
			}
			return w.costs[i](float64(size)) * luck * drift * w.noise(w.rng)
		}
		b := timings.Block{Size: size, Visit: w.visits, Twin: -1, Disturbed: w.disturbed != nil && w.disturbed(size)}
		for i := range w.costs {
			b.Seconds = append(b.Seconds, draw(i, luck[i]))
			b.Iterations = append(b.Iterations, 10)
			if math.IsNaN(b.Seconds[i]) {
				b.Iterations[i] = 0
			}
		}
		if b.Timed(twin) {
			b.Twin, b.TwinSeconds = twin, draw(twin, luck[len(w.costs)])
		}
		set.Blocks = append(set.Blocks, b)
	}
	w.visits++
}

// set draws a number of blocks at each size.
func (w *world) set(blocks int, sizes ...int) *timings.Set {
	set := &timings.Set{Case: "synthetic", Implementations: w.names}
	for _, size := range sizes {
		w.visit(set, size, blocks)
	}
	return set
}

// sweep makes the visits that a planner asks for, and returns the set and the number of visits.
func (w *world) sweep(t testing.TB, o thresholds.PlannerOptions) (*timings.Set, int) {
	t.Helper()
	p := thresholds.NewPlanner(o)
	set := &timings.Set{Case: "synthetic", Implementations: w.names}
	const atMost = 2000
	for visits := range atMost {
		size, blocks, worth := p.Next(set)
		if worth <= 0 {
			return set, visits
		}
		if size < o.Low || size > o.High {
			t.Fatalf("visit %d goes to %d, outside %d..%d", visits, size, o.Low, o.High)
		}
		if blocks < 1 {
			t.Fatalf("visit %d to %d asks for %d blocks", visits, size, blocks)
		}
		w.visit(set, size, max(blocks, 15))
		p.Visited(size)
	}
	t.Fatalf("the planner did not finish in %d visits", atMost)
	return nil, 0
}

// geometric lists sizes from low to high with a ratio of neighbours.
func geometric(low, high int, ratio float64) []int {
	var sizes []int
	for x := float64(low); x < float64(high)*1.001; x *= ratio {
		sizes = append(sizes, int(math.Round(x)))
	}
	return sizes
}

// eachSeed runs f for seeds 0 to n−1, on all processors.
func eachSeed(n int, f func(seed uint64)) {
	var group sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range seeds {
				f(seed)
			}
		})
	}
	for seed := range n {
		seeds <- uint64(seed)
	}
	close(seeds)
	group.Wait()
}
