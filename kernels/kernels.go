// Package kernels declares operations and computes them by the implementation that is fastest at each call.
//
// An operation is declared once, as an [Op]: its axes, its cases, the tensors of a call, its float64 reference and the
// [Makers] of its implementations. A declaration is plain data. Three things are made from it:
//
//   - [NewPlan] returns the [Plan] of a program, which the typed plan of each operation (softmax.Plan, stft.Plan) wraps;
//   - [Op.Cases] returns the cases that a sweep measures, and the sweep times the same plan;
//   - kerneltest.Run tests every implementation.
//
// The package holds no operation and times nothing. Each operation lives in a folder below (kernels/fft, kernels/stft …) and
// has one line in kernels/catalogue. The usual steps of a program are those of the typed plans: New, the method that
// computes, Close. A typed plan copies the slices of its parameters, so a program may change them after New. A GPU reaches
// memory from [Backends.Alloc] without copies by the processor. The usual steps of a measurement are
//
//  1. pick a [Case] from catalogue.Cases, its [Placement], and a size on its [Axis];
//  2. make the [Problem] of that size, which has the inputs and computes the float64 reference;
//  3. bind each [Implementation] that can run here to the problem, run the [Call], and compare its output with the reference
//     by [Call.ErrorAgainst].
package kernels

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Processor says where an implementation computes.
type Processor string

// The processors that implementations run on.
const (
	CPU Processor = "cpu"
	GPU Processor = "gpu"
)

// Cores says which cores of the processor the calls of an implementation may use.
type Cores int

// The cores that implementations compute on.
const (
	OneCore      Cores = iota // that of the caller
	AllCores                  // those of the pool, or the threads of a library that is told to use several; see [OnAllCores]
	LibraryCores              // a library decides at each call, as Apple's do
)

// Param is one fixed parameter of a case, such as batch=1.
type Param struct {
	Name  string
	Value int
}

// Axis is a size parameter of an operation.
type Axis struct {
	Name string // "n", "batch", "frames"
	Unit string // "samples", "rows", "elements"
	Min  int    // smallest size worth measuring, at least 1
	Max  int    // largest size worth measuring

	// Round returns the size nearest to n that the operation takes and that people use, such as an FFT length without large
	// prime factors. It is nil if the operation takes every size.
	Round func(n int) int

	// Usual are values that many programs have, ascending. A sweep over all shapes measures more of them.
	Usual []int
}

// Nearest returns the size on the axis nearest to n, which is in [Min, Max].
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
	Cores     Cores // that a call on the processor may use; it means nothing for a GPU

	// ErrorBound is the greatest error that the implementation promises. At every size, a greater one counts as wrong. 0
	// stands for the operation's tolerance, and then it is 0 for all implementations of the operation. Makers get a bound by
	// [Within].
	ErrorBound float64

	// Revision counts the changes after which the implementation takes other times. Times of another revision are those of
	// another program: a calibration joins them only at shapes that no change since concerns, and verify tests no other choices
	// that rest on them. Makers get a revision by [Revised] or [RevisedAt].
	Revision int

	partly []partly // changes that concern some shapes only: see [RevisedAt]

	// Probe returns nil if the implementation can run here, and otherwise an error of one line that says what is missing and
	// how to install it. If Probe is nil, the implementation can always run.
	Probe func() error

	// Version returns the name and the version of the library behind the implementation. It is called only after Probe
	// returned nil. It may be nil, as for our own code.
	Version func() string
}

// partly is a change that concerns some shapes only.
type partly struct {
	revision int // that the change made
	concerns func(s Shape, processors int) bool
}

// Holds reports whether a call at a shape takes the time that it took at an earlier revision on a machine with so many logical
// processors, because no change since then concerns both. 0 stands for a machine of which that is not known: it may have any number,
// and what concerns many counts.
func (i Implementation) Holds(revision int, s Shape, processors int) bool {
	if revision > i.Revision {
		return false
	}
	if processors == 0 {
		processors = math.MaxInt
	}
	for r := revision + 1; r <= i.Revision; r++ {
		at := slices.IndexFunc(i.partly, func(p partly) bool { return p.revision == r })
		if at < 0 || i.partly[at].concerns(s, processors) {
			return false
		}
	}
	return true
}

// Missing returns nil if the implementation can run here, and otherwise an error that says what is missing.
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

