package surfaces

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/timings"
)

// audited lets an auditor make a number of visits. took returns the seconds of the implementations at a shape in a visit,
// and whether the machine is quiet.
func audited(t *testing.T, a *Auditor, s space, visits int, took func(shape []int, visit int) ([]float64, bool)) *timings.Set {
	t.Helper()
	set := &timings.Set{Case: "made-up", Implementations: names}
	for visit := range visits {
		size, blocks, worth := a.Next(set)
		if worth <= 0 {
			break
		}
		for range blocks {
			seconds, quiet := took(s.At(size), visit)
			set.Blocks = append(set.Blocks, timings.Block{
				Size: size, Visit: visit, Twin: -1, Seconds: seconds, Iterations: make([]int, len(names)), Disturbed: !quiet,
			})
		}
		a.Visited(size)
	}
	return set
}

func newSpace() space { return space{map[int][]int{}} }

// lucky returns the times of implementations that differ by constant factors. The times have random factors, one of a visit
// and one of a block.
func lucky(seed uint64, factors ...float64) func([]int, int) ([]float64, bool) {
	rng := rand.New(rand.NewPCG(seed, 3))
	last, luck := -1, make([]float64, len(factors))
	return func(_ []int, visit int) ([]float64, bool) {
		if visit != last {
			last = visit
			for i := range luck {
				luck[i] = 0.04 * rng.NormFloat64()
			}
		}
		var seconds []float64
		for i, f := range factors {
			seconds = append(seconds, 1e-5*f*math.Exp(luck[i]+0.02*rng.NormFloat64()))
		}
		return seconds, true
	}
}

func always(implementation string) func([]int) string {
	return func([]int) string { return implementation }
}

// The luck of a visit is no regret: a choice between two equally fast implementations loses nothing. A true loss is found,
// with a bound on either side.
func TestAuditIsUnbiased(t *testing.T) {
	for name, c := range map[string]struct {
		factors []float64
		want    float64
	}{
		"equally fast":    {[]float64{1, 1, 1.5}, 0},
		"three the same":  {[]float64{1, 1, 1}, 0},
		"20 % slower":     {[]float64{1.2, 1, 1.5}, math.Log(1.2)},
		"the fastest":     {[]float64{1, 1.3, 1.5}, 0},
		"twice as slow":   {[]float64{2, 1, 1.02}, math.Log(2)},
		"eight per cent":  {[]float64{1.08, 1, 1.5}, math.Log(1.08)},
		"within the luck": {[]float64{1.03, 1, 1.5}, math.Log(1.03)},
	} {
		sum := 0.0
		const seeds = 20
		for seed := range uint64(seeds) {
			s := newSpace()
			a := NewAuditor(s, 2, nil, always("serial"), seed)
			audit := a.Judge(audited(t, a, s, 60, lucky(seed, c.factors...)))
			if !(audit.Lower <= audit.Mean && audit.Mean <= audit.Upper) || len(audit.Audited) < 25 {
				t.Fatalf("%s: %d shapes, %v from %v to %v", name, len(audit.Audited), audit.Mean, audit.Lower, audit.Upper)
			}
			sum += audit.Mean / seeds
		}
		// Of three equally fast implementations, the best one is not always found, and then the choice seems better than it
		// is.
		if math.Abs(sum-c.want) > 0.006 {
			t.Errorf("%s: the mean loss is %.4f, want %.4f", name, sum, c.want)
		}
	}
}

// A choice that is hopelessly slow is timed once in a visit. Its loss is found all the same, and no other implementation is
// judged in its place.
func TestAHopelessChoice(t *testing.T) {
	hopeless := func(set *timings.Set) {
		seen := map[int]bool{}
		for k := range set.Blocks {
			b := &set.Blocks[k]
			if seen[b.Visit] {
				b.Erase(0)
			}
			seen[b.Visit] = true
		}
	}
	s := newSpace()
	a := NewAuditor(s, 2, nil, always("serial"), 1)
	set := audited(t, a, s, 40, lucky(1, 6, 1, 1.5))
	hopeless(set)
	if audit := a.Judge(set); math.Abs(audit.Mean-math.Log(6)) > 0.03 || len(audit.Audited) < 30 {
		t.Errorf("of %d shapes the mean is %.3f, want %.3f", len(audit.Audited), audit.Mean, math.Log(6))
	}
	held, at, _ := run(t, 200, 0.02, 3)
	for k := range held.Blocks {
		b := &held.Blocks[k]
		b.Seconds[0] = 6 * b.Seconds[1]
	}
	hopeless(held)
	truth := func([]int) []int { return []int{0, 1, 2} }
	if j := Judge(held, at.At, truth); math.Abs(j.Mean-math.Log(6)) > 0.03 {
		t.Errorf("at shapes held out the mean is %.3f, want %.3f", j.Mean, math.Log(6))
	}
}

