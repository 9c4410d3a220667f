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
		e[i].add(dst, position)
	}
	return nil
}

// parallel divides the voices among the workers of the pool. Each worker mixes its own into a buffer of its own, and
// the caller adds the buffers up. Which voices meet in a buffer depends on who was free, and with it the rounding.
type parallel struct {
	pool *pool.Pool
	bank bank
}

func newParallel(p Params) *parallel {
	e := &parallel{pool: pool.Shared()}
	e.bank = bank{voices: newVoices(p), mixes: make([]mix, e.pool.Workers())}
	return e
}

func (e *parallel) render(dst []float32, position int64) error {
	b := &e.bank
	b.dst, b.position = dst, position
	for i := range b.mixes {
		b.mixes[i].used = false
	}
	// A few chunks a worker, so that one that is late leaves its share to the others.
	e.pool.Run(len(b.voices), (len(b.voices)-1)/(4*e.pool.Workers())+1, b)
	if !b.mixes[0].used {
		clear(dst)
	}
	for worker := 1; worker < len(b.mixes); worker++ {
		if m := &b.mixes[worker]; m.used {
			for i, v := range m.samples {
				dst[i] += v
			}
		}
	}
	b.dst, b.mixes[0].samples = nil, nil
	return nil
}

// bank is the pool's task; its index is the voice. Worker 0 mixes into dst itself.
type bank struct {
	voices   []voice
	dst      []float32
	position int64
	mixes    []mix
}

// mix is what one worker has mixed in the current call.
type mix struct {
	samples []float32
	used    bool
	_       [64]byte // keeps workers off each other's cache line
}

func (b *bank) Do(worker, lo, hi int) {
	m := &b.mixes[worker]
	if !m.used {
		m.used = true
		if worker == 0 {
			m.samples = b.dst
		} else {
			m.samples = resize(m.samples, len(b.dst))
		}
		clear(m.samples)
	}
	for i := lo; i < hi; i++ {
		b.voices[i].add(m.samples, b.position)
	}
}

// resize returns a slice of n values in x's memory if that is large enough.
func resize(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}
