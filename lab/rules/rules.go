// Package rules holds the rules by which other programs turn timings into thresholds. It compares our rule with them on the
// same samples.
//
// Nothing that Crossover decides depends on this package. Each rule is our own code, checked against its program's source. A
// rule is a function of the curves from which our own fit starts: medians over the blocks of one run or of several. So only
// the rules differ, and not which sizes were timed, how often, or how the times were averaged. One rule belongs to no
// program: the obvious one, which takes the winner at each measured size.
//
// Rules for two implementations get the two that their program would name: the one that wins at the least size, and its
// challenger, which wins at the greatest size. If one implementation wins at both, the challenger is the one that wins most
// of the sizes between.
package rules

import (
	"math"
	"slices"

	"crossover/thresholds"
	"crossover/timings"
)

// Choice says which implementation to take at which sizes: Implementation[k] from From[k] to just below From[k+1]. Sizes
// below From[0] take the first one.
type Choice struct {
	From           []int // ascending
	Implementation []int // indices of the samples' implementations
}

// At returns the index of the implementation that is chosen at a size.
func (c Choice) At(size int) int {
	k, exact := slices.BinarySearch(c.From, size)
	if !exact {
		k--
	}
	return c.Implementation[max(k, 0)]
}

// Thresholds returns the number of changes of the choice.
func (c Choice) Thresholds() int {
	n := 0
	for k := 1; k < len(c.Implementation); k++ {
		if c.Implementation[k] != c.Implementation[k-1] {
			n++
		}
	}
	return n
}

// Rule is one way to choose.
type Rule struct {
	Name   string
	Origin string // the program with this rule
	// Choose returns the rule's choice from the samples of a case, one set for each run. All runs list the same
	// implementations.
	Choose func(runs ...*timings.Set) Choice
}

// Ours is the rule of this project: segments of least loss with a price for every switch, edges by interpolation.
func Ours() Rule {
	return Rule{"segments", "Crossover", func(runs ...*timings.Set) Choice {
		var c Choice
		// Two hundred resamples suffice to decide which switches are kept.
		for _, s := range thresholds.Fit(runs, thresholds.Options{Seed: 1, Resamples: 200}).Segments {
			c.From = append(c.From, s.From)
			c.Implementation = append(c.Implementation, s.Implementation)
		}
		return c
	}}
}

// Obvious returns the rule that takes the winner at each measured size. Between two winners it switches at the size where
// the straight line through their log-ratios is zero.
func Obvious() Rule { return Rule{"winner at each size", "each winner", on(winners)} }

// Others returns the rules of other programs.
func Others() []Rule {
	return []Rule{
		{"first win", "RunMat", on(firstWin)},
		{"wins for all larger sizes", "GPU-BLOB", on(winsFromThere)},
		{"fewest misclassified sizes", "CLBlast", on(fewestMisclassified)},
		{"least summed loss", "GMP", on(leastLoss)},
		{"least geometric mean", "math/big", on(leastGeometricMean)},
		{"best per fixed bucket", "LinearSolve", on(buckets)},
		{"always one", "no threshold", on(alwaysOne)},
	}
}

func on(rule func(table) Choice) func(...*timings.Set) Choice {
	return func(runs ...*timings.Set) Choice {
		c := thresholds.Summarise(runs...)
		return rule(table{sizes: c.Sizes, loss: c.Loss})
	}
}

// table is the input of a rule. loss[i][s] is the log-ratio of implementation i's time to the best one's at sizes[s]. It is
// +Inf if i was not timed there. There is at least one size.
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

// ends returns the two implementations between which a rule with one threshold decides. They are the same only if one
// implementation wins every size.
func (t table) ends() (low, high int) {
	low, high = t.winner(0), t.winner(len(t.sizes)-1)
	if low != high {
		return low, high
	}
	wins := make([]int, len(t.loss))
	for s := range t.sizes {
		if w := t.winner(s); w != low {
			wins[w]++
		}
	}
	if most := slices.Max(wins); most > 0 {
		high = slices.Index(wins, most)
	}
	return low, high
}

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

// winners takes the winner at each size.
func winners(t table) Choice {
	c := Choice{t.sizes[:1], []int{t.winner(0)}}
	for s := 1; s < len(t.sizes); s++ {
		before, after := c.Implementation[len(c.Implementation)-1], t.winner(s)
		if after != before {
			c.From, c.Implementation = append(c.From, t.zero(before, after, s)), append(c.Implementation, after)
		}
	}
	return c
}

// zero returns the first size above the zero of the log-ratio of two implementations. before wins at size s−1, and after at
// size s. If before was not timed at size s, the result is just above size s−1. If after was not timed at size s−1, the
// result is size s.
func (t table) zero(before, after, s int) int {
	behind, ahead := t.loss[after][s-1], t.loss[before][s]
	share := behind / (behind + ahead)
	switch {
	case math.IsInf(behind, 1):
		share = 1
	case behind+ahead == 0:
		share = 0.5
	}
	low, high := float64(t.sizes[s-1]), float64(t.sizes[s])
	return min(max(int(math.Ceil(low*math.Pow(high/low, share)-1e-9)), t.sizes[s-1]+1), t.sizes[s])
}

