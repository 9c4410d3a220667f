// Package kernels declares operations and computes them by the implementation that is fastest at each call.
//
// An operation is declared once, as an [Op]: its axes, its cases, the tensors of a call, its float64 reference and the
// [Makers] of its implementations. A declaration is plain data. Three things are made from it:
//
//   - [NewPlan] returns the [Plan] of a program, which the typed plan of each operation (softmax.Plan, stft.Plan) wraps;
//   - [Op.Cases] returns the cases that a sweep measures, and they time that same plan;
//   - kerneltest.Run tests every implementation.
//
// The package holds no operation and times nothing. Each operation lives in a folder below (kernels/fft, kernels/stft
// …) and has one line in kernels/catalogue. The usual steps of a program are those of the typed plans: New, the method
// that computes, Close. Memory from [Backends.Alloc] saves a GPU the copies. The usual steps of a measurement are
//
//  1. pick a [Case] from catalogue.Cases, its [Placement], and a size on its [Axis];
//  2. make the [Problem] of that size: its inputs and, on demand, its float64 reference;
//  3. bind each [Implementation] that is there to the problem, run the [Call], and hold its output against the reference
//     with [Call.ErrorAgainst].
package kernels

import (
	"errors"
	"strings"
)

// Processor says where an implementation computes.
type Processor string

// The processors that implementations run on.
const (
	CPU Processor = "cpu"
	GPU Processor = "gpu"
)

// Param is one fixed parameter of a case, such as batch=1.
type Param struct {
	Name  string
	Value int
}

// Axis is a size parameter of an operation.
type Axis struct {
	Name string // "n", "batch", "frames"
	Unit string // "samples", "rows", "elements": what one step of the axis is
	Min  int    // smallest size worth measuring, at least 1
	Max  int    // largest size worth measuring

	// Round returns the size nearest to n that the operation takes and that people use (an FFT length without large
	// prime factors, say). It is nil where every size is as good as any other.
	Round func(n int) int
}

// Nearest returns the size on the axis nearest to n: clamped to [Min, Max] and rounded by Round.
func (a Axis) Nearest(n int) int {
	n = min(max(n, a.Min), a.Max)
	if a.Round != nil {
		n = min(max(a.Round(n), a.Min), a.Max)
	}
	return n
}

// Implementation names one way to compute a case and says whether this machine has it.
type Implementation struct {
	Name      string // "go", "go-parallel", "fftw", "go/direct"
	Processor Processor

	// Probe returns nil where the implementation can run here, else one line that says what is missing and what
	// would bring it. A nil Probe means always there.
	Probe func() error

	// Version names the library behind the implementation and its version, "" for our own code. It is called only
	// after Probe returned nil. It may be nil.
	Version func() string
}

// Parallel reports whether the name of an implementation says that it spreads over the processors: "go-parallel",
// "fftw-parallel", "go-parallel/direct". Libraries that decide that for themselves, such as Apple's, do not show it in
// their names.
func Parallel(implementation string) bool {
	name, _, _ := strings.Cut(implementation, "/")
	return strings.HasSuffix(name, "-parallel")
}

// Missing returns nil where the implementation can run here, else what is missing.
func (i Implementation) Missing() error {
	if i.Probe == nil {
		return nil
	}
	return i.Probe()
}

// LibraryVersion returns the version of the library behind the implementation, or "".
func (i Implementation) LibraryVersion() string {
	if i.Version == nil {
		return ""
	}
	return i.Version()
}

// Case is an operation with every parameter fixed but the axis.
type Case struct {
	Name       string // "fft/batch=1": the operation, then the fixed parameters
	Operation  string // "fft"
	Definition string // the formula, with units, in one line
	Source     string // where the formula comes from: a paper, a standard, a library's documentation
	Params     []Param
	Axis       Axis

	// Tolerance is the greatest error against the float64 reference at a size, as Call.ErrorAgainst counts it.
	Tolerance func(size int) float64

	// Bytes is the least memory traffic of one call in bytes: every input is read once, every output is written once. A
	// call that takes less time than the memory needs for them did not do the work.
	Bytes func(size int) float64

	// OneWinner says why a single implementation is expected to win at every size ("recurrence over n"). It is empty
	// where a crossover is expected.
	OneWinner string

	// Implementations are those of this machine's backends, in the order of preference of a program that knows no
	// measurements. Some may lack a library or a device: see Implementation.Missing.
	Implementations []Implementation

	// Placement says where the data of the case's calls lie.
	Placement Placement

	// Work is what a call has to do at a size, by the algorithm that variant names: see [Op].
	Work func(size int, variant string) Work

	placed  func(p Placement) Case
	program func(p Problem, implementation string) (Call, error) // nil where no typed plan is known

	// Problem makes the case's problem at one size. It allocates, so call it before timing starts. Audio operations take
	// their samples from in; the others use seeded noise.
	Problem func(size int, in Input) Problem
}

// Placed returns the case with its data in another placement. Implementations on the processor compute the same in each.
func (c Case) Placed(p Placement) Case {
	if p == c.Placement || c.placed == nil {
		return c
	}
	return c.placed(p)
}

// Release gives back what a problem holds outside of Go's heap. It must not be called while a call of the problem runs.
func Release(p Problem) {
	if r, ok := p.(interface{ Release() }); ok {
		r.Release()
	}
}

// Problem is one case at one size: an input, its right answer, and a way to bind implementations to it.
type Problem interface {
	// Reference computes the answer in float64, complex values as interleaved real and imaginary parts.
	Reference() []float64
	// Bind makes the named implementation ready: it allocates buffers and builds plans. The calls of one problem share
	// its inputs and must not change them.
	Bind(implementation string) (Call, error)
}

// Call is one implementation bound to one problem.
type Call struct {
	// Run computes the output from the input once. It returns when the caller can read the output.
	Run func() error
	// Output returns what the last Run computed, in the order of Problem.Reference: the words of all outputs.
	Output func() []float32
	// Error returns how far the last Run's output is from the reference, as the operation judges it. Nil stands for
	// RelativeError of Output.
	Error func(want []float64) float64
	// Close releases what Bind took. It may be nil.
	Close func()
	// GPU is what else a call can do that a GPU computes; nil for the others.
	GPU *GPUCall
}

// ErrorAgainst returns how far the last Run's output is from the reference.
func (c Call) ErrorAgainst(want []float64) float64 {
	if c.Error != nil {
		return c.Error(want)
	}
	return RelativeError(c.Output(), want)
}

// Release closes the call if it holds anything.
func (c Call) Release() {
	if c.Close != nil {
		c.Close()
	}
}

// ErrUnknownImplementation is wrapped by Bind for a name that the case does not have.
var ErrUnknownImplementation = errors.New("kernels: no such implementation")
