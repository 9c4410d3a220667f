// Package catalogue lists every operation of Crossover by kind, in one line each. The operations themselves are in the
// packages that it imports.
package catalogue

//go:generate go run ../../cmd/internal/page ../../docs/catalogue.md ../../calibration.json

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/attention"
	"crossover/kernels/autocorrelation"
	"crossover/kernels/beats"
	"crossover/kernels/biquad"
	"crossover/kernels/chroma"
	"crossover/kernels/conv1d"
	"crossover/kernels/convlayer"
	"crossover/kernels/decibels"
	"crossover/kernels/elementwise"
	"crossover/kernels/fft"
	"crossover/kernels/glu"
	"crossover/kernels/linear"
	"crossover/kernels/lora"
	"crossover/kernels/matmul"
	"crossover/kernels/mel"
	"crossover/kernels/mfcc"
	"crossover/kernels/norm"
	"crossover/kernels/onset"
	"crossover/kernels/oscillator"
	"crossover/kernels/peaks"
	"crossover/kernels/phase"
	"crossover/kernels/recurrence"
	"crossover/kernels/recurrent"
	"crossover/kernels/reduce"
	"crossover/kernels/resample"
	"crossover/kernels/rmsnorm"
	"crossover/kernels/sampling"
	"crossover/kernels/softmax"
	"crossover/kernels/stagegraph"
	"crossover/kernels/stft"
	"crossover/kernels/tempogram"
)

// Group is operations of one kind.
type Group struct {
	Name       string
	Operations []kernels.Listing
}

// groups are in the order in which their cases are listed.
var groups = []Group{
	{"Elementwise", []kernels.Listing{
		kernels.Listed(&elementwise.Scale, elementwise.Program(&elementwise.Scale)),
		kernels.Listed(&elementwise.Gain, elementwise.Program(&elementwise.Gain)),
		kernels.Listed(&elementwise.Abs, elementwise.Program(&elementwise.Abs)),
		kernels.Listed(&elementwise.SoftClip, elementwise.Program(&elementwise.SoftClip)),
		kernels.Listed(&elementwise.Exp, elementwise.Program(&elementwise.Exp)),
		kernels.Listed(&elementwise.Log, elementwise.Program(&elementwise.Log)),
		kernels.Listed(&elementwise.Log1p, elementwise.Program(&elementwise.Log1p)),
		kernels.Listed(&elementwise.Pow, elementwise.Program(&elementwise.Pow)),
		kernels.Listed(&elementwise.Power, elementwise.Program(&elementwise.Power)),
		kernels.Listed(&elementwise.Magnitude, elementwise.Program(&elementwise.Magnitude)),
		kernels.Listed(&elementwise.GELU, elementwise.Program(&elementwise.GELU)),
		kernels.Listed(&elementwise.GELUTanh, elementwise.Program(&elementwise.GELUTanh)),
		kernels.Listed(&glu.Op, glu.Program),
	}},
	{"Reductions", []kernels.Listing{
		kernels.Listed(&reduce.Sum, reduce.Program(&reduce.Sum)),
		kernels.Listed(&reduce.Mean, reduce.Program(&reduce.Mean)),
		kernels.Listed(&reduce.Max, reduce.Program(&reduce.Max)),
		kernels.Listed(&reduce.Min, reduce.Program(&reduce.Min)),
		kernels.Listed(&reduce.ArgMax, reduce.Program(&reduce.ArgMax)),
	}},
	{"Spectral", []kernels.Listing{
		kernels.Listed(&fft.Op, fft.Program),
		kernels.Listed(&fft.InverseOp, fft.InverseProgram),
		kernels.Listed(&fft.ComplexOp, fft.ComplexProgram),
		kernels.Listed(&stft.Op, stft.Program),
		kernels.Listed(&mel.Op, mel.Program),
		kernels.Listed(&stft.InverseOp, stft.InverseProgram),
		kernels.Listed(&decibels.Op, decibels.Program),
		kernels.Listed(&mfcc.Op, mfcc.Program),
		kernels.Listed(&chroma.Op, chroma.Program),
		kernels.Listed(&onset.Op, onset.Program),
		kernels.Listed(&autocorrelation.Op, autocorrelation.Program),
		kernels.Listed(&tempogram.Op, tempogram.Program),
		kernels.Listed(&tempogram.Tempo, tempogram.TempoProgram),
		kernels.Listed(&peaks.Op, peaks.Program),
		kernels.Listed(&beats.Op, beats.Program),
	}},
	{"Matrices", []kernels.Listing{
		kernels.Listed(&matmul.Op, matmul.Program),
		kernels.Listed(&linear.Op, linear.Program),
	}},
	{"Convolution", []kernels.Listing{
		kernels.Listed(&conv1d.Op, conv1d.Program),
		kernels.Listed(&convlayer.Conv1D, convlayer.Program1D),
		kernels.Listed(&convlayer.Conv2D, convlayer.Program2D),
		kernels.Listed(&conv1d.StreamOp, conv1d.StreamProgram),
		kernels.Listed(&resample.Op, resample.Program),
	}},
	{"Rows", []kernels.Listing{
		kernels.Listed(&softmax.Op, softmax.Program),
		kernels.Listed(&rmsnorm.Op, rmsnorm.Program),
		kernels.Listed(&norm.Layer, norm.LayerProgram),
		kernels.Listed(&norm.Group, norm.GroupProgram),
		kernels.Listed(&sampling.Greedy, sampling.GreedyProgram),
		kernels.Listed(&sampling.TopK, sampling.TopKProgram),
	}},
	{"Network", []kernels.Listing{
		kernels.Listed(&lora.Op, lora.Program),
		kernels.Listed(&lora.OnLayer, lora.Program),
		kernels.Listed(&attention.Op, attention.Program),
		kernels.Listed(&recurrent.LSTM, recurrent.LSTMProgram),
		kernels.Listed(&recurrent.GRU, recurrent.GRUProgram),
	}},
	{"Recurrences", []kernels.Listing{
		kernels.Listed(&biquad.Op, biquad.Program),
		kernels.Listed(&biquad.CascadeOp, biquad.CascadeProgram),
		kernels.Listed(&recurrence.Comb, recurrence.Program(recurrence.NewComb)),
		kernels.Listed(&recurrence.Envelope, recurrence.Program(recurrence.NewEnvelope)),
		kernels.Listed(&recurrence.Compressor, recurrence.Program(recurrence.NewCompressor)),
		kernels.Listed(&recurrence.Ladder, recurrence.Program(recurrence.NewLadder)),
	}},
	{"Synthesis", []kernels.Listing{
		kernels.Listed(&oscillator.Op, oscillator.Program),
		kernels.Listed(&phase.Op, phase.Program),
		kernels.Listed(&stagegraph.Op, stagegraph.Program),
	}},
}

