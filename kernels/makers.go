package kernels

import (
	"errors"
	"slices"

	"crossover/pool"
)

// Runner is one implementation made ready for parameters. It is for one goroutine at a time.
//
// A runner that keeps memory which the garbage collector does not know has a method Close.
type Runner interface {
	// Run computes the outputs of a from its inputs and returns when the caller can read them. Once it has run at a shape
	// it allocates nothing there. It keeps no slice of a.
	Run(s Shape, a *Args) error
}

// RunnerFunc is a runner that keeps nothing.
type RunnerFunc func(s Shape, a *Args) error

// Run calls f.
func (f RunnerFunc) Run(s Shape, a *Args) error { return f(s, a) }

// ErrRefused is wrapped by a runner's error where the implementation is sound and does not take these parameters or this
// shape, such as one that is too large for a GPU. A plan then computes on the next best implementation.
var ErrRefused = errors.New("not for this shape")

// Maker makes the runners of one implementation.
type Maker[P any] struct {
	Implementation
	New func(p P) (Runner, error)
}

// Makers returns the implementations of one kind on the given backends: none, one, or one for each GPU.
type Makers[P any] func(b *Backends, op *Op[P]) []Maker[P]

// Named returns the implementation of a name that computes on the processor.
func Named[P any](name string, build func(b *Backends, p P) (Runner, error)) Makers[P] {
	return func(b *Backends, _ *Op[P]) []Maker[P] {
		return []Maker[P]{{
			Implementation: Implementation{Name: name, Processor: CPU},
			New:            func(p P) (Runner, error) { return build(b, p) },
		}}
	}
}

// Library returns the implementation of a name that a processor's library computes, found at run time.
func Library[P any](name string, probe func() error, version func() string, build func(b *Backends, p P) (Runner, error)) Makers[P] {
	return func(b *Backends, _ *Op[P]) []Maker[P] {
		return []Maker[P]{{
			Implementation: Implementation{Name: name, Processor: CPU, Probe: probe, Version: version},
			New:            func(p P) (Runner, error) { return build(b, p) },
		}}
	}
}

// Loop is a computation that falls into rows, or elements, which do not depend on each other.
type Loop struct {
	// Rows returns how many there are at a shape.
	Rows func(s *Shape) int

	// Least is how many of them take some tenths of a microsecond, which is what handing them to another worker costs,
	// and a chunk is a multiple of Unit; see pool.Pool.Grain. Unit may be 0.
	Least, Unit int

	// Grain is how many make a chunk in place of what Least and Unit lead to. It may be nil.
	Grain func(rows int, p *pool.Pool) int

	// Do computes the rows from lo to hi−1. worker is below the number that the loop was made for, and no two goroutines
	// share it.
	Do func(worker int, s *Shape, a *Args, lo, hi int)
}

func (l *Loop) grain(rows int, p *pool.Pool) int {
	if l.Grain != nil {
		return l.Grain(rows, p)
	}
	return p.Grain(rows, max(1, l.Least), max(1, l.Unit))
}

// OverRows returns the implementations "go", which computes a loop on one core, and "go-parallel", which shares it out
// over the pool. build makes the loop for a number of workers.
func OverRows[P any](build func(p P, workers int) (Loop, error)) Makers[P] {
	return LoopNamed("go", "go-parallel", build)
}

// LoopNamed is OverRows under other names: of the serial implementation and of the parallel one.
func LoopNamed[P any](serial, parallel string, build func(p P, workers int) (Loop, error)) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		return slices.Concat(
			Named(serial, func(_ *Backends, p P) (Runner, error) {
				l, err := build(p, 1)
				return &serialLoop{loop: l}, err
			})(b, op),
			Named(parallel, func(b *Backends, p P) (Runner, error) {
				l, err := build(p, b.Pool.Workers())
				return &parallelLoop{loop: l, pool: b.Pool}, err
			})(b, op))
	}
}

// Probed adds to what an implementation needs: each of makers' competes only where probe returns nil.
func Probed[P any](probe func() error, version func() string, makers Makers[P]) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		all := makers(b, op)
		for i := range all {
			all[i].Probe, all[i].Version = probe, version
		}
		return all
	}
}

// serialLoop computes a loop on its caller.
type serialLoop struct {
	loop  Loop
	shape Shape
}

func (l *serialLoop) Run(s Shape, a *Args) error {
	l.shape = s
	l.loop.Do(0, &l.shape, a, 0, l.loop.Rows(&l.shape))
	return nil
}

// parallelLoop is the pool's task of a call; its index is the row.
type parallelLoop struct {
	loop  Loop
	pool  *pool.Pool
	shape Shape
	args  Args // of the call under way
}

func (l *parallelLoop) Run(s Shape, a *Args) error {
	l.shape, l.args = s, *a
	rows := l.loop.Rows(&l.shape)
	l.pool.Run(rows, l.loop.grain(rows, l.pool), l)
	l.args = Args{}
	return nil
}

// Do computes the rows from lo to hi−1.
func (l *parallelLoop) Do(worker, lo, hi int) { l.loop.Do(worker, &l.shape, &l.args, lo, hi) }
