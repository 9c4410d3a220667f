package thresholds_test

import (
	"math"
	"slices"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// audit runs an auditor for at most a number of visits. It returns the audit and the number of visits.
func audit(t *testing.T, w *world, choice func(size int) string, sizes []int, atMost int) (thresholds.Audit, int) {
	t.Helper()
	near := func(size int) (int, bool) { return size + size/10, true }
	a := thresholds.NewAuditor(sizes, choice, near, 0.03, nil)
	set := &timings.Set{Implementations: w.names}
	for visits := range 200 {
		size, blocks, worth := a.Next(set)
		if worth <= 0 || visits == atMost {
			return a.Judge(set), visits
		}
		w.visit(set, size, blocks)
		a.Visited(size)
	}
	t.Fatal("the audit did not end in 200 visits")
	return thresholds.Audit{}, 0
}

// Seven sizes are no evidence, even if the axis has no more, and eight are.
func TestFewSizesAreNoEvidence(t *testing.T) {
	sizes := []int{90, 150, 300, 500, 900, 1100, 3000, 9000}
	right := func(size int) string { return map[bool]string{true: "a", false: "b"}[size < 1000] }
	for n, want := range map[int]thresholds.Finding{7: thresholds.Unmeasured, 8: thresholds.Holds} {
		if got, _ := audit(t, newWorld(8, costA, costB), right, sizes[:n], 200); got.Finding != want {
			t.Errorf("%d sizes: finding is %v, want %v", n, got.Finding, want)
		}
	}
}

func TestAudit(t *testing.T) {
	sizes := []int{90, 150, 300, 500, 900, 1100, 3000, 9000}
	right := func(size int) string {
		if size < 1000 {
			return "a"
		}
		return "b"
	}
	always := func(name string) func(int) string { return func(int) string { return name } }
	// A cost that is awkward at one size only.
	awkward := func(n float64) float64 {
		if n == 3000 {
			return 5 * costB(n)
		}
		return costB(n)
	}
	for name, c := range map[string]struct {
		choice  func(int) string
		b       func(float64) float64
		luck    float64
		atMost  int
		finding thresholds.Finding
		regret  float64 // expected, within a fifth or two percent
		visits  int     // at most
	}{
		"choices that hold":                       {right, costB, 0, 200, thresholds.Holds, 0, 16},
		"choices that hold on a machine of moods": {right, costB, 0.02, 200, thresholds.Holds, 0, 24},
		"a small mistake":                         {always("a"), func(n float64) float64 { return 1.03 * costA(n) }, 0, 200, thresholds.Holds, 0, 16},
		// It is 1.08, 2.39 and 4.79 times slower at the last three sizes, and the mean is over eight.
		"one that moved":           {always("a"), costB, 0, 200, thresholds.Drifted, 0.37, 60},
		"an awkward size":          {right, awkward, 0, 200, thresholds.Ambiguous, math.Pow(13.0*5/31, 1.0/8) - 1, 22},
		"no time for a look again": {always("a"), costB, 0, 8, thresholds.Ambiguous, -1, 8},
		"nothing measured":         {right, costB, 0, 0, thresholds.Unmeasured, 0, 0},
		"a name that is not there": {always("c"), costB, 0, 200, thresholds.Unmeasured, 0, 8},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(8, costA, c.b)
			w.luck = c.luck
			got, visits := audit(t, w, c.choice, sizes, c.atMost)
			if got.Finding != c.finding {
				t.Errorf("finding is %v, want %v: %+v", got.Finding, c.finding, got.Sizes)
			}
			if visits > c.visits {
				t.Errorf("the audit took %d visits, want %d at most", visits, c.visits)
			}
			if c.regret >= 0 && math.Abs(got.Regret-c.regret) > max(0.02, c.regret/5) {
				t.Errorf("regret is %v, want %v", got.Regret, c.regret)
			}
		})
	}
}

