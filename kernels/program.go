package kernels

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"

	"crossover/dispatch"
)

// Program makes a typed plan as a program does. run computes a shape by the plan, and end closes the plan. Each operation has
// a Program of a few lines, which passes the tensors of [Op].IO to the typed plan. With a Program, typed plans can be
// compared with what a sweep times.
type Program[P any] func(d *dispatch.Dispatcher, p P) (run func(s Shape, a *Args) error, end func(), err error)

// NewProgram returns the [Program] of the typed plans that build makes. call computes a shape by such a plan.
func NewProgram[P any, T interface{ Close() }](build func(d *dispatch.Dispatcher, p P) (T, error),
	call func(plan T, s Shape, a *Args) error) Program[P] {
	return func(d *dispatch.Dispatcher, p P) (run func(s Shape, a *Args) error, end func(), err error) {
		plan, err := build(d, p)
		if err != nil {
			return nil, nil, err
		}
		return func(s Shape, a *Args) error { return call(plan, s, a) }, plan.Close, nil
	}
}

// Listed returns an operation's entry in the catalogue. Its cases have a [Program], for [Case.WithPrograms].
func Listed[P any](op *Op[P], program Program[P]) Listing {
	return Listing{Name: op.Name, Package: op.folder(), Axes: op.Axes, Cases: op.listed(program), Space: op.Space, Line: op.listedLine(program), Check: op.check}
}

// Listing is an operation of the catalogue.
type Listing struct {
	Name    string
	Package string // whose plans compute it: "kernels/stft"
	Axes    []Axis
	Cases   func(b *Backends) []Case                       // one for each line
	Space   func(b *Backends, placement Placement) *Space  // nil where the operation has a single axis
	Line    func(b *Backends, fixed []Param) (Case, error) // along the axis that is not fixed
	Check   func(s Shape) error                            // returns the error with which the typed plan refuses a shape
}

// folder returns the folder of the package that declares the operation, which is that of its reference.
func (op *Op[P]) folder() string {
	name := runtime.FuncForPC(reflect.ValueOf(op.Reference).Pointer()).Name() // "crossover/kernels/stft.init.func1"
	folder, last := path.Split(strings.TrimPrefix(name, "crossover/"))
	last, _, _ = strings.Cut(last, ".")
	return folder + last
}

func (op *Op[P]) listed(program Program[P]) func(b *Backends) []Case {
	return func(b *Backends) []Case {
		cases := op.Cases(b)
		for i := range cases {
			cases[i] = op.withProgram(cases[i], program)
		}
		return cases
	}
}

func (op *Op[P]) listedLine(program Program[P]) func(b *Backends, fixed []Param) (Case, error) {
	return func(b *Backends, fixed []Param) (Case, error) {
		c, err := op.line(b, fixed)
		if err != nil {
			return c, err
		}
		return op.withProgram(c, program), nil
	}
}

// withProgram returns a case with a program, in every placement.
func (op *Op[P]) withProgram(c Case, program Program[P]) Case {
	c.program, c.onProcessor = op.bindProgram(program), op.OnProcessor
	place := c.placed
	c.placed = func(p Placement) Case {
		placed := place(p)
		placed.program, placed.onProcessor = op.bindProgram(program), op.OnProcessor
		return placed
	}
	return c
}

// programPrefix begins the name of an implementation that is called through a typed plan.
const programPrefix = "program:"

// WithPrograms returns the case with every implementation twice: once as a sweep times it, and once as a program calls it
// through the typed plan. The name of the second begins with "program:". Both have the same inputs, and each has its own
// outputs. An implementation on a GPU is there once if the operation's plans run on the processor only. A sweep of the case interleaves the two. WithPrograms returns false for the placement resident, which typed plans
// do not have, and for a case whose operation has no [Program].
func (c Case) WithPrograms() (Case, bool) {
	if c.program == nil || c.Placement == Resident {
		return c, false
	}
	bind, problem := c.program, c.Problem
	var all []Implementation
	for _, i := range c.Implementations {
		all = append(all, i)
		if c.onProcessor && i.Processor == GPU {
			continue
		}
		program := i
		program.Name = programPrefix + i.Name
		all = append(all, program)
	}
	c.Implementations = all
	c.Problem = func(size int, in Input) Problem { return programs{problem(size, in), bind} }
	c.placed = nil
	return c, true
}

// ProgramOf returns the implementation of a name that begins with "program:", and true. For any other name, it returns the
// name and false.
func ProgramOf(name string) (implementation string, isProgram bool) {
	return strings.CutPrefix(name, programPrefix)
}

// programs is a problem that can also bind the typed plans of its implementations.
type programs struct {
	Problem
	bind func(p Problem, implementation string) (Call, error)
}

func (p programs) Release() { Release(p.Problem) }

func (p programs) Bind(name string) (Call, error) {
	if implementation, isProgram := ProgramOf(name); isProgram {
		return p.bind(p.Problem, implementation)
	}
	return p.Problem.Bind(name)
}

// bindProgram returns a function that binds a typed plan to a problem of the operation.
func (o *Op[P]) bindProgram(program Program[P]) func(p Problem, implementation string) (Call, error) {
	return func(of Problem, implementation string) (Call, error) {
		p, ok := of.(*problem[P])
		if !ok {
			return Call{}, fmt.Errorf("%s: a problem of another operation", o.Name)
		}
		run, end, err := program(dispatch.Always(implementation), p.params)
		if err != nil {
			return Call{}, err
		}
		c := &call[P]{problem: p, args: p.inputs}
		for i, t := range p.tensors {
			if t.Role == Out {
				c.args[i] = p.alloc(t.Len())
			}
		}
		return Call{
			Run:    func() error { return run(p.shape, &c.args) },
			Error:  c.err,
			Output: c.output,
			Close:  end,
		}, nil
	}
}
