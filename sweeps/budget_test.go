package sweeps_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
	"crossover/timings"
)

func TestAVerySlowImplementation(t *testing.T) {
	m := newMachine()
	slow := implementation{name: "naive", cost: func(n float64) float64 { return 1e-6 + 1e-9*n*n }}
	r := m.sweep(t, m.options(20*time.Second), m.newCase("op/x=1", 64, 4<<20, quickStarter(), slowStarter(), slow))[0]
	if _, high := timed(r, "naive"); high < 1000 || high > 100000 {
		t.Errorf("the slow one was timed up to %d", high)
	}
	if _, high := timed(r, "go"); high != 4<<20 {
		t.Errorf("the others were timed up to %d", high)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "naive was not timed above") {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if s := status(t, r, "naive"); s.Excluded != "" {
		t.Errorf("status is %+v", s)
	}
	if m.now > 24 {
		t.Errorf("the sweep took %v s of 20", m.now)
	}
}

func TestSizesThatCostTooMuch(t *testing.T) {
	m := newMachine()
	r := m.sweep(t, m.options(10*time.Second), m.newCase("op/x=1", 64, 1<<30,
		implementation{name: "go", cost: linear(1e-6, 1e-7)}, implementation{name: "parallel", cost: linear(1e-5, 0.5e-7)}))[0]
	_, high := timed(r, "go")
	if high < 1<<18 || high > 1<<22 {
		t.Errorf("sizes up to %d were measured", high)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], fmt.Sprintf("stopped at %d samples", high)) ||
		!strings.Contains(r.Warnings[0], "--budget") {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if f := fit(r); len(f.Segments) != 2 {
		t.Errorf("segments are %+v", f.Segments)
	}
}

// Only the visit that is under way may overrun the budget. Its predicted cost was at most a fifth of the budget.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	for name, cost := range map[string]func(float64) float64{
		"linear":    linear(1e-6, 1e-8),
		"quadratic": func(n float64) float64 { return 1e-6 + 1e-11*n*n },
		"cubic":     func(n float64) float64 { return 1e-5 + 1e-12*n*n*n },
		"a step":    func(n float64) float64 { return 1e-8 * n * (1 + 9*math.Round(min(n/20000, 1))) },
		"constant":  linear(5e-3, 0),
	} {
		for _, budget := range []time.Duration{500 * time.Millisecond, 5 * time.Second, 50 * time.Second} {
			for _, mode := range []sweeps.Mode{sweeps.Latency, sweeps.Throughput} {
				m := newMachine()
				o := m.options(budget)
				o.Mode = mode
				r := m.sweep(t, o, m.newCase("op/x=1", 16, 1<<24,
					implementation{name: "go", cost: cost},
					implementation{name: "parallel", cost: func(n float64) float64 { return 1e-5 + 0.5*cost(n) }}))[0]
				if over := m.now - budget.Seconds(); over > budget.Seconds()/5 {
					t.Errorf("%s, %v, %s: the sweep took %.3g s", name, budget, mode, m.now)
				}
				if len(r.Samples.Blocks) == 0 {
					t.Errorf("%s, %v, %s: no block was measured", name, budget, mode)
				}
			}
		}
	}
}

// A sweep does not wait for a machine that is disturbed at the end of the budget.
func TestBudgetOnADisturbedMachine(t *testing.T) {
	for _, from := range []float64{0.72, 0.8, 0.88, 0.9, 0.92} {
		m := newMachine()
		m.speed = func(now float64) float64 {
			if now > from && math.Mod(now-from, 0.12) < 0.09 { // longer than a block and shorter than a wait
				return 1.5
			}
			return 1
		}
		o := m.options(time.Second)
		o.Planner = slices.Repeat(script{{64, 5}, {1024, 5}}, 200).planner
		m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, implementation{name: "go", cost: linear(1e-3, 0)}, implementation{name: "gpu", cost: linear(2e-3, 0)}))
		if m.now > 1.15 {
			t.Errorf("disturbed from %v s on: the sweep took %.3g s of 1", from, m.now)
		}
	}
}