// A choice has drifted if it is slow at every look, and not if the machine was busy during two of them.
func TestAuditOfABusyMachine(t *testing.T) {
	for busy, want := range map[int]thresholds.Finding{1: thresholds.Holds, 2: thresholds.Ambiguous, 100: thresholds.Drifted} {
		looks := map[int]int{}
		w := newWorld(8, costA, costB)
		w.costs[0] = func(n float64) float64 {
			if looks[int(n)] <= busy {
				return 2 * costB(n)
			}
			return 0.9 * costB(n)
		}
		a := thresholds.NewAuditor([]int{2000, 3000, 4000, 6000, 9000, 13000, 20000, 30000}, func(int) string { return "a" }, func(int) (int, bool) { return 0, false }, 0.03, nil)
		set := &timings.Set{Implementations: w.names}
		for {
			size, blocks, worth := a.Next(set)
			if worth <= 0 {
				break
			}
			looks[size]++
			w.visit(set, size, blocks)
			a.Visited(size)
		}
		got := a.Judge(set).Finding
		if got == want || want == thresholds.Ambiguous && got == thresholds.Holds {
			continue
		}
		t.Errorf("slow at the first %d of %d looks, the finding is %v, want %v", busy, looks, got, want)
	}
}

// auditBelow limits an audit and runs it. The auditor must ask for something, and for no size above the limit.
func auditBelow(t *testing.T, w *world, a *thresholds.Auditor, set *timings.Set, limit int) {
	t.Helper()
	a.Limit(limit)
	visits := 0
	for ; visits < 100; visits++ {
		size, blocks, worth := a.Next(set)
		if worth <= 0 {
			break
		}
		if size > limit {
			t.Fatalf("the auditor goes to %d, beyond %d", size, limit)
		}
		w.visit(set, size, blocks)
		a.Visited(size)
	}
	if visits == 0 {
		t.Error("the auditor goes nowhere")
	}
}

func TestAuditStaysBelowTheLimit(t *testing.T) {
	w := newWorld(8, costA, costB)
	a := thresholds.NewAuditor([]int{90, 300, 3000, 9000}, func(int) string { return "b" },
		func(size int) (int, bool) { return size * 2, true }, 0.03, nil)
	set := &timings.Set{Implementations: w.names}
	auditBelow(t, w, a, set, 299)
	// b is five times slower at 90 and at 180.
	if got := a.Judge(set); got.Finding != thresholds.Drifted || len(got.Sizes) != 2 {
		t.Errorf("audit is %+v", got)
	}
}

// After a late limit the auditor does not return to sizes above it, but it still returns to sizes below.
func TestAuditUnderALateLimit(t *testing.T) {
	w := newWorld(8, costA, costB)
	sizes := []int{90, 200, 400, 700} // b is slower than a at all of them
	a := thresholds.NewAuditor(sizes, func(int) string { return "b" }, func(int) (int, bool) { return 0, false }, 0.03, nil)
	set := &timings.Set{Implementations: w.names}
	for range sizes {
		size, blocks, _ := a.Next(set)
		w.visit(set, size, blocks)
		a.Visited(size)
	}
	auditBelow(t, w, a, set, 399)
}

// An audit that is cut short has been everywhere in the range, and asks for less after it has been at more sizes.
func TestAnAuditCutShort(t *testing.T) {
	var sizes []int
	for n := range 20 {
		sizes = append(sizes, 1000+n)
	}
	a := thresholds.NewAuditor(sizes, func(int) string { return "a" }, func(int) (int, bool) { return 0, false }, 0.03, nil)
	set := &timings.Set{Implementations: []string{"a", "b"}}
	before := math.Inf(1)
	var seen []int
	for range 7 {
		size, _, worth := a.Next(set)
		if worth >= before {
			t.Errorf("size %d is worth %v after one of %v", size, worth, before)
		}
		before = worth
		seen = append(seen, size)
		a.Visited(size)
	}
	if want := []int{1000, 1004, 1008, 1012, 1016, 1002, 1006}; !slices.Equal(seen, want) {
		t.Errorf("the first seven are %v, want %v", seen, want)
	}
}