// A short budget sees enough shapes once before it sees any twice, also where implementations are close.
func TestShapesBeforeLooks(t *testing.T) {
	s := newSpace()
	a := NewAuditor(s, 2, nil, always("serial"), 1)
	if audit := a.Judge(audited(t, a, s, LeastAudited, lucky(1, 1, 1, 9))); len(audit.Audited) != LeastAudited {
		t.Errorf("%d visits were to %d shapes", LeastAudited, len(audit.Audited))
	}
	a = NewAuditor(s, 2, nil, always("serial"), 1)
	if audit := a.Judge(audited(t, a, s, 2*LeastAudited, lucky(1, 1, 1, 9))); len(audit.Audited) >= 2*LeastAudited {
		t.Errorf("%d visits were to %d shapes, and no shape was visited again", 2*LeastAudited, len(audit.Audited))
	}
}

// An operation takes its group's turn until enough of its shapes were visited while the machine was quiet.
func TestTurnsOfShapes(t *testing.T) {
	s := newSpace()
	a := NewAuditor(s, 2, nil, always("serial"), 1)
	a.SetGroup(3)
	quick, visits := lucky(1, 1, 2, 3), 0
	audited(t, a, s, 30, func(shape []int, visit int) ([]float64, bool) {
		visits = visit + 1
		if late := visit >= LeastAudited+1; a.Turn() != 3 != late {
			t.Errorf("turn %d at visit %d", a.Turn(), visit)
		}
		seconds, _ := quick(shape, visit)
		return seconds, visit != 4
	})
	if visits != 30 {
		t.Errorf("%d visits", visits)
	}
	// A choice that is never timed ends the turn, too.
	a = NewAuditor(s, 2, nil, always("missing"), 1)
	a.SetGroup(3)
	audited(t, a, s, 40, func(shape []int, visit int) ([]float64, bool) {
		if late := visit >= mostTurns*LeastAudited; a.Turn() != 3 != late {
			t.Errorf("turn %d at visit %d of a choice that is not timed", a.Turn(), visit)
		}
		return quick(shape, visit)
	})
}

// The seed draws the fresh shapes. Choices rest on none of them. A shape that is drawn again counts again.
func TestFreshShapes(t *testing.T) {
	quick := lucky(1, 1, 2, 3)
	shapes := func(seed uint64, known [][]int) [][]int {
		s := newSpace()
		a := NewAuditor(s, 2, known, always("serial"), seed)
		return a.Judge(audited(t, a, s, 30, quick)).Shapes
	}
	one := shapes(1, nil)
	if again := shapes(1, nil); !slices.EqualFunc(one, again, slices.Equal) {
		t.Error("the shapes do not follow from the seed")
	}
	if other := shapes(2, nil); slices.EqualFunc(one, other, slices.Equal) {
		t.Error("another seed draws the same shapes")
	}
	for _, shape := range shapes(1, one[:20]) {
		if slices.ContainsFunc(one[:20], func(known []int) bool { return slices.Equal(known, shape) }) {
			t.Errorf("%v is not fresh", shape)
		}
	}
	s := newSpace()
	a := newAuditor(s, [][]int{{1, 1}, {2, 2}, {1, 1}, {1, 1}}, nil, always("serial"))
	audit := a.Judge(audited(t, a, s, 30, func(shape []int, _ int) ([]float64, bool) { return []float64{float64(shape[0]), 1, 9}, true }))
	if len(audit.Audited) != 2 || math.Abs(audit.Mean-math.Ln2/4) > 1e-9 || audit.Within != 0.75 {
		t.Errorf("%d shapes, mean %.4f, want that of one in four that loses ln 2; within 5 %%: %v", len(audit.Audited), audit.Mean, audit.Within)
	}
}

// Shapes of much work that were measured before the limit stand for others that were not measured. If there are none, the
// others are counted.
func TestDearShapes(t *testing.T) {
	large := func(size int) bool { return size >= 64<<13 } // half of the shapes
	took := func(shape []int, _ int) ([]float64, bool) {
		if shape[0] >= 64 {
			return []float64{2, 1, 9}, true
		}
		return []float64{1, 2, 9}, true
	}
	s := newSpace()
	a := NewAuditor(s, 2, nil, always("serial"), 1)
	set := audited(t, a, s, 20, took)
	a.Limit(64<<13 - 1)
	more := audited(t, a, s, 60, took)
	for _, b := range more.Blocks {
		if large(b.Size) {
			t.Fatalf("%v is above the limit", s.At(b.Size))
		}
	}
	set.Blocks = append(set.Blocks, more.Blocks...)
	audit := a.Judge(set)
	if want := math.Ln2 / 2; math.Abs(audit.Mean-want) > 0.05 || audit.Dear != 0 {
		t.Errorf("the mean is %.3f, want %.3f; %d shapes were too dear", audit.Mean, want, audit.Dear)
	}
	a = NewAuditor(s, 2, nil, always("serial"), 1)
	a.Limit(64<<13 - 1)
	if audit := a.Judge(audited(t, a, s, 40, took)); audit.Mean != 0 || audit.Dear < 20 {
		t.Errorf("without large shapes the mean is %v, and %d were too dear", audit.Mean, audit.Dear)
	}
}

