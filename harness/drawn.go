package harness

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"crossover/kernels"
	"crossover/sweeps"
	"crossover/timings"
)

// The budget of a check may be too short for all cases, most of all beside other programs, which disturb every second visit. A few
// sizes of each case would say nothing of any. So the cases are checked by groups in a random order: those of a group get what a
// finding takes before those of the next one begin. What is left is spent on all of them.
//
// Beside a GPU there are three times as many cases as without one. Most programs have their data in the placement caller, so these
// cases are the first part, and have most of the budget. Parts of a random sample of those elsewhere follow. A sample says of how many
// of all cases the choices hold at least: see [LeastHolding].
const (
	// sampleShare is the share of the budget for the sample of cases elsewhere.
	sampleShare = 0.2
	// partOf is the number of cases in each part of that sample.
	partOf = 8
	// enoughTime is the most that a case of that sample needs. Otherwise it gets as much as one of the placement caller.
	enoughTime = 6 * time.Second

	// groupOf is the number of cases of a group in the first part. Visits to a case then share less of the machine's state.
	groupOf = 8
	// shapesGroupOf is that number for operations. Fresh shapes differ more than the seconds in which they are visited, and when a
	// budget ends, nothing can be said of the group under way.
	shapesGroupOf = 4
	// pairOf is that number in the parts of the sample, whose budgets rarely suffice for all eight.
	pairOf = 2
)

// part has cases that are checked together, in the order of their groups, and their budget.
type part struct {
	cases  []kernels.Case
	group  map[string]int // of each case, by its name
	budget time.Duration
}

// newPart returns a part of cases, in groups of some size.
func newPart(cases []kernels.Case, budget time.Duration, size int) part {
	p := part{cases, map[string]int{}, budget}
	for k, c := range cases {
		p.group[c.Name] = k / size
	}
	return p
}

// parts divides a check into parts that follow each other. The seed draws the order of the cases, but that those of which urgent
// reports true come before others. All cases of the placement caller are one part, in groups of some size, and the parts of a random
// sample of the others follow. Without cases of both kinds there is a single part of all.
func parts(cases []kernels.Case, budget time.Duration, size int, urgent func(name string) bool, seed uint64) []part {
	cases = slices.Clone(cases)
	rng := rand.New(rand.NewPCG(seed, 0x706172))
	rng.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
	rank := func(c kernels.Case) int {
		if urgent(c.Name) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(cases, func(a, b kernels.Case) int { return rank(a) - rank(b) })
	var here, elsewhere []kernels.Case
	for _, c := range cases {
		if c.Placement.Elsewhere() {
			elsewhere = append(elsewhere, c)
		} else {
			here = append(here, c)
		}
	}
	if len(here) == 0 || len(elsewhere) <= partOf {
		return []part{newPart(cases, budget, size)}
	}
	sample := time.Duration(sampleShare * float64(budget))
	of := min((budget-sample)/time.Duration(len(here)), enoughTime)
	chunks := slices.Collect(slices.Chunk(elsewhere, partOf))
	chunks = chunks[:min(max(int(sample/(partOf*max(of, 1))), 1), len(chunks))]
	all := []part{newPart(here, budget-sample, size)}
	for _, chunk := range chunks {
		all = append(all, newPart(chunk, sample/time.Duration(len(chunks)), pairOf))
	}
	return all
}

// auditor is the planner of a check.
type auditor interface {
	sweeps.Planner
	SetGroup(group int)
	Begun() bool
	Settled(set *timings.Set) bool
}

// sweepParts sweeps the parts one after the other, and returns the results of all their cases and the names of those that the budget
// did not reach. If there are such cases in a part, those whose group was under way are among them. Without them nothing would be
// said of a good part of what was drawn, though chance decides which group that is. audit returns a new auditor of a case. Only the
// first part reports what the sentinel measures.
func sweepParts(ctx context.Context, all []part, o sweeps.Options, audit func(c *kernels.Case) auditor) (results []*sweeps.Result, undrawn map[string]bool, err error) {
	var before, whole time.Duration
	for _, p := range all {
		whole += p.budget
	}
	undrawn = map[string]bool{}
	progress := o.Progress
	for _, p := range all {
		auditors := map[string]auditor{}
		o.Planner = func(c *kernels.Case) sweeps.Planner {
			auditors[c.Name] = audit(c)
			auditors[c.Name].SetGroup(p.group[c.Name])
			return auditors[c.Name]
		}
		o.Progress = sweeps.Within(progress, before, whole-before-p.budget)
		o.Budget = p.budget - compileFirst(ctx, p.cases, &o, p.budget)
		swept, err := sweeps.Run(ctx, p.cases, o)
		results = append(results, swept...)
		if err != nil {
			return results, undrawn, err
		}
		notBegun := func(r *sweeps.Result) bool { return r.CanRun() && !auditors[r.Case.Name].Begun() }
		tooShort := slices.ContainsFunc(swept, notBegun)
		for _, r := range swept {
			if notBegun(r) || tooShort && r.CanRun() && !auditors[r.Case.Name].Settled(&r.Samples) {
				undrawn[r.Case.Name] = true
			}
		}
		before += p.budget
		o.Observe = nil
	}
	return results, undrawn, nil
}

// LeastHolding returns the least share of all cases whose choices hold, with 95 % confidence, if those of some cases of a random
// sample do. Source: Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial, 1934.
func LeastHolding(holding, sample int) float64 {
	if holding == 0 {
		return 0
	}
	return distuv.Beta{Alpha: float64(holding), Beta: float64(sample - holding + 1)}.Quantile(0.05)
}
