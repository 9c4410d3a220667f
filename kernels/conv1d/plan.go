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
// How far a NaN or an infinity in the signal reaches. With direct it is Taps outputs. With partitioned it is the block that
// it lies in and as many more as the filter has blocks, so up to a block before it too. With fft it is all of the output.
//
// The figures are those of the implementations on processors. On a GPU direct and fft are the same. Partitioned has windows
// of other lengths there and transforms two of them as one, so that a NaN in either reaches both. With up to 2048 taps the
// two are neighbours, and a NaN reaches at most four windows of 512 to 4096 samples. With more taps they lie half of the
// output apart, and a NaN reaches a stretch in each half.
type Plan struct {
	taps int
	plan *kernels.Plan[Params]
}

// New returns a plan for a filter, which it copies. Where d is nil the partitioned algorithm on one core computes.
// It fails for a filter without taps.
//
// A length of filter and a length of signal were each measured with the other one fixed. A call is judged by the case
// whose fixed parameter is nearer to it in ratio: by "conv1d/taps=512" at its number of samples, or by
// "conv1d/n=32768" at its number of taps. A filter of 512 taps is always judged by the first.
func New(d *dispatch.Dispatcher, taps []float32) (*Plan, error) {
	if len(taps) == 0 {
		return nil, errors.New("conv1d: the filter has no taps: want at least 1")
	}
	plan, err := kernels.NewPlan(d, &Op, Params{Taps: slices.Clone(taps)})
	if err != nil {
		return nil, err
	}
	return &Plan{taps: len(taps), plan: plan}, nil
}

// Taps returns the length of the filter.
func (p *Plan) Taps() int { return p.taps }

// Convolve returns the full convolution of x, len(x)+Taps()−1 samples, in dst's memory if its capacity suffices and
// in new memory otherwise. dst must not overlap x. Of no samples it returns none. Once warm at a length, with a dst
// that is long enough, it allocates nothing; the first call at a length may make a transform, over which FFTW deliberates
// for up to a second. It fails where every implementation does.
func (p *Plan) Convolve(dst, x []float32) ([]float32, error) {
	if len(x) == 0 {
		return dst[:0], nil
	}
	dst = slices.Grow(dst[:0], len(x)+p.taps-1)[:len(x)+p.taps-1]
	if err := p.plan.Run(p.shape(len(x)), kernels.Args{dst, x}); err != nil {
		return nil, err
	}
	return dst, nil
}

func (p *Plan) shape(n int) kernels.Shape { return kernels.Shape{samples: n, taps: p.taps} }

// Explain gives the reason for the implementation that Convolve uses for n samples.
func (p *Plan) Explain(n int) dispatch.Explanation { return p.plan.Explain(p.shape(n)) }

// Close releases what the implementations hold. The garbage collector does the same for a plan that is dropped.
func (p *Plan) Close() { p.plan.Close() }

// Program calls a plan as a program does.
func Program(d *dispatch.Dispatcher, p Params) (func(s kernels.Shape, a *kernels.Args) error, error) {
	plan, err := New(d, p.Taps)
	return func(_ kernels.Shape, a *kernels.Args) error {
		_, err := plan.Convolve(a[0], a[1])
		return err
	}, err
}
