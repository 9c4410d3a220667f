package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"crossover/gpu"
	"crossover/kernels"
)

// Noise describes how a machine disturbs the times of its calls. The zero value disturbs nothing.
type Noise struct {
	// Jitter is the standard deviation of the logarithm of each call's time.
	Jitter float64
	// Visit is the standard deviation of the logarithm of a factor that each binding of an implementation has. It models the
	// luck of addresses.
	Visit float64
	// Run is the standard deviation of the logarithm of a factor that each implementation has on each machine. It models the
	// luck of a whole run of a program.
	Run float64
	// Luck adds to the luck of Visit and Run. Lucks are those of several cases, see Scenario.Replay.
	Luck  Luck
	Lucks []Luck
	// Spikes come at random, on average once every SpikeEvery of virtual time. Each adds up to SpikeLength.
	SpikeEvery, SpikeLength time.Duration
	// Drift swings all times by this share up and down, once every DriftPeriod.
	Drift       float64
	DriftPeriod time.Duration
	// Ramp is by what share calls are slower after a pause, until the clock has risen. The share falls by half with every
	// RampHalf of computing. A pause of RampIdle brings it back.
	Ramp               float64
	RampHalf, RampIdle time.Duration
	// RampOn is the processor whose calls the ramp slows. Only calls on that processor end a pause. "" means both
	// processors.
	RampOn kernels.Processor
	// GPU is the clock of the GPU. It slows the part of a call that an implementation's Account gives to the GPU.
	GPU Clock
	// AllCore is by what share a processor computes longer while all its cores are busy: in calls of parallel
	// implementations, and for AllCoreFor after them.
	AllCore    float64
	AllCoreFor time.Duration
	// Throttle makes everything slower by this share for ThrottleLength, on average once every ThrottleEvery.
	Throttle                      float64
	ThrottleEvery, ThrottleLength time.Duration
	// Step makes everything slower by this share, or faster if it is negative. It begins at StepAt and lasts for StepFor, or
	// for ever if StepFor is 0. If StepEvery is not 0, the step begins again every StepEvery.
	Step                       float64
	StepAt, StepFor, StepEvery time.Duration
	// Bimodal is the share of calls that take Second times as long as the others.
	Bimodal, Second float64
}

// Machine is a modelled machine. It is also its own clock, of virtual time. One goroutine uses it.
type Machine struct {
	scenario *Scenario
	noise    Noise
	rng      *rand.Rand

	now           time.Duration
	spike         time.Duration // when the next spike comes
	throttleFrom  time.Duration
	throttleUntil time.Duration
	computed      time.Duration      // since the last pause, on the processor of the ramp
	last          time.Duration      // when that processor last computed
	phase         float64            // of the drift
	runs          map[string]float64 // the luck of the run of each implementation, as a logarithm
	gpu           clocked
	crowded       time.Duration // the cores are slow until then, after a parallel call
}

// New returns a machine that runs a scenario. The seed draws its noise.
func New(s *Scenario, seed uint64) *Machine {
	m := NewMachine(s.Noise, seed)
	m.scenario = s
	return m
}

// NewMachine returns a machine without a scenario, for cases that are made with Problem.
func NewMachine(noise Noise, seed uint64) *Machine {
	m := &Machine{
		noise: noise, rng: rand.New(rand.NewPCG(seed, 0x6d6f64656c)), runs: map[string]float64{}, gpu: clocked{Clock: noise.GPU},
	}
	m.phase = 2 * math.Pi * m.rng.Float64()
	m.spike = m.after(m.noise.SpikeEvery)
	m.throttle()
	return m
}

// never is later than the end of every sweep.
const never = time.Duration(math.MaxInt64)

// after draws the next moment of events that come on average once every given time, and never if that is 0.
func (m *Machine) after(every time.Duration) time.Duration {
	if every == 0 {
		return never
	}
	return m.now + time.Duration(m.rng.ExpFloat64()*float64(every))
}