// operations are those of all groups.
var operations = func() (all []kernels.Listing) {
	for _, g := range groups {
		all = append(all, g.Operations...)
	}
	return all
}()

// Groups returns all operations by their kind.
func Groups() []Group { return slices.Clone(groups) }

// GroupOf returns the kind of an operation, and "" for one that the catalogue does not have.
func GroupOf(operation string) string {
	for _, g := range groups {
		if slices.ContainsFunc(g.Operations, func(l kernels.Listing) bool { return l.Name == operation }) {
			return g.Name
		}
	}
	return ""
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

// Declared returns the cases and the spaces of all operations in all placements, whatever this machine has. It opens no GPU.
func Declared() (cases []kernels.Case, spaces []*kernels.Space) {
	b := kernels.Here()
	for _, p := range []kernels.Placement{kernels.Caller, kernels.Shared, kernels.Resident} {
		for _, c := range Cases(b) {
			cases = append(cases, c.Placed(p))
		}
		for _, operation := range operations {
			if space := operation.Space(b, p); space != nil {
				spaces = append(spaces, space)
			}
		}
	}
	return cases, spaces
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
	name, s.Placement = CutPlacement(name)
	l, values, err := read(name)
	switch {
	case err != nil:
		return s, false, err
	case len(values) < len(l.Axes) && s.Placement == kernels.Caller:
		return s, false, nil
	case len(values) < len(l.Axes):
		return s, false, fmt.Errorf("%d of %d axes have a value, and a line is measured in every placement (leave %q out, or give the shape all its axes)",
			len(values), len(l.Axes), s.Placement)
	}
	shape, err := kernels.ShapeOf(l.Axes, values)
	if err == nil {
		err = l.Check(shape)
	}
	s.Operation, s.Values = l.Name, shape[:len(l.Axes)]
	return s, true, err
}

// AxesOf returns the axes of the operation of a name, nil if there is no such operation.
func AxesOf(name string) []kernels.Axis {
	l, _, _ := read(name)
	return l.Axes
}

// CutPlacement splits the placement off the name of a case or a shape: "scale/shared", "softmax/columns=1024,shared".
func CutPlacement(name string) (rest string, p kernels.Placement) {
	for _, p := range []kernels.Placement{kernels.Shared, kernels.Resident} {
		if rest, found := strings.CutSuffix(name, ","+string(p)); found {
			return rest, p
		}
		if rest, found := strings.CutSuffix(name, "/"+string(p)); found && !strings.Contains(rest, "/") {
			return rest, p
		}
	}
	return name, kernels.Caller
}

// read reads the name of a line or a shape.
func read(name string) (l kernels.Listing, values []kernels.Param, err error) {
	operation, parameters, _ := strings.Cut(name, "/")
	at := slices.IndexFunc(operations, func(l kernels.Listing) bool { return l.Name == operation })
	if at < 0 {
		meant := dispatch.DidYouMean(operation)
		if meant == "" {
			meant = " (calibrate --list prints them)"
		}
		return l, nil, fmt.Errorf("%.80q is not an operation%s", operation, meant)
	}
	if parameters == "" {
		return operations[at], nil, nil
	}
	l = operations[at]
	for part := range strings.SplitSeq(parameters, ",") {
		axis, value, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			return l, nil, fmt.Errorf("%.80q is not a value of an axis (want a whole number for one of %s, such as %s=%d)",
				part, kernels.AxisList(l.Axes), l.Axes[0].Name, l.Axes[0].Min)
		}
		values = append(values, kernels.Param{Name: axis, Value: n})
	}
	return l, values, nil
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