func TestCancel(t *testing.T) {
	for _, after := range []int{1, 2, 50, 10_000, 20_000} {
		t.Run(fmt.Sprintf("in call %d", after), func(t *testing.T) {
			m := newMachine()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			calls, later := 0, 0
			one := quickStarter()
			one.run = func(int) error {
				if calls++; calls == after {
					cancel()
				}
				if calls > after {
					later++
				}
				return nil
			}
			cases := []kernels.Case{
				m.newCase("a/x=1", 64, 65536, one, slowStarter()),
				m.newCase("b/x=1", 64, 65536, quickStarter(), slowStarter()),
			}
			saved := map[string]int{}
			o := m.options(60 * time.Second)
			o.Save = func(r *sweeps.Result) error {
				saved[r.Case.Name] = len(r.Samples.Blocks)
				return nil
			}
			results, err := sweeps.Run(ctx, cases, o)
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want that of the context", err)
			}
			m.check(t, cases, results)
			total := 0
			for _, r := range results {
				if n := len(r.Samples.Blocks); saved[r.Case.Name] != n {
					t.Errorf("%s: %d blocks were saved, %d came back", r.Case.Name, saved[r.Case.Name], n)
				}
				total += len(r.Samples.Blocks)
			}
			if after >= 10_000 && total == 0 {
				t.Error("no block came back")
			}
			// The rest of a warm-up, with calls of 5 ms, and of a block.
			if later > 5000 {
				t.Errorf("it was called %d times after the sweep was cancelled", later)
			}
		})
	}
}

func TestCancelledBeforeItBegins(t *testing.T) {
	m := newMachine()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	results, err := sweeps.Run(ctx, []kernels.Case{m.newCase("a", 64, 64, quickStarter())}, m.options(time.Second))
	if !errors.Is(err, context.Canceled) || len(results) != 1 || len(m.log) > 0 {
		t.Errorf("error %v, %d results, %d calls", err, len(results), len(m.log))
	}
}

func TestPlannerThatIgnoresTheLimit(t *testing.T) {
	m := newMachine()
	o := m.options(2 * time.Second)
	o.Planner = func(*kernels.Case) sweeps.Planner { return stubborn{} }
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 1<<40, implementation{name: "go", cost: linear(1e-6, 1e-6)}))[0]
	if len(r.Samples.Sizes()) < 3 {
		t.Errorf("sizes are %v", r.Samples.Sizes())
	}
}

// stubborn always wants four times the greatest size.
type stubborn struct{}

func (stubborn) Visited(int) {}

func (stubborn) Doubted(int) {}

func (stubborn) Limit(int) {}

func (stubborn) Next(set *timings.Set) (size, blocks int, worth float64) {
	size = 64
	if sizes := set.Sizes(); len(sizes) > 0 {
		size = 4 * sizes[len(sizes)-1]
	}
	return size, 5, 1
}

// If the most wanted size costs more than the rest of the budget, the rest is spent on smaller sizes.
func TestTheRestOfABudget(t *testing.T) {
	m := newMachine()
	o := m.options(20 * time.Second)
	o.VisitShare = 1
	planner := &greedy{high: 4096}
	o.Planner = func(*kernels.Case) sweeps.Planner { return planner }
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 4096, implementation{name: "go", cost: linear(0, 1e-4)}))[0]
	dear, cheap := len(r.Samples.At(4096)), len(r.Samples.At(64))
	if dear == 0 || cheap < 50 {
		t.Errorf("%d blocks of the dear size and %d of the cheap one, want 50 of that: %.3g of 20 s are spent", dear, cheap, m.now)
	}
}

// greedy always wants the most expensive size that it may have, once it knows the cost of the least size. Before that it
// wants the least size.
type greedy struct{ visits, high int }

func (g *greedy) Visited(int) { g.visits++ }

func (g *greedy) Doubted(int) {}

func (g *greedy) Limit(high int) { g.high = min(g.high, high) }

func (g *greedy) Next(*timings.Set) (size, blocks int, worth float64) {
	if g.visits == 0 || g.high < 4096 {
		return 64, 10, 1
	}
	return 4096, 10, 1
}

