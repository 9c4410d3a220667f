// Package rules holds the rules by which other programs turn timings into thresholds, to compare ours with them on the
// same samples.
//
// Nothing that Crossover decides comes from here. Each rule is written down as its program is known to decide, not
// ported from its source, as a function of the curves that our own fit starts from, medians over blocks, so that only the
// rule differs and not how the times were taken or averaged. Rules that know two implementations get the two that their program would name: the one that wins at
// the least size and the one that wins at the greatest.
package rules

import (
	"math"
	"slices"

	"crossover/crossover"
	"crossover/samples"
)

// Choice says which implementation to take from which size on: Implementation[k] from From[k] to just below From[k+1].
// Sizes below From[0] take the first one.
type Choice struct {
	From           []int // ascending
	Implementation []int // as indices of the samples' implementations
}

// At returns the implementation that is chosen at a size.
func (c Choice) At(size int) int {
	k, exact := slices.BinarySearch(c.From, size)
	if !exact {
		k--
	}
	return c.Implementation[max(k, 0)]
}

// Rule is one way to choose.
type Rule struct {
	Name   string
	Origin string // the program that decides so
	Choose func(set *samples.Set) Choice
}

// Ours is the rule of this project: segments of least loss with a price for every switch, edges by interpolation.
func Ours() Rule {
	return Rule{"segments", "Crossover", func(set *samples.Set) Choice {
		var c Choice
		// The choice does not depend on the bootstrap, which is what takes the time.
		for _, s := range crossover.Fit(set, crossover.Options{Seed: 1, Resamples: 1}).Segments {
			c.From = append(c.From, s.From)
			c.Implementation = append(c.Implementation, s.Implementation)
		}
		return c
	}}
}

// Others returns the rules of other programs.
func Others() []Rule {
	return []Rule{
		{"first win", "RunMat", on(firstWin)},
		{"wins for all larger sizes", "GPU-BLOB", on(winsFromThere)},
		{"fewest misclassified sizes", "CLBlast", on(fewestMisclassified)},
		{"least summed loss", "GMP", on(leastLoss)},
		{"geometric mean, 5 % band", "math/big", on(plateau)},
		{"best per fixed bucket", "LinearSolve", on(buckets)},
		{"always one", "no threshold", on(alwaysOne)},
	}
}

func on(rule func(table) Choice) func(*samples.Set) Choice {
	return func(set *samples.Set) Choice {
		c := crossover.Summarise(set)
		return rule(table{sizes: c.Sizes, loss: c.Loss})
	}
}

// table is what a rule sees: loss[i][s] is by how much, in log-time, implementation i is behind the best one at
// sizes[s]; +Inf where it was not timed. There is at least one size.
type table struct {
	sizes []int
	loss  [][]float64
}

// winner returns the best implementation at the s-th size.
func (t table) winner(s int) int {
	best := 0
	for i := range t.loss {
		if t.loss[i][s] < t.loss[best][s] {
			best = i
		}
	}
	return best
}

// ends returns the two implementations that a rule with one threshold decides between.
func (t table) ends() (low, high int) { return t.winner(0), t.winner(len(t.sizes) - 1) }

// split chooses low below the s-th size and high from there on. s may be 0 (high everywhere) or the number of sizes (low
// everywhere).
func (t table) split(low, high, s int) Choice {
	switch {
	case s == 0:
		return Choice{t.sizes[:1], []int{high}}
	case s == len(t.sizes) || low == high:
		return Choice{t.sizes[:1], []int{low}}
	}
	return Choice{[]int{t.sizes[0], t.sizes[s]}, []int{low, high}}
}

// firstWin switches at the first size where something beats the winner at the least size, to what beats it, and looks no
// further.
//
// Source: RunMat, accelerate provider auto-offload calibration.
func firstWin(t table) Choice {
	low := t.winner(0)
	for s := range t.sizes {
		if high := t.winner(s); high != low {
			return t.split(low, high, s)
		}
	}
	return t.split(low, low, 0)
}

