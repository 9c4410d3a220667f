package conv1d

import (
	"errors"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// Plan convolves signals with one filter by the implementation and the algorithm that are fastest at their length. Only one
// goroutine at a time may use a Plan. Buffers and transforms are made when a length first needs them, and then kept.
//
// The error of every algorithm is some 1e-7 of the loudest output. Explain says which algorithm computes, and
// CROSSOVER_FORCE chooses one, as in conv1d=go/direct. Two properties depend on the algorithm:
//
// The first is the accuracy of a part that is far quieter than the rest. Take a part that is 120 dB quieter than the loud
// part and its tail before it. The error of direct is 3e-7 of the quiet part itself. The error of partitioned is 2 to 15 %
// of the quiet part for up to two blocks, and 3e-7 of it from there on. Blocks have 256 to 4096 samples, more for longer
// filters. The error of fft is 10 to 15 % of the quiet part everywhere, because a transform spreads the rounding errors of
// its loudest samples over all of its output.
//
// The second is the reach of a NaN or an infinity in the signal. In direct it reaches Taps outputs. In partitioned it
// reaches its own block and as many further blocks as the filter has, including up to a block of earlier outputs. In fft it
// reaches the whole output.
//
// On a GPU the same holds for direct and fft. There, partitioned has windows of other lengths and transforms two windows
// as one, so a NaN in either window reaches both. With up to 2048 taps the two windows are neighbours, and a NaN reaches at
// most four windows of 512 to 4096 samples. With more taps the two windows lie half of the output apart, and a NaN reaches
// a part of each half.
type Plan struct {
	// Explain takes a number of samples.
	*kernels.SizedPlan[Params]

	taps int
}

// New returns a plan for a filter. The plan chooses by d, which may be nil: see [kernels.NewPlan]. New copies the filter. It
// fails if the filter has no taps.
//
// The times that the calibration predicts decide on the implementation. A calibration without predictions has two cases:
// "conv1d/taps=512" over the number of samples, and "conv1d/n=32768" over the number of taps. The case whose fixed parameter
// is nearer to the call's, in ratio, decides. For a filter of 512 taps the first case always decides.
func New(d *dispatch.Dispatcher, filter []float32) (*Plan, error) {
	if len(filter) == 0 {
		return nil, errors.New("conv1d: the filter has no taps: want at least 1")
	}
	plan := kernels.NewPlan(d, &Op, Params{Taps: slices.Clone(filter)})
	return &Plan{plan.Along(samples, kernels.Shape{taps: len(filter)}), len(filter)}, nil
}

// Taps returns the length of the filter.
func (p *Plan) Taps() int { return p.taps }

// Convolve returns the full convolution of x, len(x)+Taps()−1 samples, in dst's memory if its capacity suffices and
// in new memory otherwise. dst must not overlap x. The convolution of no samples is empty.
//
// If dst has the capacity, Convolve allocates nothing at a length at which the implementation has run twice. An
// implementation on a GPU remembers only the last few lengths. FFTW may plan a transform in the first call at a length,
// which takes up to a second. Convolve fails only if every implementation fails, and then the returned values are undefined.
func (p *Plan) Convolve(dst, x []float32) ([]float32, error) {
	if len(x) == 0 {
		return dst[:0], nil
	}
	dst = slices.Grow(dst[:0], len(x)+p.taps-1)[:len(x)+p.taps-1]
	return dst, kernels.RunSized(p.SizedPlan, len(x), &kernels.Args{dst, x})
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(
	func(d *dispatch.Dispatcher, p Params) (*Plan, error) { return New(d, p.Taps) },
	func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
		_, err := p.Convolve(a[0], a[1])
		return err
	})
