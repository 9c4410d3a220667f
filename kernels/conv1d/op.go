package conv1d

import (
	"math"
	"math/rand/v2"

	"crossover/calibration/surface"
	"crossover/kernels"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Taps []float32 // of the filter, at least one; New copies them
}

// outputs returns the length of the full convolution of n samples.
func (p Params) outputs(n int) int { return n + len(p.Taps) - 1 }

// The axes of the operation.
const (
	samples = iota // of the signal
	taps           // of the filter
)

var axes = []kernels.Axis{
	{Name: "n", Unit: "samples", Min: 512, Max: 1 << 20},
	{Name: "taps", Unit: "taps", Min: 8, Max: 32768},
}

// The fixed parameters of the two lines.
const (
	fixedLength = 32768 // samples, of the line over the taps
	fixedTaps   = 512   // of the line over the signal's length
)

// The lines of the operation.
const (
	overTaps = iota
	overSamples
)

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:    "conv1d",
	Formula: "y[i] = sum over k of h[k]·x[i-k], 0 <= i < n+taps-1; the filter's transform is made before the call",
	Source:  "A. Oppenheim and R. Schafer, Discrete-Time Signal Processing, 3rd ed., 2010, section 8.7",
	Axes:    axes,
	// The operations of the definition, and the length of the output, which the transform of a whole convolution pads to a
	// power of two.
	Features: []surface.Feature{
		kernels.Power(1, 1),
		{Kind: surface.Length, Weights: []float64{1, 1}, Offset: -1},
		{Kind: surface.Padding, Weights: []float64{1, 1}, Offset: -1},
	},
	Lines: []kernels.Line{
		overTaps:    kernels.Along(axes, "taps", kernels.Param{Name: "n", Value: fixedLength}),
		overSamples: kernels.Along(axes, "n", kernels.Param{Name: "taps", Value: fixedTaps}),
	},
	Params: func(s kernels.Shape) Params { return Params{Taps: ImpulseResponse(s[taps])} },
	IO: func(_ Params, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[samples] + s[taps] - 1}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[samples]}},
		}
	},
	Fill:      func(_ Params, _ kernels.Shape, in kernels.Input, a *kernels.Args) { in.Fill(a[1]) },
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(a[1], p.Taps) },
	Tolerance: func(kernels.Shape) float64 { return tolerance },
	Work: func(s kernels.Shape, variant string) kernels.Work {
		return work(float64(s[samples]), float64(s[taps]), variant)
	},
	Judged: judged,
	By:     implementations,
})

const tolerance = 1e-6

// judged returns the line that decides a call: the one whose fixed parameter is nearer to the call's, in ratio.
func judged(p Params, s kernels.Shape) (line, size int) {
	far := func(value, fixed int) float64 { return math.Abs(math.Log(float64(value) / float64(fixed))) }
	if far(len(p.Taps), fixedTaps) <= far(s[samples], fixedLength) {
		return overSamples, s[samples]
	}
	return overTaps, len(p.Taps)
}

// work returns the work of an algorithm. Any other name than "fft" and "partitioned" stands for the definition.
func work(n, taps float64, algorithm string) kernels.Work {
	// The signal and the filter are read once, and the output is written once.
	w := kernels.Work{Bytes: 4 * (n + taps + (n + taps - 1)), Flops: 2 * n * taps, Threads: (n + taps) / 4}
	switch algorithm {
	case "fft":
		length := math.Exp2(math.Ceil(math.Log2(n + taps - 1)))
		launches := 1.0
		if length > 8192 { // samples that one kernel transforms
			launches = 3
		}
		// Two transforms, and the product between them.
		w.Bytes, w.Flops = 2*8*length*launches+12*length, 2*transformFlops(length)+3*length
		w.Pieces, w.Threads, w.Launches, w.Kind = 1, length/16, 2*launches+1, kernels.Transform
	case "partitioned":
		const partition = 1024 // samples
		blocks, parts := math.Ceil(n/partition), math.Ceil(taps/partition)
		w.Bytes += 2 * 16 * partition * blocks
		w.Flops = 2*blocks*transformFlops(2*partition) + 8*partition*blocks*parts
		w.Pieces, w.Launches, w.Kind = blocks, 3, kernels.Transform
	}
	return w
}

// transformFlops returns the number of floating-point operations in a real transform.
func transformFlops(length float64) float64 { return 2.5 * length * math.Log2(length) }

// ImpulseResponse returns the filter with which the operation is measured: a direct sound, followed by seeded uniform noise,
// as close to a source in a room. The noise decays by 60 dB over the filter's length, and has a sixteenth of the direct
// sound's energy. With noise alone, some lengths would cancel the few strong partials of the recording. The relative error
// of the small rest would then depend on the filter more than on the implementation.
func ImpulseResponse(taps int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(taps), 0x69726573))
	h := make([]float64, taps)
	var energy float64
	for k := 1; k < taps; k++ {
		h[k] = (2*rng.Float64() - 1) * math.Pow(10, -3*float64(k)/float64(taps))
		energy += h[k] * h[k]
	}
	out := make([]float32, taps)
	for k := 1; k < taps; k++ {
		out[k] = float32(0.25 * h[k] / math.Sqrt(energy))
	}
	out[0] = 1
	return out
}
