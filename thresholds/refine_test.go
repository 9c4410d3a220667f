package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/timings"
)

// wishesOf returns the wishes of all rules for a case.
func wishesOf(r *refinement) (wishes []wish) {
	for _, rule := range rules {
		wishes = append(wishes, rule(r)...)
	}
	return wishes
}

// refinementOf returns the state of a case with two implementations, whose sizes have enough visits for an edge. factors has
// the time of the second implementation divided by that of the first, by sizes. width is that of the noise.
func refinementOf(width float64, sizes []int, factors ...float64) *refinement {
	rng := rand.New(rand.NewPCG(2, 2))
	p := NewPlanner(PlannerOptions{Low: sizes[0], High: sizes[len(sizes)-1]})
	set := &timings.Set{Implementations: []string{"a", "b"}}
	for k, size := range sizes {
		p.visits[size] = edgeVisits
		for _, g := range groupsOf(rng, 20, []int{size}, width, 1, factors[k]) {
			for _, b := range g.blocks {
				set.Blocks = append(set.Blocks, *b)
			}
		}
	}
	return p.study(set)
}

// A size that is a segment by itself is worth more visits than an edge between longer segments.
func TestALoneSegmentIsConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		factors []float64
		lone    []int
	}{
		"a segment of two sizes":    {[]float64{2, 2, 2, 0.5, 0.5}, nil},
		"a single size at the end":  {[]float64{2, 2, 2, 2, 0.1}, []int{1400}},
		"a single size in a middle": {[]float64{2, 2, 0.1, 2, 2}, []int{1200}},
	} {
		r := refinementOf(0, []int{1000, 1100, 1200, 1300, 1400}, c.factors...)
		var lone []int
		for _, w := range wishesOf(r) {
			if w.worth == worthLone && w.enough == edgeVisits {
				lone = append(lone, w.size)
			}
		}
		if !slices.Equal(lone, c.lone) {
			t.Errorf("%s: the sizes %v are to be confirmed, want %v; segments %+v", name, lone, c.lone, r.fit.Segments)
		}
	}
}

// Several thresholds are believed only after returns to their sizes. Before that, no new size between them is measured.
func TestSeveralThresholdsWantReturns(t *testing.T) {
	sizes := []int{1000, 2000, 4000, 8000}
	for name, c := range map[string]struct {
		factors []float64
		visits  int // to each size
		want    []int
	}{
		"one threshold":           {[]float64{2, 2, 0.5, 0.5}, 1, nil},
		"two thresholds":          {[]float64{2, 0.5, 0.5, 2}, 1, []int{1000, 2000, 4000, 8000}},
		"two that were confirmed": {[]float64{2, 0.5, 0.5, 2}, 2, nil},
	} {
		r := refinementOf(0, sizes, c.factors...)
		for k := range r.groups {
			for n, b := range r.groups[k].blocks {
				b.Visit = n * c.visits / len(r.groups[k].blocks)
			}
		}
		var want []int
		for _, w := range wishesOf(r) {
			if w.worth == worthReturn {
				want = append(want, w.size)
			} else if w.worth > worthReturn {
				t.Errorf("%s: %+v is worth more than a return", name, w)
			}
		}
		if !slices.Equal(want, c.want) {
			t.Errorf("%s: the sizes %v are wanted again, want %v", name, want, c.want)
		}
	}
}

// If noise leaves the winner open, more blocks are wanted, even far from every threshold.
func TestADoubtfulWinnerIsSettled(t *testing.T) {
	sizes := []int{1000, 1050, 1100, 1150, 1200}
	for name, c := range map[string]struct {
		width   float64
		factors []float64
		open    bool
	}{
		"clear winners":      {0.01, []float64{2, 2, 2, 2, 2}, false},
		"ties":               {0.001, []float64{1, 1, 1, 1, 1}, false},
		"a winner in doubt":  {0.4, []float64{1, 1, 1, 1, 1}, true},
		"clear despite this": {0.4, []float64{9, 9, 9, 9, 9}, false},
	} {
		wishes := wishesOf(refinementOf(c.width, sizes, c.factors...))
		open := slices.ContainsFunc(wishes, func(w wish) bool {
			return w.worth > 0 && w.enough == maxVisits && slices.Contains(sizes, w.size)
		})
		if open != c.open {
			t.Errorf("%s: measured sizes are wanted again: %v, want %v; %+v", name, open, c.open, wishes)
		}
	}
}

func TestMedianInterval(t *testing.T) {
	low, high := medianInterval(nil)
	if !math.IsInf(low, -1) || !math.IsInf(high, 1) {
		t.Errorf("interval of nothing is %v..%v", low, high)
	}
	if low, high = medianInterval([]float64{1, 2, 3, 4, 5}); !math.IsInf(low, -1) {
		t.Errorf("interval of five values is %v..%v: five are too few for 95 %%", low, high)
	}
	// Six values contain their median with a probability of 1 − 2/64.
	if low, high = medianInterval([]float64{6, 1, 2, 5, 3, 4}); low != 1 || high != 6 {
		t.Errorf("interval of six values is %v..%v, want 1..6", low, high)
	}
}

func TestWinnerDoubts(t *testing.T) {
	const band = 0.03
	set := func(ratios ...float64) *timings.Set {
		s := &timings.Set{Implementations: []string{"a", "b"}}
		for _, r := range ratios {
			s.Blocks = append(s.Blocks, timings.Block{Size: 64, Seconds: []float64{1, r}, Twin: -1})
		}
		return s
	}
	for name, c := range map[string]struct {
		ratios []float64
		doubt  bool
	}{
		"a clear winner":                 {[]float64{1.5, 1.4, 1.6, 1.5, 1.5, 1.4, 1.6, 1.5}, false},
		"a clear winner in three blocks": {[]float64{1.5, 1.4, 1.6}, false},
		"two blocks":                     {[]float64{1.5, 1.4}, true},
		"three blocks that disagree":     {[]float64{1.5, 0.9, 1.6}, true},
		"three blocks of a small gain":   {[]float64{1.02, 1.01, 1.02}, true},
		"a tie":                          {[]float64{1.01, 0.99, 1, 1, 1.01, 0.99, 1, 1.001}, false},
		"wide noise":                     {[]float64{1.2, 0.8, 1.1, 0.9, 1.3, 0.7, 1.1, 1.1}, true},
	} {
		groups := groupBySize(set(c.ratios...))
		if doubts := winnerDoubts(groups, lossTable(groups, 2), band); len(doubts) != 1 || (doubts[0] > 0) != c.doubt {
			t.Errorf("%s: doubts are %v, want doubt %v", name, doubts, c.doubt)
		}
	}
}
