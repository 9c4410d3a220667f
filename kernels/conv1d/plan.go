package conv1d

import (
	"errors"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// Plan convolves signals with one filter by the implementation and the algorithm that are fastest at their length. It
// is for one goroutine at a time. Buffers and transforms are made when a length first needs them, and kept.
//
// Every algorithm is right to some 1e-7 of the loudest output. Two things depend on which one it is, which Explain tells
// and CROSSOVER_FORCE decides, as in conv1d=go/direct:
//
// How exact a part is that is far quieter than the rest. Of a part that is 120 dB down, behind a loud one and its tail,
// direct is right to 3e-7 of the part itself. Partitioned is off by 2 to 15 % of it for up to two blocks, which have 256 to
// 4096 samples, longer ones for longer filters, and right to 3e-7 from there on. fft is off by 10 to 15 % of it everywhere:
// a transform spreads the rounding of its loudest samples over all of its output.
//
// A NaN or an infinity in the signal reaches a part of the output. In direct it reaches Taps outputs. In partitioned it
// reaches its own block and as many further blocks as the filter has. This includes up to a block of earlier outputs. In
// fft it reaches the whole output.
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

// New returns a plan for a filter that chooses by d; d may be nil. The filter is copied. New fails if the filter has no
// taps.
//
// Two cases were measured: "conv1d/taps=512" over the number of samples, and "conv1d/n=32768" over the number of taps. The
// case whose fixed parameter is nearer to the call's, in ratio, decides on the implementation. For a filter of 512 taps the
// first case always decides.
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
// Convolve allocates nothing at a length that the implementation has computed before, if dst has the capacity. The first
// call at a length may make FFTW plan a transform, which takes up to a second. Convolve fails only if every implementation
// fails, and then the returned values are undefined.
func (p *Plan) Convolve(dst, x []float32) ([]float32, error) {
	if len(x) == 0 {
		return dst[:0], nil
	}
	dst = slices.Grow(dst[:0], len(x)+p.taps-1)[:len(x)+p.taps-1]
	return dst, kernels.RunSized(p.SizedPlan, len(x), kernels.Args{dst, x})
}

// Program calls a plan as a program does.
func Program(d *dispatch.Dispatcher, p Params) (func(s kernels.Shape, a *kernels.Args) error, error) {
	plan, err := New(d, p.Taps)
	return func(_ kernels.Shape, a *kernels.Args) error {
		_, err := plan.Convolve(a[0], a[1])
		return err
	}, err
}
