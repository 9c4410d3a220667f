package sweeps_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/lab/model"
	"crossover/sweeps"
	"crossover/timings"
)

// endless is a planner that visits one size after another until the budget is spent.
type endless int

func (e *endless) Next(*timings.Set) (size, blocks int, worth float64) { return 256 << (*e % 8), 5, 1 }
func (e *endless) Visited(int)                                         { *e++ }
func (e *endless) Doubted(int)                                         {}
func (e *endless) Limit(int)                                           {}

// stepBudget is the budget of the sweeps below. With less, half a second would be a large part.
const stepBudget = 30 * time.Second

// endlessly sweeps two cases on a machine with a noise for all of the budget.
func endlessly(t *testing.T, noise model.Noise) (results []*sweeps.Result, observed sweeps.Observed) {
	t.Helper()
	s := model.Scenarios()[0]
	s.Noise = noise
	m := model.New(&s, 1)
	first, second := m.Case(), m.Case()
	second.Name = "second"
	all := func() time.Duration {
		start := m.Now()
		m.Sentinel()
		return m.Now() - start
	}
	results, err := sweeps.Run(t.Context(), []kernels.Case{first, second}, sweeps.Options{
		Budget: stepBudget, Seed: 1, Clock: m, Sentinel: m.Sentinel, Virtual: true,
		Planner:  func(*kernels.Case) sweeps.Planner { return new(endless) },
		Together: &sweeps.Together{Processors: 2, All: all, One: m.Sentinel, HandOver: func() {}},
		Observe:  func(o sweeps.Observed) { observed = o },
	})
	if err != nil {
		t.Fatal(err)
	}
	return results, observed
}

// quietBlocks counts the undisturbed blocks.
func quietBlocks(results []*sweeps.Result) (count int) {
	for _, r := range results {
		for _, b := range r.Samples.Blocks {
			if !b.Disturbed {
				count++
			}
		}
	}
	return count
}

// A change of the machine costs a bounded share of the blocks that there would be without it.
func TestWhatAChangeCosts(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	quiet := model.Noise{Jitter: 0.01, Visit: 0.005}
	with := func(change func(n *model.Noise)) model.Noise {
		n := quiet
		change(&n)
		return n
	}
	whole, _ := endlessly(t, quiet)
	for name, c := range map[string]struct {
		noise  model.Noise
		cost   float64 // greatest share of the blocks
		epochs [2]int  // least and greatest number
	}{
		"nothing":                     {quiet, 0, [2]int{1, 1}},
		"a clock that settles slower": {with(func(n *model.Noise) { n.Step, n.StepAt = 0.09, stepBudget/2 }), 0.05, [2]int{2, 2}},
		"a clock that settles faster": {with(func(n *model.Noise) { n.Step, n.StepAt = -0.09, stepBudget/2 }), 0.05, [2]int{2, 2}},
		"half the clock":              {with(func(n *model.Noise) { n.Step, n.StepAt = 1, stepBudget/2 }), 0.4, [2]int{2, 2}},
		"a clock that has two levels": {with(func(n *model.Noise) {
			n.Step, n.StepAt, n.StepFor, n.StepEvery = -0.09, 5*time.Second, time.Second, 2*time.Second
		}), 0.1, [2]int{20, 30}},
		"a disturbance of 200 ms": {with(func(n *model.Noise) { n.Step, n.StepAt, n.StepFor = 0.5, stepBudget/2, 200*time.Millisecond }),
			0.03, [2]int{1, 1}},
		"a clock that rises with load": {with(func(n *model.Noise) {
			n.Ramp, n.RampHalf, n.RampIdle = 0.8, 2*time.Millisecond, 5*time.Millisecond
		}), 0.05, [2]int{1, 1}},
		"throttling": {with(func(n *model.Noise) {
			n.Throttle, n.ThrottleEvery, n.ThrottleLength = 0.4, 6*time.Second, 300*time.Millisecond
		}), 0.15, [2]int{1, 2}},
		"a clock that swings": {with(func(n *model.Noise) { n.Drift, n.DriftPeriod = 0.08, 2*time.Second }), 0.1, [2]int{1, 1000}},
	} {
		results, seen := endlessly(t, c.noise)
		got, want := quietBlocks(results), quietBlocks(whole)
		t.Logf("%-30s %5d blocks of %d, %d epochs, %+v", name, got, want, seen.Epochs, seen.Discarded)
		if cost := 1 - float64(got)/float64(want); cost > c.cost {
			t.Errorf("%s costs %.1f %% of %d blocks, want %.0f %% at most", name, 100*cost, want, 100*c.cost)
		}
		if seen.Epochs < c.epochs[0] || seen.Epochs > c.epochs[1] {
			t.Errorf("%s: %d epochs, want %v", name, seen.Epochs, c.epochs)
		}
		if thrown := seen.Discarded.Disturbed; (thrown > 0) != (c.cost > 0) && name != "a clock that rises with load" {
			t.Errorf("%s: %d blocks were thrown away", name, thrown)
		}
		for _, r := range results {
			if r.Degraded {
				t.Errorf("%s: %s is degraded, %q", name, r.Case.Name, r.Warnings)
			}
		}
	}
}

