package stream

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/host"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/songs"
)

// modelled is a machine of package model, on which streams play in virtual time. It is their clock, and takes the time of
// every call.
type modelled struct {
	*model.Machine
	rng       *rand.Rand
	problem   kernels.Problem
	wake      kernels.Call
	condition host.Condition

	// What goes wrong.
	others time.Duration // another program's kernels on the GPU, before which a call waits; 0 if there are none
	fails  time.Duration // after which each call on the GPU fails; 0 if it works
	slower float64       // share by which everything is slower

	free time.Duration // when the GPU is done with calls that nobody waited for
}

// How long calls take on an idle machine: those of ten synthesisers on the H200 of docs/stream.md, and waking up.
const (
	modelledGPU       = 1800 * time.Microsecond
	modelledProcessor = 2200 * time.Microsecond
	modelledWake      = 100 * time.Microsecond
)

func newModelled(t testing.TB, noise model.Noise, seed uint64) *modelled {
	m := &modelled{Machine: model.NewMachine(noise, seed), rng: rand.New(rand.NewPCG(seed, 0x6775617264)), condition: cool}
	takes := func(name string, on kernels.Processor, d time.Duration) model.Implementation {
		return model.Implementation{Name: name, Processor: on, Cost: func(float64) float64 { return d.Seconds() }}
	}
	onGPU := takes("gpu", kernels.GPU, modelledGPU)
	onGPU.Account = func(float64) gpu.Times { return gpu.Times{Span: modelledGPU / 2, Busy: modelledGPU / 2, Kernel: 1} }
	m.problem = m.Problem([]model.Implementation{takes("go", kernels.CPU, modelledProcessor),
		onGPU, takes("wake", kernels.CPU, modelledWake)}, 1)
	var err error
	if m.wake, err = m.problem.Bind("wake"); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *modelled) now() time.Duration { return m.Now() }

func (m *modelled) until(t time.Duration) {
	m.Sleep(max(0, t-m.Now()))
	_ = m.wake.Run()
}

// await waits for a block, and goes back to the time at which nobody would have waited any longer.
func (m *modelled) await(over <-chan uint64, block uint64, until time.Duration) bool {
	for <-over != block {
	}
	if late := m.Now() - until; late > 0 {
		m.Sleep(-late)
		return false
	}
	return true
}

// op declares y = x, computed on the modelled machine.
func (m *modelled) op() *kernels.Op[int] {
	by := func(name string, run func(call kernels.Call) error) kernels.Makers[int] {
		return kernels.Named(name, func(*kernels.Backends, int) (kernels.Runner, error) {
			call, err := m.problem.Bind(name)
			return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
				begin := m.Now()
				if err := run(call); err != nil {
					return err
				}
				m.Sleep(time.Duration(m.slower * float64(m.Now()-begin)))
				copy(a[0], a[1])
				return nil
			}), err
		})
	}
	axes := []kernels.Axis{{Name: "n", Unit: "samples", Min: 1, Max: 1 << 20}}
	return &kernels.Op[int]{
		Name: "modelled", Formula: "y = x", Source: "package model", Axes: axes, Lines: []kernels.Line{kernels.Along(axes, "n")},
		Params: func(kernels.Shape) int { return 0 },
		IO: func(_ int, s kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{{Name: "y", Role: kernels.Out, Dims: []int{s[0]}, Type: kernels.Float32},
				{Name: "x", Role: kernels.In, Dims: []int{s[0]}, Type: kernels.Float32}}
		},
		Work: func(kernels.Shape, string) kernels.Work { return kernels.Work{} },
		By:   []kernels.Makers[int]{by("go", func(c kernels.Call) error { return c.Run() }), by("gpu", m.onGPU)},
	}
}

// onGPU is a call on the GPU. It waits for calls that nobody waited for, and for what is left of another program's kernel.
func (m *modelled) onGPU(c kernels.Call) error {
	m.Sleep(max(0, m.free-m.Now()))
	defer func() { m.free = m.Now() }()
	if m.fails > 0 {
		m.Sleep(m.fails)
		return errLost
	}
	m.Sleep(time.Duration(m.rng.Float64() * float64(m.others)))
	return c.Run()
}