// A case takes its group's turn until it has what a finding takes, and that of a later group while it seems slow.
func TestTurnsOfAnAudit(t *testing.T) {
	var sizes []int
	for n := range 20 {
		sizes = append(sizes, 2000+100*n)
	}
	for name, c := range map[string]struct {
		choice string
		want   map[int]bool // turns in the end
	}{"right": {"b", map[int]bool{math.MaxInt: true}}, "wrong": {"a", map[int]bool{5: true}}} {
		a := thresholds.NewAuditor(sizes, func(int) string { return c.choice }, func(int) (int, bool) { return 0, false }, 0.03, nil)
		a.SetGroup(3)
		w := newWorld(8, costA, costB)
		w.disturbed = func(size int) bool { return size == 2400 } // which counts for nothing
		set := &timings.Set{Implementations: w.names}
		visits, first := 0, 0
		for {
			size, blocks, worth := a.Next(set)
			if visits++; a.Turn() != 3 || worth == 0 {
				break
			}
			if size == 2400 {
				set.Blocks = slices.DeleteFunc(set.Blocks, func(b timings.Block) bool { return b.Size == size }) // like a sweep
			} else {
				first++
			}
			w.visit(set, size, blocks)
			a.Visited(size)
		}
		if first != 8 || !c.want[a.Turn()] {
			t.Errorf("%s: turn %d after %d quiet sizes and %d visits", name, a.Turn(), first, visits)
		}
	}
}

// What is found until all groups have had their turn is what a whole audit finds: no awkward size is a drift, and a threshold that is
// three times too high is one.
func TestAnAuditThatEndsAfterItsTurns(t *testing.T) {
	var sizes []int
	for n := 100.0; n < 12000; n *= 1.3 {
		sizes = append(sizes, int(n))
	}
	awkward := sizes[12] // above 1000, and one of the first eight looks
	for name, c := range map[string]struct {
		from int
		cost func(float64) float64
		want thresholds.Finding
	}{
		"right":        {1000, costB, thresholds.Holds},
		"awkward size": {1000, func(n float64) float64 { return costB(n) * map[bool]float64{true: 5, false: 1}[int(n) == awkward] }, thresholds.Ambiguous},
		"moved":        {3000, costB, thresholds.Drifted},
	} {
		right := 0
		for seed := range uint64(20) {
			w := newWorld(seed, costA, c.cost)
			choice := func(size int) string { return map[bool]string{true: "a", false: "b"}[size < c.from] }
			near := func(size int) (int, bool) { return size + size/10, true }
			a := thresholds.NewAuditor(sizes, choice, near, 0.03, nil)
			set := &timings.Set{Implementations: w.names}
			for {
				size, blocks, worth := a.Next(set)
				if worth == 0 || a.Turn() == math.MaxInt {
					break
				}
				w.visit(set, size, blocks)
				a.Visited(size)
			}
			if a.Judge(set).Finding == c.want {
				right++
			}
		}
		if right < 19 {
			t.Errorf("%s: %d of 20 audits find %v", name, right, c.want)
		}
	}
}

// A case at which the machine is never quiet, or whose choice is not timed, does not keep its turn.
func TestATurnEnds(t *testing.T) {
	var sizes []int
	for n := range 20 {
		sizes = append(sizes, 2000+100*n)
	}
	for name, choice := range map[string]string{"never quiet": "b", "not timed": "missing"} {
		w := newWorld(8, costA, costB)
		w.disturbed = func(int) bool { return choice == "b" }
		a := thresholds.NewAuditor(sizes, func(int) string { return choice }, func(int) (int, bool) { return 0, false }, 0.03, nil)
		a.SetGroup(3)
		set := &timings.Set{Implementations: w.names}
		visits := 0
		for ; !a.Settled(set) && visits < 100; visits++ {
			size, blocks, _ := a.Next(set)
			w.visit(set, size, blocks)
			a.Visited(size)
		}
		if visits < 20 || visits > 24 {
			t.Errorf("%s: %d visits", name, visits)
		}
	}
}

