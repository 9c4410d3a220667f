package conv1d

import (
	"slices"

	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/native/accelerate"
	"crossover/native/fftw"
)

// algorithm is one algorithm with one filter. Only one goroutine at a time may use it.
type algorithm interface {
	// prepare makes the algorithm ready for signals of n samples, at least 1. A second call with the same n costs nothing
	// and allocates nothing.
	prepare(n int) error
	// convolve writes the full convolution of x to y. y has the length of the convolution and does not overlap x. convolve
	// is called after prepare(len(x)), and allocates nothing.
	convolve(y, x []float32)
}

// runner runs an algorithm.
type runner struct{ algorithm }

// Run convolves the signal of a call. The first call at a length may make a transform, for which FFTW plans for up to a
// second.
func (r runner) Run(_ kernels.Shape, a *kernels.Args) error {
	if err := r.prepare(len(a[1])); err != nil {
		return err
	}
	r.convolve(a[0], a[1])
	return nil
}

// implementations are those of the operation. The first one computes if nothing was measured, because it is never far from
// the fastest on one core.
var implementations = []kernels.Makers[Params]{
	kernels.Named("go/partitioned", partitionedBy(goTransforms)),
	kernels.OnPool(kernels.Named("go-parallel/partitioned", parallelPartitionedBy(goTransforms))),
	kernels.Named("go/fft", wholeBy(goTransforms, fft.FastLength)),
	kernels.Named("go/direct", func(_ *kernels.Backends, p Params) (kernels.Runner, error) {
		return runner{&direct{taps: p.Taps}}, nil
	}),
	kernels.OnPool(kernels.Named("go-parallel/direct", func(b *kernels.Backends, p Params) (kernels.Runner, error) {
		return runner{&parallelDirect{taps: p.Taps, pool: b.Pool}}, nil
	})),
	kernels.Library("fftw/partitioned", fftw.Probe, fftw.Version, partitionedBy(fftwTransforms)),
	kernels.OnPool(kernels.Library("fftw-parallel/partitioned", fftw.Probe, fftw.Version, parallelPartitionedBy(fftwTransforms))),
	kernels.Library("fftw/fft", fftw.Probe, fftw.Version, wholeBy(fftwTransforms, fft.FastLength)),
	kernels.Framework("partitioned", func(p Params) (kernels.Runner, error) {
		return partitionedBy(accelerateTransforms)(nil, p)
	}),
	kernels.Framework("fft", func(p Params) (kernels.Runner, error) {
		return wholeBy(accelerateTransforms, accelerate.FastLength)(nil, p)
	}),
	kernels.Framework("direct", func(p Params) (kernels.Runner, error) {
		return runner{&accelerateDirect{taps: p.Taps}}, nil
	}),
	kernels.KernelText("fft", appendWhole(ownTransform)),
	kernels.KernelText("partitioned", appendPartitioned),
	kernels.Revised(1, kernels.KernelText("direct", appendDirect)), // places are known when it is compiled
	kernels.VendorFFT("fft", func(_ *gpu.Device, library gpu.FFT, _ Params) (kernels.Append[Params], error) {
		return appendWhole(vendorTransform(library)), nil
	}),
}

// build makes a runner for a filter.
type build = func(b *kernels.Backends, p Params) (kernels.Runner, error)

// wholeBy convolves by one transform of the whole output's length. fit rounds the length up.
func wholeBy(ffts newTransforms, fit func(n int) int) build {
	return func(_ *kernels.Backends, p Params) (kernels.Runner, error) {
		return runner{&oneTransform{taps: p.Taps, make: ffts, fit: fit}}, nil
	}
}

// partitionedBy convolves by partitions on one core.
func partitionedBy(ffts newTransforms) build {
	return func(_ *kernels.Backends, p Params) (kernels.Runner, error) {
		line, err := newDelayLine(p.Taps, ffts)
		return runner{line}, err
	}
}

// parallelPartitionedBy convolves by partitions on the workers of the pool.
func parallelPartitionedBy(ffts newTransforms) build {
	return func(b *kernels.Backends, p Params) (kernels.Runner, error) {
		parts, err := newParallelPartitions(p.Taps, ffts, b.Pool)
		return runner{parts}, err
	}
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
	// The first inverse makes a plan, which a call must not do.
	t.Inverse(make([]float32, length), make([]complex64, length/2+1))
	return transforms{each: slices.Repeat([]transform{t}, count), gain: float32(length)}, nil
}

func (t fftwTransform) Forward(dst []complex64, src []float32) { t.plan.Forward(dst, src) }

func (t fftwTransform) Inverse(dst []float32, src []complex64) { t.plan.InverseUnscaled(dst, src) }
