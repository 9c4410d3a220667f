package kernels

import (
	"fmt"
	"slices"
	"strings"

	"crossover/calibration/surface"
	"crossover/dispatch"
)

// Op declares an operation: what it computes, over which shapes, and by which implementations. Everything else comes from
// the declaration: the plan of a program ([NewPlan]), the cases of a sweep (Cases), and the tests (kerneltest.Run). P is the
// type of the parameters. Parameters are what all calls of a plan have in common, such as the number of columns or the taps
// of a filter.
//
// A declaration is plain data. Making one opens no device and loads no library.
type Op[P any] struct {
	Name    string // "softmax"
	Formula string // with units, in one line
	Source  string // where the formula comes from: a paper, a standard, a library's documentation

	// Axes are the size parameters. A Shape has a value for each of them, in this order.
	Axes []Axis

	// Lines are the cases that are measured and drawn. There is at least one.
	Lines []Line

	// Params returns the parameters with which a shape is measured.
	Params func(s Shape) P

	// Check returns the error with which the typed plan refuses parameters. Nil means that it takes all of positive values.
	Check func(p P) error

	// IO lists the tensors of a call in the order of its Args, outputs first. State that one call hands to the next is two
	// tensors: an input and an output.
	IO func(p P, s Shape) []Tensor

	// Fill writes the inputs with which a shape is measured. If Fill is nil, the inputs are seeded noise in [−1, 1).
	Fill func(p P, s Shape, in Input, a *Args)

	// Reference computes the outputs in float64, one after the other in the order of IO. A complex value is two numbers. An
	// index is one, and so is a float64.
	Reference func(p P, s Shape, a *Args) []float64

	// Tolerance returns the greatest error that counts as right at a shape. Judge measures errors. Implementations may have
	// bounds of their own in its place: see [Within].
	Tolerance func(s Shape) float64

	// Judge measures the error of an output against the reference. Nil means [RelativeError].
	Judge Judge

	// Work returns what a call has to do at a shape by the algorithm of a variant: "fft" stands for the algorithm of
	// "go/fft", and "dense" for a library that multiplies by a whole matrix. For "" the result has the least number of bytes
	// that any implementation moves.
	Work func(s Shape, variant string) Work

	// Features are what a prediction of times looks at beside the logarithm of each axis: products of axes that work grows
	// with, factors of a length.
	Features []surface.Feature

	// Family names the operations of the same axes and features whose implementations do much the same work, such as a
	// transform and its inverse. What is measured of one says much of the others. "" stands for no other operation.
	Family string

	// Draw returns the shape at a point of the unit cube, for sweeps over all shapes, and the zero Shape where that is
	// none. Where it is nil each axis goes from Min to Max in equal factors, half of the shapes with one of its Usual values.
	Draw func(at []float64) Shape

	// Judged returns the line whose thresholds decide a call if the calibration predicts nothing at its shape, as an index of
	// Lines, and the size of the call on the line's axis. It is for operations whose calls differ in several axes. If Judged
	// is nil, the line through the shape along the axis of the first line decides. That line need not have been measured.
	Judged func(p P, s Shape) (line, size int)

	// OnProcessor says that a program's plans run on the processor only. The implementations on a GPU compute what a sweep
	// measures, and a program does not get them.
	OnProcessor bool

	// Hidden says that a program's plans do not know the values of all axes. So nothing is predicted for them, and they choose
	// as on a line.
	Hidden bool

	// Growing appends the operation's own kernels for inputs that grow from call to call and stay on the GPU. Nil stands for
	// none.
	Growing *Growing[P]

	// Alike returns the shape whose times decide a call, if the parameters hold what no axis tells, such as groups of channels.
	// It is the shape of a measured call with as much work. If Alike is nil, each call is decided by its own shape.
	Alike func(p P, s Shape) Shape

	// By lists the implementations. A program without measurements prefers them in this order.
	By []Makers[P]
}

// Declare returns a declaration unchanged, and tells package dispatch that this program has the operation. Each operation is
// declared in a variable of its package by a call of Declare.
func Declare[P any](op Op[P]) Op[P] {
	var axes []string
	for _, a := range op.Axes {
		axes = append(axes, a.Name)
	}
	dispatch.Declare(op.Name, axes...)
	return op
}

// MostAxes is the greatest number of axes of an operation. MostTensors is the greatest number of tensors of a call.
const (
	MostAxes    = 6
	MostTensors = 6
)

// Shape is a value for every axis of an operation, in the order of [Op].Axes. Values beyond the last axis are 0.
type Shape [MostAxes]int

// Args are the data of one call in the order of [Op].IO, as 32-bit words. A complex64 is two words: see [Complex] and
// [ComplexWords]. A float64 is two words: see [Float64s] and [Float64Words]. An integer is one word that holds its bits: see
// [Uint32s] and [Uint32Words].
type Args [MostTensors][]float32

// Role says what a call does with a tensor.
type Role int

// The roles.
const (
	In  Role = iota // read
	Out             // written, all of it
)

// Element is the type of a tensor's elements.
type Element string

