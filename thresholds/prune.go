package thresholds

import (
	"math"
	"slices"
)

// Doubt is a part of a segment in which another implementation may be faster. Too few resamples confirm which one is.
type Doubt struct {
	From, To       int // sizes, both ends included
	Implementation int
	// Tie says that the two differ by at most the tie band there. Otherwise the faster one depends on the state of the
	// machine.
	Tie bool
}

// keep is the least share of the resamples in which a kept switch saves something, unless the switch pays.
const keep = 0.9

// worth is how many prices a switch with less support must save in the mean of the resamples to be kept.
const worth = 1.5

// fitting has the stretches of a case while prune gives up switches.
type fitting struct {
	*bootstrap
	spans     []float64
	band      float64 // of the losses: see history.band
	tie       float64 // tie band as a log-ratio
	stretches []stretch
	supports  []float64 // by stretches, of the switch at the lower edge
}

// prune gives up the switch with the least support, of those with a support below keep that do not pay, until there is none.
// The two sides of the switch become one stretch, with the implementation of the least expected loss.
func (f *fitting) prune() {
	for {
		f.setSupports()
		weakest := 0
		for n, support := range f.supports {
			if n > 0 && support < keep && (weakest == 0 || support < f.supports[weakest]) && !f.pays(n) {
				weakest = n
			}
		}
		if weakest == 0 {
			return
		}
		f.unite(weakest)
	}
}

// pays reports whether giving up the n-th switch costs more than worth prices of a switch in the mean of the resamples. If
// the switch behind it goes with it, that is twice as much. The price is that of a tie band of at least MinTieBand. Runs may
// disagree on a switch that saves much in most of them, and no choice avoids that: the switch saves more than it costs. A
// single run does not say how runs differ, so its switches never pay.
func (f *fitting) pays(n int) bool {
	if len(f.history.runs) < 2 {
		return false
	}
	without := *f
	without.stretches = slices.Clone(f.stretches)
	without.unite(n)
	saved := 0.0
	for _, loss := range f.losses {
		saved += (without.costOfAll(loss) - f.costOfAll(loss)) / float64(len(f.losses))
	}
	price := switchPrice * max(f.band, math.Log1p(MinTieBand))
	return saved > worth*price*float64(len(f.stretches)-len(without.stretches))
}

// costOfAll returns the cost of all stretches in a resample.
func (f *fitting) costOfAll(loss [][]float64) float64 {
	sum := 0.0
	for _, r := range f.stretches {
		sum += f.cost(loss[r.implementation], r.from, r.to)
	}
	return sum
}

// setSupports sets the support of each switch: the share of the resamples in which the switch saves something. It does if
// each of its two sides costs less with its own best implementation than both do with one.
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

// unite joins the n-th stretch with the one before it, and then neighbours with the same implementation.
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

// doubts returns the doubts of the stretches: the parts in which the cheapest path has another implementation, and those
// beside a switch that stays because it pays, although its support is below keep.
func (f *fitting) doubts(path []stretch) [][]Doubt {
	doubts := make([][]Doubt, len(f.stretches))
	for n, r := range f.stretches {
		for _, before := range path {
			if before.from >= r.from && before.to <= r.to && before.implementation != r.implementation {
				doubts[n] = append(doubts[n], f.doubt(before, r.implementation))
			}
		}
	}
	for n, support := range f.supports {
		if n > 0 && support < keep {
			side, other := f.doubtful(n)
			part := f.stretches[side]
			part.implementation = other
			doubt := f.doubt(part, f.stretches[side].implementation)
			if !slices.Contains(doubts[side], doubt) { // both switches of a stretch may doubt it
				doubts[side] = append(doubts[side], doubt)
			}
		}
	}
	return doubts
}

// doubtful returns the side of the n-th switch that saves less with its own implementation, and the other side's one.
func (f *fitting) doubtful(n int) (side, other int) {
	below, above := f.stretches[n-1], f.stretches[n]
	i, j := f.curves.Loss[below.implementation], f.curves.Loss[above.implementation]
	if f.cost(j, below.from, below.to)-f.cost(i, below.from, below.to) < f.cost(i, above.from, above.to)-f.cost(j, above.from, above.to) {
		return n - 1, above.implementation
	}
	return n, below.implementation
}

// doubt says that the implementation of a part may be faster there than the chosen one.
func (f *fitting) doubt(r stretch, chosen int) Doubt {
	loss, sizes := f.curves.Loss, f.curves.Sizes
	behind, span := 0.0, 0.0
	for s := r.from; s < r.to; s++ {
		behind += f.spans[s] * (loss[chosen][s] - loss[r.implementation][s])
		span += f.spans[s]
	}
	return Doubt{From: sizes[r.from], To: sizes[r.to-1], Implementation: r.implementation, Tie: math.Abs(behind) <= f.tie*span}
}
