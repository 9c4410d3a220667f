package sweeps_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
)

func TestSave(t *testing.T) {
	m := newMachine()
	o := m.options(30 * time.Second)
	blocks, times := map[string]int{}, 0
	o.Save = func(r *sweeps.Result) error {
		if n := len(r.Samples.Blocks); n <= blocks[r.Case.Name] {
			t.Errorf("%s was saved with %d blocks after %d", r.Case.Name, n, blocks[r.Case.Name])
		}
		blocks[r.Case.Name] = len(r.Samples.Blocks)
		times++
		return nil
	}
	results := m.sweep(t, o,
		m.newCase("a/x=1", 64, 65536, implementation{name: "go", cost: linear(2e-3, 1e-6)}, implementation{name: "gpu", cost: linear(1e-2, 1e-7)}),
		m.newCase("none/x=1", 64, 65536))
	if blocks["a/x=1"] != len(results[0].Samples.Blocks) {
		t.Errorf("%d blocks were saved of %d", blocks["a/x=1"], len(results[0].Samples.Blocks))
	}
	if _, saved := blocks["none/x=1"]; saved {
		t.Error("a case without a block was saved")
	}
	if want := m.now; float64(times) < want {
		t.Errorf("it was saved %d times in %v s, want twice a second but for long visits", times, m.now)
	}
}

// Saved follows the calls of Save that belong together. Cases that Save could not save, or that Saved did not confirm, are
// saved again.
func TestSaved(t *testing.T) {
	for _, test := range []struct {
		name      string
		failing   string // the case that Save fails to save
		unsaved   bool   // whether Saved fails
		confirmed bool   // whether Saved is called
	}{
		{"all are saved", "", false, true},
		{"one cannot be saved", "a/x=1", false, true},
		{"none can be saved", "any", false, false},
		{"Saved fails", "", true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine()
			o := m.options(10 * time.Second)
			full := errors.New("disk full")
			var together []string // since the last call of Saved
			confirmed, most := 0, 0
			o.Save = func(r *sweeps.Result) error {
				if slices.Contains(together, r.Case.Name) && test.failing == "" && !test.unsaved {
					t.Errorf("%s was saved twice before Saved was called", r.Case.Name)
				}
				if test.failing == "any" || test.failing == r.Case.Name {
					return full
				}
				together = append(together, r.Case.Name)
				return nil
			}
			o.Saved = func() error {
				if len(together) == 0 {
					t.Error("Saved was called after nothing was saved")
				}
				confirmed, most = confirmed+1, max(most, len(together))
				if test.unsaved {
					return full
				}
				together = nil
				return nil
			}
			quick := func(name string) kernels.Case {
				return m.newCase(name, 64, 65536, implementation{name: "go", cost: linear(1e-4, 1e-8)})
			}
			_, err := sweeps.Run(t.Context(), []kernels.Case{quick("a/x=1"), quick("b/x=1"), quick("c/x=1")}, o)
			if failed := test.failing != "" || test.unsaved; failed != errors.Is(err, full) || !failed && err != nil {
				t.Errorf("error %v", err)
			}
			if (confirmed > 0) != test.confirmed {
				t.Errorf("Saved was called %d times", confirmed)
			}
			if test.failing == "" && !test.unsaved && (len(together) > 0 || most < 2) {
				t.Errorf("%v were saved in the end without Saved, and at most %d together", together, most)
			}
			// The sweep ends at the error, and saves once more what is not saved.
			if test.unsaved && confirmed != 2 {
				t.Errorf("Saved was called %d times, want 2", confirmed)
			}
		})
	}
}

// Saving takes little of a sweep, however slow the disk is, as long as at most three seconds of samples would be lost.
func TestSaveOnASlowDisk(t *testing.T) {
	for _, test := range []struct{ seconds, least, most float64 }{
		{0.001, 0.5, 1},
		{0.04, 2, 2.5},
		{1, 3, 3.5},
	} {
		m := newMachine()
		o := m.options(15 * time.Second)
		o.Planner = slices.Repeat(script{{64, 3}}, 300).planner
		var gaps []float64
		last := math.NaN()
		o.Save = func(*sweeps.Result) error {
			if gap := m.now - last; gap > 0 {
				gaps = append(gaps, gap)
			}
			m.spend(test.seconds)
			last = m.now
			return nil
		}
		m.sweep(t, o, m.newCase("a/x=1", 64, 65536, implementation{name: "go", cost: linear(5e-3, 0)}))
		gaps = gaps[1 : len(gaps)-1] // the cost of the first save is not known before, and the last save is at the end
		if low, high := slices.Min(gaps), slices.Max(gaps); low < test.least || high > test.most {
			t.Errorf("a save takes %v s: it came %v to %v s after the one before, want %v to %v", test.seconds, low, high, test.least, test.most)
		}
	}
}

