package proof

import (
	"errors"
	"math"
	"slices"
	"testing"

	"crossover/harness"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/thresholds"
	"crossover/timings"
)

// hostOf returns a host of one case with a run on each of the machines.
func hostOf(machines ...*model.Scenario) *history {
	h := &history{processors: map[string]string{"cpu": "CPU", "gpu": "GPU"}, cases: []past{{"case", map[int]*timings.Set{}}}}
	for run, s := range machines {
		h.runs = append(h.runs, run)
		h.cases[0].runs[run] = calibrate(s, uint64(run+1), Budget, 1).timings()
	}
	return h
}

// Runs of one machine predict each other. A run of another machine is predicted by none of them, and predicts none.
func TestRunsAreLeftOut(t *testing.T) {
	s := scenarios(t, "launch")[0].Between(0)
	other := s.Moved("gpu", 1.5)
	same, err := hostOf(s, s, s, s).leaveOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if same.Others.Held != (Share{4, 4}) || same.One.Held != (Share{12, 12}) || same.Agree != (Share{6, 6}) {
		t.Errorf("of one machine %v of %v thresholds hold, and %v pairs agree", same.Others.Held, same.One.Held, same.Agree)
	}
	if same.AgreeHalves != (Share{4, 4}) || same.Halves.Cheap() != (Share{8, 8}) {
		t.Errorf("of the halves of a run %v agree, and %v choices are cheap", same.AgreeHalves, same.Halves.Cheap())
	}
	if same.Means.Held.Of != 4 || same.Means.New != 0 || same.Means.Score > 1 {
		t.Errorf("means of one machine: %+v", same.Means)
	}
	if cheap := same.Others.Ours.Cheap(); cheap != (Share{4, 4}) || same.Others.Ours.Costly != 0 || same.Others.Ours.Thresholds != 1 {
		t.Errorf("of one machine %v choices are cheap: %+v", cheap, same.Others.Ours)
	}
	odd, err := hostOf(s, s, other, s).leaveOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The three runs agree, so their interval is narrow and does not hold the odd run's threshold.
	if odd.Means.Held != (Share{3, 4}) || odd.Means.Score < 2*same.Means.Score {
		t.Errorf("means with another machine between them: %+v", odd.Means)
	}
	if odd.One.Held != (Share{6, 12}) || odd.Agree != (Share{3, 6}) {
		t.Errorf("with another machine between them %v thresholds hold, and %v pairs agree", odd.One.Held, odd.Agree)
	}
	worst := odd.Others.Ours.Worst()[0]
	if worst.Run != 2 || worst.Cost < 0.01 || odd.Others.Ours.Costly == 0 || odd.One.Score < 2*same.One.Score {
		t.Errorf("the worst is %+v, %v of log-size is costly, and scores are %v and %v", worst, odd.Others.Ours.Costly, odd.One.Score, same.One.Score)
	}
}

// saved measures one run for each seed, saves them as runs of one host, and returns the folder.
func saved(t *testing.T, s *model.Scenario, seeds ...uint64) string {
	t.Helper()
	var all *harness.Run
	every := func(is bool) func(string) bool { return func(string) bool { return is } }
	for _, seed := range seeds {
		machine := model.New(s, seed)
		run := harness.NewRun(modelled(), []kernels.Case{machine.Case()}, harness.Options{Budget: Budget, Seed: seed})
		must(run.Measure(t.Context(), on(machine)))
		if all != nil {
			run = harness.Join(all, run, every(false), every(false))
		}
		all = run
	}
	dir := t.TempDir()
	must(all.Save(t.Context(), dir))
	return dir
}

