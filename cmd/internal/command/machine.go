package command

import (
	"fmt"
	"io"

	"crossover/calibration"
	"crossover/gpu"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/native/fftw"
	"crossover/sweeps"
)

// Machine is the machine that a command measures, with its cases: the catalogue on this computer, or a script in tests.
type Machine struct {
	harness.Machine
	Cases func() []kernels.Case
	// Line returns the cases along a line of shapes, such as stft/n_fft=1024,hop=256, in all placements. Nil means none.
	Line func(name string) ([]kernels.Case, error)
	// Spaces returns the operations over all their shapes. Nil means none.
	Spaces func() []*kernels.Space
	GPUs   func() []gpu.Facts // those that work, the first one first; nil means none
}

// ThisMachine returns the catalogue on this computer. It opens no GPU before its cases are asked for.
func ThisMachine() Machine {
	return Machine{
		Machine: harness.Machine{
			Forget: forget, Trim: trim, Observe: host.Observe, Others: host.OthersSeconds, Memory: host.Identify().MemoryBytes,
		},
		Cases: catalogue.CasesHere, GPUs: openGPUs,
		Line:   func(name string) ([]kernels.Case, error) { return catalogue.Line(kernels.Here(), name) },
		Spaces: func() []*kernels.Space { return catalogue.Spaces(kernels.Here()) },
	}
}

func openGPUs() []gpu.Facts {
	var facts []gpu.Facts
	for _, b := range kernels.Here().GPUs {
		if device, err := b.OpenFit(); err == nil {
			facts = append(facts, device.Driver().Facts())
		}
	}
	return facts
}

func forget() {
	kernels.Here().Forget()
	fftw.Forget()
}

// keptBytes is the most GPU memory that may stay in a pool between two visits of a sweep. Small buffers are kept because
// allocating one takes long for its size. Large buffers would leave no room for each other.
const keptBytes = 1 << 30

func trim() {
	for _, b := range kernels.Here().GPUs {
		if device := b.Opened(); device != nil && device.Memory().Cached > keptBytes {
			device.Trim()
		}
	}
}

// WarnLost says on stderr, in one line, that a GPU was lost during a sweep. It says nothing if none was lost.
func WarnLost(stderr io.Writer, program string, results []*sweeps.Result) {
	for _, r := range results {
		if r.Lost != "" {
			fmt.Fprintf(stderr, "%s: warning: the GPU was lost during the sweep (%s): its implementations competed no more, and what was measured is kept\n",
				program, r.Lost)
			return
		}
	}
}

// DescribeGPU adds to the description of a host what the driver of its first GPU reports and the system does not.
func (m Machine) DescribeGPU(facts *calibration.Facts, environment *calibration.Environment) {
	if m.GPUs == nil {
		return
	}
	gpus := m.GPUs()
	if len(gpus) == 0 {
		return
	}
	first := gpus[0]
	if facts.GPU == "" {
		facts.GPU = first.Name
	}
	if facts.GPUCores == 0 {
		facts.GPUCores = first.Cores
	}
	if facts.GPUMemoryBytes == 0 && !first.Unified {
		facts.GPUMemoryBytes = first.MemoryBytes
	}
	environment.Driver = first.Driver
}
