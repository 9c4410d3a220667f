package kernels

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"crossover/native/openblas"
	"crossover/pool"
)

// Runner is one implementation, made ready for parameters. Only one goroutine at a time may use a Runner.
//
// A Runner that holds memory outside of Go's heap has a method Close. Nobody calls Run after Close.
type Runner interface {
	// Run computes the outputs in a from the inputs in a. It returns when the caller can read the outputs. It allocates
	// nothing at a shape at which it has run twice. It keeps no slice of a.
	Run(s Shape, a *Args) error
}

// RunnerFunc is a [Runner] without state.
type RunnerFunc func(s Shape, a *Args) error

// Run calls f.
func (f RunnerFunc) Run(s Shape, a *Args) error { return f(s, a) }

// ErrRefused says that an implementation works, but not with these parameters or at this shape. For example, a shape may be
// too large for a GPU. Errors of implementations wrap ErrRefused. A plan then computes the call by the next best
// implementation, and still uses the one that refused for other calls.
var ErrRefused = errors.New("not for this shape")

// Maker makes the runners of one implementation.
type Maker[P any] struct {
	Implementation
	New func(p P) (Runner, error)

	onPool bool // see OnPool
}

// Makers returns the makers of one kind of implementation on the given backends, such as one for each GPU. There may be
// none.
type Makers[P any] func(b *Backends, op *Op[P]) []Maker[P]

// Named returns an implementation on the processor with the given name.
func Named[P any](name string, build func(b *Backends, p P) (Runner, error)) Makers[P] {
	return func(b *Backends, _ *Op[P]) []Maker[P] {
		return []Maker[P]{{
			Implementation: Implementation{Name: name, Processor: CPU},
			New:            func(p P) (Runner, error) { return build(b, p) },
		}}
	}
}

// Library returns an implementation with the given name by a library for the processor that is loaded at run time. See
// [Implementation] for probe and version.
func Library[P any](name string, probe func() error, version func() string, build func(b *Backends, p P) (Runner, error)) Makers[P] {
	return func(b *Backends, _ *Op[P]) []Maker[P] {
		return []Maker[P]{{
			Implementation: Implementation{Name: name, Processor: CPU, Probe: probe, Version: version},
			New:            func(p P) (Runner, error) { return build(b, p) },
		}}
	}
}

// InGo returns two implementations in Go: "go" computes on one core, "go-parallel" on the workers of the pool.
func InGo[P any](serial func(p P) Runner, parallel func(p P, workers *pool.Pool) Runner) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		return slices.Concat(
			Named("go", func(_ *Backends, p P) (Runner, error) { return serial(p), nil })(b, op),
			OnPool(Named("go-parallel", func(b *Backends, p P) (Runner, error) { return parallel(p, b.Pool), nil }))(b, op))
	}
}

// OpenBLAS returns two implementations by OpenBLAS: "openblas" on one thread, "openblas-parallel" on all of OpenBLAS's
// threads. A revision of package openblas is one of theirs.
func OpenBLAS[P any](build func(p P, threads int) Runner) Makers[P] {
	on := func(name string, threads func() int) Makers[P] {
		return Revised(openblas.Revision, Library(name, openblas.Probe, openblas.Version,
			func(_ *Backends, p P) (Runner, error) { return build(p, threads()), nil }))
	}
	return func(b *Backends, op *Op[P]) []Maker[P] {
		return slices.Concat(on("openblas", func() int { return 1 })(b, op), OnAllCores(on("openblas-parallel", openblas.Threads))(b, op))
	}
}

// Loop computes rows, or elements, that do not depend on each other.
type Loop struct {
	// Rows returns the number of rows at a shape.
	Rows func(s *Shape) int

	// PerMicrosecond is the number of rows that take about a microsecond on a core, below 1 if a row takes longer. 0 stands for
	// 1. The length of a chunk is a multiple of Unit if Unit is above 0. See [pool.Pool.Grain].
	PerMicrosecond float64
	Unit           int

	// Grain returns the number of rows in a chunk at a shape. It replaces PerMicrosecond and Unit. It may be nil.
	Grain func(s *Shape, rows int, p *pool.Pool) int

	// Do computes the rows from lo to hi−1. worker is at least 0 and below the number of workers for which the loop was
	// made. No two calls at the same time have the same worker.
	Do func(worker int, s *Shape, a *Args, lo, hi int)
}

func (l *Loop) grain(s *Shape, rows int, p *pool.Pool) int {
	if l.Grain != nil {
		return l.Grain(s, rows, p)
	}
	return p.Grain(rows, cmp.Or(l.PerMicrosecond, 1), max(1, l.Unit))
}

// OverRows returns two implementations by one loop: "go" computes it on one core, and "go-parallel" divides it among the
// workers of the pool. build makes the loop for a number of workers.
func OverRows[P any](build func(p P, workers int) (Loop, error)) Makers[P] {
	return LoopNamed("go", "go-parallel", build)
}

// LoopNamed is [OverRows] with other names for the two implementations.
func LoopNamed[P any](serial, parallel string, build func(p P, workers int) (Loop, error)) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		return slices.Concat(
			Named(serial, func(_ *Backends, p P) (Runner, error) { return OnOneCore(build)(p) })(b, op),
			OnPool(Named(parallel, func(b *Backends, p P) (Runner, error) {
				l, err := build(p, b.Pool.Workers())
				return &parallelLoop{loop: l, pool: b.Pool}, err
			}))(b, op))
	}
}