// Case is an operation with all axes fixed but one.
type Case struct {
	Name       string // "fft/batch=1": the operation, then the fixed parameters
	Operation  string // "fft"
	Definition string // the formula, with units, in one line
	Source     string // where the formula comes from: a paper, a standard, a library's documentation
	Params     []Param
	Axis       Axis

	// Tolerance returns the greatest error against the float64 reference that counts as right at a size, for implementations
	// without a bound of their own: see Allowed. Errors are those of Call.ErrorAgainst.
	Tolerance func(size int) float64

	// Bytes returns the least memory traffic of one call in bytes: every input is read once, and every output is written
	// once. A call that takes less time than the memory needs for these bytes did not do the work.
	Bytes func(size int) float64

	// OneWinner says why one core is expected to be fastest at every size ("each sample waits for the one before it"). It is
	// empty if several cores or a GPU may be faster.
	OneWinner string

	// Implementations are those of the given backends. A program without measurements prefers them in this order. Some may
	// lack a library or a device: see Implementation.Missing.
	Implementations []Implementation

	// Alone says that programs choose by cases of the operation only, not by predictions: it has one axis, or its plans do not
	// know the values of the others.
	Alone bool

	// Placement says where the data of the case's calls lie.
	Placement Placement

	// Shape returns the shape that a size stands for, where the case is that of a Space, and Axes are the names of its values. Both
	// are nil for a line.
	Shape func(size int) []int
	Axes  []string

	// Work returns what a call has to do at a size by the algorithm of a variant: see [Op].
	Work func(size int, variant string) Work

	// Compile compiles the kernels that an implementation on a GPU needs at a size, so that its first call need not. For
	// other implementations it does nothing. Several goroutines may call it at a time. It is nil for modelled cases.
	Compile func(size int, implementation string) error

	at      func(size int) Shape // nil for modelled cases
	placed  func(p Placement) Case
	program func(p Problem, implementation string) (Call, error) // nil if no typed plan is known
	// onProcessor says that no typed plan runs on a GPU.
	onProcessor bool

	// Problem makes the problem of the case at one size. It allocates, so call it before timing starts. Audio operations
	// take their samples from in. The others use seeded noise.
	Problem func(size int, in Input) Problem
}

// Holds reports whether a call at a size takes the time that an implementation took at an earlier revision, on a machine with so many
// logical processors: see [Implementation.Holds]. It is for cases of a line.
func (c *Case) Holds(implementation string, revision, size, processors int) bool {
	return c.at != nil && c.holds(implementation, revision, c.at(size), processors)
}

// HoldsAt is [Case.Holds] at a shape, which is given by the values of its axes.
func (c *Case) HoldsAt(implementation string, revision int, values []int, processors int) bool {
	var s Shape
	return copy(s[:], values) == len(values) && c.holds(implementation, revision, s, processors)
}

func (c *Case) holds(implementation string, revision int, s Shape, processors int) bool {
	return slices.ContainsFunc(c.Implementations, func(i Implementation) bool { return i.Name == implementation && i.Holds(revision, s, processors) })
}

// Placed returns the case with its data in another placement.
func (c Case) Placed(p Placement) Case {
	if p == c.Placement || c.placed == nil {
		return c
	}
	return c.placed(p)
}

// At names a size: "16384 samples". Where sizes stand for shapes, it names the shape: "n_fft=480,hop=160,n=48000".
func (c *Case) At(size int) string {
	if len(c.Axes) == 0 {
		return fmt.Sprintf("%d %s", size, c.Axis.Unit)
	}
	var parts []string
	for i, value := range c.Shape(size) {
		parts = append(parts, fmt.Sprintf("%s=%d", c.Axes[i], value))
	}
	return strings.Join(parts, ",")
}

// Allowed returns the greatest error of an implementation that counts as right at a size.
func (c *Case) Allowed(implementation string, size int) float64 {
	for i := range c.Implementations {
		if known := &c.Implementations[i]; known.Name == implementation && known.ErrorBound > 0 {
			return known.ErrorBound
		}
	}
	return c.Tolerance(size)
}

// Release frees what a problem holds outside of Go's heap. It must not be called while a call of the problem runs.
func Release(p Problem) {
	if r, ok := p.(interface{ Release() }); ok {
		r.Release()
	}
}

// Problem is one case at one size. It has the inputs of a call and binds implementations to them.
type Problem interface {
	// Reference computes the outputs in float64. A complex value is two numbers, its real and its imaginary part.
	Reference() []float64
	// Bind makes the named implementation ready: it allocates buffers and builds plans. It fails if the implementation is
	// unknown or cannot run here. All calls of a problem share its inputs and must not change them.
	Bind(implementation string) (Call, error)
}

// Call is one implementation bound to one problem.
type Call struct {
	// Run computes the output from the input once. It returns when the caller can read the output.
	Run func() error
	// Output returns the words of all outputs that the last Run computed, in the order of Problem.Reference.
	Output func() []float32
	// Numbers returns the last output as numbers of a reference, so that the outputs of others can be compared with it. It
	// may be nil.
	Numbers func() []float64
	// Error returns how far the outputs of the last Run are from the reference, by the operation's own measure. If Error is
	// nil, the measure is RelativeError of Output.
	Error func(want []float64) float64
	// Close releases what the call holds. It may be nil.
	Close func()
	// Divided returns how many loops the pool has divided among cores so far, whoever ran them. It is nil for a call that does
	// not run on the pool.
	Divided func() uint64
	// GPU is what a call on a GPU can do besides. It is nil for a call on the processor.
	GPU *GPUCall
}

// ErrorAgainst returns how far the outputs of the last Run are from the reference.
func (c Call) ErrorAgainst(want []float64) float64 {
	if c.Error != nil {
		return c.Error(want)
	}
	return RelativeError(c.Output(), want)
}

// Release releases what the call holds.
func (c Call) Release() {
	if c.Close != nil {
		c.Close()
	}
}

// ErrUnknownImplementation is wrapped by Bind for a name that the case does not have.
var ErrUnknownImplementation = errors.New("kernels: no such implementation")
