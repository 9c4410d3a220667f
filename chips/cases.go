package chips

import (
	"strings"
	"time"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/model"
)

// competitors are the implementations that the catalogue has on a Mac without further libraries, by operation, in its
// order.
var competitors = map[string][]string{
	"scale":           plain,
	"log":             plain,
	"sum":             plain,
	"softmax":         plain,
	"biquad":          plain,
	"fft":             append(plain[:len(plain):len(plain)], "mpsgraph"),
	"stft":            append(plain[:len(plain):len(plain)], "mpsgraph"),
	"mel":             append(plain[:len(plain):len(plain)], "mps"),
	"matmul":          append(plain[:len(plain):len(plain)], "mps"),
	"linear":          append(plain[:len(plain):len(plain)], "mps"),
	"oscillator-bank": {"go", "go-parallel", "metal"},
	"stage-graph":     {"go", "go-parallel", "metal"},
	"conv1d": {
		"go/partitioned", "go-parallel/partitioned", "go/fft", "go/direct", "go-parallel/direct",
		"accelerate/partitioned", "accelerate/fft", "accelerate/direct",
		"metal/fft", "metal/partitioned", "metal/direct", "mpsgraph/fft",
	},
}

var plain = []string{"go", "go-parallel", "accelerate", "metal"}

// products are the operations that are a matrix product where a library computes them, and fourier those that are bound
// by the memory traffic of Fourier transforms.
var (
	products = map[string]bool{"matmul": true, "linear": true, "mel": true}
	fourier  = map[string]bool{"fft": true, "stft": true, "conv1d/fft": true, "conv1d/partitioned": true}
)

// laptop is the noise of a quiet laptop. Its clock's rise after a pause is what saxpy's rise inside a call leaves over.
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

// Cases returns those of the catalogue's cases that the model knows, with the implementations of a Mac. Memory is unified,
// so that a case needs no twin for data on the device.
func (m *Machine) Cases(catalogue []kernels.Case) []kernels.Case {
	var cases []kernels.Case
	for _, c := range catalogue {
		implementations := m.Chip.implementations(c)
		if implementations == nil {
			continue
		}
		c.Implementations = nil
		for _, i := range implementations {
			c.Implementations = append(c.Implementations, kernels.Implementation{
				Name: i.Name, Processor: i.Processor, Version: func() string { return "modelled" },
			})
		}
		c.Problem = func(size int, _ kernels.Input) kernels.Problem { return m.Problem(implementations, size) }
		cases = append(cases, c)
	}
	return cases
}

// implementations returns who competes in a case and what it costs, nil for an operation that the model does not know.
func (c Chip) implementations(k kernels.Case) []model.Implementation {
	if _, known := workOf(&k, "", false, k.Axis.Min); !known {
		return nil
	}
	var all []model.Implementation
	for _, name := range competitors[k.Operation] {
		all = append(all, c.implementation(&k, name))
	}
	return all
}

// implementation returns one competitor, at the middle of the chip's band of latencies.
func (c Chip) implementation(k *kernels.Case, name string) model.Implementation {
	processor, variant, _ := strings.Cut(name, "/")
	library := processor == "accelerate" || processor == "mps"
	at := func(size float64) work {
		w, _ := workOf(k, variant, library, int(size))
		return w
	}
	i := model.Implementation{Name: name, Processor: kernels.CPU}
	switch processor {
	case "go":
		i.Cost = func(n float64) float64 { return c.callCPU(at(n), clock*1e9*goPerCycle, 1) }
	case "go-parallel":
		i.Cost = func(n float64) float64 {
			return c.callCPU(at(n), clock*1e9*goPerCycle, float64(c.PerformanceCores))
		}
	case "accelerate":
		speed := vector()
		if products[k.Operation] {
			speed = gemmCore * 1e9 * float64(c.PerformanceCores)
		}
		i.Cost = func(n float64) float64 { return c.callCPU(at(n), speed, 1) }
	default:
		c.gpuCosts(&i, k.Operation, processor, variant, at)
	}
	return i
}

// gpuCosts makes a competitor one that the GPU computes: our own kernel, MPS or MPSGraph.
func (c Chip) gpuCosts(i *model.Implementation, operation, processor, variant string, at func(size float64) work) {
	fit := Fitted()
	s := shares{fit.GPUShare, kernelShare}
	roundTrip := c.Latency().Middle()
	switch {
	case fourier[operation] || fourier[operation+"/"+variant]:
		s.bandwidth = transformShare
	case processor == "mps":
		s.peak = gemmShare
	}
	if processor == "mpsgraph" {
		roundTrip += graph * 1e-6
	}
	i.Processor = kernels.GPU
	i.Cost = func(n float64) float64 { return c.callGPU(at(n), s, roundTrip, fit.Rise) }
	i.Account = func(n float64) gpu.Times { return c.account(at(n), s, fit.Rise) }
}
