package oscillator

import (
	"slices"

	"crossover/kernels"
	"crossover/pool"
)

// engine renders a bank from a position, in samples, on.
type engine interface {
	render(dst []float32, position int64) error
}

var contenders = slices.Concat(kernels.Contenders[Params, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return serial(newVoices(p)), nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newParallel(p), nil },
	},
}, kernels.OnGPU("", newLaunch))

type serial []voice

func (e serial) render(dst []float32, position int64) error {
	clear(dst)
	for i := range e {
		e[i].add(dst, position, 0, len(dst))
	}
	return nil
}

// parallel divides the block among the workers of the pool: each renders stretches of it, all voices one after the other.
// So samples are added in the order of the voices whoever renders them, and the output is that of serial to the bit.
type parallel struct {
	pool     *pool.Pool
	voices   []voice
	dst      []float32
	position int64
}

func newParallel(p Params) *parallel { return &parallel{pool: pool.Shared(), voices: newVoices(p)} }

const (
	// leastSamples is how long a stretch is at least: finding a voice's stage costs as much as some six samples.
	leastSamples = 32
	// leastTones is how many samples of how many voices take a few microseconds, what calling a helper is worth.
	leastTones = 1024
	// stretchesPerWorker is more than one, so that a worker that is late leaves its share to the others.
	stretchesPerWorker = 4
)

func (e *parallel) render(dst []float32, position int64) error {
	clear(dst)
	e.dst, e.position = dst, position
	grain := max(leastSamples, leastTones/len(e.voices), len(dst)/(stretchesPerWorker*e.pool.Workers()))
	e.pool.Run(len(dst), grain, e)
	e.dst = nil
	return nil
}

// Do renders samples lo to hi−1.
func (e *parallel) Do(_, lo, hi int) {
	for i := range e.voices {
		e.voices[i].add(e.dst, e.position, lo, hi)
	}
}
