package songs

import (
	"fmt"
	"slices"

	"crossover/kernels"
)

// Graph declares a pipeline. It is plain data, and [Graph.Check] says what is wrong with it.
//
// Each tensor has a name. An input and a derived tensor have their own. The first output of a stage has the name of the stage,
// and every other one the name of the stage and its own: "beats" and "beats.count".
type Graph struct {
	Name    string
	Inputs  []Input // of a call, in their order
	Stages  []Stage // in any order; those that may come in any order keep this one
	Derived []Derived
	Outputs []string // tensors that stay readable after a call

	inParts *inParts // how a long input is computed; nil for as every input
}

// Input is a tensor that a program passes to a call.
type Input struct {
	Name string
	Type kernels.Element
	// Usual is a number of elements that calls have. Check tests with it that the lengths of all tensors fit together.
	Usual int
}

// Stage is an operation at one place of a graph.
type Stage struct {
	Name  string
	Step  kernels.Step
	Reads []string // tensors, in the order of the operation's inputs
	// Shape returns the shape of a call by the lengths of tensors, which may be any that are known before the stage.
	Shape func(of Lengths) kernels.Shape
	// Words says that the stage takes the words of what it reads, whatever the elements are: a complex value as two floats.
	Words bool

	// Decides names a tensor of one integer, whose value decides on the parameters. Decided then returns the step for a value,
	// and Step is not used. Decided must accept 0.
	Decides string
	Decided func(value uint32) (kernels.Step, error)
}

// Lengths returns the number of elements of a tensor. It panics if the stage cannot know the tensor.
type Lengths func(tensor string) int

// Derived is a tensor that no operation computes. Tensors are derived in the memory of the processor, except for [All] tensors of
// stages whose operation lets them grow on the GPU (see [kernels.Growing]), while these stages run there.
type Derived struct {
	Name string
	Of   string // the tensor that it is derived from
	How  How
	// Columns is the length of a row of Of in words, for All and Turned.
	Columns int
}

// How says how a tensor is derived from another one.
type How int

// The derivations.
const (
	Last   How = iota // what the other tensor was at the end of the last call; zeros in the first one
	All               // the rows of all calls so far and of this one: see Append
	Turned            // the transpose, of 32-bit words
)

// All appends. The tensor of a call is rows×columns, and the derived one rows×calls×columns: each row becomes a matrix with a
// row of each call. So the keys of a decoder's heads grow from step to step.

// step returns the step of a stage for a value that decides.
func (s *Stage) step(value uint32) (kernels.Step, error) {
	if s.Decides == "" {
		return s.Step, nil
	}
	return s.Decided(value)
}

// inputs and outputs return the tensors of a call with a role.
func inputs(all []kernels.Tensor) []kernels.Tensor {
	return slices.DeleteFunc(slices.Clone(all), func(t kernels.Tensor) bool { return t.Role != kernels.In })
}

func outputs(all []kernels.Tensor) []kernels.Tensor {
	return slices.DeleteFunc(slices.Clone(all), func(t kernels.Tensor) bool { return t.Role != kernels.Out })
}

// Along returns the shape of a stage whose calls differ in one number: the length of a tensor divided by each. shape is what
// [kernels.StepOfPlan] returns. Along panics if each is below 1.
func Along(tensor string, each int, shape func(size int) kernels.Shape) func(of Lengths) kernels.Shape {
	if each < 1 {
		panic(fmt.Sprintf("songs: Along(%q, %d): want at least 1 element for each", tensor, each))
	}
	return func(of Lengths) kernels.Shape { return shape(of(tensor) / each) }
}

// Always returns the shape of a stage whose calls are all alike.
func Always(s kernels.Shape) func(of Lengths) kernels.Shape {
	return func(Lengths) kernels.Shape { return s }
}
