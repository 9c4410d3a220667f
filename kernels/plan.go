package kernels

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"crossover/dispatch"
	"crossover/gpu"
)

// Placement says where the data of a call lie.
type Placement string

// The placements.
const (
	Caller   Placement = "caller"   // in any slice
	Shared   Placement = "shared"   // in memory that GPUs reach without a copy of ours: see Plan.Alloc
	Resident Placement = "resident" // in the GPU's own memory
)

// suffix is what the name of a case says of the placement: nothing of the default.
func (p Placement) suffix() string {
	if p == Caller {
		return ""
	}
	return string(p)
}

// placed returns the name of a case in a placement: "softmax/columns=1024,shared".
func placed(name string, operation string, p Placement) string {
	switch {
	case p == Caller:
		return name
	case name == operation:
		return name + "/" + p.suffix()
	}
	return name + "," + p.suffix()
}

// Plan computes an operation at fixed parameters by the implementation that is fastest at each call's shape. The typed
// plans of the operations are made of it; a sweep times the same Run. It is for one goroutine at a time.
type Plan[P any] struct {
	op         *Op[P]
	params     P
	backends   *Backends
	dispatcher *dispatch.Dispatcher
	makers     []Maker[P]
	only       int // the implementation that is taken although others could be; −1 for no such thing

	axis    int   // of the first line, in a shape
	held    *held // by maker, nil until it is needed
	failed  []error
	retries uint64 // of the dispatcher's, when failed was last cleared
	choices []choice
	args    Args
}

// held are the runners of a plan. They outlive the plan by as long as it takes to close them.
type held struct{ runners []Runner }

func (h *held) close() {
	for i, r := range h.runners {
		if c, ok := r.(interface{ Close() }); ok {
			c.Close()
		}
		h.runners[i] = nil
	}
}

// choice is the dispatcher's case for one line and placement.
type choice struct {
	line      int   // of Op.Lines, −1 for one that is through
	through   Shape // the fixed values of that one
	placement Placement
	of        *dispatch.Case
}

// NewPlan returns a plan of an operation that chooses by d; d may be nil. It opens no GPU but one that the calibration
// calls the fastest somewhere on the line of a call, and that when the call comes. It fails where no implementation can
// run here.
func NewPlan[P any](d *dispatch.Dispatcher, op *Op[P], p P) (*Plan[P], error) {
	return NewPlanOn(Here(), d, op, p)
}

// NewPlanOn is NewPlan on the given backends.
func NewPlanOn[P any](b *Backends, d *dispatch.Dispatcher, op *Op[P], p P) (*Plan[P], error) {
	plan := &Plan[P]{op: op, params: p, backends: b, dispatcher: d, makers: op.makers(b), only: -1}
	if len(plan.makers) == 0 {
		return nil, fmt.Errorf("kernels: %s: no implementation can run here", op.Name)
	}
	plan.axis = axisIndex(op.Axes, op.Lines[0].Axis.Name)
	plan.held = &held{make([]Runner, len(plan.makers))}
	plan.failed = make([]error, len(plan.makers))
	plan.retries = d.Retries()
	runtime.AddCleanup(plan, (*held).close, plan.held)
	return plan, nil
}

// NewPlanOf returns a plan on the given backends that always takes one implementation, and no other one where it fails:
// for who measures or tests one. It chooses as any plan does, and so takes as long.
func NewPlanOf[P any](b *Backends, op *Op[P], p P, implementation string) (*Plan[P], error) {
	plan, err := NewPlanOn(b, dispatch.Always(implementation), op, p)
	if err != nil {
		return nil, err
	}
	plan.only = slices.IndexFunc(plan.makers, func(m Maker[P]) bool { return m.Name == implementation })
	if plan.only < 0 {
		return nil, fmt.Errorf("%w: %q", ErrUnknownImplementation, implementation)
	}
	if err := plan.makers[plan.only].Missing(); err != nil {
		return nil, fmt.Errorf("%s: %w", implementation, err)
	}
	return plan, nil
}

// Run computes a call at a shape. The caller has seen to it that the data fit the shape. Run allocates nothing once an
// implementation has been used at a shape; one on a GPU remembers a few of them.
//
// Where the chosen implementation fails, such as on a GPU that is lost or out of memory, Run computes on the next best
// one, tells the dispatcher ([dispatch.Dispatcher.OnFailure]), and leaves the one that failed alone until
// [dispatch.Dispatcher.Retry]. It fails where all do.
func (p *Plan[P]) Run(s Shape, a Args) error {
	p.args = a
	i := p.choose(s)
	if p.only >= 0 {
		i = p.only
	}
	err := p.run(i, s)
	if err != nil && p.only < 0 {
		err = p.runNext(s, err)
	}
	p.args = Args{}
	return err
}

// choose returns the implementation that is fastest at a shape, −1 where none can be taken.
func (p *Plan[P]) choose(s Shape) int {
	if now := p.dispatcher.Retries(); now != p.retries {
		p.retries = now
		clear(p.failed)
		p.choices = p.choices[:0]
	}
	c, size := p.choice(s)
	name := c.of.Choose(size)
	for i := range p.makers {
		if p.makers[i].Name == name {
			return i
		}
	}
	return p.preferred(c.line, 0)
}

// preferred returns the first implementation in the order of preference that can run on a line, has not failed and is not
// among those that refused the shape, a bit each; −1 where there is none.
func (p *Plan[P]) preferred(line int, refused uint64) int {
	for i := range p.makers {
		if refused>>i&1 == 0 && p.failed[i] == nil && p.missing(i, line) == nil {
			return i
		}
	}
	return -1
}

