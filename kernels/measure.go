package kernels

import (
	"fmt"
	"math"
	"slices"

	"crossover/gpu"
)

// Cases returns the cases of an operation in the placement caller, one for each line.
func (o *Op[P]) Cases(b *Backends) []Case {
	var cases []Case
	for i := range o.Lines {
		cases = append(cases, o.CaseOf(b, o.Lines[i]))
	}
	return cases
}

// CaseOf returns the case of a line in the placement caller. The line need not be one of the operation's Lines.
func (o *Op[P]) CaseOf(b *Backends, line Line) Case {
	c := Case{
		Name:       o.caseName(&line),
		Operation:  o.Name,
		Definition: o.Formula,
		Source:     o.Source,
		Params:     line.Fixed,
		Axis:       line.Axis,
		OneWinner:  line.OneWinner,
		Alone:      len(o.Axes) == 1 || o.Hidden,
		Placement:  Caller,
		Tolerance:  func(size int) float64 { return o.Tolerance(line.At(size)) },
		Bytes:      func(size int) float64 { return o.Work(line.At(size), "").Bytes },
		Work:       func(size int, variant string) Work { return o.Work(line.At(size), variant) },
	}
	for _, m := range o.makers(b) {
		i := m.Implementation
		if line.Without != nil {
			probe := i.Probe
			i.Probe = func() error {
				if err := line.Without(i.Name); err != nil {
					return err
				}
				if probe == nil {
					return nil
				}
				return probe()
			}
		}
		c.Implementations = append(c.Implementations, i)
	}
	c.at = line.At
	c.Compile = func(size int, implementation string) error { return o.compile(b, line.At(size), implementation) }
	problem := func(p Placement) func(size int, in Input) Problem {
		return func(size int, in Input) Problem { return o.Problem(b, line.At(size), p, in) }
	}
	c.Problem = problem(Caller)
	c.placed = func(p Placement) Case {
		twin := c
		twin.Name, twin.Placement = placed(c.Name, o.Name, p), p
		twin.Params = append(slices.Clip(slices.Clone(c.Params)), Param{Name: string(p), Value: 1})
		twin.Problem = problem(p)
		return twin
	}
	return c
}

// compile makes a runner of an implementation, and compiles its kernels for a shape if it runs on a GPU.
func (o *Op[P]) compile(b *Backends, s Shape, implementation string) error {
	all := o.makers(b)
	i := slices.IndexFunc(all, func(m Maker[P]) bool { return m.Name == implementation && m.Processor == GPU })
	if i < 0 {
		return nil
	}
	r, err := all[i].New(o.Params(s))
	if err != nil {
		return err
	}
	if c, ok := r.(interface{ Close() }); ok {
		defer c.Close()
	}
	if c, ok := r.(interface{ compile(s Shape) error }); ok {
		return c.compile(s)
	}
	return nil
}

// problem is a shape of an operation with its inputs.
type problem[P any] struct {
	op        *Op[P]
	backends  *Backends
	params    P
	shape     Shape
	placement Placement
	tensors   []Tensor
	inputs    Args
	absent    bool // see Input
	free      []func()
}

// Problem makes the problem of a shape, with its data in a placement. The shape need not lie on one of the operation's
// Lines.
func (o *Op[P]) Problem(b *Backends, s Shape, placement Placement, in Input) Problem {
	return o.problem(b, o.Params(s), s, placement, in)
}

// problem makes the problem of a shape for given parameters.
func (o *Op[P]) problem(b *Backends, params P, s Shape, placement Placement, in Input) *problem[P] {
	p := &problem[P]{op: o, backends: b, params: params, shape: s, placement: placement, tensors: o.IO(params, s), absent: in.Absent}
	if in.Absent {
		return p
	}
	for i, t := range p.tensors {
		if t.Role == In {
			p.inputs[i] = p.alloc(t.Len())
		}
	}
	o.FillInputs(params, s, in, &p.inputs)
	return p
}

// FillInputs writes the inputs with which a shape is measured.
func (o *Op[P]) FillInputs(p P, s Shape, in Input, a *Args) {
	if o.Fill != nil {
		o.Fill(p, s, in, a)
		return
	}
	for i, t := range o.IO(p, s) {
		if t.Role == In {
			Noise(a[i], uint64(i+1))
		}
	}
}

