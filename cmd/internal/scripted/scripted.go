// Package scripted is a machine for the commands' tests whose true costs are known: implementations with closed-form
// costs in virtual time. Nothing in it waits or computes, so a two-minute calibration takes a moment.
package scripted

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"crossover/cmd/internal/command"
	"crossover/gpu"
	"crossover/harness"
	"crossover/kernels"
	"crossover/sweeps"
)

// Cost is the seconds of one call at a size.
type Cost func(size float64) float64

// Linear is a fixed cost and a cost an element, in seconds.
func Linear(fixed, element float64) Cost {
	return func(size float64) float64 { return fixed + element*size }
}

// Machine is a scripted machine. Its zero value has no case.
type Machine struct {
	Noise float64 // standard deviation of the logarithm of a time

	// What two processors do: the time of both at once over that of one alone, and the seconds of a hand-over. At 0
	// they are not measured.
	AllRatio, HandOver float64

	// Slower is by how many times as long everything takes at a time; nil means 1.
	Slower func(now time.Duration) float64

	// Crowded is by how many times as long both processors at once take at a time; nil means 1.
	Crowded func(now time.Duration) float64

	now   time.Duration
	rng   *rand.Rand
	cases []kernels.Case
	gpus  map[string]bool // implementations that a GPU computes
}

// New returns a machine with a seeded noise of the given width.
func New(seed uint64, noise float64) *Machine {
	return &Machine{Noise: noise, rng: rand.New(rand.NewPCG(seed, 1))}
}

// OnGPU makes a GPU compute these implementations in all cases that are added later. The GPU is at work for half of a
// call.
func (m *Machine) OnGPU(implementations ...string) {
	if m.gpus == nil {
		m.gpus = map[string]bool{}
	}
	for _, name := range implementations {
		m.gpus[name] = true
	}
}

// Add adds a case over 64 to 1 Mi samples whose implementations have the given costs. If after is not nil, it is called
// after every call, with the implementation's name and the size. If after returns an error, the call fails with it.
func (m *Machine) Add(name string, costs map[string]Cost, after func(implementation string, size int) error) {
	var names []string
	for implementation := range costs {
		names = append(names, implementation)
	}
	slices.Sort(names)
	operation, _, _ := strings.Cut(name, "/")
	c := kernels.Case{
		Name: name, Operation: operation, Definition: "y = x", Source: "a script",
		Axis:      axis,
		Tolerance: func(int) float64 { return 1e-6 },
		Bytes:     func(int) float64 { return 8 },
		Problem: func(size int, _ kernels.Input) kernels.Problem {
			return &problem{machine: m, size: size, costs: costs, after: after}
		},
	}
	for _, implementation := range names {
		processor := kernels.CPU
		if m.gpus[implementation] {
			processor = kernels.GPU
		}
		c.Implementations = append(c.Implementations, kernels.Implementation{Name: implementation, Processor: processor})
	}
	m.cases = append(m.cases, c)
}

// Command returns the machine as the commands take it.
func (m *Machine) Command() command.Machine {
	c := command.Machine{
		Machine: harness.Machine{Clock: m, Sentinel: func() { m.spend(100e-6) }},
		Cases:   func() []kernels.Case { return m.cases },
	}
	if m.AllRatio > 0 || m.HandOver > 0 {
		c.Together = &sweeps.Together{
			Processors: 2,
			One:        func() { m.spend(100e-6) },
			All:        func() { m.spend(100e-6 * m.AllRatio * m.crowded()) },
			HandOver:   func() { m.spend(sweeps.HandOvers * m.HandOver) },
		}
	}
	return c
}

// crowded is Crowded now.
func (m *Machine) crowded() float64 {
	if m.Crowded == nil {
		return 1
	}
	return m.Crowded(m.now)
}

// spend lets a noisy time pass.
func (m *Machine) spend(seconds float64) {
	if m.Slower != nil {
		seconds *= m.Slower(m.now)
	}
	m.now += time.Duration(seconds * math.Exp(m.Noise*m.rng.NormFloat64()) * float64(time.Second))
}

// Now returns the virtual time; asking costs 20 ns of it.
func (m *Machine) Now() time.Duration {
	m.now += 20
	return m.now
}

// Resolution returns the resolution of the virtual clock.
func (m *Machine) Resolution() time.Duration { return 20 }

// Sleep lets d pass.
func (m *Machine) Sleep(d time.Duration) { m.now += d }

// Wrong is returned by an after function to make the call's output wrong.
const Wrong = wrong("wrong")

type wrong string

func (w wrong) Error() string { return string(w) }

type problem struct {
	machine *Machine
	size    int
	costs   map[string]Cost
	after   func(implementation string, size int) error
}

func (p *problem) Reference() []float64 { return []float64{1, 2, 3} }

func (p *problem) Bind(implementation string) (kernels.Call, error) {
	output := []float32{1, 2, 3}
	cost := p.costs[implementation](float64(p.size))
	run := func() error {
		p.machine.spend(cost)
		if p.after == nil {
			return nil
		}
		err := p.after(implementation, p.size)
		if err == Wrong {
			output[1] = 0
			return nil
		}
		return err
	}
	call := kernels.Call{Run: run, Output: func() []float32 { return output }}
	if p.machine.gpus[implementation] {
		call.GPU = &kernels.GPUCall{
			Submit: func() error { return nil },
			Wait:   run,
			Time: func() (gpu.Times, error) {
				share := func(part float64) time.Duration { return time.Duration(part * cost * 1e9) }
				return gpu.Times{Encode: share(0.1), Busy: share(0.5), Span: share(0.7), Gaps: share(0.2), Kernel: 3}, run()
			},
		}
	}
	return call, nil
}
