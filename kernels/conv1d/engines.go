package conv1d

import (
	"slices"

	"crossover/fftw"
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/pool"
)

// engine is one implementation, ready for one filter. It is for one goroutine at a time.
type engine interface {
	// prepare readies it for signals of n samples, at least 1. Once done for an n it is free and allocates nothing.
	prepare(n int) error
	// convolve writes the full convolution of x to y, which has its length and does not overlap x. It follows a
	// prepare of len(x) and allocates nothing. It fails where a GPU does.
	convolve(y, x []float32) error
}

// contenders is the table of the family. The first one is never far off at any size.
var contenders = slices.Concat(processors, framework,
	kernels.OnGPU("fft", newFFTLaunch), kernels.OnGPU("partitioned", newPartitionedLaunch),
	kernels.OnGPU("direct", newDirectLaunch), vendors())

// vendors returns the contenders whose transforms a GPU vendor's library computes.
func vendors() kernels.Contenders[[]float32, engine] {
	table := kernels.GPUFFT(newVendorLaunch)
	for i := range table {
		table[i].Name += "/fft"
	}
	return table
}

var processors = kernels.Contenders[[]float32, engine]{
	{
		Implementation: kernels.Implementation{Name: "go/partitioned", Processor: kernels.CPU},
		New:            func(taps []float32) (engine, error) { return newDelayLine(taps, goTransforms) },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel/partitioned", Processor: kernels.CPU},
		New:            func(taps []float32) (engine, error) { return newParallelPartitions(taps, goTransforms) },
	},
	{
		Implementation: kernels.Implementation{Name: "go/fft", Processor: kernels.CPU},
		New: func(taps []float32) (engine, error) {
			return &oneTransform{taps: taps, make: goTransforms, fit: smooth}, nil
		},
	},
	{
		Implementation: kernels.Implementation{Name: "go/direct", Processor: kernels.CPU},
		New:            func(taps []float32) (engine, error) { return &direct{taps: taps}, nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel/direct", Processor: kernels.CPU},
		New: func(taps []float32) (engine, error) {
			return &parallelDirect{taps: taps, pool: pool.Shared()}, nil
		},
	},
	{
		Implementation: kernels.Implementation{
			Name: "fftw/partitioned", Processor: kernels.CPU, Probe: fftw.Probe, Version: fftw.Version,
		},
		New: func(taps []float32) (engine, error) { return newDelayLine(taps, fftwTransforms) },
	},
	{
		Implementation: kernels.Implementation{
			Name: "fftw-parallel/partitioned", Processor: kernels.CPU, Probe: fftw.Probe, Version: fftw.Version,
		},
		New: func(taps []float32) (engine, error) { return newParallelPartitions(taps, fftwTransforms) },
	},
	{
		Implementation: kernels.Implementation{
			Name: "fftw/fft", Processor: kernels.CPU, Probe: fftw.Probe, Version: fftw.Version,
		},
		New: func(taps []float32) (engine, error) {
			return &oneTransform{taps: taps, make: fftwTransforms, fit: smooth}, nil
		},
	},
}

func goTransforms(length, count int) (transforms, error) {
	first := fft.NewReal(length)
	each := []transform{first}
	for len(each) < count {
		each = append(each, first.Clone())
	}
	return transforms{each: each, gain: 1}, nil
}

// fftwTransform is a plan of FFTW on one thread, which any number of goroutines may run.
type fftwTransform struct{ plan *fftw.Plan }

func fftwTransforms(length, count int) (transforms, error) {
	plan, err := fftw.NewReal(length, 1, 1)
	if err != nil {
		return transforms{}, err
	}
	t := fftwTransform{plan}
	// The first inverse plans; a call must not.
	t.Inverse(make([]float32, length), make([]complex64, length/2+1))
	return transforms{each: slices.Repeat([]transform{t}, count), gain: float32(length)}, nil
}

func (t fftwTransform) Forward(dst []complex64, src []float32) { t.plan.Forward(dst, src) }

func (t fftwTransform) Inverse(dst []float32, src []complex64) { t.plan.InverseUnscaled(dst, src) }
