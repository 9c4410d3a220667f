package sweeps_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/sweeps"
	"crossover/thresholds"
)

// mac is a scenario of two implementations on the processor and one on a GPU that measures its times. The GPU's round trip
// is 130 µs.
func mac(noise model.Noise) *model.Scenario {
	computing := func(n float64) float64 { return 5e-6 + 0.4e-9*n }
	return &model.Scenario{
		Name: "op/x=1", Low: 64, High: 16 << 20, Noise: noise,
		Implementations: []model.Implementation{
			{Name: "go", Processor: kernels.CPU, Cost: func(n float64) float64 { return 1e-6 + 4e-9*n }},
			{Name: "go-parallel", Processor: kernels.CPU, Cores: kernels.AllCores, Cost: func(n float64) float64 { return 8e-6 + 1.5e-9*n }},
			{
				Name: "metal", Processor: kernels.GPU,
				Cost: func(n float64) float64 { return 130e-6 + computing(n) },
				Account: func(n float64) gpu.Times {
					span := seconds(computing(n))
					return gpu.Times{Busy: span, Span: span, Kernel: 1}
				},
			},
		},
	}
}

// slept returns a scenario whose GPU computes longer by a factor.
func slept(s *model.Scenario, factor float64) *model.Scenario {
	asleep := *s
	asleep.Implementations = slices.Clone(s.Implementations)
	for k := range asleep.Implementations {
		i := &asleep.Implementations[k]
		if account := i.Account; account != nil {
			awake := i.Cost
			i.Cost = func(n float64) float64 { return awake(n) + (factor-1)*account(n).Span.Seconds() }
		}
	}
	return &asleep
}

// calibrated sweeps a modelled machine. change may change the GPU's times of a call.
func calibrated(t *testing.T, s *model.Scenario, seed uint64, change func(*gpu.Times)) *sweeps.Result {
	t.Helper()
	m := model.New(s, seed)
	c := m.Case()
	if change != nil {
		problem := c.Problem
		c.Problem = func(size int, in kernels.Input) kernels.Problem { return retold{problem(size, in), change} }
	}
	results, err := sweeps.Run(t.Context(), []kernels.Case{c}, sweeps.Options{
		Budget: wakeBudget, Seed: seed, Clock: m, Sentinel: m.Sentinel, Virtual: true,
		Planner: func(c *kernels.Case) sweeps.Planner {
			return thresholds.NewPlanner(thresholds.PlannerOptions{Low: c.Axis.Min, High: c.Axis.Max, Fit: thresholds.Options{Seed: seed}})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if now := m.Now(); now > wakeBudget+300*time.Millisecond {
		t.Errorf("the sweep took %v of %v", now, wakeBudget)
	}
	return results[0]
}

const wakeBudget = 7 * time.Second

// retold is a problem whose GPU reports other times for its calls.
type retold struct {
	kernels.Problem
	change func(*gpu.Times)
}

func (r retold) Bind(name string) (kernels.Call, error) {
	c, err := r.Problem.Bind(name)
	if c.GPU != nil {
		timed := c.GPU.Time
		c.GPU.Time = func() (gpu.Times, error) {
			times, err := timed()
			r.change(&times)
			return times, err
		}
	}
	return c, err
}

// If a GPU's clock falls while the processor is timed, the thresholds are still those of the risen clock, which a program
// with many calls has. Raising the clock takes at most its share of the budget.
func TestAGPUWhoseClockFalls(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	s := mac(model.Noise{Jitter: 0.01, Visit: 0.005, GPU: model.Asleep})
	truth := s.Truth()[1]
	if asleep := slept(s, 3).Truth(); len(asleep) > 1 && float64(asleep[1]) < 1.5*float64(truth) {
		t.Fatalf("the clock moves the threshold from %d to %d only: the test shows nothing", truth, asleep[1])
	}
	for seed := range uint64(10) {
		r := calibrated(t, s, seed, nil)
		if r.Degraded || len(r.Warnings) > 0 {
			t.Errorf("seed %d: degraded %t, %q", seed, r.Degraded, r.Warnings)
		}
		if share := r.Waking.Seconds() / wakeBudget.Seconds(); share < 0.1 || share > 0.28 {
			t.Errorf("seed %d: raising the clock took %.1f %% of the budget, of 25 %%", seed, 100*share)
		}
		f := fit(r)
		if len(f.Segments) != 3 || r.Samples.Implementations[f.Segments[2].Implementation] != "metal" {
			t.Errorf("seed %d: segments are %+v", seed, f.Segments)
			continue
		}
		last := f.Segments[2]
		if off := math.Abs(math.Log(float64(last.From) / float64(truth))); off > 0.05 || truth < last.Low || truth > last.High {
			t.Errorf("seed %d: the GPU is chosen from %d (%d to %d), and in truth it wins from %d", seed, last.From, last.Low, last.High, truth)
		}
	}
}

// If the clock is constant, next to no time is spent on checking it, whether the GPU's times scatter or are not measured.
func TestAGPUWhoseClockStands(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	s := mac(model.Noise{Jitter: 0.02, Visit: 0.01})
	for name, change := range map[string]func(*gpu.Times){
		"steady": nil,
		"scatter": func(g *gpu.Times) {
			g.Span = time.Duration(float64(g.Span)*math.Exp(0.02*rng.NormFloat64()) + 2e3*rng.ExpFloat64())
		},
		"rounded": func(g *gpu.Times) { g.Span = g.Span.Round(2*time.Microsecond) + 1 },
		"untold":  func(g *gpu.Times) { *g = gpu.Times{} },
	} {
		for seed := range uint64(3) {
			r := calibrated(t, s, seed, change)
			most := 0.04 // 2.5 % on average if times scatter
			if name == "untold" {
				most = 0.008
			}
			if share := r.Waking.Seconds() / wakeBudget.Seconds(); share > most || len(r.Samples.Blocks) < 300 || r.Degraded {
				t.Errorf("%s, seed %d: %.1f %% of the budget went into a clock that stands, %d blocks, degraded %t",
					name, seed, 100*share, len(r.Samples.Blocks), r.Degraded)
			}
		}
	}
}