func (p *Plan[P]) run(i int, s Shape) error {
	if i < 0 {
		return fmt.Errorf("%s: no implementation can run here", p.op.Name)
	}
	if r := p.held.runners[i]; r != nil {
		return r.Run(s, &p.args)
	}
	r, err := p.runner(i)
	if err != nil {
		return err
	}
	return r.Run(s, &p.args)
}

// runner returns the runner of an implementation, made when it is first needed.
func (p *Plan[P]) runner(i int) (Runner, error) {
	if r := p.held.runners[i]; r != nil {
		return r, nil
	}
	r, err := p.makers[i].New(p.params)
	if err != nil {
		return nil, err
	}
	p.held.runners[i] = r
	return r, nil
}

// runNext computes a call after the chosen implementation failed.
func (p *Plan[P]) runNext(s Shape, err error) error {
	var refused uint64
	i := p.choose(s)
	for i >= 0 {
		if errors.Is(err, ErrRefused) {
			refused |= 1 << i
			c, _ := p.choice(s)
			i = p.preferred(c.line, refused)
		} else {
			p.fail(i, err)
			if i = p.choose(s); i >= 0 && refused>>i&1 == 1 {
				c, _ := p.choice(s)
				i = p.preferred(c.line, refused)
			}
		}
		if i < 0 {
			break
		}
		if err = p.run(i, s); err == nil {
			return nil
		}
	}
	return err
}

// missing returns nil where an implementation can run here on a line.
func (p *Plan[P]) missing(i, line int) error {
	if line >= 0 && p.op.Lines[line].Without != nil {
		if err := p.op.Lines[line].Without(p.makers[i].Name); err != nil {
			return err
		}
	}
	return p.makers[i].Missing()
}

// fail takes an implementation out of the choice and tells the dispatcher.
func (p *Plan[P]) fail(i int, err error) {
	p.failed[i] = err
	p.choices = p.choices[:0]
	if r, ok := p.held.runners[i].(interface{ Close() }); ok {
		r.Close()
	}
	p.held.runners[i] = nil
	p.dispatcher.Failed(p.makers[i].Name, err)
}

// choice returns the dispatcher's case for a call, and the size on its axis.
func (p *Plan[P]) choice(s Shape) (*choice, int) {
	line, size, through := -1, s[p.axis], s
	through[p.axis] = 0
	if p.op.Judged != nil {
		line, size = p.op.Judged(p.params, s)
		through = Shape{}
	}
	placement := Caller
	if gpu.AnyShared() {
		placement = p.placement()
	}
	for i := range p.choices {
		if c := &p.choices[i]; c.line == line && c.through == through && c.placement == placement {
			return c, size
		}
	}
	const most = 16 // lines that a plan remembers
	if len(p.choices) == most {
		p.choices = p.choices[:0]
	}
	p.choices = append(p.choices, choice{line, through, placement, p.newChoice(line, s, placement)})
	return &p.choices[len(p.choices)-1], size
}

func (p *Plan[P]) newChoice(line int, s Shape, placement Placement) *dispatch.Case {
	l := p.op.through
	name := ""
	if line >= 0 {
		name = p.op.caseName(&p.op.Lines[line])
	} else {
		through := l(s)
		name = p.op.caseName(&through)
	}
	name = placed(name, p.op.Name, placement)
	makers, op, failed := p.makers, p.op, slices.Clone(p.failed)
	var names []string
	for i := range makers {
		names = append(names, makers[i].Name)
	}
	return p.dispatcher.CaseOf(name, p.key(line), names, func(implementation string) bool {
		for i := range makers {
			if makers[i].Name != implementation || failed[i] != nil {
				continue
			}
			if line >= 0 && op.Lines[line].Without != nil && op.Lines[line].Without(implementation) != nil {
				return false
			}
			return makers[i].Missing() == nil
		}
		return false
	})
}

// key tells the implementations apart that plans have, so that the plans of one operation share their cases.
func (p *Plan[P]) key(line int) string {
	key := fmt.Sprintf("%p %s %d", p.backends, p.op.Name, line)
	for i, err := range p.failed {
		if err != nil {
			key += " " + p.makers[i].Name
		}
	}
	return key
}

// placement says where the data of the call under way lie: in shared memory where all of them do.
func (p *Plan[P]) placement() Placement {
	for _, g := range p.backends.GPUs {
		if d := g.Opened(); d != nil && inShared(d, &p.args) {
			return Shared
		}
	}
	return Caller
}

func inShared(d *gpu.Device, a *Args) bool {
	any := false
	for _, data := range a {
		if len(data) == 0 {
			continue
		}
		if !d.InShared(data) {
			return false
		}
		any = true
	}
	return any
}

// Explain says why a call at a shape with data in a placement takes the implementation that it takes.
func (p *Plan[P]) Explain(s Shape) dispatch.Explanation {
	c, size := p.choice(s)
	return c.of.Explain(size)
}

// Close gives back what the implementations hold, such as memory of a GPU. Who does not call it leaves it to the garbage
// collector. A call after Close makes anew what it needs.
func (p *Plan[P]) Close() { p.held.close() }

// Alloc returns zeroed memory for n float32 that calls reach without a copy where a GPU computes, and so belongs to the
// placement "shared". It is ordinary memory where no GPU works. free gives it back; it may also be left to the garbage
// collector once nobody refers to free any more.
func (b *Backends) Alloc(n int) (data []float32, free func(), err error) {
	d := b.device()
	if d == nil {
		return make([]float32, n), func() {}, nil
	}
	m, err := d.Alloc(max(n, 1))
	if err != nil {
		return nil, nil, err
	}
	return m.Floats()[:n], m.Free, nil
}
