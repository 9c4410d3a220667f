package harness

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"crossover/kernels"
)

func placed(placement kernels.Placement, count int) (cases []kernels.Case) {
	for k := range count {
		cases = append(cases, kernels.Case{Name: fmt.Sprint(placement, k), Placement: placement})
	}
	return cases
}

// none is urgent.
func none(string) bool { return false }

// Cases of the placement caller are one part. A random sample of those elsewhere follows, each with as much time or more.
func TestParts(t *testing.T) {
	cases := slices.Concat(placed(kernels.Caller, 76), placed(kernels.Shared, 76), placed(kernels.Resident, 76))
	const budget = 200 * time.Second
	sampled := map[string]int{}
	for seed := range uint64(200) {
		all := parts(cases, budget, groupOf, none, seed)
		if first := all[0]; len(first.cases) != 76 || slices.ContainsFunc(first.cases, func(c kernels.Case) bool { return c.Placement != kernels.Caller }) || first.budget != 160*time.Second {
			t.Fatalf("the first part has %d cases and %v", len(first.cases), first.budget)
		}
		var spent time.Duration
		seen := map[string]bool{}
		for k, p := range all {
			spent += p.budget
			for _, c := range p.cases {
				if seen[c.Name] {
					t.Fatalf("%s is drawn twice", c.Name)
				}
				seen[c.Name] = true
				if k > 0 {
					sampled[c.Name]++
				}
				if of := p.budget / time.Duration(len(p.cases)); k > 0 && (of < all[0].budget/76 || of > enoughTime) {
					t.Fatalf("a case of the sample has %v, and one of the first part %v", of, all[0].budget/76)
				}
			}
		}
		if spent > budget || spent < budget-time.Millisecond {
			t.Fatalf("%v of %v are spent", spent, budget)
		}
	}
	for name, n := range sampled { // 200 · 16 of 152, so 21 each, give or take 4.3
		if n < 5 || n > 42 {
			t.Errorf("%s was drawn %d times of 200", name, n)
		}
	}
	if len(sampled) != 152 {
		t.Errorf("%d cases elsewhere were drawn at some time, want all 152", len(sampled))
	}
}

// A larger budget draws more, up to all. What is all alike, or all but a few, is not sampled.
func TestPartsOfOtherBudgets(t *testing.T) {
	cases := slices.Concat(placed(kernels.Caller, 76), placed(kernels.Resident, 76))
	count := func(cases []kernels.Case, budget time.Duration) (n int) {
		for _, p := range parts(cases, budget, groupOf, none, 1) {
			n += len(p.cases)
		}
		return n
	}
	drawn := 0
	for _, budget := range []time.Duration{time.Second, time.Minute, 10 * time.Minute, time.Hour} {
		n := count(cases, budget)
		if n < drawn || n <= 76 {
			t.Errorf("%v draw %d cases, and a shorter budget %d", budget, n, drawn)
		}
		drawn = n
	}
	if drawn != len(cases) {
		t.Errorf("an hour draws %d of %d cases", drawn, len(cases))
	}
	for _, all := range [][]kernels.Case{
		nil, placed(kernels.Caller, 76), placed(kernels.Shared, 76), slices.Concat(placed(kernels.Caller, 3), placed(kernels.Shared, 3), placed(kernels.Resident, 3)),
	} {
		if got := parts(all, time.Minute, groupOf, none, 1); len(got) != 1 || len(got[0].cases) != len(all) || got[0].budget != time.Minute {
			t.Errorf("of %d cases the parts are %v", len(all), got)
		}
	}
}

// Cases of the placement caller are in groups of eight, and those of the sample in pairs. The seed draws both. Urgent ones come first.
func TestGroupsAreDrawn(t *testing.T) {
	cases := slices.Concat(placed(kernels.Caller, 76), placed(kernels.Shared, 77))
	firsts := map[string]int{}
	for seed := range uint64(300) {
		for k, p := range parts(cases, 200*time.Second, groupOf, none, seed) {
			size := map[int]int{}
			for n, c := range p.cases {
				if size[p.group[c.Name]]++; n > 0 && p.group[c.Name] < p.group[p.cases[n-1].Name] {
					t.Fatalf("the groups %v are not in order", p.group)
				}
				if p.group[c.Name] == 0 {
					firsts[c.Name]++
				}
			}
			if k == 0 && (len(size) != 10 || size[0] != 8 || size[8] != 8 || size[9] != 4) || k > 0 && (len(size) != 4 || size[0] != 2 || size[3] != 2) {
				t.Fatalf("part %d has groups of %v", k, size)
			}
		}
	}
	for k := range 76 { // 300 · 8 of 76, so 32, give or take 5.3
		if n := firsts[fmt.Sprint(kernels.Caller, k)]; n < 10 || n > 60 {
			t.Errorf("case %d was in the first group %d times of 300", k, n)
		}
	}
	urgent := func(name string) bool {
		return name == fmt.Sprint(kernels.Caller, 70) || name == fmt.Sprint(kernels.Shared, 70)
	}
	for seed := range uint64(20) {
		all := parts(cases, 200*time.Second, groupOf, urgent, seed)
		if !urgent(all[0].cases[0].Name) || !urgent(all[1].cases[0].Name) {
			t.Errorf("%s and %s come first", all[0].cases[0].Name, all[1].cases[0].Name)
		}
	}
}

// If the share of all that holds is that bound, a sample has as many that hold, or more, with a probability of 5 %.
func TestLeastHolding(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {16, 16}, {5, 14}, {1, 20}} {
		share := LeastHolding(c[0], c[1])
		if more := 1 - (distuv.Binomial{N: float64(c[1]), P: share}).CDF(float64(c[0]-1)); math.Abs(more-0.05) > 1e-6 {
			t.Errorf("%d of %d: %v", c[0], c[1], more)
		}
	}
	if share := LeastHolding(0, 9); share != 0 {
		t.Errorf("none of 9: %v", share)
	}
}
