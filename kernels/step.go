package kernels

import (
	"fmt"
	"slices"
	"strings"

	"crossover/dispatch"
	"crossover/gpu"
)

// Step is an operation with the parameters of one plan, without the type of the parameters. Pipelines consist of steps. A
// Step is plain data: it opens no device, and any number of goroutines may use it. Each is equal to itself alone.
type Step interface {
	// Operation returns the name of the operation, and Axes its axes.
	Operation() string
	Axes() []Axis
	// Tensors returns the tensors of a call at a shape in the order of its [Args], outputs first: see [Op].IO.
	Tensors(s Shape) []Tensor
	// Reference returns the outputs of a call in float64: see [Op].Reference.
	Reference(s Shape, a *Args) []float64
	// FillInputs writes the inputs with which a shape is measured: see [Op].FillInputs.
	FillInputs(s Shape, in Input, a *Args)
	// Work returns what a call has to do at a shape by an implementation: see [Op].Work.
	Work(s Shape, implementation string) Work
	// Implementations returns the ways to compute the step on the given backends.
	Implementations(b *Backends) []Implementation
	// Case returns the name of the case through a shape in a placement, and the size there, as a plan asks a dispatcher.
	Case(s Shape, p Placement) (name string, size int)
	// Plan returns a plan that chooses by d: see [NewPlanOn].
	Plan(b *Backends, d *dispatch.Dispatcher) StepPlan
	// PlanOf returns a plan that always runs one implementation: see [NewPlanOf].
	PlanOf(b *Backends, implementation string) (StepPlan, error)
	// PlanIn returns a plan for a stage of a pipeline's route: see [NewPlanIn].
	PlanIn(b *Backends, d *dispatch.Dispatcher, stage *dispatch.Stage) (StepPlan, error)
	// Grows returns the axis along which [Kernels].AppendGrowing lets inputs grow, and −1 if the operation has no such kernels.
	Grows() (axis int)
	// Kernels returns what appends a GPU implementation's kernels to a launch plan, and the device of that plan. It fails for
	// an implementation that runs on the processor. end releases what the kernels need besides.
	Kernels(b *Backends, implementation string) (of Kernels, end func(), err error)
}

// StepPlan is a [Plan] without the type of its parameters.
type StepPlan interface {
	Run(s Shape, a Args) error
	// RunTimed is Run, and says where the time of a call on a GPU went: see [Plan.RunTimed].
	RunTimed(s Shape, a Args, t *gpu.CallTimes) error
	Explain(s Shape) dispatch.Explanation
	// Ran returns the implementation that computed the last call, or "" if there was none or it failed.
	Ran() string
	Close()
}

// Kernels appends an operation's kernels to launch plans, beside those of other operations.
type Kernels interface {
	Device() *gpu.Device
	// Append appends the kernels of a shape. t holds the tensors of the call in the order of [Op].IO. Each is a buffer of
	// [BufferOf], or of the same type and length.
	Append(b *gpu.Builder, s Shape, t []*gpu.Buffer)
	// AppendGrowing appends the kernels for inputs that grow: see [Growing].
	AppendGrowing(b *gpu.Builder, s Shape, t, rows []*gpu.Buffer, length *gpu.Buffer)
}

// StepOf returns an operation with parameters that its typed plan takes as they are.
func StepOf[P any](op *Op[P], p P) Step { return &step[P]{op, p} }

// StepOfPlan returns the step that a typed plan computes, and the shape of its calls by their size. A pipeline runs plans of
// its own with the same parameters. StepOfPlan is no method, because typed plans would inherit it.
func StepOfPlan[P any](p *SizedPlan[P]) (s Step, shape func(size int) Shape) {
	axis, fixed := p.axis, p.fixed
	return &step[P]{p.plan.op, p.plan.params}, func(size int) Shape {
		s := fixed
		s[axis] = size
		return s
	}
}

type step[P any] struct {
	op     *Op[P]
	params P
}

