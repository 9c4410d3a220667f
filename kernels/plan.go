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
	Shared   Placement = "shared"   // in memory that a GPU reaches without a copy by the processor: see Backends.Alloc
	Resident Placement = "resident" // in the GPU's own memory; plans have no such calls, sweeps measure them
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

// Plan computes an operation with fixed parameters. Each call takes the implementation that is fastest at its shape, with
// its data where they lie. The typed plans of the operations wrap a Plan, and a sweep times the same Run. A Plan is for one
// goroutine at a time.
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
	placed  Placement // of the data of the last call

	refusals []refusal // of the shapes that were refused last
	oldest   int       // of them, once there are as many as a plan remembers
}

// refusal is a shape and the implementations that refused it, a bit each.
type refusal struct {
	shape Shape
	by    uint64
}

// mostRefusals is how many refused shapes a plan remembers.
const mostRefusals = 8

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

// NewPlan returns a plan of an operation that chooses by d; d may be nil. NewPlan opens no GPU. A call opens one where the
// calibration has it as the fastest somewhere on the call's line.
func NewPlan[P any](d *dispatch.Dispatcher, op *Op[P], p P) *Plan[P] {
	return NewPlanOn(Here(), d, op, p)
}

// NewPlanOn is NewPlan on the given backends.
func NewPlanOn[P any](b *Backends, d *dispatch.Dispatcher, op *Op[P], p P) *Plan[P] {
	plan := &Plan[P]{op: op, params: p, backends: b, dispatcher: d, makers: op.makers(b), only: -1, placed: Caller}
	plan.axis = axisIndex(op.Axes, op.Lines[0].Axis.Name)
	plan.held = &held{make([]Runner, len(plan.makers))}
	plan.failed = make([]error, len(plan.makers))
	plan.retries = d.Retries()
	runtime.AddCleanup(plan, (*held).close, plan.held)
	return plan
}

// NewPlanOf returns a plan on the given backends that always takes one implementation, and takes no other one where it
// fails. Sweeps and tests use it. Such a plan asks the dispatcher as any plan does, so that its calls take as long. It
// fails where the implementation is unknown or cannot run here.
func NewPlanOf[P any](b *Backends, op *Op[P], p P, implementation string) (*Plan[P], error) {
	plan := NewPlanOn(b, dispatch.Always(implementation), op, p)
	plan.only = slices.IndexFunc(plan.makers, func(m Maker[P]) bool { return m.Name == implementation })
	if plan.only < 0 {
		return nil, fmt.Errorf("%w: %q", ErrUnknownImplementation, implementation)
	}
	if err := plan.makers[plan.only].Missing(); err != nil {
		return nil, fmt.Errorf("%s: %w", implementation, err)
	}
	return plan, nil
}

// Run computes a call at a shape. It does not check that the data fit the shape; typed plans do. Run allocates nothing at
// a shape at which the implementation has been used twice. An implementation on a GPU remembers a few shapes.
//
// Where the chosen implementation fails, as on a GPU that is lost or out of memory, Run computes the same call by the next
// best one. It reports the failure to the dispatcher ([dispatch.Dispatcher.OnFailure]) and leaves the implementation out
// until [dispatch.Dispatcher.Retry]; without a dispatcher it is left out for good. An implementation whose error wraps
// [ErrRefused] is passed over for this call, and nothing is reported. A plan remembers a few shapes that were refused, and
// does not ask again until Retry. Run fails where every implementation does, and where none can run here.
func (p *Plan[P]) Run(s Shape, a Args) error {
	p.args = a
	i := p.choose(s)
	refused := p.refusedBy(s)
	if p.only >= 0 {
		i = p.only
	} else {
		i = p.unrefused(i, s, refused)
	}
	err := p.run(i, s)
	if err != nil && p.only < 0 {
		err = p.runNext(i, s, refused, err)
	}
	p.args = Args{}
	return err
}

// choose returns the implementation that is fastest at a shape, −1 where none can be taken.
func (p *Plan[P]) choose(s Shape) int {
	if now := p.dispatcher.Retries(); now != p.retries {
		p.retries = now
		clear(p.failed)
		p.choices, p.refusals = p.choices[:0], p.refusals[:0]
	}
	c, size := p.choice(s)
	p.placed = c.placement
	name := c.of.Choose(size)
	for i := range p.makers {
		if p.makers[i].Name == name {
			return i
		}
	}
	return p.preferred(c.line, 0)
}

