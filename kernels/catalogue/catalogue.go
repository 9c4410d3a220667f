// Package catalogue lists every operation of Crossover, in one line each. The operations themselves are in the packages that
// it imports.
package catalogue

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crossover/kernels"
	"crossover/kernels/biquad"
	"crossover/kernels/conv1d"
	"crossover/kernels/elementwise"
	"crossover/kernels/fft"
	"crossover/kernels/linear"
	"crossover/kernels/matmul"
	"crossover/kernels/mel"
	"crossover/kernels/oscillator"
	"crossover/kernels/reduce"
	"crossover/kernels/rmsnorm"
	"crossover/kernels/softmax"
	"crossover/kernels/stagegraph"
	"crossover/kernels/stft"
)

// operations are in the order in which their cases are listed.
var operations = []kernels.Listing{
	kernels.Listed(&elementwise.Scale, elementwise.Program(&elementwise.Scale)),
	kernels.Listed(&elementwise.Log, elementwise.Program(&elementwise.Log)),
	kernels.Listed(&reduce.Sum, reduce.Program),
	kernels.Listed(&fft.Op, fft.Program),
	kernels.Listed(&stft.Op, stft.Program),
	kernels.Listed(&mel.Op, mel.Program),
	kernels.Listed(&matmul.Op, matmul.Program),
	kernels.Listed(&linear.Op, linear.Program),
	kernels.Listed(&conv1d.Op, conv1d.Program),
	kernels.Listed(&softmax.Op, softmax.Program),
	kernels.Listed(&rmsnorm.Op, rmsnorm.Program),
	kernels.Listed(&biquad.Op, biquad.Program),
	kernels.Listed(&oscillator.Op, oscillator.Program),
	kernels.Listed(&stagegraph.Op, stagegraph.Program),
}

// Cases returns every case of every operation on the given backends, in the placement caller.
func Cases(b *kernels.Backends) []kernels.Case {
	var cases []kernels.Case
	for _, operation := range operations {
		cases = append(cases, operation.Cases(b)...)
	}
	return cases
}

// Placed returns the cases that are worth measuring on the given backends, in every placement that differs there. If a GPU
// computes a case, the same case in the placement shared follows it, and also in the placement resident if the GPU has
// memory of its own. Placed opens the GPUs.
func Placed(b *kernels.Backends) []kernels.Case {
	return withPlacements(Cases(b), b.HasGPU(), b.SeparateMemory())
}

// Spaces returns the spaces of the operations that have one, in the placements that a program's data can have: the
// caller's memory, and shared memory where a GPU works. It opens the GPUs.
func Spaces(b *kernels.Backends) []*kernels.Space {
	placements := []kernels.Placement{kernels.Caller}
	if b.HasGPU() {
		placements = append(placements, kernels.Shared)
	}
	var all []*kernels.Space
	for _, operation := range operations {
		for _, placement := range placements {
			space := operation.Space(b, placement)
			if space != nil && (placement == kernels.Caller || slices.ContainsFunc(space.Case.Implementations, onGPU)) {
				all = append(all, space)
			}
		}
	}
	return all
}

// Line returns the case that a name such as "stft/n_fft=1024,hop=256" asks for, in the placements that are worth measuring
// on given backends: an operation, and values of all its axes but one.
func Line(b *kernels.Backends, name string) ([]kernels.Case, error) {
	l, fixed, err := read(name)
	if err != nil {
		return nil, err
	}
	c, err := l.Line(b, fixed)
	if err != nil {
		return nil, err
	}
	return withPlacements([]kernels.Case{c}, b.HasGPU(), b.SeparateMemory()), nil
}

// Shape is a shape of an operation, with its data in a placement.
type Shape struct {
	Operation string
	Placement kernels.Placement
	Values    []int // of all axes
}

// ReadShape returns the shape that a name such as "fft/n=441,batch=64" or "softmax/rows=16,columns=768,shared" asks for: an
// operation, values of all its axes, and the placement unless that is caller. It returns false for a name that leaves an axis
// open: see [Line].
func ReadShape(name string) (s Shape, whole bool, err error) {
	s.Placement = kernels.Caller
	for _, p := range []kernels.Placement{kernels.Shared, kernels.Resident} {
		if before, found := strings.CutSuffix(name, ","+string(p)); found {
			name, s.Placement = before, p
		}
	}
	l, values, err := read(name)
	if err != nil {
		return s, false, err
	}
	if len(values) < len(l.Axes) && s.Placement == kernels.Caller {
		return s, false, nil
	}
	shape, err := kernels.ShapeOf(l.Axes, values)
	s.Operation, s.Values = l.Name, shape[:len(l.Axes)]
	return s, true, err
}

// read reads the name of a line or a shape.
func read(name string) (l kernels.Listing, values []kernels.Param, err error) {
	operation, parameters, _ := strings.Cut(name, "/")
	at := slices.IndexFunc(operations, func(l kernels.Listing) bool { return l.Name == operation })
	if at < 0 {
		var names []string
		for _, l := range operations {
			names = append(names, l.Name)
		}
		return l, nil, fmt.Errorf("%.80q is not an operation (there are %s)", operation, strings.Join(names, ", "))
	}
	for part := range strings.SplitSeq(parameters, ",") {
		if part == "" {
			continue
		}
		axis, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			return l, nil, fmt.Errorf("%.80q is not a value of an axis (want a whole number, such as n_fft=1024)", part)
		}
		values = append(values, kernels.Param{Name: axis, Value: n})
	}
	return operations[at], values, nil
}

// CasesHere returns [Placed] of the backends of this machine.
func CasesHere() []kernels.Case { return Placed(kernels.Here()) }

func withPlacements(cases []kernels.Case, gpu, separateMemory bool) []kernels.Case {
	if !gpu {
		return cases
	}
	var all []kernels.Case
	for _, c := range cases {
		all = append(all, c)
		if !slices.ContainsFunc(c.Implementations, onGPU) {
			continue
		}
		all = append(all, c.Placed(kernels.Shared))
		if separateMemory {
			all = append(all, c.Placed(kernels.Resident))
		}
	}
	return all
}

// onGPU reports whether an implementation computes on a GPU and can run here.
func onGPU(i kernels.Implementation) bool { return i.Processor == kernels.GPU && i.Missing() == nil }
