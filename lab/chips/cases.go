package chips

import (
	"errors"
	"strings"
	"time"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/pool"
)

// Backends returns the backends of a Mac: Accelerate, and Metal, which cannot be opened here. The catalogue on them lists
// what a Mac has.
func Backends() *kernels.Backends {
	metal := gpu.NewBackend("metal", func() (gpu.Driver, error) {
		return nil, errors.New("a modelled GPU computes nothing")
	})
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{metal}, Accelerate: true}
}

// added reports whether an implementation needs a library that is no part of macOS.
func added(implementation string) bool {
	return strings.HasPrefix(implementation, "fftw") || strings.HasPrefix(implementation, "openblas")
}

// laptop is the noise of a quiet laptop. The GPU's clock rises after a pause and inside a call. The fit to saxpy covers the
// rise inside a call, and laptop covers the rest.
var laptop = model.Noise{
	Jitter: 0.02, Visit: 0.01, SpikeEvery: 20 * time.Millisecond, SpikeLength: 200 * time.Microsecond,
	Ramp: 0.25, RampHalf: 500 * time.Microsecond, RampIdle: 5 * time.Millisecond, RampOn: kernels.GPU,
}

// Machine is a chip in virtual time, with the noise of a laptop.
type Machine struct {
	*model.Machine
	Chip Chip
}

// NewMachine returns a machine whose noise is drawn from a seed.
func NewMachine(c Chip, seed uint64) *Machine { return &Machine{model.NewMachine(laptop, seed), c} }

// Cases returns the catalogue's cases on this machine, from a catalogue on [Backends]. Memory is unified, so a case
// needs no twin for data on the device.
func (m *Machine) Cases(catalogue []kernels.Case) []kernels.Case {
	var cases []kernels.Case
	for _, c := range catalogue {
		implementations := m.Chip.implementations(c)
		c.Implementations = nil
		for _, i := range implementations {
			c.Implementations = append(c.Implementations, kernels.Implementation{
				Name: i.Name, Processor: i.Processor, Cores: i.Cores, Version: func() string { return "modelled" },
			})
		}
		c.Problem = func(size int, _ kernels.Input) kernels.Problem { return m.Problem(implementations, size) }
		cases = append(cases, c)
	}
	return cases
}

// implementations returns the implementations of a case on a Mac without further libraries, with their costs.
func (c Chip) implementations(k kernels.Case) []model.Implementation {
	var all []model.Implementation
	for _, i := range k.Implementations {
		if !added(i.Name) {
			one := c.implementation(&k, i.Name)
			one.Cores = i.Cores
			all = append(all, one)
		}
	}
	return all
}

// implementation returns one implementation, at the middle of the chip's band of latencies.
func (c Chip) implementation(k *kernels.Case, name string) model.Implementation {
	processor, variant, _ := strings.Cut(name, "/")
	if processor == "accelerate" && variant == "" || processor == "mps" {
		variant = "dense"
	}
	at := func(size float64) work { return workOf(k, variant, int(size)) }
	i := model.Implementation{Name: name, Processor: kernels.CPU}
	switch processor {
	case "go":
		i.Cost = func(n float64) float64 { return c.callCPU(at(n), clock*1e9*goPerCycle, 1) }
	case "go-parallel":
		i.Cost = func(n float64) float64 {
			return c.callCPU(at(n), clock*1e9*goPerCycle, float64(c.PerformanceCores))
		}
	case "accelerate":
		i.Cost = func(n float64) float64 {
			w, speed := at(n), vector()
			if w.kind == kernels.Product {
				speed = gemmCore * 1e9 * float64(c.PerformanceCores)
			}
			return c.callCPU(w, speed, 1)
		}
	default:
		c.gpuCosts(&i, processor, at)
	}
	return i
}

// gpuCosts gives an implementation the costs of the GPU: for our own kernel, MPS or MPSGraph.
func (c Chip) gpuCosts(i *model.Implementation, processor string, at func(size float64) work) {
	fit := Fitted()
	roundTrip := c.Latency().Middle()
	sharesOf := func(w work) shares {
		s := shares{fit.GPUShare, kernelShare}
		switch {
		case w.kind == kernels.Transform:
			s.bandwidth = transformShare
		case processor == "mps":
			s.peak = gemmShare
		}
		return s
	}
	if processor == "mpsgraph" {
		roundTrip += graph * 1e-6
	}
	i.Processor = kernels.GPU
	i.Cost = func(n float64) float64 { w := at(n); return c.callGPU(w, sharesOf(w), roundTrip, fit.Rise) }
	i.Account = func(n float64) gpu.Times { w := at(n); return c.account(w, sharesOf(w), fit.Rise) }
}
