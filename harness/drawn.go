package harness

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"crossover/kernels"
	"crossover/sweeps"
)

// The budget of a check may be too short for all cases, most of all beside other programs, which disturb every second visit. A few
// sizes of each case would say nothing of any. So the cases of the placement caller are checked by groups in a random order: those
// of a group get what a finding takes before those of the next one begin. What is left is spent on all of them.
//
// Beside a GPU there are three times as many cases as without one, and no check of a few minutes has the eight fresh sizes of each
// that a finding takes. A few sizes of each would say nothing of any. So all cases of the placement caller are checked, because
// most programs have their data there, and a random sample of those elsewhere. The sample says of how many of the others the
// choices hold at least: see [LeastHolding].
const (
	// sampleShare is the part of the budget for the sample.
	sampleShare = 0.2
	// groupOf is the number of cases that are checked together. Visits to a case are then some seconds apart.
	groupOf = 8
	// shapesGroupOf is that number for operations. Fresh shapes differ more than the seconds in which they are visited, and when a
	// budget ends, nothing can be said of the group under way.
	shapesGroupOf = 4
	// pairOf is that number within a group of the sample, whose budget rarely suffices for all eight.
	pairOf = 2
	// enoughTime is the most that a case of the sample needs. Otherwise it gets as much as one of the placement caller.
	enoughTime = 6 * time.Second
)

// groupsOf draws the order in which cases are checked, in groups of some size, and of pairOf cases elsewhere. It returns the group of
// each, by its name.
func groupsOf(cases []kernels.Case, size int, seed uint64) map[string]int {
	var here, elsewhere []string
	for _, c := range cases {
		if c.Placement.Elsewhere() {
			elsewhere = append(elsewhere, c.Name)
		} else {
			here = append(here, c.Name)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0x67726f757073))
	group := map[string]int{}
	draw := func(names []string, size int) {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for k, name := range names {
			group[name] = k / size
		}
	}
	draw(here, size)
	draw(elsewhere, pairOf)
	return group
}

// part is a group of cases that are checked together, with its budget.
type part struct {
	cases  []kernels.Case
	budget time.Duration
}

// parts divides a check into groups that follow each other. All cases of the placement caller are one. A sample of the others is
// drawn by the seed. Without cases of both kinds there is a single group of all.
func parts(cases []kernels.Case, budget time.Duration, seed uint64) []part {
	var here, elsewhere []kernels.Case
	for _, c := range cases {
		if c.Placement.Elsewhere() {
			elsewhere = append(elsewhere, c)
		} else {
			here = append(here, c)
		}
	}
	if len(here) == 0 || len(elsewhere) <= groupOf {
		return []part{{cases, budget}}
	}
	rng := rand.New(rand.NewPCG(seed, 0x706172))
	rng.Shuffle(len(elsewhere), func(i, j int) { elsewhere[i], elsewhere[j] = elsewhere[j], elsewhere[i] })
	sample := time.Duration(sampleShare * float64(budget))
	of := min((budget-sample)/time.Duration(len(here)), enoughTime)
	groups := slices.Collect(slices.Chunk(elsewhere, groupOf))
	groups = groups[:min(max(int(sample/(groupOf*max(of, 1))), 1), len(groups))]
	all := []part{{here, budget - sample}}
	for _, group := range groups {
		all = append(all, part{group, sample / time.Duration(len(groups))})
	}
	return all
}

// sweepParts sweeps the groups one after the other, and returns the results of all their cases. Only the first group reports what
// the sentinel measures.
func sweepParts(ctx context.Context, all []part, o sweeps.Options) (results []*sweeps.Result, err error) {
	var before, whole time.Duration
	for _, p := range all {
		whole += p.budget
	}
	progress := o.Progress
	for _, p := range all {
		o.Progress = sweeps.Within(progress, before, whole-before-p.budget)
		o.Budget = p.budget - compileFirst(ctx, p.cases, &o, p.budget)
		swept, err := sweeps.Run(ctx, p.cases, o)
		results = append(results, swept...)
		if err != nil {
			return results, err
		}
		before += p.budget
		o.Observe = nil
	}
	return results, nil
}

// LeastHolding returns the least share of all cases whose choices hold, with 95 % confidence, if those of some cases of a random
// sample do. Source: Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial, 1934.
func LeastHolding(holding, sample int) float64 {
	if holding == 0 {
		return 0
	}
	return distuv.Beta{Alpha: float64(holding), Beta: float64(sample - holding + 1)}.Quantile(0.05)
}