// throttle draws the next throttling.
func (m *Machine) throttle() {
	m.throttleFrom = m.after(m.noise.ThrottleEvery)
	m.throttleUntil = never
	if m.throttleFrom != never {
		m.throttleUntil = m.throttleFrom + m.noise.ThrottleLength
	}
}

// Now returns the virtual time. Each call takes 20 ns of it.
func (m *Machine) Now() time.Duration {
	m.now += 20
	return m.now
}

// Resolution returns the resolution of the virtual clock.
func (m *Machine) Resolution() time.Duration { return 20 }

// Sleep advances the virtual time by d.
func (m *Machine) Sleep(d time.Duration) { m.now += d }

// Sentinel is 100 µs of work, disturbed like every call.
func (m *Machine) Sentinel() { m.spend(kernels.CPU, 100e-6, 0) }

// run returns the luck that an implementation has in this run, as a logarithm. first says whether it is the first of its
// scenario.
func (m *Machine) run(name string, first bool) float64 {
	luck, drawn := m.runs[name]
	if drawn {
		return luck
	}
	if m.noise.Run > 0 {
		luck = m.noise.Run * m.rng.NormFloat64()
	}
	if !first {
		luck += one(m.noise.Luck.Runs, m.rng)
	}
	m.runs[name] = luck
	return luck
}

// Own returns the scenario with the luck of this machine's run in its costs instead of in its noise.
func (m *Machine) Own() *Scenario {
	own := *m.scenario
	own.Noise.Run, own.Noise.Luck.Runs = 0, nil
	own.Implementations = nil
	for k, i := range m.scenario.Implementations {
		own.Implementations = append(own.Implementations, i.slower(math.Exp(m.run(i.Name, k == 0))))
	}
	return &own
}

// stepped reports whether the step is in force at a time.
func (n *Noise) stepped(now time.Duration) bool {
	since := now - n.StepAt
	if n.Step == 0 || since < 0 {
		return false
	}
	if n.StepEvery > 0 {
		since %= n.StepEvery
	}
	return n.StepFor == 0 || since < n.StepFor
}

// spend advances the virtual time by a disturbed call of the given seconds. luck is the logarithm of the factor of the
// call's binding.
func (m *Machine) spend(on kernels.Processor, seconds, luck float64) {
	n := &m.noise
	factor := luck
	if n.Jitter > 0 {
		factor += n.Jitter * m.rng.NormFloat64()
	}
	if n.Drift > 0 {
		factor += n.Drift * math.Sin(2*math.Pi*m.now.Seconds()/n.DriftPeriod.Seconds()+m.phase)
	}
	if n.Bimodal > 0 && m.rng.Float64() < n.Bimodal {
		factor += math.Log(n.Second)
	}
	if factor != 0 {
		seconds *= math.Exp(factor)
	}
	ramps := n.Ramp > 0 && (n.RampOn == "" || n.RampOn == on)
	if ramps {
		if m.now-m.last > n.RampIdle {
			m.computed = 0
		}
		seconds *= 1 + n.Ramp*math.Exp2(-m.computed.Seconds()/n.RampHalf.Seconds())
	}
	if on == kernels.CPU && m.now < m.crowded {
		seconds *= 1 + n.AllCore
	}
	if m.now >= m.throttleFrom {
		seconds *= 1 + n.Throttle
		if m.now >= m.throttleUntil {
			m.throttle()
		}
	}
	if n.stepped(m.now) {
		seconds *= 1 + n.Step
	}
	took := time.Duration(seconds * float64(time.Second))
	if m.now+took > m.spike {
		took += time.Duration(m.rng.Float64() * float64(n.SpikeLength))
		m.spike = m.after(n.SpikeEvery)
	}
	m.now += took
	if ramps {
		m.computed += took
		m.last = m.now
	}
}