// Disturbed blocks show nothing, and their shape is visited again, a few times.
func TestDisturbedLooks(t *testing.T) {
	s := newSpace()
	a := newAuditor(s, [][]int{{1, 1}, {2, 2}}, nil, always("serial"))
	visits := 0
	set := audited(t, a, s, 30, func(shape []int, visit int) ([]float64, bool) {
		visits = visit + 1
		if shape[0] == 1 {
			return []float64{9, 1, 9}, false
		}
		return []float64{1, 2, 9}, visit > mostLooks // the first visit to the second shape is disturbed
	})
	audit := a.Judge(set)
	if visits != mostLooks+2 || audit.Disturbed != 1 || len(audit.Audited) != 1 || audit.Mean > 0 {
		t.Errorf("%d visits, %d disturbed, %+v", visits, audit.Disturbed, audit.Audited)
	}
	for k := range set.Blocks {
		set.Blocks[k].Disturbed = true
	}
	two := s.Add([]int{2, 2})
	if a.Doubted(two); len(set.At(two)) == 0 {
		t.Fatal("the second shape has no blocks")
	}
	if size, _, _ := a.Next(set); size != two {
		t.Errorf("in doubt %v is looked at, want the second shape", s.At(size))
	}
	a = newAuditor(s, [][]int{{1, 1}}, nil, always("none of them"))
	if audit := a.Judge(audited(t, a, s, 9, lucky(1, 1, 2, 3))); audit.Untold != 1 || len(audit.Audited) != 0 || !math.IsNaN(audit.Upper) {
		t.Errorf("of a choice that is not there: %+v", audit)
	}
}

// Shapes that a program calls weigh as much as they are called, whether all or some of them are measured.
func TestCalledShapes(t *testing.T) {
	took := func(shape []int, _ int) ([]float64, bool) {
		if shape[0] > 10 {
			return []float64{2, 1, 9}, true
		}
		return []float64{1, 2, 9}, true
	}
	s := newSpace()
	a := NewAuditorOf(s, [][]int{{1, 1}, {11, 1}, {2, 2}}, []int64{700, 300, 1}, always("serial"), 1)
	if audit := a.Judge(audited(t, a, s, 30, took)); math.Abs(audit.Mean-0.3*math.Ln2) > 0.003 || math.Abs(audit.Within-0.7) > 0.01 || len(audit.Audited) > 3 {
		t.Errorf("%d shapes, mean %.3f, want %.3f", len(audit.Audited), audit.Mean, 0.3*math.Ln2)
	}
	// All shapes were measured, so only the luck of the blocks makes the mean uncertain.
	a = NewAuditorOf(s, [][]int{{1, 1}, {11, 1}, {2, 2}}, []int64{400, 300, 300}, always("serial"), 1)
	audit := a.Judge(audited(t, a, s, 30, lucky(1, 1.5, 1, 9)))
	if width := audit.Upper - audit.Lower; len(audit.Audited) != 3 || !(width > 0.005 && width < 0.2) || math.Abs(audit.Mean-math.Log(1.5)) > 0.1 {
		t.Errorf("%d shapes, mean %.3f from %.3f to %.3f", len(audit.Audited), audit.Mean, audit.Lower, audit.Upper)
	}
	a = NewAuditorOf(s, [][]int{{1, 1}, {11, 1}}, []int64{500, 500}, always("serial"), 1)
	if audit := a.Judge(audited(t, a, s, 30, took)); audit.Lower != audit.Mean || audit.Upper != audit.Mean {
		t.Errorf("without luck the mean is %.3f, from %.3f to %.3f", audit.Mean, audit.Lower, audit.Upper)
	}
	var shapes [][]int
	var calls []int64
	for n := range 1000 {
		shapes, calls = append(shapes, []int{1 + n%20, 1 + n}), append(calls, 1+3*int64(n%20/10)) // the slow half has 4 of 5 calls
	}
	sum := 0.0
	const seeds = 10
	for seed := range uint64(seeds) {
		s := newSpace()
		a := NewAuditorOf(s, shapes, calls, always("serial"), seed)
		sum += a.Judge(audited(t, a, s, 40, took)).Mean / seeds
	}
	if math.Abs(sum-0.8*math.Ln2) > 0.06 {
		t.Errorf("by a part of the shapes the mean is %.3f, want %.3f", sum, 0.8*math.Ln2)
	}
}
