package model

import (
	"fmt"
	"math"
	"time"

	"crossover/gpu"
	"crossover/kernels"
)

// Cost returns the seconds of an undisturbed call at a size.
type Cost func(size float64) float64

// Implementation is one way to compute a scenario, with its cost.
type Implementation struct {
	Name      string
	Processor kernels.Processor
	Cores     kernels.Cores
	Cost      Cost
	// Account returns the GPU's times of an undisturbed call at a size. It is nil for processors and for GPUs without such
	// times.
	Account func(size float64) gpu.Times
}

// Scenario is a case on a machine whose true costs are known.
type Scenario struct {
	Name            string
	About           string // what makes it awkward, in a few words
	Low, High       int
	Implementations []Implementation
	Noise           Noise
}

func (s *Scenario) implementation(name string) Implementation {
	for _, i := range s.Implementations {
		if i.Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("model: scenario %s has no implementation %q", s.Name, name))
}

// Best returns the fastest implementation at a size, and the seconds of its call.
func (s *Scenario) Best(size int) (name string, seconds float64) {
	seconds = math.Inf(1)
	for _, i := range s.Implementations {
		if c := i.Cost(float64(size)); c < seconds {
			name, seconds = i.Name, c
		}
	}
	return name, seconds
}

// Slowdown returns the time of a choice divided by the time of the best one, both undisturbed.
func (s *Scenario) Slowdown(size int, choice string) float64 {
	_, best := s.Best(size)
	return s.implementation(choice).Cost(float64(size)) / best
}

// Truth returns the first size of each new fastest implementation, in ascending order.
func (s *Scenario) Truth() []int {
	var edges []int
	const steps = 4000
	low := s.Low
	before, _ := s.Best(low)
	for k := 1; k <= steps; k++ {
		high := int(math.Round(float64(s.Low) * math.Pow(float64(s.High)/float64(s.Low), float64(k)/steps)))
		after, _ := s.Best(high)
		if after == before || high == low {
			low = high
			continue
		}
		below, above := low, high
		for above-below > 1 {
			middle := (below + above) / 2
			if name, _ := s.Best(middle); name == before {
				below = middle
			} else {
				above = middle
			}
		}
		edges = append(edges, above)
		low, before = high, after
	}
	return edges
}

// slower returns the implementation with its cost multiplied by a factor.
func (i Implementation) slower(factor float64) Implementation {
	cost := i.Cost
	i.Cost = func(n float64) float64 { return factor * cost(n) }
	return i
}

// Moved returns the scenario with one implementation slower by a factor, for example because of an update of its library.
func (s *Scenario) Moved(implementation string, factor float64) *Scenario {
	moved := *s
	moved.Implementations = nil
	for _, i := range s.Implementations {
		if i.Name == implementation {
			i = i.slower(factor)
		}
		moved.Implementations = append(moved.Implementations, i)
	}
	return &moved
}

// Between returns the scenario with a given standard deviation, from run to run, of the log-ratio of two implementations.
func (s *Scenario) Between(deviation float64) *Scenario {
	other := *s
	other.Noise.Run = deviation / math.Sqrt2 // a log-ratio has the luck of two
	return &other
}

// Costs of the scenarios, in seconds. They are like those of real calls. But none is below some microseconds, so that a
// sweep of thousands of calls takes milliseconds of real time.

// linear is a fixed cost plus a cost per element.
func linear(fixed, element float64) Cost { return func(n float64) float64 { return fixed + element*n } }

// cached is the cost of a processor whose bandwidth falls when n elements no longer fit into its caches.
func cached(fixed, element float64) Cost {
	return func(n float64) float64 {
		slow := 1 + 0.6/(1+math.Pow(3e4/n, 2)) + 1.2/(1+math.Pow(6e5/n, 2))
		return fixed + element*n*slow
	}
}

// saturating is the cost of a GPU that needs many elements to fill its cores.
func saturating(launch, element, full float64) Cost {
	return func(n float64) float64 { return launch + element*n*(1+math.Pow(full/n, 0.7)) }
}

// transform is a fixed cost plus a cost in n·log n.
func transform(fixed, element float64) Cost {
	return func(n float64) float64 { return fixed + element*n*math.Log2(n+1) }
}

// padded is the cost of a transform that rounds its length up to a power of two.
func padded(fixed, element float64) Cost {
	c := transform(fixed, element)
	return func(n float64) float64 { return c(math.Exp2(math.Ceil(math.Log2(n)))) }
}

// power is a cost that rises with a power of the size.
func power(fixed, scale, exponent float64) Cost {
	return func(n float64) float64 { return fixed + scale*math.Pow(n, exponent) }
}

func onCPU(name string, c Cost) Implementation {
	return Implementation{Name: name, Processor: kernels.CPU, Cost: c}
}

