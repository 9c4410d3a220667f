package sweeps_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// machine is a scripted computer. Only its implementations, its sentinel and its sleeps advance its clock. So a sweep of
// minutes takes next to no time in a test, and its result is always the same.
type machine struct {
	now   float64                      // seconds
	tick  float64                      // least difference of two values of Now, in seconds
	noise func(rng *rand.Rand) float64 // factor of the times between two looks at the clock
	speed func(now float64) float64    // factor of all times; nil means 1
	rng   *rand.Rand
	mood  float64 // the noise at present

	slept    float64 // seconds
	calls    int
	log      []string // the implementations of the first 4096 calls
	open     int      // number of bound calls
	released int      // number of calls that were released more than once
	binds    map[string]int
}

func newMachine() *machine {
	return &machine{tick: 1e-9, noise: bell(0.01), rng: rand.New(rand.NewPCG(1, 2)), mood: 1, binds: map[string]int{}}
}

// bell is a narrow bell-shaped noise.
func bell(width float64) func(*rand.Rand) float64 {
	return func(rng *rand.Rand) float64 { return math.Exp(width * rng.NormFloat64()) }
}

// spikes is the noise of a shared machine: sometimes another program has the core.
func spikes(rng *rand.Rand) float64 {
	factor := math.Exp(0.01 * rng.NormFloat64())
	if rng.Float64() < 0.1 {
		factor *= 1 + 2*rng.ExpFloat64()
	}
	return factor
}

func (m *machine) Now() time.Duration {
	m.mood = m.noise(m.rng)
	return time.Duration(math.Round(math.Floor(m.now/m.tick) * m.tick * 1e9))
}

func (m *machine) Resolution() time.Duration { return time.Duration(math.Round(m.tick * 1e9)) }

func (m *machine) Sleep(d time.Duration) {
	m.now += d.Seconds()
	m.slept += d.Seconds()
}

// spend advances the clock by an amount of work.
func (m *machine) spend(seconds float64) {
	if m.speed != nil {
		seconds *= m.speed(m.now)
	}
	m.now += seconds
}

// taking returns work that says itself how long it takes.
func (m *machine) taking(seconds func() float64) func() time.Duration {
	return func() time.Duration {
		start := m.now
		m.spend(seconds())
		return time.Duration((m.now - start) * float64(time.Second))
	}
}

func (m *machine) sentinel() { m.spend(100e-6) }

// implementation is a scripted implementation.
type implementation struct {
	name    string
	cores   kernels.Cores
	cost    func(n float64) float64 // seconds of a call
	run     func(size int) error    // called in each call; may be nil
	bind    func(size int) error    // called in each binding; may be nil
	off     func(size int) float32  // relative error of the output; nil means none
	missing error
	divided func() uint64 // of the calls; may be nil
	gpu     *gpuScript    // the GPU that computes; nil means the processor
}

// linear is the cost fixed + perSize·n, in seconds.
func linear(fixed, perSize float64) func(float64) float64 {
	return func(n float64) float64 { return fixed + perSize*n }
}

// The implementations of most tests: they cross at 1000.
func slowStarter() implementation  { return implementation{name: "parallel", cost: linear(1e-5, 1e-9)} }
func quickStarter() implementation { return implementation{name: "go", cost: linear(1e-6, 1e-8)} }

// newCase makes a case of scripted implementations. Its reference takes 10 ns a size.
func (m *machine) newCase(name string, low, high int, implementations ...implementation) kernels.Case {
	c := kernels.Case{
		Name: name, Operation: name,
		Axis:      kernels.Axis{Name: "n", Unit: "samples", Min: low, Max: high},
		Tolerance: func(int) float64 { return 1e-5 },
		Bytes:     func(size int) float64 { return float64(size) },
	}
	for _, e := range implementations {
		c.Implementations = append(c.Implementations, kernels.Implementation{
			Name: e.name, Processor: e.processor(), Cores: e.cores,
			Probe:   func() error { return e.missing },
			Version: func() string { return e.name + " 1.0" },
		})
	}
	c.Problem = func(size int, _ kernels.Input) kernels.Problem {
		return &problem{machine: m, implementations: implementations, size: size}
	}
	return c
}

type problem struct {
	*machine
	implementations []implementation
	size            int
}

func (p *problem) Reference() []float64 {
	p.spend(1e-8 * float64(p.size))
	return []float64{1, float64(p.size)}
}