func (s *step[P]) Operation() string            { return s.op.Name }
func (s *step[P]) Axes() []Axis                 { return s.op.Axes }
func (s *step[P]) Tensors(shape Shape) []Tensor { return s.op.IO(s.params, shape) }

func (s *step[P]) Reference(shape Shape, a *Args) []float64 {
	return s.op.Reference(s.params, shape, a)
}

func (s *step[P]) FillInputs(shape Shape, in Input, a *Args) {
	s.op.FillInputs(s.params, shape, in, a)
}

func (s *step[P]) Work(shape Shape, implementation string) Work {
	_, variant, _ := strings.Cut(implementation, "/")
	return s.op.Work(s.op.alike(&s.params, shape), variant)
}

func (s *step[P]) Implementations(b *Backends) (all []Implementation) {
	for _, m := range s.op.makers(b) {
		all = append(all, m.Implementation)
	}
	return all
}

func (s *step[P]) Case(shape Shape, p Placement) (name string, size int) {
	shape = s.op.alike(&s.params, shape)
	line, size := s.op.through(shape), shape[axisIndex(s.op.Axes, s.op.Lines[0].Axis.Name)]
	if s.op.Judged != nil {
		var at int
		at, size = s.op.Judged(s.params, shape)
		line = s.op.Lines[at]
	}
	return placed(s.op.caseName(&line), s.op.Name, p), size
}

func (s *step[P]) Plan(b *Backends, d *dispatch.Dispatcher) StepPlan {
	return NewPlanOn(b, d, s.op, s.params)
}

func (s *step[P]) PlanOf(b *Backends, implementation string) (StepPlan, error) {
	return NewPlanOf(b, s.op, s.params, implementation)
}

func (s *step[P]) PlanIn(b *Backends, d *dispatch.Dispatcher, stage *dispatch.Stage) (StepPlan, error) {
	return NewPlanIn(b, d, s.op, s.params, stage)
}

func (s *step[P]) Grows() int {
	if s.op.Growing == nil {
		return -1
	}
	return s.op.Growing.Axis
}

func (s *step[P]) Kernels(b *Backends, implementation string) (Kernels, func(), error) {
	makers := s.op.makers(b)
	i := slices.IndexFunc(makers, func(m Maker[P]) bool { return m.Name == implementation })
	if i < 0 {
		return nil, nil, fmt.Errorf("%s: %w: %q", s.op.Name, ErrUnknownImplementation, implementation)
	}
	if err := makers[i].Missing(); err != nil {
		return nil, nil, fmt.Errorf("%s: %s: %w", s.op.Name, implementation, err)
	}
	r, err := makers[i].New(s.params)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %s: %w", s.op.Name, implementation, err)
	}
	l, ok := r.(*launch[P])
	if !ok {
		return nil, nil, fmt.Errorf("%s: %s has no kernels", s.op.Name, implementation)
	}
	return l, l.Close, nil
}

// Device returns the device that the kernels run on.
func (l *launch[P]) Device() *gpu.Device { return l.device }

// Append appends the kernels of a shape.
func (l *launch[P]) Append(b *gpu.Builder, s Shape, t []*gpu.Buffer) { l.describe(b, l.params, s, t) }

// AppendGrowing appends the kernels for inputs that grow.
func (l *launch[P]) AppendGrowing(b *gpu.Builder, s Shape, t, rows []*gpu.Buffer, length *gpu.Buffer) {
	l.op.Growing.Append(b, l.params, s, t, rows, length)
}

// BufferOf adds a buffer for a tensor to a launch plan. make is a method of the builder, such as Input or Scratch.
func BufferOf(t Tensor, make func(of gpu.Type, n int) *gpu.Buffer) *gpu.Buffer {
	words := (max(1, t.Len()) + vector - 1) / vector * vector
	switch t.Type {
	case Complex64:
		return make(gpu.Float2, words/2)
	case Uint32, Float64:
		return make(gpu.Uint, words)
	case Int32:
		return make(gpu.Int, words)
	}
	return make(gpu.Float, words)
}