// A single large size whose reference and calls take minutes is left out before anything is made for it.
func TestASizeThatIsForeseenToCostTooMuch(t *testing.T) {
	cubic := func(n float64) float64 { return 1e-9 * n * n * n }
	for _, budget := range []time.Duration{time.Second, 10 * time.Second, time.Hour} {
		m := newMachine()
		c := m.newCase("op/x=1", 4096, 4096, implementation{name: "go", cost: cubic}, implementation{name: "go/half", cost: cubic})
		c.Work = func(size int, variant string) kernels.Work {
			flops := 2 * math.Pow(float64(size), 3)
			if variant == "half" {
				flops /= 2
			}
			return kernels.Work{Flops: flops}
		}
		r := m.sweep(t, m.options(budget), c)[0]
		if m.now > 1.15*budget.Seconds() {
			t.Errorf("%v: the sweep took %.3g s", budget, m.now)
		}
		if measured := len(r.Samples.Blocks) > 0; measured != (budget == time.Hour) {
			t.Errorf("%v: there are %d blocks", budget, len(r.Samples.Blocks))
		}
		if budget < time.Hour && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "stopped below 4096 samples") ||
			!strings.Contains(r.Warnings[0], "--budget")) {
			t.Errorf("%v: warnings %q", budget, r.Warnings)
		}
	}
}

// On a machine that is busy with other work, each reading of the sentinel takes a second.
func TestBaselinesEndWithTheirShareOfTheBudget(t *testing.T) {
	m := newMachine()
	o := m.options(5 * time.Second)
	o.Sentinel = func() { m.spend(0.1) }
	m.sweep(t, o, m.newCase("op/x=1", 16, 1<<10, quickStarter(), slowStarter()))
	if m.now > 8 {
		t.Errorf("the sweep took %.3g s of 5", m.now)
	}
}

// A visit may take at most half of the memory.
func TestSizesThatTheMemoryDoesNotHold(t *testing.T) {
	m := newMachine()
	o := m.options(5 * time.Second)
	o.Memory = 1 << 20
	r := m.sweep(t, o, m.newCase("op/x=1", 64, 1<<40, quickStarter(), slowStarter()))[0]
	if sizes := r.Samples.Sizes(); len(sizes) == 0 || sizes[len(sizes)-1] > 1<<19/5 {
		t.Errorf("measured at %v", sizes)
	}
	if len(r.Warnings) == 0 || !strings.Contains(r.Warnings[len(r.Warnings)-1], "GiB of memory") {
		t.Errorf("warnings: %q", r.Warnings)
	}
}

// Something delays one visit by a fifth of a second. The next size is measured nevertheless, and so are all others.
func TestADelayIsNoLimit(t *testing.T) {
	m := newMachine()
	c := m.newCase("op/x=1", 64, 1<<20, implementation{name: "go", cost: linear(1e-6, 1e-9)})
	problem, delayed := c.Problem, 0
	c.Problem = func(size int, in kernels.Input) kernels.Problem {
		if delayed == 0 && size > 1000 {
			delayed = size
			m.spend(0.2)
		}
		return problem(size, in)
	}
	r := m.sweep(t, m.options(10*time.Second), c)[0]
	if _, high := timed(r, "go"); high != 1<<20 || len(r.Warnings) > 0 {
		t.Errorf("after a delay at %d, sizes up to %d were measured; warnings: %q", delayed, high, r.Warnings)
	}
}

// orderly is a planner of a script whose visits all have the same turn.
type orderly struct {
	sweeps.Planner
	turn int
}

func (o orderly) Turn() int { return o.turn }

// Cases of a lower turn end before others begin, though a first visit is worth more than a further one.
func TestTurns(t *testing.T) {
	m := newMachine()
	o := m.options(100 * time.Second)
	s := script{{1000, 3}, {2000, 3}, {3000, 3}}
	turns := map[string]int{"a": 2, "b": 1, "c": 2, "d": 0, "e": 1}
	o.Planner = func(c *kernels.Case) sweeps.Planner { return orderly{s.planner(c), turns[c.Name]} }
	var order []int
	o.Progress = func(p sweeps.Progress) {
		if len(order) < p.Visit {
			order = append(order, turns[p.Case])
		}
	}
	var cases []kernels.Case
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		cases = append(cases, m.newCase(name, 1, 1<<20, quickStarter(), slowStarter()))
	}
	m.sweep(t, o, cases...)
	if len(order) != 15 || !slices.IsSorted(order) {
		t.Errorf("the turns of the visits are %v, want three visits of each case, in ascending order", order)
	}
}