// The types of elements.
const (
	Float32   Element = "float32"
	Complex64 Element = "complex64" // two words: real and imaginary part
	Float64   Element = "float64"   // two words, low before high: for state; the buffer on a GPU holds them as integers
	Uint32    Element = "uint32"
	Int32     Element = "int32"
)

// words returns how many 32-bit words an element takes.
func (e Element) words() int {
	if e == Complex64 || e == Float64 {
		return 2
	}
	return 1
}

// numbers returns how many numbers an element takes in a reference.
func (e Element) numbers() int {
	if e == Complex64 {
		return 2
	}
	return 1
}

// Tensor is one input or output of a call: row-major, without gaps.
type Tensor struct {
	Name string // as in the formula
	Role Role
	Type Element
	Dims []int

	// InPlaceOf is the name of the input in whose memory an output may lie, value for value. It is empty if there is none. The
	// data of an output overlap no others.
	InPlaceOf string
}

// Len returns the number of 32-bit words that the tensor takes.
func (t Tensor) Len() int {
	n := t.Type.words()
	for _, d := range t.Dims {
		n *= d
	}
	return n
}

// Numbers returns how many numbers the tensor takes in a reference.
func (t Tensor) Numbers() int { return t.Len() / t.Type.words() * t.Type.numbers() }

// Work is what one call has to do. Models of machines predict times from it. Its bytes and operations give the least time
// that memory and arithmetic allow.
type Work struct {
	Bytes    float64 // read and written once
	Flops    float64 // floating-point operations, a multiply-add counted as two
	Pieces   float64 // parts that processor cores can compute at the same time; 0 stands for many
	Threads  float64 // GPU threads that have work; 0 stands for one per element
	Chain    float64 // steps of the longest recurrence; 0 if there is none
	Launches float64 // kernels that a GPU runs; 0 stands for 1

	// Kind says what limits the speed of a library that computes the call.
	Kind WorkKind
}

// WorkKind says what most of a call consists of.
type WorkKind string

// The kinds of work. Most operations have none.
const (
	Product   WorkKind = "product"   // a matrix product: libraries compute it near peak arithmetic
	Transform WorkKind = "transform" // Fourier transforms: memory limits their speed
)

// Line is a case: the shapes at which all axes are fixed but one. Axes that are not fixed all have the size, as those of square
// matrices have.
type Line struct {
	Name  string  // follows the operation's name: "columns=1024"; "" if nothing is fixed
	Fixed []Param // in the order of Name, unless that is a word
	Axis  Axis    // on which the size runs
	At    func(size int) Shape

	// OneWinner says why one core is expected to be fastest at every size ("each sample waits for the one before it"). It is
	// empty if several cores or a GPU may be faster.
	OneWinner string

	// Without returns why an implementation is left out of this line, or nil if it takes part. If Without is nil, all take
	// part.
	Without func(implementation string) error
}

// Along returns the line along the axis named running. All other axes are fixed. Along panics if a name is not among the
// axes, which is a mistake in a declaration.
func Along(axes []Axis, running string, fixed ...Param) Line {
	line := Line{Fixed: fixed, Name: paramNames(fixed)}
	var base Shape
	for _, p := range fixed {
		base[axisIndex(axes, p.Name)] = p.Value
	}
	at := axisIndex(axes, running)
	line.Axis = axes[at]
	line.At = func(size int) Shape {
		s := base
		s[at] = size
		return s
	}
	return line
}

func axisIndex(axes []Axis, name string) int {
	i := slices.IndexFunc(axes, func(a Axis) bool { return a.Name == name })
	if i < 0 {
		panic(fmt.Sprintf("kernels: %q is not an axis of the operation", name))
	}
	return i
}

// paramNames returns "n_fft=2048,hop=512".
func paramNames(params []Param) string {
	parts := make([]string, len(params))
	for i, p := range params {
		parts[i] = fmt.Sprintf("%s=%d", p.Name, p.Value)
	}
	return strings.Join(parts, ",")
}

// caseName returns the name of a line's case: "softmax/columns=1024".
func (o *Op[P]) caseName(line *Line) string { return joinName(o.Name, line.Name) }

func joinName(operation, parameters string) string {
	if parameters == "" {
		return operation
	}
	return operation + "/" + parameters
}

// through returns the line through a shape along the axis of the first line.
func (o *Op[P]) through(s Shape) Line {
	first := &o.Lines[0]
	var fixed []Param
	for _, p := range first.Fixed {
		fixed = append(fixed, Param{p.Name, s[axisIndex(o.Axes, p.Name)]})
	}
	return Along(o.Axes, first.Axis.Name, fixed...)
}

// alike returns the shape whose times decide a call.
func (o *Op[P]) alike(p *P, s Shape) Shape {
	if o.Alike == nil {
		return s
	}
	return o.Alike(*p, s)
}

// makers returns the implementations on the given backends.
func (o *Op[P]) makers(b *Backends) []Maker[P] {
	var all []Maker[P]
	for _, makers := range o.By {
		all = append(all, makers(b, o)...)
	}
	return all
}