// refusedBy returns the implementations that refused a shape, a bit each, as far as the plan remembers them.
func (p *Plan[P]) refusedBy(s Shape) uint64 {
	for i := range p.refusals {
		if p.refusals[i].shape == s {
			return p.refusals[i].by
		}
	}
	return 0
}

// unrefused returns implementation i, or where it refused the shape the next one that did not, −1 where there is none.
func (p *Plan[P]) unrefused(i int, s Shape, refused uint64) int {
	if i < 0 || refused>>i&1 == 0 {
		return i
	}
	c, _ := p.choice(s)
	return p.preferred(c.line, refused)
}

// remember notes the implementations that refused a shape, if any.
func (p *Plan[P]) remember(s Shape, by uint64) {
	if by == 0 {
		return
	}
	for i := range p.refusals {
		if p.refusals[i].shape == s {
			p.refusals[i].by = by
			return
		}
	}
	if len(p.refusals) < mostRefusals {
		p.refusals = append(p.refusals, refusal{s, by})
		return
	}
	p.refusals[p.oldest] = refusal{s, by}
	p.oldest = (p.oldest + 1) % mostRefusals
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

// runNext computes a call after implementation i failed, and others refused the shape.
func (p *Plan[P]) runNext(i int, s Shape, refused uint64, err error) error {
	for i >= 0 {
		if errors.Is(err, ErrRefused) {
			refused |= 1 << i
		} else {
			p.fail(i, err)
		}
		if i = p.unrefused(p.choose(s), s, refused); i < 0 {
			break
		}
		if err = p.run(i, s); err == nil {
			p.remember(s, refused)
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

// choice returns the dispatcher's case for the call under way, and the size on its axis.
func (p *Plan[P]) choice(s Shape) (*choice, int) {
	placement := Caller
	if gpu.AnyShared() {
		placement = p.placement()
	}
	return p.choiceIn(s, placement)
}

// choiceIn is choice for data in a placement.
func (p *Plan[P]) choiceIn(s Shape, placement Placement) (*choice, int) {
	line, size, through := -1, s[p.axis], s
	through[p.axis] = 0
	if p.op.Judged != nil {
		line, size = p.op.Judged(p.params, s)
		through = Shape{}
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
	measured := name // in caller memory: what a file without the placement goes by
	name = placed(name, p.op.Name, placement)
	makers, op, failed := p.makers, p.op, slices.Clone(p.failed)
	var names []string
	for i := range makers {
		names = append(names, makers[i].Name)
	}
	return p.dispatcher.CaseOf(name, measured, p.key(line), names, func(implementation string) bool {
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
	key := fmt.Sprintf("%d %s %d", p.backends.identity(), p.op.Name, line)
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

// inShared reports whether a call's data lie in shared memory. Tensors of a few values do not count where there are larger
// ones: copying them costs nothing that shared memory would save.
func inShared(d *gpu.Device, a *Args) bool {
	const few = 1024
	large, small, smallShared := 0, 0, 0
	for _, data := range a {
		switch shared := len(data) > 0 && d.InShared(data); {
		case len(data) == 0:
		case len(data) > few:
			if !shared {
				return false
			}
			large++
		default:
			small++
			if shared {
				smallShared++
			}
		}
	}
	return large > 0 || small > 0 && smallShared == small
}

// Explain says why a call at a shape takes the implementation that it takes, with its data in the placement of the last
// call, which is caller before the first one.
func (p *Plan[P]) Explain(s Shape) dispatch.Explanation { return p.ExplainIn(s, p.placed) }

// ExplainIn is Explain for data in the given placement.
func (p *Plan[P]) ExplainIn(s Shape, placement Placement) dispatch.Explanation {
	c, size := p.choiceIn(s, placement)
	return c.of.Explain(size)
}

// Close releases what the implementations hold, such as memory of a GPU. The garbage collector does the same for a plan
// that is dropped. A call after Close makes its implementation again.
func (p *Plan[P]) Close() { p.held.close() }

// Alloc returns zeroed memory for n float32 in the placement "shared": a GPU reaches it without a copy by the processor.
// Alloc opens the GPUs until one works, and returns ordinary memory where none does. A call belongs to the placement where
// all of its data lie in such memory, parts of such slices included.
//
// Only free gives the memory back: the garbage collector cannot know whether a part of data is still in use. Alloc
// fails, wrapping [gpu.ErrOutOfMemory], where the system has no such memory left.
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
