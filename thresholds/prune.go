package thresholds

import (
	"math"
	"slices"
)

// Doubt is a part of a segment in which another implementation may be the faster one: what was measured says so, and
// resampling does not keep it.
type Doubt struct {
	From, To       int // sizes, both ends included
	Implementation int
	// Tie says that the two differ by no more than the tie band there. Otherwise which one is faster depends on the state
	// of the machine.
	Tie bool
}

// keep is the share of the resamples that must have a switch.
const keep = 0.9

// fitting is the stretches of a case as they lose the switches that resampling does not keep.
type fitting struct {
	*bootstrap
	spans     []float64
	band      float64 // tie band as a log-ratio
	stretches []stretch
	supports  []float64 // by stretch, of the switch below it
}

// prune gives up the switch that the fewest resamples keep, as long as too few keep it. Its two sides become one, with the
// implementation of the least expected loss.
func (f *fitting) prune() {
	for len(f.stretches) > 1 {
		f.setSupports()
		weakest := 1
		for n := range f.stretches[1:] {
			if f.supports[n+1] < f.supports[weakest] {
				weakest = n + 1
			}
		}
		if f.supports[weakest] >= keep {
			return
		}
		f.unite(weakest)
	}
	f.setSupports()
}

// setSupports sets the share of the resamples in which each switch saves something: in which each of its two sides costs
// less with an implementation of its own than both do with either of the two.
func (f *fitting) setSupports() {
	f.supports = make([]float64, len(f.stretches))
	for n := range f.supports {
		if n == 0 {
			f.supports[n] = 1
			continue
		}
		below, above := f.stretches[n-1], f.stretches[n]
		kept := 0
		for _, loss := range f.losses {
			i, j := loss[below.implementation], loss[above.implementation]
			saved := min(f.cost(j, below.from, below.to)-f.cost(i, below.from, below.to),
				f.cost(i, above.from, above.to)-f.cost(j, above.from, above.to))
			if saved > 0 {
				kept++
			}
		}
		f.supports[n] = float64(kept) / float64(len(f.losses))
	}
}

// cheapest returns the implementation that costs least on some sizes, and its cost.
func (f *fitting) cheapest(loss [][]float64, from, to int) (implementation int, cost float64) {
	cost = math.Inf(1)
	for i := range loss {
		if c := f.cost(loss[i], from, to); c < cost {
			implementation, cost = i, c
		}
	}
	return implementation, cost
}

func (f *fitting) cost(loss []float64, from, to int) float64 {
	sum := 0.0
	for s := from; s < to; s++ {
		sum += f.spans[s] * weighted(loss[s], f.band)
	}
	return sum
}

// unite makes one stretch of the n-th and the one before it, and of neighbours that have the same implementation then.
func (f *fitting) unite(n int) {
	below, above := f.stretches[n-1], f.stretches[n]
	chosen, _ := f.cheapest(f.curves.Loss, below.from, above.to)
	f.stretches[n-1] = stretch{chosen, below.from, above.to}
	f.stretches = slices.Delete(f.stretches, n, n+1)
	for _, k := range []int{n, n - 1} {
		if k > 0 && k < len(f.stretches) && f.stretches[k].implementation == f.stretches[k-1].implementation {
			f.stretches[k-1].to = f.stretches[k].to
			f.stretches = slices.Delete(f.stretches, k, k+1)
		}
	}
}

// doubts returns the doubts of the stretches: the parts in which the cheapest path had another implementation.
func (f *fitting) doubts(path []stretch) [][]Doubt {
	doubts := make([][]Doubt, len(f.stretches))
	for n, r := range f.stretches {
		for _, before := range path {
			if before.from >= r.from && before.to <= r.to && before.implementation != r.implementation {
				doubts[n] = append(doubts[n], f.doubt(before, r.implementation))
			}
		}
	}
	return doubts
}

// doubt says that the implementation of a stretch may be faster there than the chosen one.
func (f *fitting) doubt(r stretch, chosen int) Doubt {
	loss, sizes := f.curves.Loss, f.curves.Sizes
	behind, span := 0.0, 0.0
	for s := r.from; s < r.to; s++ {
		behind += f.spans[s] * (loss[chosen][s] - loss[r.implementation][s])
		span += f.spans[s]
	}
	return Doubt{From: sizes[r.from], To: sizes[r.to-1], Implementation: r.implementation, Tie: behind <= f.band*span}
}
