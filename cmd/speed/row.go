package main

import (
	"fmt"
	"regexp"
	"strings"

	"crossover/cmd/internal/command"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/attention"
	"crossover/kernels/oscillator"
	"crossover/kernels/softmax"
)

// row is one line of the table, or several.
type row struct {
	name    string
	measure func(d *gpu.Device, runs int) ([]result, error)
	rise    func(d *gpu.Device) (*rise, error) // set for the table below the other one; measure is then nil
}

// result is one line: our kernels and their peer, measured in the same run.
type result struct {
	Name  string  `json:"name"`
	Bound string  `json:"bound"` // "memory", "arithmetic" or "launch"
	Ours  figures `json:"ours"`
	Peer  figures `json:"peer,omitzero"` // zero if there is none

	// Ratio is our rate divided by the peer's, or the peer's time by ours if there is no rate. Above 1 we are faster.
	Ratio float64 `json:"ratio,omitempty"`
	// Error is the relative L2 error of our output against the float64 reference or the peer's output.
	Error float64 `json:"relative_error"`
	// Allocations is the number of Go allocations of a warm call of ours. DeviceBytes is the number of bytes by which a call
	// makes the device's memory grow.
	Allocations float64 `json:"allocations_per_call"`
	DeviceBytes float64 `json:"device_bytes_per_call"`
}

// points is the number of complex values in a row of complex transforms: 128 MiB, more than any cache.
const points = 16 << 20

// elements is the length of a long row of single values: 256 MiB, more than any cache.
const elements = 64 << 20

// voiceOperations is the number of floating-point operations for one sample of a voice. A multiply-add counts as two. There
// are 15 for the sine's polynomial and the sawtooth, 2 for the envelope, and 2 for the mix. The integer operations of the
// phases are not counted.
const voiceOperations = 19

// rows returns the rows of the table, from the cases of a catalogue.
func rows(cases []kernels.Case) []row {
	var all []row
	for _, n := range []int{256, 512, 1024, 2048, 4096, 16384, 65536, 960, 1500, 25920} {
		all = append(all, complexFFT(n, points/n))
	}
	find := func(name string, use func(kernels.Case)) {
		for _, c := range cases {
			if c.Name == name {
				use(c)
			}
		}
	}
	add := func(r row) { all = append(all, r) }
	find("fft/n=1024", func(c kernels.Case) { add(againstLibrary(c, points/1024, traffic(c.Bytes(points/1024)))) })
	find("fft/batch=1", func(c kernels.Case) {
		for _, n := range []int{3000, 51840, 1036800} {
			add(againstLibrary(c, n, traffic(c.Bytes(n))))
		}
	})
	find("ifft/n=1024", func(c kernels.Case) { add(againstLibrary(c, points/1024, traffic(c.Bytes(points/1024)))) })
	for _, memoryBound := range []struct {
		name string
		size int
	}{
		{"scale", elements}, {"gain", elements}, {"abs", elements}, {"soft-clip", elements}, {"exp", elements},
		{"log", elements}, {"log1p", elements}, {"pow", elements}, {"power", elements}, {"magnitude", elements},
		{"gelu", elements}, {"gelu-tanh", elements}, {"glu/columns=1024", 16384},
		{"sum", elements}, {"mean", elements}, {"min", elements}, {"max", elements}, {"argmax", elements}, {"power-to-db", elements},
		{"softmax/columns=1024", 8192}, {"rms-norm/columns=1024", 32768}, {"layer-norm/columns=1024", 32768},
		{"group-norm/batch=1,channels=48", 512 << 10},
		{"stft/n_fft=2048,hop=512", 16 << 20}, {"istft/n_fft=2048,hop=512", 16 << 20}, {"biquad/n=512", 32 << 10},
	} {
		find(memoryBound.name, func(c kernels.Case) { add(againstCopy(c, memoryBound.size)) })
	}
	find("softmax/columns=1024", func(kernels.Case) {
		for _, columns := range []int{4096, 32 << 10, 128 << 10} {
			line := kernels.Along(softmax.Op.Axes, "rows", kernels.Param{Name: "columns", Value: columns})
			add(againstCopy(softmax.Op.CaseOf(kernels.Here(), line), elements/2/columns))
		}
	})
	find("oscillator-bank/n=512", func(kernels.Case) {
		const voices, samples = 256, 8 * 44100
		line := kernels.Along(oscillator.Op.Axes, "n", kernels.Param{Name: "voices", Value: voices})
		add(againstArithmetic(oscillator.Op.CaseOf(kernels.Here(), line), samples, voiceOperations*voices*samples))
	})
	find("attention/self", func(kernels.Case) {
		const heads, width, steps = 64, 64, 2048
		c := attentionCase(kernels.Here(), heads, width, steps)
		add(againstArithmetic(c, steps, 4*heads*width*steps*steps))
		add(attentionProducts(c, attention.Params{Heads: heads, Width: width}, steps))
	})
	find("lora/d=1024,rank=8", func(c kernels.Case) { add(againstLibrary(c, 8192, arithmetic(4*8192*1024*8))) })
	find("conv2d-layer/in=32,out=32,kernel=3,stride=1,height=80", func(c kernels.Case) {
		add(againstLibrary(c, 2048, arithmetic(2*32*32*9*80*2048)))
	})
	find("lstm/in=128,hidden=256,batch=1", func(c kernels.Case) {
		add(againstArithmetic(c, 1000, 2*4*256*(128+256)*1000))
		all = append(all, lstmProducts(c, 256, 1000)...)
	})
	find("matmul/square", func(c kernels.Case) {
		for _, n := range []int{1024, 2048, 4096} {
			add(againstLibrary(c, n, arithmetic(2*float64(n)*float64(n)*float64(n))))
		}
	})
	return append(all, row{name: launchName, measure: measureLaunch}, row{name: riseName, rise: measureRise})
}