// firstWin switches at the first size where the challenger wins, without regard to later sizes.
//
// Source: RunMat, crates/runmat-accelerate/src/native_auto.rs, calibrate_elemwise and its like.
func firstWin(t table) Choice {
	low, high := t.ends()
	for s := range t.sizes {
		if t.loss[high][s] < t.loss[low][s] {
			return t.split(low, high, s)
		}
	}
	return t.split(low, low, 0)
}

// winsFromThere switches at the first size from which on the challenger wins. It ignores single losses. Two losses in a row
// make it start over.
//
// Source: GPU-BLOB, include/doGemm.hh, checkOffloadStructReset. GPU-BLOB compares the rate of the winner with that of the
// challenger at this size and at the one below. Its sizes are one apart, so this is the same as two losses in a row.
func winsFromThere(t table) Choice {
	low, high := t.ends()
	from, losses := len(t.sizes), 0
	for s := range t.sizes {
		switch {
		case t.untimed(low, high, s):
		case t.loss[high][s] < t.loss[low][s]:
			from, losses = min(from, s), 0
		default:
			if losses++; losses > 1 {
				from = len(t.sizes)
			}
		}
	}
	return t.split(low, high, from)
}

// fewestMisclassified switches at the size with the fewest measured sizes on the wrong side, and at the last of several such
// sizes.
//
// Source: CLBlast, src/tuning/routines/routine_tuner.hpp, TuneKernelSelection.
func fewestMisclassified(t table) Choice {
	low, high := t.ends()
	wrong := t.splits(low, high, func(chosen, other float64) float64 {
		if other < chosen {
			return 1
		}
		return 0
	})
	best := 0
	for s, count := range wrong {
		if count <= wrong[best] {
			best = s
		}
	}
	return t.split(low, high, best)
}

// leastLoss switches at the size with the least summed loss. The loss at a size is the share of the slower one's time that
// the faster one saves, so that no size counts for more than 1.
//
// Source: GMP, tune/tuneup.c, one and analyze_dat. GMP times from small sizes to great ones and stops where the challenger
// is 1.2 times as fast. Here the rule sees every size.
func leastLoss(t table) Choice {
	low, high := t.ends()
	losses := t.splits(low, high, func(chosen, other float64) float64 { return max(0, -math.Expm1(other-chosen)) })
	return t.split(low, high, slices.Index(losses, slices.Min(losses)))
}

// leastGeometricMean switches at the size with the least geometric mean of the slowdowns.
//
// Source: Go, src/math/big/calibrate_test.go, computeThreshold. Go also prints the thresholds within 5 and 10 %, which help
// to pick one constant for all machines.
func leastGeometricMean(t table) Choice {
	low, high := t.ends()
	logs := t.splits(low, high, func(chosen, other float64) float64 { return max(0, chosen-other) })
	least := slices.Min(logs)
	if math.IsInf(least, 1) { // every split has a size at which its choice was not timed
		return alwaysOne(t)
	}
	return t.split(low, high, slices.Index(logs, least))
}

// splits returns the summed cost of each split between two implementations, from high everywhere to low everywhere. The
// sum is over the sizes at which one of them was timed.
func (t table) splits(low, high int, cost func(chosen, other float64) float64) []float64 {
	sums := make([]float64, len(t.sizes)+1)
	for split := range sums {
		for s := range t.sizes {
			switch {
			case t.untimed(low, high, s):
			case s < split:
				sums[split] += cost(t.loss[low][s], t.loss[high][s])
			default:
				sums[split] += cost(t.loss[high][s], t.loss[low][s])
			}
		}
	}
	return sums
}

// untimed reports whether neither of two implementations was timed at the s-th size.
func (t table) untimed(low, high, s int) bool {
	return math.IsInf(min(t.loss[low][s], t.loss[high][s]), 1)
}

// bucketEdges are the first sizes of fixed buckets. LinearSolve's edges are rows of a matrix, and its last bucket begins at
// 1001. We added the decades above, for sizes in samples.
var bucketEdges = []int{1, 21, 101, 301, 1001, 10_001, 100_001, 1_000_001}

// buckets takes, in each fixed bucket of sizes, the implementation with the greatest mean speed. In a bucket without a
// measured size it takes the choice of the bucket below.
//
// Source: LinearSolve.jl, lib/LinearSolveAutotune/src/benchmarking.jl, categorize_results. Its speeds are in FLOP/s. Ours
// are shares of the best one's speed at that size, because samples do not say how much work a size is.
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
		c.Implementation = append(c.Implementation, t.greatestSpeed(first, last))
	}
	return c
}

// greatestSpeed returns the implementation with the greatest mean speed over the sizes from first to last−1.
func (t table) greatestSpeed(first, last int) int {
	best, greatest := 0, -1.0
	for i := range t.loss {
		sum := 0.0
		for s := first; s < last; s++ {
			sum += math.Exp(-t.loss[i][s])
		}
		if sum > greatest {
			best, greatest = i, sum
		}
	}
	return best
}

// alwaysOne takes one implementation everywhere: the one with the least mean log-slowdown.
func alwaysOne(t table) Choice {
	best, least := t.winner(0), math.Inf(1)
	for i := range t.loss {
		sum := 0.0
		for s := range t.sizes {
			sum += t.loss[i][s]
		}
		if sum < least {
			best, least = i, sum
		}
	}
	return Choice{t.sizes[:1], []int{best}}
}