// Disturbed sizes are looked at again. If the machine is never quiet there, they count for nothing.
func TestAuditOfADisturbedMachine(t *testing.T) {
	sizes := []int{90, 300, 900, 1100, 3000, 9000}
	const slow = 3000 // the size at which disturbed blocks say that the choice is wrong
	costs := func(n float64) float64 {
		if n == slow {
			return 5 * costB(n)
		}
		return costB(n)
	}
	choice := func(size int) string {
		if size < 1000 {
			return "a"
		}
		return "b"
	}
	for name, c := range map[string]struct {
		disturbed func(size, look int) bool
		looks     int // at the slow size
		finding   thresholds.Finding
		quiet     int
	}{
		"once":       {func(size, look int) bool { return size == slow && look == 1 }, 5, thresholds.Drifted, 6},
		"always":     {func(size, look int) bool { return size == slow }, 4 + 3, thresholds.Unmeasured, 5},
		"everywhere": {func(size, look int) bool { return true }, 4 + 3, thresholds.Ambiguous, 0},
	} {
		t.Run(name, func(t *testing.T) {
			looks := map[int]int{}
			w := newWorld(8, costA, costs)
			w.disturbed = func(size int) bool { return c.disturbed(size, looks[size]) }
			a := thresholds.NewAuditor(sizes, choice, func(int) (int, bool) { return 0, false }, 0.03, nil)
			set := &timings.Set{Implementations: w.names}
			for {
				size, blocks, worth := a.Next(set)
				if worth <= 0 {
					break
				}
				looks[size]++
				if !c.disturbed(size, looks[size]) { // like a sweep
					set.Blocks = slices.DeleteFunc(set.Blocks, func(b timings.Block) bool { return b.Size == size && b.Disturbed })
				}
				w.visit(set, size, blocks)
				a.Visited(size)
			}
			got := a.Judge(set)
			quiet := 0
			for _, s := range got.Sizes {
				if !s.Disturbed {
					quiet++
				}
			}
			if looks[slow] != c.looks || quiet != c.quiet || got.Finding != c.finding {
				t.Errorf("%d looks, %d quiet sizes, finding %v; want %d, %d, %v", looks[slow], quiet, got.Finding, c.looks, c.quiet, c.finding)
			}
			if counts := got.Worst > 1; counts != (name == "once") {
				t.Errorf("the worst is %v", got.Worst)
			}
			if got.Worst > 1 && got.Beyond != got.Worst || got.Worst < 0.03 && got.Beyond != 0 {
				t.Errorf("the worst is %v, and outside ties %v", got.Worst, got.Beyond)
			}
		})
	}
}

// If a look turns out to be disturbed after its end, its size is looked at again.
func TestAuditOfADoubtedSize(t *testing.T) {
	sizes := []int{90, 300, 900}
	w := newWorld(8, costA, costB)
	a := thresholds.NewAuditor(sizes, func(int) string { return "a" }, func(int) (int, bool) { return 0, false }, 0.03, nil)
	set := &timings.Set{Implementations: w.names}
	looks := func() (at []int) {
		for {
			size, blocks, worth := a.Next(set)
			if worth <= 0 {
				return at
			}
			at = append(at, size)
			w.visit(set, size, blocks)
			a.Visited(size)
		}
	}
	looks()
	for k := range set.Blocks {
		set.Blocks[k].Disturbed = set.Blocks[k].Size == 300
	}
	a.Doubted(300)
	if again := looks(); !slices.Equal(again, []int{300}) {
		t.Errorf("%v are looked at again, want 300", again)
	}
	for _, s := range a.Judge(set).Sizes {
		if s.Disturbed {
			t.Errorf("%d counts as disturbed", s.Size)
		}
	}
}