// Error returns the greatest error of a call's outputs against the reference, by the operation's Judge. want is what
// Reference returns.
func (o *Op[P]) Error(tensors []Tensor, a *Args, want []float64) float64 {
	return judge(o.Judge, tensors, a, want)
}

// alloc returns memory in the problem's placement. If no shared memory is left, it returns ordinary memory. The results of
// calls are then still right, but the calls pay for copies.
func (p *problem[P]) alloc(n int) []float32 {
	if p.placement == Shared {
		if data, free, err := p.backends.Alloc(n); err == nil {
			p.free = append(p.free, free)
			return data
		}
	}
	return make([]float32, n)
}

func (p *problem[P]) Reference() []float64 { return p.op.Reference(p.params, p.shape, &p.inputs) }

// Release frees shared memory. No call of the problem may run afterwards.
func (p *problem[P]) Release() {
	for _, free := range p.free {
		free()
	}
	p.free = nil
}

// Bind makes a plan that always runs one implementation, and outputs for the plan.
func (p *problem[P]) Bind(implementation string) (Call, error) {
	plan, err := NewPlanOf(p.backends, p.op, p.params, implementation)
	if err != nil {
		return Call{}, fmt.Errorf("%s: %w", p.op.Name, err)
	}
	c := &call[P]{problem: p, plan: plan, args: p.inputs}
	for i, t := range p.tensors {
		if t.Role != In && !p.absent {
			c.args[i] = p.alloc(t.Len())
		}
	}
	r, err := plan.runner(plan.only)
	if err != nil {
		plan.Close()
		return Call{}, err
	}
	if g, ok := r.(gpuRunner); ok {
		return c.onGPU(g)
	}
	call := Call{Run: c.run, Error: c.err, Output: c.output, Numbers: c.numbers, Close: plan.Close}
	if plan.makers[plan.only].onPool {
		call.Divided = p.backends.Pool.Divided
	}
	return call, nil
}

// call is one implementation bound to a problem.
type call[P any] struct {
	*problem[P]
	plan   *Plan[P]
	args   Args
	launch *launchPlan
}

func (c *call[P]) run() error { return c.plan.Run(c.shape, c.args) }

func (c *call[P]) data() [][]float32 { return c.args[:len(c.tensors)] }

// output returns the words of all outputs, one after the other.
func (c *call[P]) output() []float32 {
	var out []float32
	for i, t := range c.tensors {
		if t.Role == Out {
			out = append(out, c.args[i]...)
		}
	}
	return out
}

// numbers returns the outputs as numbers of a reference.
func (c *call[P]) numbers() []float64 { return numbers(c.tensors, &c.args) }

// err returns how far the outputs are from the reference.
func (c *call[P]) err(want []float64) float64 { return c.op.Error(c.tensors, &c.args, want) }

// onGPU returns the call of an implementation on a GPU.
func (c *call[P]) onGPU(g gpuRunner) (Call, error) {
	l, err := g.ready(c.shape)
	if err != nil {
		c.plan.Close()
		return Call{}, err
	}
	c.launch = l
	if c.placement == Resident {
		return c.resident()
	}
	return Call{
		Run: c.run, Error: c.err, Output: c.output, Numbers: c.numbers, Close: c.plan.Close,
		GPU: &GPUCall{
			Submit:   func() error { return l.SubmitOn(c.data()) },
			Wait:     func() error { return l.WaitOn(c.data()) },
			Time:     func() (gpu.Times, error) { return l.TimeOn(c.data()) },
			BusBytes: float64(l.Transfers()),
		},
	}, nil
}

// resident returns the call on data that lie on the device already. The outputs are read from the device when they are asked
// for.
func (c *call[P]) resident() (Call, error) {
	l := c.launch
	if err := l.Load(c.data()); err != nil {
		c.plan.Close()
		return Call{}, fmt.Errorf("%s: %w", c.op.Name, err)
	}
	read := func() bool { return l.Store(c.data()) == nil }
	return Call{
		Run: l.RunResident,
		Error: func(want []float64) float64 {
			if !read() {
				return math.Inf(1)
			}
			return c.err(want)
		},
		Output: func() []float32 {
			if !read() {
				return nil
			}
			return c.output()
		},
		Close: c.plan.Close,
		GPU: &GPUCall{
			Submit: l.SubmitResident,
			Wait:   l.Wait,
			Time:   func() (gpu.Times, error) { return l.Time(true) },
		},
	}, nil
}