func TestSaveError(t *testing.T) {
	full := errors.New("disk full")
	newSweep := func(m *machine, stop func()) ([]kernels.Case, sweeps.Options) {
		one := quickStarter()
		calls := 0
		one.run = func(int) error {
			if calls++; calls == 10_000 {
				stop()
			}
			return nil
		}
		o := m.options(60 * time.Second)
		o.Save = func(r *sweeps.Result) error {
			if r.Case.Name == "a/x=1" {
				return full
			}
			return nil
		}
		return []kernels.Case{m.newCase("a/x=1", 64, 65536, one, slowStarter())}, o
	}
	t.Run("at the end", func(t *testing.T) {
		m := newMachine()
		cases, o := newSweep(m, func() {})
		results, err := sweeps.Run(context.Background(), cases, o)
		if !errors.Is(err, full) || len(results) != 1 || len(results[0].Samples.Blocks) == 0 {
			t.Errorf("error %v", err)
		}
	})
	t.Run("does not keep other cases from being saved", func(t *testing.T) {
		m := newMachine()
		cases, o := newSweep(m, func() {})
		cases = append(cases, m.newCase("b/x=1", 64, 256, quickStarter()))
		save, saved := o.Save, false
		o.Save = func(r *sweeps.Result) error {
			saved = saved || r.Case.Name == "b/x=1"
			return save(r)
		}
		if _, err := sweeps.Run(context.Background(), cases, o); !errors.Is(err, full) || !saved {
			t.Errorf("error %v, the other case saved %v", err, saved)
		}
	})
	t.Run("while it is cancelled", func(t *testing.T) {
		m := newMachine()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cases, o := newSweep(m, cancel)
		_, err := sweeps.Run(ctx, cases, o)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, full) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line that tells both", err)
		}
	})
	t.Run("ends the sweep", func(t *testing.T) {
		m := newMachine()
		cases, o := newSweep(m, func() {})
		slow := func(n float64) float64 { return 0.02 }
		cases[0] = m.newCase("a/x=1", 64, 65536, implementation{name: "go", cost: slow}, implementation{name: "gpu", cost: slow})
		if _, err := sweeps.Run(context.Background(), cases, o); !errors.Is(err, full) || m.now > 6 {
			t.Errorf("error %v after %v s, want it after the first save", err, m.now)
		}
	})
}

// The sentinel's figures are passed on with every save and at the end, even if the sweep was cancelled.
func TestObserve(t *testing.T) {
	const handOver = 48e-9
	together := func(m *machine) *sweeps.Together {
		return &sweeps.Together{
			Processors: 2,
			One:        func() { m.spend(104e-6) },
			All:        m.taking(func() float64 { return 203e-6 }),
			HandOver:   func() { m.spend(sweeps.HandOvers * handOver) },
		}
	}
	near := func(got, want float64) bool { return math.Abs(got/want-1) < 0.01 }
	t.Run("in the end", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Together = together(m)
		o.Planner = script{{64, 400}, {128, 400}, {256, 400}, {512, 400}, {1024, 400}, {2048, 400}, {4096, 400}}.planner
		var seen []sweeps.Observed
		saves := 0
		o.Observe = func(observed sweeps.Observed) { seen = append(seen, observed) }
		o.Save = func(*sweeps.Result) error {
			if saves++; len(seen) < saves {
				t.Errorf("save %d comes before what is saved with it", saves)
			}
			return nil
		}
		m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))
		if len(seen) < 2 || saves < 1 {
			t.Fatalf("told %d times, saved %d times", len(seen), saves)
		}
		last := seen[len(seen)-1]
		if last.Processors != 2 || last.Readings < 10 || last.Readings < seen[0].Readings {
			t.Errorf("%+v after %+v", last, seen[0])
		}
		for name, f := range map[string]sweeps.Figures{"baseline": last.Baseline, "kept": last.Kept} {
			if !near(f.OneProcessor, 100e-6) || !near(f.AllRatio, 203./104) || !near(f.HandOver, handOver) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	})
	t.Run("after a start over", func(t *testing.T) {
		m := newMachine()
		o := m.options(20 * time.Second)
		o.Together = together(m)
		o.Together.HandOver = func() {
			if m.now < 2 {
				m.spend(sweeps.HandOvers * 4 * handOver)
				return
			}
			m.spend(sweeps.HandOvers * handOver)
		}
		planners := 0
		o.Planner = func(c *kernels.Case) sweeps.Planner {
			if planners++; planners == 1 {
				return script{{64, 2000}}.planner(c) // most of them before
			}
			return script{{128, 20}}.planner(c)
		}
		var last sweeps.Observed
		o.Observe = func(observed sweeps.Observed) { last = observed }
		r := m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))[0]
		if planners != 2 || r.Discarded.Restarts == 0 || last.Readings > 80 || !near(last.Kept.HandOver, handOver) || !near(last.Baseline.HandOver, handOver) {
			t.Errorf("%d planners, %d blocks thrown away, %+v", planners, r.Discarded.Total(), last)
		}
	})
	t.Run("when it is cancelled", func(t *testing.T) {
		m := newMachine()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		o := m.options(time.Minute)
		o.Together = together(m)
		var last sweeps.Observed
		o.Observe = func(observed sweeps.Observed) { last = observed }
		if _, err := sweeps.Run(ctx, []kernels.Case{m.newCase("a", 64, 64, quickStarter())}, o); err == nil {
			t.Error("no error")
		}
		if last.Readings != 0 || last.Kept != (sweeps.Figures{}) || !near(last.Baseline.AllRatio, 203./104) {
			t.Errorf("%+v", last)
		}
	})
	t.Run("never where nobody knows whose work it is", func(t *testing.T) {
		m := newMachine()
		o := m.options(2 * time.Second)
		o.Observe = func(observed sweeps.Observed) { t.Errorf("told %+v", observed) }
		m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))
	})
}
