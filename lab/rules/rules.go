// Package rules holds the rules by which other programs turn timings into thresholds, to compare ours with them on the
// same samples.
//
// Nothing that Crossover decides comes from here. Each rule is our own code, compared with its program's source. A rule
// is a function of the curves that our own fit starts from, medians over blocks, of one run or of several. So only the
// rules differ, and not which sizes were timed, how often, or how the times were averaged. One rule is of no program: the
// obvious one, which takes the winner at each measured size. Rules for two implementations get the two that
// their program would name: the one that wins at the least size, and its challenger, which wins at the greatest size.
// If one implementation wins both, the challenger is the one that wins most of the sizes between.
package rules

import (
	"math"
	"slices"

	"crossover/thresholds"
	"crossover/timings"
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

// Thresholds returns how many times the choice changes.
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
	Origin string // the program that decides so
	// Choose returns what the rule makes of the samples of a case, run by run. All runs list the same implementations.
	Choose func(runs ...*timings.Set) Choice
}

// Ours is the rule of this project: segments of least loss with a price for every switch, edges by interpolation.
func Ours() Rule {
	return Rule{"segments", "Crossover", func(runs ...*timings.Set) Choice {
		var c Choice
		// Two hundred resamples are enough to say which switches are kept.
		for _, s := range thresholds.Fit(runs, thresholds.Options{Seed: 1, Resamples: 200}).Segments {
			c.From = append(c.From, s.From)
			c.Implementation = append(c.Implementation, s.Implementation)
		}
		return c
	}}
}

// Obvious returns the rule that needs no thought: the winner at each measured size. Between two winners it switches where
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

// table is what a rule sees. loss[i][s] is by how much, in log-time, implementation i is behind the best one at
// sizes[s]. It is +Inf if i was not timed there. There is at least one size.
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

// ends returns the two implementations that a rule with one threshold decides between. They are the same only if one
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

// zero returns the first size above the zero of the log-ratio of two implementations, of which one wins the s-th size and
// the other one the size below. Where one of the two was not timed at the other's size, that size is its first or last.
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

// firstWin switches at the first size where the challenger wins, and looks no further.
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

// winsFromThere switches at the first size from which on the challenger wins. It forgives single losses: only two
// losses in a row make it start over.
//
// Source: GPU-BLOB, include/doGemm.hh, checkOffloadStructReset. GPU-BLOB compares the rate of the winner with that of
// the challenger at this size and at the one below. Its sizes are one apart, so that comes to two losses.
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

// fewestMisclassified switches where the fewest measured sizes are on the wrong side, at the last such size.
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

// leastLoss switches where the summed loss is least. The loss at a size is the part of the slower one's time that the
// faster one saves, so that no size counts for more than 1.
//
// Source: GMP, tune/tuneup.c, one and analyze_dat. GMP times from small sizes to great, and stops where the challenger
// is 1.2 times as fast. Here the rule sees every size.
func leastLoss(t table) Choice {
	low, high := t.ends()
	losses := t.splits(low, high, func(chosen, other float64) float64 { return max(0, -math.Expm1(other-chosen)) })
	return t.split(low, high, slices.Index(losses, slices.Min(losses)))
}

// leastGeometricMean switches where the geometric mean of the slowdowns is least.
//
// Source: Go, src/math/big/calibrate_test.go, computeThreshold. It also prints the thresholds within 5 and 10 %, to
// help pick one constant for all machines, and sets the best.
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

// bucketEdges are where the buckets of fixed sizes begin. LinearSolve's edges are rows of a matrix, and its last bucket
// begins at 1001. The decades above are ours, for sizes that count samples.
var bucketEdges = []int{1, 21, 101, 301, 1001, 10_001, 100_001, 1_000_001}

// buckets takes, in each fixed bucket of sizes, the implementation with the greatest mean speed. A bucket without a
// measured size takes the choice of the bucket below.
//
// Source: LinearSolve.jl, lib/LinearSolveAutotune/src/benchmarking.jl, categorize_results. Its speeds are in FLOP/s.
// Ours are shares of the best one's speed at that size, because samples do not say how much work a size is.
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