// OnOneCore returns a function for [Framework]. It makes a runner that computes a loop on the goroutine of the caller.
func OnOneCore[P any](build func(p P, workers int) (Loop, error)) func(p P) (Runner, error) {
	return func(p P) (Runner, error) {
		l, err := build(p, 1)
		return &serialLoop{loop: l}, err
	}
}

// Probed returns the implementations of makers with another probe and version. See [Implementation].
func Probed[P any](probe func() error, version func() string, makers Makers[P]) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		all := makers(b, op)
		for i := range all {
			all[i].Probe, all[i].Version = probe, version
		}
		return all
	}
}

// OnAllCores returns the implementations of makers, and declares that their calls use several cores. Their names end with
// "-parallel", before a variant. A sweep then makes the calls as a program does, on a goroutine that is locked to no thread.
func OnAllCores[P any](makers Makers[P]) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		all := makers(b, op)
		for i := range all {
			all[i].Cores = AllCores
		}
		return all
	}
}

// OnPool is [OnAllCores] for implementations that run on the pool. A revision of the pool is one of theirs. The pool does not
// divide short loops, so a short call takes one core, and computes as the implementation on one core does. Such calls tell
// by [Call.Divided].
func OnPool[P any](makers Makers[P]) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		all := Revised(pool.Revision, OnAllCores(makers))(b, op)
		for i := range all {
			all[i].onPool = true
		}
		return all
	}
}

// Within returns the implementations of makers with an error bound of their own, in place of the operation's tolerance. If
// one implementation of an operation has a bound, all have. A plan with a limit ([Plan.SetMaxError]) chooses among those
// whose bound is at most the limit, and a calibration has thresholds for each bound.
func Within[P any](bound float64, makers Makers[P]) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		all := makers(b, op)
		for i := range all {
			all[i].ErrorBound = bound
		}
		return all
	}
}

// Revised returns the implementations of makers with a revision that is raised by a number, which is above the one before:
// see [Implementation]. If there are names, only the implementations with these names have it.
func Revised[P any](revision int, makers Makers[P], names ...string) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		all := makers(b, op)
		for i := range all {
			if len(names) == 0 || slices.Contains(names, all[i].Name) {
				all[i].Revision += revision
			}
		}
		return all
	}
}

// RevisedAt returns the implementations of makers with a revision that is raised by 1, by a change that concerns only the shapes for
// which concerns returns true. What was measured at others holds. revision is the raised one. A later change raises it further and
// comes around this one. RevisedAt panics if an implementation has another revision, which is a mistake in a declaration.
//
// If a revision within is raised later, such as the pool's, RevisedAt panics too. Replace it by [Revised] then, because that change
// concerns all shapes.
func RevisedAt[P any](revision int, concerns func(s Shape) bool, makers Makers[P], names ...string) Makers[P] {
	return RevisedOn(revision, func(s Shape, _ int) bool { return concerns(s) }, makers, names...)
}

// RevisedOn is [RevisedAt] for a change that also depends on the number of workers in the pool. What concerns a number must concern all
// greater ones: concerns gets the number of logical processors of a machine, and a limit on a process, such as GOMAXPROCS, gives the
// pool fewer.
func RevisedOn[P any](revision int, concerns func(s Shape, processors int) bool, makers Makers[P], names ...string) Makers[P] {
	return func(b *Backends, op *Op[P]) []Maker[P] {
		all := makers(b, op)
		for i := range all {
			if len(names) > 0 && !slices.Contains(names, all[i].Name) {
				continue
			}
			if all[i].Revision++; all[i].Revision != revision {
				panic(fmt.Sprintf("kernels: %s of %s has revision %d, which is declared as %d", all[i].Name, op.Name, all[i].Revision, revision))
			}
			all[i].partly = append(all[i].partly, partly{revision, concerns})
		}
		return all
	}
}

// serialLoop computes a loop on the goroutine of the caller.
type serialLoop struct {
	loop  Loop
	shape Shape
}

func (l *serialLoop) Run(s Shape, a *Args) error {
	l.shape = s
	l.loop.Do(0, &l.shape, a, 0, l.loop.Rows(&l.shape))
	return nil
}

// parallelLoop computes a loop on a pool. It is the pool's task, with an index for each row.
type parallelLoop struct {
	loop  Loop
	pool  *pool.Pool
	shape Shape
	args  Args // of the current call
}

func (l *parallelLoop) Run(s Shape, a *Args) error {
	l.shape = s
	rows := l.loop.Rows(&l.shape)
	grain := l.loop.grain(&l.shape, rows, l.pool)
	if rows <= grain { // nothing to divide: the arguments need not be kept for the workers
		l.loop.Do(0, &l.shape, a, 0, rows)
		return nil
	}
	l.args = *a
	l.pool.Run(rows, grain, l)
	l.args = Args{}
	return nil
}

// Do computes the rows from lo to hi−1.
func (l *parallelLoop) Do(worker, lo, hi int) { l.loop.Do(worker, &l.shape, &l.args, lo, hi) }