// play plays seconds on the machine: blocks as long as those of 512 samples at 44.1 kHz, but of few samples, which are quick to compute.
func (m *modelled) play(t testing.TB, seconds float64, faults ...Fault) *Report {
	t.Helper()
	const block, rate = 47, 47. / 512 * 44100
	g := &songs.Graph{Name: "modelled", Inputs: []songs.Input{{Name: "x", Type: kernels.Float32, Usual: block}}, Outputs: []string{"y"},
		Stages: []songs.Stage{{Name: "y", Step: kernels.StepOf(m.op(), 0), Reads: []string{"x"},
			Shape: func(of songs.Lengths) kernels.Shape { return kernels.Shape{of("x")} }}}}
	o := Options{Backends: &kernels.Backends{}, Streams: 1, Seconds: seconds, Faults: faults, clock: m,
		Source: &Source{g, block, rate, "y", func([][]float32, uint64) {}},
		Routes: []songs.Entrant{{Name: GPU, Route: songs.Route{"gpu"}, OnGPU: true}}, Spare: songs.Entrant{Name: Serial, Route: songs.Route{"go"}},
		Guard: NewGuard(nil, func() host.Condition { return m.condition })}
	var k *keeper
	o.keeper = func(of *keeper) { k = of }
	const every = 250 * time.Millisecond
	next := every
	o.after = func(n uint64) {
		if n == 0 {
			runtime.UnlockOSThread() // nothing real is timed, and a goroutine that is locked to no thread hands over sooner
		}
		if now, free := m.Now(), m.free; now >= next {
			k.step()
			m.Sleep(now - m.Now()) // the guard's goroutine takes nobody's time
			m.free = free
			next = now + every
		}
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Silent > 0 || r.Failure != "" {
		t.Fatalf("%d silent blocks: %s", r.Silent, r.Failure)
	}
	return r
}

// noisy is a kind of machine, and what streams did on it.
type noisy struct {
	name string
	model.Noise
	stalls bool // blocks are late whatever the guard does

	hours   float64         // without a cause
	alarms  int             // how often streams left the GPU then
	onGPU   float64         // hours of these
	by      [causes]answers // to causes
	flicker [2][causes]int  // how often streams left or went back by a cause that comes and goes fast, and slowly
	edge    int             // how often they left or went back more than once by a GPU that is hardly busy
}

// answers are what streams did about a cause.
type answers struct {
	n          int
	late       int       // blocks that were late, beyond the one in which the cause began
	left, back []float64 // seconds after it began, and after it was over
	other      int       // not one leave and one return
}

func (a *answers) add(b answers) {
	a.n, a.late, a.other = a.n+b.n, a.late+b.late, a.other+b.other
	a.left, a.back = append(a.left, b.left...), append(a.back, b.back...)
}

// noises are those of package model, from quiet to awkward, and what other guests of a host may do.
func noises() (all []*noisy) {
	add := func(name string, n model.Noise, change func(n *model.Noise)) {
		change(&n)
		all = append(all, &noisy{name: name, Noise: n})
	}
	for _, s := range model.Same() {
		add(strings.TrimPrefix(s.Name, "identical, "), s.Noise, func(*model.Noise) {})
	}
	add("two states", model.TwoStates()[0].Noise, func(*model.Noise) {})
	shared := all[1].Noise
	add("slow clock", shared, func(n *model.Noise) { n.GPU = model.Asleep })
	add("bursts", shared, func(n *model.Noise) { n.Throttle, n.ThrottleEvery, n.ThrottleLength = 1.2, 10*time.Second, time.Second })
	add("busy guest", shared, func(n *model.Noise) {
		n.Step, n.StepAt, n.StepFor, n.StepEvery = 1.2, 10*time.Second, 20*time.Second, time.Minute
	})
	add("stalls", shared, func(n *model.Noise) { n.SpikeEvery, n.SpikeLength = 10*time.Second, 20*time.Millisecond })
	all[len(all)-1].stalls = true
	return all
}

// fault makes a cause on the machine: heat that slows it, a GPU that waits for other kernels of 2 to 40 ms, or one whose calls
// fail after 0.1 to 150 ms.
func (m *modelled) fault(c Cause, at, lasts float64) Fault {
	between := func(least, times float64) time.Duration {
		return time.Duration(least * 1e6 * math.Pow(times, m.rng.Float64()))
	}
	return Fault{Cause: c, At: at, Lasts: lasts, Begin: func(context.Context) (func() error, error) {
		switch c {
		case Heat:
			m.condition.Thermal, m.slower = "serious", 0.3
		case Memory:
			m.condition.Memory = "critical"
		case Busy:
			m.others = between(2, 20)
		case Lost:
			m.fails = between(0.1, 1500)
		}
		return func() error {
			m.condition, m.slower, m.others, m.fails = cool, 0, 0, 0
			return nil
		}, nil
	}}
}

var modelledHours = flag.Float64("hours", 0.25, "hours of sound with causes on each modelled machine, and half as many without")

// alone plays without a cause.
func (n *noisy) alone(t *testing.T, seed uint64, seconds float64) {
	r := newModelled(t, n.Noise, seed).play(t, seconds)
	for _, c := range r.Changes {
		if c.Begins {
			n.alarms++
		}
	}
	n.hours += seconds / 3600
	n.onGPU += float64(r.Routes[0].Blocks) / float64(r.Routes[0].Blocks+r.Routes[1].Blocks) * seconds / 3600
}

// injected plays with causes, each at a random moment for 0.3 to 20 s. The next one comes more than a relapse after streams went back.
func (n *noisy) injected(t *testing.T, seed uint64, seconds float64) {
	m := newModelled(t, n.Noise, seed)
	var faults []Fault
	for at := 2.0; ; {
		at += 3 * m.rng.Float64()
		lasts := 0.3 * math.Pow(66, m.rng.Float64())
		if at+lasts+20 > seconds {
			break
		}
		faults = append(faults, m.fault(1<<(len(faults)%causes), at, lasts))
		at += lasts + 70
	}
	for i, f := range m.play(t, seconds, faults...).Faults {
		a := &n.by[i%causes]
		a.n++
		a.late += max(0, f.LateLeaving-1) + f.LateAway + f.LateBack
		if f.LeftSeconds == nil { // nobody looked while it was there, or it is too mild, or they were away
			continue
		}
		a.left = append(a.left, *f.LeftSeconds-f.BeganSeconds)
		if f.BackSeconds != nil {
			a.back = append(a.back, *f.BackSeconds-*f.OverSeconds)
		}
		if f.Changes != 2 {
			a.other++
		}
	}
}

// flickers plays with causes that come and go for a minute, for at most two seconds each: after at most three, which is less than the least
// hold, and after six to nine.
func (n *noisy) flickers(t *testing.T, seed uint64) {
	for c := range causes {
		for i, gap := range [][2]float64{{0.1, 3}, {6, 9}} {
			m := newModelled(t, n.Noise, seed)
			var faults []Fault
			for at := 2.0; at < 60; {
				lasts := 0.3 + 1.7*m.rng.Float64()
				faults = append(faults, m.fault(1<<c, at, lasts))
				at += lasts + gap[0] + (gap[1]-gap[0])*m.rng.Float64()
			}
			for _, f := range m.play(t, 85, faults...).Faults {
				n.flicker[i][c] += f.Changes
			}
		}
	}
}

// onTheEdge plays with a GPU that is hardly busy, by kernels of 3 to 7 ms for 40 s.
func (n *noisy) onTheEdge(t *testing.T, seed uint64) {
	m := newModelled(t, n.Noise, seed)
	var faults []Fault
	for kernel := 3 * time.Millisecond; kernel <= 7*time.Millisecond; kernel += time.Millisecond / 2 {
		f := m.fault(Busy, 2+float64(len(faults))*120, 40)
		begin := f.Begin
		f.Begin = func(ctx context.Context) (func() error, error) {
			end, err := begin(ctx)
			m.others = kernel
			return end, err
		}
		faults = append(faults, f)
	}
	for _, f := range m.play(t, float64(len(faults))*120, faults...).Faults {
		n.edge += max(0, f.Changes-2)
	}
}

// quantile returns the value that a share p of all is at most.
func quantile(all []float64, p float64) float64 {
	if len(all) == 0 {
		return math.NaN()
	}
	slices.Sort(all)
	return all[int(math.Ceil(p*float64(len(all)-1)))]
}

// The guard on machines of package model, whose calls take other times from block to block: streams leave the GPU for a cause and for
// nothing else, lose at most the block in which it began, and are back soon after it is over. This prints the tables of docs/stream.md:
//
//	go test ./songs/stream -run TestGuardUnderNoise -v -hours 8
func TestGuardUnderNoise(t *testing.T) {
	all := noises()
	t.Run("machines", func(t *testing.T) {
		for i, n := range all {
			t.Run(n.name, func(t *testing.T) {
				t.Parallel()
				seed := uint64(i) << 32 // others on each machine
				for left := *modelledHours; left > 0; seed, left = seed+1, left-1 {
					n.alone(t, seed, 1800*min(left, 1))
					n.injected(t, seed, 3600*min(left, 1))
				}
				n.flickers(t, uint64(i)<<32+1)
				n.onTheEdge(t, uint64(i)<<32+1)
			})
		}
	})
	var table strings.Builder
	var by [causes]answers
	edge := 0
	for _, n := range all {
		perHour, share := float64(n.alarms)/n.hours, n.onGPU/n.hours
		fmt.Fprintf(&table, "| %s | %.1f | %.0f %% | %v | %v | %d |\n", n.name, perHour, 100*share, n.flicker[0], n.flicker[1], n.edge)
		if n.stalls {
			if perHour > 60 || share < 0.6 {
				t.Errorf("%s: streams leave the GPU without a cause %.1f times an hour and are there for %.0f %%", n.name, perHour, 100*share)
			}
			continue
		}
		if perHour > 2 {
			t.Errorf("%s: streams leave the GPU without a cause %.1f times an hour", n.name, perHour)
		}
		edge += n.edge
		for i := range causes {
			by[i].add(n.by[i])
			// Heat and memory pressure are looked at all the time. A busy or lost GPU is tried once a second.
			if fast, slow := n.flicker[0][i], n.flicker[1][i]; fast > 6 || slow > 6 {
				t.Errorf("%s: by a %s that comes and goes, streams came and went %d and %d times", n.name, Cause(1<<i), fast, slow)
			}
		}
	}
	if edge > 27 { // of 72 times that a GPU is hardly busy
		t.Errorf("by a GPU that is hardly busy, streams left or went back %d times too often", edge)
	}
	for i, a := range by {
		c, worst := Cause(1<<i), quantile(a.left, 1)
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %.2f, %.2f | %.2f, %.2f, %.2f | %d |\n", c, a.n, a.late, len(a.left),
			quantile(a.left, 0.5), worst, quantile(a.back, 0.5), quantile(a.back, 0.95), quantile(a.back, 1), a.other)
		hold := leastHold.Seconds()
		switch {
		case a.late > 0:
			t.Errorf("%s: %d blocks are late beyond those in which it began", c, a.late)
		case 10*len(a.left) < 8*a.n || 20*a.other > len(a.left):
			t.Errorf("%s: of %d, streams left for %d, and for %d of these did not leave once and go back once", c, a.n, len(a.left), a.other)
		case quantile(a.left, 0.5) > 0.25, c&(Heat|Memory) != 0 && worst > 0.3:
			t.Errorf("%s: streams left after %.2f s in the median, and at last after %.2f s", c, quantile(a.left, 0.5), worst)
		case quantile(a.back, 0.05) < hold-2 || quantile(a.back, 0.95) > hold+1 || quantile(a.back, 1) > hold+60:
			t.Errorf("%s: streams are back %.2f to %.2f s after it is over, and at last after %.2f s", c,
				quantile(a.back, 0.05), quantile(a.back, 0.95), quantile(a.back, 1))
		}
	}
	t.Log("\n" + table.String())
}