func (p *problem) Bind(name string) (kernels.Call, error) {
	for _, e := range p.implementations {
		if e.name != name {
			continue
		}
		if e.bind != nil {
			if err := e.bind(p.size); err != nil {
				return kernels.Call{}, err
			}
		}
		p.open++
		p.binds[name]++
		closed, ran := false, false
		call := kernels.Call{
			Divided: e.divided,
			Run: func() error {
				ran = true
				p.calls++
				if len(p.log) < 1<<12 {
					p.log = append(p.log, name)
				}
				if closed {
					return fmt.Errorf("%s: run after it was released", name)
				}
				if e.run != nil {
					if err := e.run(p.size); err != nil {
						return err
					}
				}
				p.spend(e.cost(float64(p.size)) * p.mood)
				return nil
			},
			Output: func() []float32 {
				if !ran {
					return nil
				}
				scale := float32(1)
				if e.off != nil {
					scale += e.off(p.size)
				}
				return []float32{scale, scale * float32(p.size)}
			},
			Close: func() {
				if closed {
					p.released++
				}
				closed = true
				p.open--
			},
		}
		call.Numbers = func() []float64 {
			out := call.Output()
			return []float64{float64(out[0]), float64(out[1])}
		}
		if e.gpu != nil {
			e.gpu.run(p.machine, &call, p.size, e.cost)
		}
		return call, nil
	}
	return kernels.Call{}, kernels.ErrUnknownImplementation
}

// options returns those of a sweep on the machine, with calibrate's planner and the garbage collector on.
func (m *machine) options(budget time.Duration) sweeps.Options {
	return sweeps.Options{
		Budget: budget, Seed: 7, Clock: m, Sentinel: m.sentinel, Virtual: true,
		Planner: func(c *kernels.Case) sweeps.Planner {
			return thresholds.NewPlanner(thresholds.PlannerOptions{
				Low: c.Axis.Min, High: c.Axis.Max, Round: c.Axis.Round, Fit: thresholds.Options{Seed: 7},
			})
		},
	}
}

// sweep runs a sweep that must succeed, and tests what every result must have.
func (m *machine) sweep(t *testing.T, o sweeps.Options, cases ...kernels.Case) []*sweeps.Result {
	t.Helper()
	results, err := sweeps.Run(context.Background(), cases, o)
	if err != nil {
		t.Fatal(err)
	}
	m.check(t, cases, results)
	return results
}

func (m *machine) check(t *testing.T, cases []kernels.Case, results []*sweeps.Result) {
	t.Helper()
	if m.open != 0 || m.released != 0 {
		t.Errorf("%d calls were not released, %d were released twice", m.open, m.released)
	}
	if len(results) != len(cases) {
		t.Fatalf("%d results of %d cases", len(results), len(cases))
	}
	for k, r := range results {
		if r.Case != &cases[k] || r.Samples.Case != cases[k].Name {
			t.Errorf("result %d is of case %q, want %q", k, r.Samples.Case, cases[k].Name)
		}
		for _, b := range r.Samples.Blocks {
			timed := 0
			for i := range r.Samples.Implementations {
				if b.Timed(i) != (b.Iterations[i] > 0) || b.Timed(i) && !(b.Seconds[i] > 0) {
					t.Errorf("block %+v has a time of %v in %d iterations", b, b.Seconds[i], b.Iterations[i])
				}
				if b.Timed(i) {
					timed++
				}
			}
			if timed == 0 || len(b.Seconds) != len(r.Samples.Implementations) || b.Visit < 1 {
				t.Errorf("block %+v is empty or malformed", b)
			}
			if b.Size < cases[k].Axis.Min || b.Size > cases[k].Axis.Max {
				t.Errorf("block at %d, outside %d..%d", b.Size, cases[k].Axis.Min, cases[k].Axis.Max)
			}
			if b.Twin < 0 != (b.TwinSeconds == 0) || b.Twin >= 0 && !b.Timed(b.Twin) {
				t.Errorf("block %+v has a twin without a time, or a time without a twin", b)
			}
		}
	}
}

// status returns the status of one implementation.
func status(t *testing.T, r *sweeps.Result, name string) sweeps.Status {
	t.Helper()
	for _, s := range r.Implementations {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("%s is not among the implementations %+v", name, r.Implementations)
	return sweeps.Status{}
}

// timed returns the least and the greatest size at which an implementation was timed; 0, 0 if it was not.
func timed(r *sweeps.Result, name string) (low, high int) {
	for i, n := range r.Samples.Implementations {
		if n != name {
			continue
		}
		for _, b := range r.Samples.Blocks {
			if !b.Timed(i) {
				continue
			}
			if low == 0 || b.Size < low {
				low = b.Size
			}
			high = max(high, b.Size)
		}
	}
	return low, high
}

// fit fits a result as calibrate does.
func fit(r *sweeps.Result) thresholds.Result {
	return thresholds.Fit([]*timings.Set{&r.Samples}, thresholds.Options{Seed: 7, Resamples: 300})
}

// script is a planner that asks for given visits in order and ignores everything else.
type script []visit

type visit struct{ size, blocks int }

func (s script) planner(*kernels.Case) sweeps.Planner { return &scripted{left: s} }

type scripted struct{ left []visit }

func (s *scripted) Next(*timings.Set) (size, blocks int, worth float64) {
	if len(s.left) == 0 {
		return 0, 0, 0
	}
	return s.left[0].size, s.left[0].blocks, 1
}
func (s *scripted) Visited(int) { s.left = s.left[1:] }
func (s *scripted) Doubted(int) {}
func (s *scripted) Limit(int)   {}