// attentionCase is the case of so many keys, along the steps.
func attentionCase(b *kernels.Backends, heads, width, keys int) kernels.Case {
	return attention.Op.CaseOf(b, kernels.Along(attention.Op.Axes, "steps", kernels.Param{Name: "heads", Value: heads},
		kernels.Param{Name: "width", Value: width}, kernels.Param{Name: "keys", Value: keys}))
}

func names(all []row) string {
	var list []string
	for _, r := range all {
		list = append(list, r.name)
	}
	return strings.Join(list, ", ")
}

func pattern(text string) (*regexp.Regexp, error) {
	matches, err := regexp.Compile(text)
	if err != nil {
		return nil, command.Usage("--rows %q: %v (want a regular expression such as '^fft')", text, err)
	}
	return matches, nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// comparison holds the two sides of a row, ready to run.
type comparison struct {
	name, bound string
	ours, peer  *side
	difference  func() (float64, error) // relative difference of our output from the right one
	tolerance   float64
}

// measure checks our output and times both sides. It closes them.
func (c comparison) measure(d *gpu.Device, runs int) ([]result, error) {
	defer c.ours.close()
	defer c.peer.close()
	e, err := c.difference()
	if err != nil {
		return nil, err
	}
	if !(e <= c.tolerance) {
		return nil, fmt.Errorf("wrong values: the relative error is %.2g; want at most %.2g", e, c.tolerance)
	}
	r, err := measure(d, c.ours, c.peer, runs)
	if err != nil {
		return nil, err
	}
	r.Name, r.Bound, r.Error = c.name, c.bound, e
	return []result{r}, nil
}

// measure returns the times of two sides and the allocations of a call of ours. peer may be nil.
func measure(d *gpu.Device, ours, peer *side, runs int) (r result, err error) {
	beside := peer
	if peer == nil {
		beside = ours
	}
	a, b, err := compare(ours, beside, runs)
	if err != nil {
		return r, err
	}
	r.Ours = ours.figures(a)
	if peer != nil {
		r.Peer = peer.figures(b)
		r.Ratio = r.Peer.Median / r.Ours.Median
		if r.Ours.Rate > 0 {
			r.Ratio = r.Ours.Rate / r.Peer.Rate
		}
	}
	r.Allocations, r.DeviceBytes, err = allocations(d, ours.call, runs)
	return r, err
}
