package conv1d

import (
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/pool"
)

// engine is one implementation, ready for one filter. It is for one goroutine at a time.
type engine interface {
	// prepare readies it for signals of n samples, at least 1. Once done for an n it is free and allocates nothing.
	prepare(n int) error
	// convolve writes the full convolution of x to y, which has its length and does not overlap x. It follows a
	// prepare of len(x) and allocates nothing.
	convolve(y, x []float32)
	close()
}

// contenders is the table of the family. The first one is never far off at any size.
var contenders = kernels.Contenders[[]float32, engine]{
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
		New:            func(taps []float32) (engine, error) { return &oneTransform{taps: taps, make: goTransforms}, nil },
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
}

func goTransforms(length, count int) ([]transform, func(), error) {
	first := fft.NewReal(length)
	each := []transform{first}
	for len(each) < count {
		each = append(each, first.Clone())
	}
	return each, func() {}, nil
}