// Nothing has drifted at sizes at which the calibration says that it does not know.
func TestAuditOfAnUnsureCalibration(t *testing.T) {
	sizes := []int{90, 300, 900, 1500, 1900, 2200, 2500, 3500, 9000} // a is the best up to 1000
	upTo := func(threshold int) func(int) string {
		return func(size int) string {
			if size < threshold {
				return "a"
			}
			return "b"
		}
	}
	for name, c := range map[string]struct {
		threshold int
		unsure    [][2]int
		finding   thresholds.Finding
	}{
		"nowhere":        {3000, nil, thresholds.Drifted},
		"narrow":         {3000, [][2]int{{2900, 3100}}, thresholds.Drifted},
		"wide":           {3000, [][2]int{{800, 4000}}, thresholds.Ambiguous},
		"slow beyond it": {20_000, [][2]int{{800, 4000}}, thresholds.Drifted},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(8, costA, costB)
			near := func(size int) (int, bool) { return size + size/10, true }
			a := thresholds.NewAuditor(sizes, upTo(c.threshold), near, 0.03, c.unsure)
			set := &timings.Set{Implementations: w.names}
			auditBelow(t, w, a, set, math.MaxInt)
			if got := a.Judge(set); got.Finding != c.finding {
				t.Errorf("finding %v, want %v: %+v", got.Finding, c.finding, got.Sizes)
			}
		})
	}
}

// A slowdown inside the tie band is no difference.
func TestTheWorstOutsideTies(t *testing.T) {
	for slower, tied := range map[float64]bool{1.04: true, 1.15: false} {
		w := newWorld(8, costA, func(n float64) float64 { return slower * costA(n) })
		w.noise = quiet
		a := thresholds.NewAuditor([]int{90, 300, 3000}, func(int) string { return "b" }, func(int) (int, bool) { return 0, false }, 0.1, nil)
		set := &timings.Set{Implementations: w.names}
		auditBelow(t, w, a, set, math.MaxInt)
		got := a.Judge(set)
		if math.Abs(got.Worst-(slower-1)) > 0.01 || got.Beyond != map[bool]float64{true: 0, false: got.Worst}[tied] {
			t.Errorf("slower by %.2f: the worst is %.3f, and outside ties %.3f", slower, got.Worst, got.Beyond)
		}
	}
}

// A choice that is a third slower does not hold, and one that takes twice as long has drifted, also where the file says that a factor
// of three was a tie.
func TestAWideTieBandExcusesLittle(t *testing.T) {
	sizes := []int{90, 150, 300, 500, 900, 1100, 3000, 9000}
	for slower, want := range map[float64]thresholds.Finding{1.04: thresholds.Holds, 1.2: thresholds.Ambiguous, 2: thresholds.Drifted} {
		w := newWorld(8, costA, func(n float64) float64 { return slower * costA(n) })
		near := func(size int) (int, bool) { return size + size/10, true }
		a := thresholds.NewAuditor(sizes, func(int) string { return "b" }, near, 2.2, nil)
		set := &timings.Set{Implementations: w.names}
		auditBelow(t, w, a, set, math.MaxInt)
		if got := a.Judge(set); got.Finding != want {
			t.Errorf("slower by %.2f: finding %v, want %v", slower, got.Finding, want)
		}
	}
}

// Beside a threshold, a slow choice has drifted only if it is also slow farther off.
func TestAuditAsksWitnesses(t *testing.T) {
	right := func(size int) string {
		if size < 1000 {
			return "a"
		}
		return "b"
	}
	for name, c := range map[string]struct {
		further float64 // time of b divided by that of a from 1480 on
		finding thresholds.Finding
	}{
		"slow there":  {1.12, thresholds.Drifted},
		"right there": {0.5, thresholds.Ambiguous},
	} {
		w := newWorld(8, costA, func(n float64) float64 {
			if n >= 1480 {
				return c.further * costA(n)
			}
			return 1.3 * costA(n)
		})
		got, _ := audit(t, w, right, []int{1200, 1700, 1900}, 200)
		n := slices.IndexFunc(got.Sizes, func(s thresholds.SizeAudit) bool { return s.Size == 1200 })
		if got.Sizes[n].Finding != c.finding {
			t.Errorf("%s: the finding at 1200 is %v, want %v: %+v", name, got.Sizes[n].Finding, c.finding, got.Sizes)
		}
	}
}

// drawnSizes are as many as verify checks in a case.
var drawnSizes = geometric(64, 4<<20, 1.8)