func TestRunsOfASavedHostAreLeftOut(t *testing.T) {
	s := scenarios(t, "launch")[0].Between(0)
	got, err := StudyLeftOut(t.Context(), saved(t, s, 1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	if got.Runs != 3 || got.Cases != 1 || got.Others.Held != (Share{3, 3}) || len(got.One.Ours.Pairs) != 6 {
		t.Errorf("%+v", got)
	}
	if _, err := StudyLeftOut(t.Context(), saved(t, s, 1)); !errors.Is(err, ErrOneRun) {
		t.Errorf("of a single run the error is %v", err)
	}
}

func TestIntervalScore(t *testing.T) {
	for _, c := range []struct{ low, high, threshold, want float64 }{
		{1, 2, 1.5, 1},
		{1, 2, 4, 81},
		{1, 2, 0.5, 21},
	} {
		if got := intervalScore(c.low, c.high, c.threshold); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%+v: score %v", c, got)
		}
	}
}

// An interval that leaves a value out pays forty times its distance, so the best one for few values holds all of them.
func TestBestInterval(t *testing.T) {
	few := []float64{3, 1, 1.5}
	if low, high := bestInterval(few); low != 1 || high != 3 {
		t.Errorf("%v to %v is best for %v", low, high, few)
	}
	many := append(slices.Repeat([]float64{1}, 99), 9)
	if low, high := bestInterval(many); low != 1 || high != 1 {
		t.Errorf("%v to %v is best for 99 times 1 and a 9", low, high)
	}
}

// The best interval in hindsight scores no worse than those that did not know the run.
func TestHindsightIsAFloor(t *testing.T) {
	s := scenarios(t, "shallow")[0].Between(0.03)
	got, err := StudyLeftOut(t.Context(), saved(t, s, 1, 2, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	if h := got.Hindsight; h.Held.Of == 0 || h.Held.Of != got.Others.Held.Of || h.Score > got.Others.Score {
		t.Errorf("in hindsight %d thresholds score %v, and %d score %v by the others", h.Held.Of, h.Score, got.Others.Held.Of, got.Others.Score)
	}
}

// The nearest threshold is the one between the same two implementations.
func TestSameSides(t *testing.T) {
	segments := []thresholds.Segment{{Implementation: 0}, {From: 10, Implementation: 1}, {From: 20, Implementation: 0}, {From: 100, Implementation: 1}}
	for size, want := range map[int]int{12: 10, 30: 10, 40: 100} {
		if s := sameSides(segments, 0, 1, size); s.From != want {
			t.Errorf("nearest to %d is %d, want %d", size, s.From, want)
		}
	}
	if s := sameSides(segments, 0, 2, 20); s != nil {
		t.Errorf("found %+v", s)
	}
}

// The interval of a median needs five blocks. Its lower end is below the median in 95 % of cases.
func TestOrderAtMost(t *testing.T) {
	for n, want := range map[int]int{0: -1, 4: -1, 5: 0, 7: 0, 8: 1, 20: 5} {
		if got := orderAtMost(n); got != want {
			t.Errorf("of %d values it is the one with index %d, want %d", n, got, want)
		}
	}
}

// A choice is compared with the best implementation of other blocks. If two implementations change places from block to
// block, neither is slower than the other.
func TestCrossed(t *testing.T) {
	block := func(seconds ...float64) timings.Block { return timings.Block{Seconds: seconds} }
	slow := []timings.Block{block(2, 1), block(2, 1), block(2, 1), block(2, 1), block(2, math.NaN())}
	if diffs := crossed(slow, 2, 0); len(diffs) != 4 || math.Abs(middle(diffs)-math.Ln2) > 1e-9 {
		t.Errorf("twice as slow: %v", diffs)
	}
	toss := []timings.Block{block(1, 2), block(2, 1), block(1, 2), block(2, 1)}
	if diffs := crossed(toss, 2, 0); middle(diffs) > 0 {
		t.Errorf("a toss: %v", diffs)
	}
	if diffs := crossed(slow[4:], 2, 1); len(diffs) != 0 {
		t.Errorf("a choice that was not timed: %v", diffs)
	}
}

// A threshold is off by the share of the interval that lies between it and the predicted one, on its side.
func TestOff(t *testing.T) {
	var i Intervals
	low, predicted, high := math.Log(100), math.Log(200), math.Log(800)
	for _, threshold := range []int{400, 100, 200} {
		i.add(low, predicted, high, threshold)
	}
	i.add(predicted, predicted, predicted, 200)
	want := []float64{0.98, 1.96, 0, 0} // half and all of the way to the end
	for n, off := range i.offs {
		if math.Abs(off-want[n]) > 0.001 {
			t.Errorf("threshold %d is off by %v deviations, want %v", n, off, want[n])
		}
	}
}

// Of runs with many sizes, sparse ones keep a few, and only thresholds between those are judged.
func TestRunsArePredictedFromFewSizes(t *testing.T) {
	s := scenarios(t, "launch")[0].Between(0)
	h := hostOf(s, s, s)
	few := h.sparse()
	for run, set := range few.cases[0].runs {
		all, kept := h.cases[0].runs[run].Sizes(), set.Sizes()
		if kept[0] != all[0] || len(kept) >= len(all) {
			t.Errorf("of %v the sizes %v are kept", all, kept)
		}
		for k := 1; k < len(kept); k++ {
			if float64(kept[k]) < 0.999*sparseStep*float64(kept[k-1]) {
				t.Errorf("the sizes %v are too close", kept)
			}
		}
	}
	got, err := h.leaveOut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Sparse.Held != (Share{3, 3}) || got.Sparse.Score <= got.Others.Score {
		t.Errorf("from few sizes %+v, from all %+v", got.Sparse, got.Others.Intervals)
	}
	var none Intervals
	fit := few.fit(h.runs[1:])
	none.addThresholds(&fit[0], &h.fit(h.runs[:1])[0], insideOf(few.cases[0].runs[1].Sizes(), fit[0].Curves.Sizes))
	if none.Held.Of != 0 {
		t.Errorf("a run without sizes in the gap is judged: %+v", none)
	}
	for threshold, want := range map[int]int{64: 0, 65: 3, 2048: 3, 2049: 0} {
		if n := inside([]int{64, 100, 200, 300, 2048}, []int{2, 64, 2048}, threshold); n != want {
			t.Errorf("beside %d there are %d sizes inside, want %d", threshold, n, want)
		}
	}
}
