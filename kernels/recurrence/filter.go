package recurrence

import (
	"math"

	"crossover/calibration/surface"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/recurrence/launch"
)

// The axes of the operations.
const (
	channels = iota
	samples
)

var axes = []kernels.Axis{
	{Name: "channels", Unit: "channels", Min: 1, Max: 256, Usual: []int{1, 2, 6, 8, 16, 32, 64}},
	{Name: "n", Unit: "samples", Min: 64, Max: 1 << 20, Usual: []int{64, 128, 256, 512, 1024, 2048}},
}

// The lines of the operations: one long channel, and many channels of one audio block.
const (
	longLine = iota
	wideLine
)

// The tensors of a call.
const (
	out = iota
	after
	in
	before
)

// family is what an operation of the package declares.
type family[P any] struct {
	name, formula, source string
	winner                string // why one core wins where there is one channel; "" if it may not

	params    P // that a sweep measures with
	state     func(p P) (of kernels.Element, values int)
	reference func(p P, state, y []float64, x []float32) // of one channel; it updates the state

	flops   float64 // per sample
	threads float64 // of a GPU, per channel
	by      []kernels.Makers[P]
}

// declare returns the operation of a family.
func declare[P any](f family[P]) kernels.Op[P] {
	long := kernels.Along(axes, "n", kernels.Param{Name: "channels", Value: 1})
	long.OneWinner = f.winner
	return kernels.Declare(kernels.Op[P]{
		Name: f.name, Formula: f.formula, Source: f.source,
		Axes:     axes,
		Features: []surface.Feature{kernels.Power(1, 1), kernels.Power(0, 1)}, // a sample waits for the one before it
		Lines: []kernels.Line{
			longLine: long,
			wideLine: kernels.Along(axes, "channels", kernels.Param{Name: "n", Value: 512}),
		},
		Params: func(kernels.Shape) P { return f.params },
		IO: func(p P, s kernels.Shape) []kernels.Tensor {
			rows := []int{s[channels], s[samples]}
			of, values := f.state(p)
			states := []int{s[channels], values}
			return []kernels.Tensor{
				out:    {Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: rows, InPlaceOf: "x"},
				after:  {Name: "after", Role: kernels.Out, Type: of, Dims: states},
				in:     {Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: rows},
				before: {Name: "before", Role: kernels.In, Type: of, Dims: states},
			}
		},
		// A recording, after silence.
		Fill: func(_ P, _ kernels.Shape, input kernels.Input, a *kernels.Args) {
			input.Fill(a[in])
			clear(a[before])
		},
		Reference: func(p P, s kernels.Shape, a *kernels.Args) []float64 {
			of, values := f.state(p)
			n, y := s[samples], make([]float64, len(a[in]))
			states := make([]float64, s[channels]*values)
			if of == kernels.Float64 {
				copy(states, kernels.Float64s(a[before]))
			} else {
				for i, v := range a[before] {
					states[i] = float64(v)
				}
			}
			for c := range s[channels] {
				state := states[c*values : (c+1)*values]
				f.reference(p, state, y[c*n:(c+1)*n], a[in][c*n:(c+1)*n])
				settle(state)
			}
			return append(y, states...)
		},
		Tolerance: func(kernels.Shape) float64 { return 1e-5 },
		Judge:     kernels.WithState,
		Work: func(s kernels.Shape, _ string) kernels.Work {
			n := float64(s[channels]) * float64(s[samples])
			of, values := f.state(f.params)
			words := kernels.Tensor{Type: of, Dims: []int{s[channels], values}}.Len()
			return kernels.Work{Bytes: 8*n + 8*float64(words), Flops: f.flops * n, Pieces: float64(s[channels]),
				Threads: f.threads * float64(s[channels]), Chain: float64(s[samples]) / f.threads}
		},
		// One channel is judged by its length, several by their number.
		Judged: func(_ P, s kernels.Shape) (line, size int) {
			if s[channels] == 1 {
				return longLine, s[samples]
			}
			return wideLine, s[channels]
		},
		By: f.by,
	})
}

// settleEvery is the number of samples after which a processor settles a state. No call of a kernel has more.
const settleEvery = 256

// silence is the magnitude below which a value of a state has decayed to nothing.
const silence = 1e-30

// settle zeroes values that have decayed to nothing.
func settle(state []float64) {
	for i, v := range state {
		if math.Abs(v) < silence {
			state[i] = 0
		}
	}
}

// perChannel returns the launch plan of a text with one thread for each channel. fields returns the fields of its Filter.
func perChannel[P any](text gpu.Source, width int, fields func(p P) []any) kernels.Append[P] {
	return func(b *gpu.Builder, p P, s kernels.Shape, t []*gpu.Buffer) {
		launch.Channels(b, text, width, gpu.Values(fields(p)...), launch.Extent{Channels: s[channels], N: s[samples]},
			t[out], t[after], t[in], t[before])
	}
}