// A short disturbance costs the blocks during it: none of them is kept.
func TestAShortDisturbanceCostsItsBlocks(t *testing.T) {
	results, seen := endlessly(t, model.Noise{Step: 0.5, StepAt: 10 * time.Second, StepFor: 200 * time.Millisecond})
	costs := model.Scenarios()[0].Implementations
	for _, r := range results {
		for _, b := range r.Samples.Blocks {
			for i, seconds := range b.Seconds {
				if ratio := seconds / costs[i].Cost(float64(b.Size)); ratio > 1.2 {
					t.Fatalf("a block at %d has a time %.2f times what it should be", b.Size, ratio)
				}
			}
		}
	}
	if seen.Discarded.Disturbed == 0 || seen.Epochs != 1 {
		t.Errorf("%+v was thrown away, %d epochs", seen.Discarded, seen.Epochs)
	}
}

// Each block has the order of its batches, its time, its epoch, and whether the machine was quiet.
func TestBlocksSayHowTheyWereTaken(t *testing.T) {
	const at = stepBudget / 2
	results, _ := endlessly(t, model.Noise{Jitter: 0.01, Step: 0.09, StepAt: at})
	last := map[int]int{} // how often an implementation came last
	for _, r := range results {
		before := 0.0
		for _, b := range r.Samples.Blocks {
			places := []int{b.TwinPosition}
			for i, position := range b.Positions {
				if b.Timed(i) {
					places = append(places, position)
				}
				if position > 0 && position == len(b.Positions)+1 {
					last[i]++
				}
			}
			slices.Sort(places)
			for k, place := range places {
				if place != k+1 {
					t.Fatalf("the places in a block are %v and %d", b.Positions, b.TwinPosition)
				}
			}
			if b.Elapsed < before || b.Elapsed > stepBudget.Seconds() || b.Elapsed == 0 {
				t.Fatalf("a block began %v s after the run, the one before %v s", b.Elapsed, before)
			}
			before = b.Elapsed
			if epoch := b.Epoch; epoch != 0 && b.Elapsed < at.Seconds() || epoch != 1 && b.Elapsed > at.Seconds()+1 {
				t.Fatalf("a block of epoch %d began after %v s", epoch, b.Elapsed)
			}
			if text := strconv.FormatFloat(b.Seconds[0], 'e', -1, 64); len(text) > len("1.234567e-06") {
				t.Fatalf("a time is %s", text)
			}
		}
		if before < 0.9*stepBudget.Seconds() {
			t.Errorf("the last block began after %v s", before)
		}
	}
	if a, b := last[0], last[1]; a < 100 || float64(a) < 0.8*float64(b) || float64(b) < 0.8*float64(a) {
		t.Errorf("they were last %d and %d times", a, b)
	}
}
