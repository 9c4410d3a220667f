// Package scripted is a machine with known true costs, for tests of commands. Implementations have closed-form costs in
// virtual time. Nothing waits or computes, so a calibration of two minutes takes a moment.
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

// Cost returns the seconds of one call at a size.
type Cost func(size float64) float64

// Linear returns a fixed cost plus a cost per element, in seconds.
func Linear(fixed, element float64) Cost {
	return func(size float64) float64 { return fixed + element*size }
}

// Machine is a scripted machine. The zero value has no cases.
type Machine struct {
	Noise float64 // standard deviation of the logarithm of a time

	// AllRatio is the time of work on two processors at once, divided by its time on one. HandOver is the seconds of a
	// hand-over between them. If both are 0, the sentinel does not measure them.
	AllRatio, HandOver float64

	// Slower returns a factor for all times at a moment; nil means 1.
	Slower func(now time.Duration) float64

	// Crowded returns a factor for the time of both processors at once, at a moment; nil means 1.
	Crowded func(now time.Duration) float64

	// Revisions are those of implementations in cases and spaces that are added later; 0 for others.
	Revisions map[string]int

	// Concerns says which shapes of spaces the last revision of an implementation concerns: see [kernels.RevisedAt]; nil for all.
	Concerns map[string]func(s kernels.Shape) bool

	// Missing says why implementations cannot run here, in all cases and spaces; nil for others.
	Missing map[string]error

	now    time.Duration
	rng    *rand.Rand
	cases  []kernels.Case
	spaces []func() *kernels.Space
	gpus   map[string]bool // implementations that a GPU computes
}

// New returns a machine with a seeded noise of the given width.
func New(seed uint64, noise float64) *Machine {
	return &Machine{Noise: noise, rng: rand.New(rand.NewPCG(seed, 1))}
}

// OnGPU makes a GPU compute these implementations in all cases that are added later. The GPU works for half of a call's
// time.
func (m *Machine) OnGPU(implementations ...string) {
	if m.gpus == nil {
		m.gpus = map[string]bool{}
	}
	for _, name := range implementations {
		m.gpus[name] = true
	}
}

// Add adds a case over 64 to 1 Mi samples whose implementations have the given costs. If after is not nil, it is called
// after every call, with the implementation's name and the size. A call fails with the error of after.
func (m *Machine) Add(name string, costs map[string]Cost, after func(implementation string, size int) error) {
	var names []string
	for implementation := range costs {
		names = append(names, implementation)
	}
	slices.Sort(names)
	operation, _, _ := strings.Cut(name, "/")
	c := kernels.Case{
		Name: name, Operation: operation, Definition: "y = x", Source: "a script",
		Axis: axis, Placement: kernels.Caller,
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
		cores := kernels.OneCore
		if strings.Contains(implementation, "-parallel") {
			cores = kernels.AllCores
		}
		c.Implementations = append(c.Implementations, kernels.Implementation{
			Name: implementation, Processor: processor, Cores: cores, Revision: m.Revisions[implementation],
		})
	}
	m.cases = append(m.cases, c)
}

// Command returns the machine in the form that commands take.
func (m *Machine) Command() command.Machine {
	c := command.Machine{
		Machine: harness.Machine{Clock: m, Sentinel: func() { m.spend(100e-6) }},
		Cases: func() []kernels.Case {
			all := slices.Clone(m.cases)
			for k := range all {
				m.probe(&all[k])
			}
			return all
		},
	}
	if len(m.spaces) > 0 {
		c.Spaces = func() (all []*kernels.Space) {
			for _, space := range m.spaces {
				all = append(all, space())
				m.probe(&all[len(all)-1].Case)
			}
			return all
		}
	}
	if m.AllRatio > 0 || m.HandOver > 0 {
		c.Together = &sweeps.Together{
			Processors: 2,
			One:        func() { m.spend(100e-6) },
			All: func() time.Duration {
				start := m.now
				m.spend(100e-6 * m.AllRatio * m.crowded())
				return m.now - start
			},
			HandOver: func() { m.spend(sweeps.HandOvers * m.HandOver) },
		}
	}
	return c
}

// probe makes the implementations of a case say what is missing.
func (m *Machine) probe(c *kernels.Case) {
	if m.Missing == nil {
		return
	}
	c.Implementations = slices.Clone(c.Implementations)
	for k := range c.Implementations {
		i := &c.Implementations[k]
		i.Probe = func() error { return m.Missing[i.Name] }
	}
}

// crowded returns the present factor of Crowded.
func (m *Machine) crowded() float64 {
	if m.Crowded == nil {
		return 1
	}
	return m.Crowded(m.now)
}

// spend advances the virtual time by a noisy time.
func (m *Machine) spend(seconds float64) {
	if m.Slower != nil {
		seconds *= m.Slower(m.now)
	}
	m.now += time.Duration(seconds * math.Exp(m.Noise*m.rng.NormFloat64()) * float64(time.Second))
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

// Wrong makes the output of a call wrong, if an after function returns it.
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