func onGPU(name string, c Cost) Implementation {
	return Implementation{Name: name, Processor: kernels.GPU, Cost: c}
}

// The noises of the scenarios.
var (
	// quiet is a machine without other work.
	quiet = Noise{Jitter: 0.01, Visit: 0.005, Run: 0.0106}
	// shared is a machine with other work: wide jitter, spikes, luck of addresses.
	shared = Noise{Jitter: 0.05, Visit: 0.02, Run: 0.0106, SpikeEvery: 15 * time.Millisecond, SpikeLength: 300 * time.Microsecond}
	// drifting is a machine with a clock that swings and with some throttling.
	drifting = Noise{
		Jitter: 0.02, Visit: 0.01, Run: 0.0106, Drift: 0.08, DriftPeriod: 2 * time.Second,
		Throttle: 0.4, ThrottleEvery: 6 * time.Second, ThrottleLength: 300 * time.Millisecond,
	}
	// ramping is a machine whose clock rises with load and on which 15 % of the calls take longer.
	ramping = Noise{
		Jitter: 0.02, Visit: 0.01, Run: 0.0106, Ramp: 0.8, RampHalf: 2 * time.Millisecond, RampIdle: 5 * time.Millisecond,
		Bimodal: 0.15, Second: 1.5,
	}
)

// Scenarios returns the scenarios of the proofs.
func Scenarios() []Scenario {
	return []Scenario{
		{"launch", "a GPU with a launch, on a quiet machine", 64, 4 << 20,
			[]Implementation{onCPU("cpu", linear(4e-6, 1.2e-9)), onGPU("gpu", linear(60e-6, 0.15e-9))}, quiet},
		{"launch, shared", "the same on a machine with other work", 64, 4 << 20,
			[]Implementation{onCPU("cpu", linear(4e-6, 1.2e-9)), onGPU("gpu", linear(60e-6, 0.15e-9))}, shared},
		{"caches", "bandwidth tiers and a GPU that fills slowly; drift and throttling", 64, 4 << 20,
			[]Implementation{onCPU("cpu", cached(3e-6, 0.5e-9)), onGPU("gpu", saturating(40e-6, 0.2e-9, 3e4))}, drifting},
		{"shallow", "two costs that cross at a small angle, on a machine with other work", 64, 4 << 20,
			[]Implementation{onCPU("cpu", power(2e-6, 2.2e-9, 1)), onGPU("gpu", power(2e-6, 14e-9, 0.8))}, shared},
		{"padded", "a transform that pads to powers of two; a clock that rises with load, calls of two kinds", 64, 1 << 20,
			[]Implementation{onCPU("cpu", transform(5e-6, 0.12e-9)), onGPU("gpu", padded(52e-6, 0.03e-9))}, ramping},
		{"there and back", "the second implementation wins in the middle only", 64, 4 << 20,
			[]Implementation{onCPU("cpu", linear(5e-6, 0.5e-9)), onCPU("parallel", power(25e-6, 0.009e-9, 1.3))}, quiet},
		{"three", "three implementations, drift and throttling", 64, 4 << 20,
			[]Implementation{onCPU("cpu", linear(3e-6, 1.5e-9)), onCPU("parallel", linear(14e-6, 0.4e-9)), onGPU("gpu", linear(80e-6, 0.06e-9))}, drifting},
	}
}

// states is the difference between the two states of TwoStates, as a logarithm.
const states = 0.16

// TwoStates returns scenarios on a machine that is in one of two states in each visit, as if a neighbour came and went. In
// one state, one of the two implementations and its twin are 16 % slower. The true costs lie halfway between the states.
// Calls are so long that a sweep has few visits, each of which may be in either state.
func TwoStates() []Scenario {
	noise := quiet
	noise.Luck.Visits = []float64{-states / 2, states / 2}
	root := power(0, 20e-6, 0.5)
	return []Scenario{
		{"two states", "two costs that cross at a very small angle", 64, 4 << 20,
			[]Implementation{onCPU("cpu", power(0, 15e-6, 0.53)), onCPU("parallel", root)}, noise},
		{"identical, two states", "two identical implementations", 64, 4 << 20,
			[]Implementation{onCPU("a", root), onCPU("b", root)}, noise},
	}
}

// Same returns a scenario of two identical implementations for each noise of Scenarios.
func Same() []Scenario {
	cost := linear(5e-6, 0.8e-9)
	var same []Scenario
	for _, n := range []struct {
		name  string
		noise Noise
	}{{"quiet", quiet}, {"shared", shared}, {"drifting", drifting}, {"ramping", ramping}} {
		same = append(same, Scenario{
			Name: "identical, " + n.name, About: "two identical implementations", Low: 64, High: 1 << 20,
			Implementations: []Implementation{onCPU("a", cost), onCPU("b", cost)}, Noise: n.noise,
		})
	}
	return same
}
