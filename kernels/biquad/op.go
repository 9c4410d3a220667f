package biquad

import (
	"slices"
	"unsafe"

	"crossover/calibration/surface"
	"crossover/kernels"
	"crossover/pool"
)

// The axes of the operation.
const (
	channels = iota
	samples
)

var axes = []kernels.Axis{
	{Name: "channels", Unit: "channels", Min: 1, Max: 1024},
	{Name: "n", Unit: "samples", Min: 64, Max: 1 << 20},
}

// The lines of the operation: one long channel, and many channels of one audio block.
const (
	longLine = iota
	wideLine
)

// Op declares the operation. It is measured with a low-pass at 1000 Hz for a sample rate of 22 050 Hz, whatever the sample
// rate of the recording, so that the work is always the same.
var Op = kernels.Declare(kernels.Op[Coefficients]{
	Name:     "biquad",
	Formula:  "y = b0·x + s1, s1 ← b1·x − a1·y + s2, s2 ← b2·x − a2·y; Butterworth low-pass, 1000 Hz at 22 050 Hz",
	Source:   "https://ccrma.stanford.edu/~jos/filters/Transposed_Direct_Forms.html",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Lines: []kernels.Line{
		longLine: kernels.Along(axes, "n", kernels.Param{Name: "channels", Value: 1}),
		wideLine: kernels.Along(axes, "channels", kernels.Param{Name: "n", Value: 512}),
	},
	Params: func(kernels.Shape) Coefficients {
		c, err := Lowpass(1000, 22050)
		if err != nil {
			panic(err) // the arguments are constants
		}
		return c
	},
	IO: func(_ Coefficients, s kernels.Shape) []kernels.Tensor {
		rows, states := []int{s[channels], s[samples]}, []int{s[channels], 2}
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: rows, InPlaceOf: "x"},
			{Name: "after", Role: kernels.Out, Type: kernels.Float64, Dims: states},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: rows},
			{Name: "before", Role: kernels.In, Type: kernels.Float64, Dims: states},
		}
	},
	// A recording, from silence.
	Fill: func(_ Coefficients, _ kernels.Shape, in kernels.Input, a *kernels.Args) {
		in.Fill(a[2])
		clear(a[3])
	},
	Reference: func(c Coefficients, _ kernels.Shape, a *kernels.Args) []float64 {
		states := slices.Clone(statesOf(a[3]))
		want := filtered(c, states, a[2])
		for _, s := range states {
			want = append(want, s.s1, s.s2)
		}
		return want
	},
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Judge:     kernels.WithState,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		const flops = 3 * 9 // per sample; a scan takes three times as many as the recurrence
		n := float64(s[channels]) * float64(s[samples])
		return kernels.Work{Bytes: 8 * n, Flops: flops * n, Pieces: float64(s[channels]), Threads: n / 16, Chain: float64(s[samples])}
	},
	// One channel is judged by its length, several by their number.
	Judged: func(_ Coefficients, s kernels.Shape) (line, size int) {
		if s[channels] == 1 {
			return longLine, s[samples]
		}
		return wideLine, s[channels]
	},
	By: []kernels.Makers[Coefficients]{
		// Vector code. Later grains of several channels.
		kernels.Revised(1, kernels.Revised(2, kernels.InGo(
			func(c Coefficients) kernels.Runner { return runner{serial{newSection(c)}} },
			func(c Coefficients, workers *pool.Pool) kernels.Runner {
				return runner{newParallel(workers, newSection(c))}
			}), "go-parallel")),
		kernels.Framework("", newFramework),
		kernels.Revised(1, kernels.KernelText("", appendSection)), // a simdgroup a row, from row to row
	},
})

// statesOf returns the words of a tensor as the states of channels.
func statesOf(words []float32) []state {
	return unsafe.Slice((*state)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/4)
}

// filter is an implementation on the processor. It filters len(state) channels, and updates their states. dst may be src.
type filter interface {
	process(state []state, dst, src []float32)
}

// runner runs a filter on the tensors of a call.
type runner struct{ filter }

func (r runner) Run(_ kernels.Shape, a *kernels.Args) error {
	copy(a[1], a[3])
	r.process(statesOf(a[1]), a[0], a[2])
	return nil
}