// meanRegret returns the mean over many audits, each of a number of visits at most, of the regret of choices that are slower
// than the other implementation by a factor. It also returns the share of audits whose upper bound is below that loss.
func meanRegret(slower, luck float64, audits, atMost int) (mean, below float64) {
	found := make([]thresholds.Audit, audits)
	eachSeed(audits, func(seed uint64) {
		w := newWorld(seed, costA, func(n float64) float64 { return costA(n) / slower })
		w.luck = luck
		a := thresholds.NewAuditor(drawnSizes, func(int) string { return "a" }, func(int) (int, bool) { return 0, false }, max(0.03, 2.5*luck), nil)
		set := &timings.Set{Implementations: w.names}
		for range atMost {
			size, blocks, worth := a.Next(set)
			if worth <= 0 {
				break
			}
			w.visit(set, size, blocks)
			a.Visited(size)
		}
		found[seed] = a.Judge(set)
	})
	for _, f := range found {
		mean += f.Regret / float64(audits)
		if f.Upper < max(slower-1, 0) {
			below += 1 / float64(audits)
		}
	}
	return mean, below
}

// High and low first looks count the same in the mean.
func TestTheMeanOfAnAuditIsNotBiased(t *testing.T) {
	for _, luck := range []float64{0, 0.02} {
		for _, loss := range []float64{0, 0.03, 0.1} {
			mean, below := meanRegret(1+loss, luck, 40, math.MaxInt)
			if math.Abs(mean-loss) > 0.002 {
				t.Errorf("visits scatter by %v and the choice loses %v: the mean is %.4f", luck, loss, mean)
			}
			if loss > 0 && below > 0.12 { // at 0 a negative bound is as good as any other
				t.Errorf("visits scatter by %v and the choice loses %v: %.0f %% of the upper ends are below that", luck, loss, 100*below)
			}
		}
	}
}

// An audit that ends after the second looks at high sizes, and before those at low ones, is not biased either.
func TestTheMeanOfAnAuditCutShort(t *testing.T) {
	if mean, _ := meanRegret(1.03, 0.02, 200, len(drawnSizes)+4); math.Abs(mean-0.03) > 0.002 {
		t.Errorf("the mean is %.4f, want 0.03", mean)
	}
}

// At an awkward size another implementation is the best one, whatever is best nearby.
func TestTheMeanOfAnAuditHasAwkwardSizes(t *testing.T) {
	const awkward, sizes = 3000, 9
	w := newWorld(1, costA, func(n float64) float64 {
		if n == awkward {
			return costA(n) / 2
		}
		return 1.3 * costA(n)
	})
	got, _ := audit(t, w, func(int) string { return "a" }, []int{1000, 1500, 2000, 2500, awkward, 3500, 4000, 5000, 6000}, 200)
	if want := math.Pow(2, 1.0/sizes) - 1; math.Abs(got.Regret-want) > 0.005 || got.Upper < want || got.Upper > 0.3 {
		t.Errorf("the mean is %.4f below %.4f, want %.4f", got.Regret, got.Upper, want)
	}
}

// What seems slow is decided before sizes are looked at that no finding needs. If the budget ends then, what drifted is found.
func TestSlowSizesAreDecidedFirst(t *testing.T) {
	var sizes []int
	for k := range 16 {
		sizes = append(sizes, 100<<k)
	}
	w := newWorld(8, linear(2e-6, 2e-9), linear(1e-6, 1e-9))
	got, _ := audit(t, w, func(int) string { return "a" }, sizes, 30)
	if got.Finding != thresholds.Drifted || len(got.Sizes) < 8 || len(got.Sizes) == len(sizes) {
		t.Errorf("after 30 visits the finding is %v at %d sizes", got.Finding, len(got.Sizes))
	}
	a := thresholds.NewAuditor(sizes, func(int) string { return "b" }, func(int) (int, bool) { return 0, false }, 0.03, nil)
	first, _, _ := a.Next(w.set(0))
	a.Visited(first)
	second, _, _ := a.Next(w.set(0))
	if next := a.Upcoming(); next[0] != second || slices.Contains(next, first) || len(next) != 8 {
		t.Errorf("after a look at %d the upcoming ones are %v, and the next one is at %d: want that and six more to make eight", first, next, second)
	}
}