// winsFromThere switches at the first size from which on the winner at the greatest size wins always.
//
// Source: GPU-BLOB, offload threshold.
func winsFromThere(t table) Choice {
	low, high := t.ends()
	s := len(t.sizes)
	for s > 0 && t.loss[high][s-1] < t.loss[low][s-1] {
		s--
	}
	return t.split(low, high, s)
}

// fewestMisclassified switches where the fewest measured sizes are on the wrong side.
//
// Source: CLBlast, routine tuning of the kernel selection.
func fewestMisclassified(t table) Choice {
	return t.bestSplit(func(chosen, other float64) float64 {
		if other < chosen {
			return 1
		}
		return 0
	})
}

// leastLoss switches where the summed relative loss is least.
//
// Source: GMP, tune/tuneup.c, analyze_dat.
func leastLoss(t table) Choice {
	return t.bestSplit(func(chosen, other float64) float64 { return max(0, math.Expm1(chosen-other)) })
}

// bestSplit returns the split between the two ends with the least summed cost, the first one of equals.
func (t table) bestSplit(cost func(chosen, other float64) float64) Choice {
	low, high := t.ends()
	best, least := 0, math.Inf(1)
	for s := 0; s <= len(t.sizes); s++ {
		sum := 0.0
		for k := range t.sizes {
			if k < s {
				sum += cost(t.loss[low][k], t.loss[high][k])
			} else {
				sum += cost(t.loss[high][k], t.loss[low][k])
			}
		}
		if sum < least {
			best, least = s, sum
		}
	}
	return t.split(low, high, best)
}

// plateau takes every split whose geometric mean of slowdowns is within 5 % of the least, and switches in the middle of
// them.
//
// Source: Go, math/big/calibrate.md.
func plateau(t table) Choice {
	const band = 0.05
	low, high := t.ends()
	means := make([]float64, len(t.sizes)+1)
	for s := range means {
		for k := range t.sizes {
			if k < s {
				means[s] += t.loss[low][k]
			} else {
				means[s] += t.loss[high][k]
			}
		}
		means[s] /= float64(len(t.sizes))
	}
	least := slices.Min(means)
	var inside []int
	for s, m := range means {
		if m <= least+math.Log1p(band) {
			inside = append(inside, s)
		}
	}
	if len(inside) == 0 { // every split meets a size at which one of the two was not timed
		return alwaysOne(t)
	}
	return t.split(low, high, inside[len(inside)/2])
}

// bucketEdges are where the buckets of fixed sizes begin.
var bucketEdges = []int{1, 20, 100, 300, 1000, 10_000, 100_000, 1_000_000}

// buckets takes, in each fixed bucket of sizes, the implementation with the least mean slowdown; a bucket without a
// measured size takes the choice of the one below.
//
// Source: LinearSolve.jl, LinearSolveAutotune, size categories.
func buckets(t table) Choice {
	var c Choice
	for b, from := range bucketEdges {
		to := math.MaxInt
		if b+1 < len(bucketEdges) {
			to = bucketEdges[b+1]
		}
		first, _ := slices.BinarySearch(t.sizes, from)
		last, _ := slices.BinarySearch(t.sizes, to)
		if first == last {
			continue
		}
		c.From = append(c.From, from)
		c.Implementation = append(c.Implementation, t.leastMean(first, last))
	}
	return c
}

// alwaysOne takes one implementation everywhere: the one with the least mean slowdown.
func alwaysOne(t table) Choice { return Choice{t.sizes[:1], []int{t.leastMean(0, len(t.sizes))}} }

// leastMean returns the implementation with the least mean log-slowdown over the sizes from first to last−1.
func (t table) leastMean(first, last int) int {
	best, least := t.winner(first), math.Inf(1)
	for i := range t.loss {
		sum := 0.0
		for s := first; s < last; s++ {
			sum += t.loss[i][s]
		}
		if sum < least {
			best, least = i, sum
		}
	}
	return best
}