// Case returns the scenario as a case like the catalogue's. Its outputs are always right. Its name is the scenario's in
// the form of a calibration file, such as "launch/shared" for "launch, shared".
func (m *Machine) Case() kernels.Case {
	s := m.scenario
	name := strings.NewReplacer(", ", "/", " ", "-").Replace(s.Name)
	operation, _, _ := strings.Cut(name, "/")
	c := kernels.Case{
		Name: name, Operation: operation, Definition: "y = x", Source: "package model",
		Axis:      kernels.Axis{Name: "n", Unit: "elements", Min: s.Low, Max: s.High},
		Tolerance: func(int) float64 { return 1e-6 },
		Bytes:     func(int) float64 { return 8 },
		Problem:   func(size int, _ kernels.Input) kernels.Problem { return m.Problem(s.Implementations, size) },
	}
	for _, i := range s.Implementations {
		c.Implementations = append(c.Implementations, kernels.Implementation{Name: i.Name, Processor: i.Processor, Cores: i.Cores})
	}
	return c
}

// Problem returns the problem of a size, on which calls take the costs of implementations. Outputs are always right.
func (m *Machine) Problem(implementations []Implementation, size int) kernels.Problem {
	return &problem{m, implementations, size, map[string]float64{}}
}

// problem is one visit to a size.
type problem struct {
	machine         *Machine
	implementations []Implementation
	size            int
	lucks           map[string]float64 // of the visit, by implementations
}

var answer = []float32{1, 2, 3}

func (p *problem) Reference() []float64 { return []float64{1, 2, 3} }

func (p *problem) Bind(name string) (kernels.Call, error) {
	k := slices.IndexFunc(p.implementations, func(i Implementation) bool { return i.Name == name })
	if k < 0 {
		return kernels.Call{}, fmt.Errorf("model: %w: %q", kernels.ErrUnknownImplementation, name)
	}
	m, i, size := p.machine, p.implementations[k], float64(p.size)
	seconds := i.Cost(size)
	luck := m.run(name, k == 0) + p.luck(name, k == 0) + m.noise.Visit*m.rng.NormFloat64()
	run := func() error {
		m.spend(i.Processor, seconds, luck)
		return nil
	}
	switch {
	case i.Account != nil:
		return m.onGPU(seconds, luck, i.Account(size)), nil
	case i.Processor == kernels.CPU && i.Cores == kernels.AllCores:
		run = func() error {
			m.crowded = never
			m.spend(i.Processor, seconds, luck)
			m.crowded = m.now + m.noise.AllCoreFor
			return nil
		}
	}
	return kernels.Call{Run: run, Output: func() []float32 { return answer }}, nil
}

// luck returns the luck that a binding has in this visit, as a logarithm. The second binding of an implementation is its
// twin.
func (p *problem) luck(name string, first bool) float64 {
	m := p.machine
	if luck, bound := p.lucks[name]; bound {
		return luck + one(m.noise.Luck.Twins, m.rng)
	}
	luck := 0.0
	if !first {
		luck = one(m.noise.Luck.Visits, m.rng)
	}
	p.lucks[name] = luck
	return luck
}

// onGPU returns a call of the given seconds, with the GPU's times account. The GPU's part takes longer while its clock is
// down.
func (m *Machine) onGPU(seconds, luck float64, account gpu.Times) kernels.Call {
	timed := func() (gpu.Times, error) {
		from := m.now
		full := account.Span.Seconds()
		span := m.gpu.stretched(full, from)
		m.spend(kernels.GPU, seconds-full+span, luck)
		m.gpu.ran(from, m.now)
		times := account
		if full > 0 {
			times.Busy = time.Duration(float64(account.Busy) * span / full)
			times.Gaps = time.Duration(float64(account.Gaps) * span / full)
			times.Span = time.Duration(span * float64(time.Second))
		}
		return times, nil
	}
	run := func() error {
		_, err := timed()
		return err
	}
	return kernels.Call{
		Run: run, Output: func() []float32 { return answer },
		GPU: &kernels.GPUCall{Submit: func() error { return nil }, Wait: run, Time: timed},
	}
}
