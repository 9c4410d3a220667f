package kernels

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"crossover/dispatch"
	"crossover/gpu"
)

// Placement says where the data of a call lie.
type Placement string

// The placements.
const (
	Caller   Placement = "caller"   // in any Go slice
	Shared   Placement = "shared"   // in memory that a GPU reaches without a copy by the processor: see Backends.Alloc
	Resident Placement = "resident" // in the GPU's own memory; sweeps measure such calls, plans have none
)

// Elsewhere reports whether the data lie in another place than the slices of most programs.
func (p Placement) Elsewhere() bool { return p == Shared || p == Resident }

// suffix is what stands for the placement in the name of a case. It is empty for the default.
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

// Plan computes an operation with fixed parameters. Each call runs the implementation that is fastest at its shape and
// placement. The typed plans of the operations wrap a Plan, and a sweep times the same Run. Only one goroutine at a time may
// use a Plan.
type Plan[P any] struct {
	op         *Op[P]
	params     P
	backends   *Backends
	dispatcher *dispatch.Dispatcher
	apart      []apart
	makers     []Maker[P]
	only       int             // the only implementation that the plan may take; −1 if it chooses
	stage      *dispatch.Stage // of a pipeline's route, which names only; nil for none. A Watch may swap that
	ran        int             // the implementation that computed the last call; −1 if there was none or it failed

	axis    int   // of the first line, as an index of a shape
	held    *held // has a runner for each maker, nil until it is needed
	failed  []error
	retries uint64 // of the dispatcher, when failed was last cleared
	changes uint64 // of the dispatcher, that the plan has followed
	turn    dispatch.Turn
	trials  [2]dispatch.Trial // for data in caller and in shared memory; nil until calls are timed
	choices []choice
	caller  *dispatch.Operation // for data in caller memory; nil until a call needs it
	shared  *dispatch.Operation
	// running is set during a call. Two goroutines that use one plan are found out by it in most cases. It is not atomic,
	// because that would take as long as a small call.
	running bool
	args    Args
	times   *gpu.CallTimes // where a GPU writes what the current call takes; nil unless somebody asks
	placed  Placement      // of the data of the last call

	maxError float64 // that a call accepts; 0 for the operation's tolerance
	leftOut  uint64  // implementations that may err by more, a bit each

	refusals []refusal // of the shapes that were refused most recently
	oldest   int       // index of the oldest refusal, once there are mostRefusals
}

// refusal is a shape and the implementations that refused it. Bit i stands for maker i.
type refusal struct {
	shape Shape
	by    uint64
}

// mostRefusals is how many refused shapes a plan remembers.
const mostRefusals = 8

// held holds the runners of a plan, and what frees its shared memory. It outlives a dropped plan, so that a cleanup can close
// it.
type held struct {
	runners []Runner
	free    []func()
}

func (h *held) close() {
	for i, r := range h.runners {
		if c, ok := r.(interface{ Close() }); ok {
			c.Close()
		}
		h.runners[i] = nil
	}
	for _, free := range h.free {
		free()
	}
	h.free = nil
}

// choice is the dispatcher's case for one line and placement.
type choice struct {
	line      int   // of Op.Lines; −1 for a line through a shape
	through   Shape // the fixed values of such a line
	placement Placement
	of        *dispatch.Case
}

// NewPlan returns a plan of an operation that chooses by d. With a nil d it runs the first implementation of [Op].By that
// can run here, unless the environment variable CROSSOVER_FORCE names another one. NewPlan opens no GPU. A call opens a GPU
// if, by the calibration, the GPU is fastest at some size of the call's line.
func NewPlan[P any](d *dispatch.Dispatcher, op *Op[P], p P) *Plan[P] {
	return NewPlanOn(Here(), d, op, p)
}

// NewPlanOn is [NewPlan] on the given backends.
func NewPlanOn[P any](b *Backends, d *dispatch.Dispatcher, op *Op[P], p P) *Plan[P] {
	plan := &Plan[P]{op: op, params: p, backends: b, dispatcher: d, makers: op.makers(b), only: -1, ran: -1, placed: Caller}
	plan.axis = axisIndex(op.Axes, op.Lines[0].Axis.Name)
	plan.apart = apartOf(op.IO(p, op.Lines[0].At(op.Lines[0].Axis.Min)))
	plan.held = &held{runners: make([]Runner, len(plan.makers))}
	plan.failed = make([]error, len(plan.makers))
	plan.retries = d.Retries()
	plan.follow(d.Changes())
	runtime.AddCleanup(plan, (*held).close, plan.held)
	return plan
}

// NewPlanOf returns a plan on the given backends that always runs one implementation. If the implementation fails, the call
// fails. Sweeps and tests use NewPlanOf. Such a plan asks a dispatcher like any other plan, so that its calls take as long.
// NewPlanOf fails if the implementation is unknown or cannot run here.
func NewPlanOf[P any](b *Backends, op *Op[P], p P, implementation string) (*Plan[P], error) {
	plan := NewPlanOn(b, dispatch.Always(implementation), op, p)
	if err := plan.take(implementation); err != nil {
		return nil, err
	}
	return plan, nil
}

// NewPlanIn returns a plan for a stage of a pipeline, on the given backends. It always runs the implementation that the
// pipeline's route names, unless a [dispatch.Watch] of d swaps it: see [dispatch.Stage]. A call fails if that implementation
// fails. The route must name an implementation on the processor. NewPlanIn fails as [NewPlanOf] does.
func NewPlanIn[P any](b *Backends, d *dispatch.Dispatcher, op *Op[P], p P, stage *dispatch.Stage) (*Plan[P], error) {
	plan := NewPlanOn(b, d, op, p)
	plan.stage = stage
	if err := plan.take(stage.Implementation); err != nil {
		return nil, err
	}
	return plan, nil
}

// take makes an implementation the only one.
func (p *Plan[P]) take(implementation string) error {
	if p.only = p.named(implementation); p.only < 0 {
		return fmt.Errorf("%w: %q", ErrUnknownImplementation, implementation)
	}
	if err := p.makers[p.only].Missing(); err != nil {
		return fmt.Errorf("%s: %w", implementation, err)
	}
	return nil
}

// SetMaxError sets the greatest error that calls accept, in the measure of [Op].Judge. From now on, only implementations
// whose error bound is at most this are chosen from: see [Within]. An implementation without a bound of its own promises the
// operation's tolerance. SetMaxError fails, and changes nothing, if most is not above 0 or if no implementation promises as
// little. If the tolerance depends on the shape, Run fails at shapes at which it is above the limit, and Explain says so.
func (p *Plan[P]) SetMaxError(most float64) error {
	Made(p)
	if !(most > 0) {
		return fmt.Errorf("%s: an error of at most %g is not possible (want a limit above 0)", p.op.Name, most)
	}
	var leftOut uint64
	least := math.Inf(1)
	for i := range p.makers {
		bound := p.makers[i].ErrorBound
		if bound > most {
			leftOut |= 1 << i
		}
		least = min(least, bound)
	}
	if least == 0 {
		least = p.op.leastTolerance()
	}
	if least > most {
		return fmt.Errorf("%s: no implementation promises an error of at most %g (the least bound is %g)", p.op.Name, most, least)
	}
	p.maxError, p.leftOut = most, leftOut
	p.forgetChoices()
	return nil
}

// leastTolerance returns the least tolerance at the corners of the operation's axes.
func (op *Op[P]) leastTolerance() float64 {
	least := math.Inf(1)
	for corner := range 1 << len(op.Axes) {
		var s Shape
		for i, a := range op.Axes {
			if s[i] = a.Min; corner>>i&1 != 0 {
				s[i] = a.Max
			}
		}
		least = min(least, op.Tolerance(s))
	}
	return least
}

// inexact returns an error if every implementation may err at a shape by more than the plan accepts.
func (p *Plan[P]) inexact(s Shape) error {
	if p.makers[0].ErrorBound > 0 || p.op.Tolerance(s) <= p.maxError {
		return nil
	}
	return fmt.Errorf("%s: the error may be up to %g, and the plan accepts %g", p.op.Name, p.op.Tolerance(s), p.maxError)
}

// Run computes a call at a shape. It does not check that the data fit the shape; typed plans do. It panics if an output overlaps
// other data, unless it is the input that it may be in place of. Run allocates nothing at a shape at which the implementation
// has run twice. An implementation on a GPU remembers only the last few shapes.
//
// The chosen implementation may fail, for example because a GPU is lost or out of memory. Run then computes the same call by
// the next best implementation. It reports the failure to the dispatcher ([dispatch.Dispatcher.OnFailure]) and leaves the
// failed implementation out until [dispatch.Dispatcher.Retry], or for good if the plan has no dispatcher. If the error wraps
// [ErrRefused], the implementation is passed over for this call, and nothing is reported. A plan remembers the last few
// refused shapes, and does not try them again until Retry. Run fails if every implementation fails, or if none can run here.
func (p *Plan[P]) Run(s Shape, a Args) error { return p.run(s, &a) }

// RunTimed is [Plan.Run], and writes to t where the time of the call went if a GPU computed it. Otherwise t is then zero. Taking
// the device's account of the time may itself cost a little time.
func (p *Plan[P]) RunTimed(s Shape, a Args, t *gpu.CallTimes) error {
	*t = gpu.CallTimes{}
	p.times = t
	defer func() { p.times = nil }()
	return p.run(s, &a)
}

// apart are two tensors of a call whose data do not overlap, as indexes of [Op].IO. The first is an output. If inPlace is set,
// both may be the same data.
type apart struct {
	out, other int
	inPlace    bool
}

// apartOf returns the pairs of an operation's tensors.
func apartOf(tensors []Tensor) (all []apart) {
	for i, out := range tensors {
		for j, other := range tensors {
			if out.Role == Out && (j > i || other.Role == In) {
				all = append(all, apart{i, j, out.InPlaceOf == other.Name})
			}
		}
	}
	return all
}

// checkApart panics if data of a call overlap that must not. What the call writes would change what it has yet to read.
func (p *Plan[P]) checkApart(a *Args) {
	for _, of := range p.apart {
		x, y := a[of.out], a[of.other]
		// Addresses wrap around, so a distance is below the length only if one begins within the other.
		apart := uintptr(unsafe.Pointer(unsafe.SliceData(y))) - uintptr(unsafe.Pointer(unsafe.SliceData(x)))
		if (apart < 4*uintptr(len(x)) || -apart < 4*uintptr(len(y))) && (apart != 0 || !of.inPlace) {
			p.overlap(&of, len(x), len(y))
		}
	}
}

// overlap panics for two tensors of so many words, one of which begins within the other.
func (p *Plan[P]) overlap(of *apart, out, other int) {
	if out == 0 || other == 0 {
		return // nothing begins anywhere
	}
	tensors := p.op.IO(p.params, p.op.Lines[0].At(p.op.Lines[0].Axis.Min))
	want := "slices that do not overlap"
	if of.inPlace {
		want += ", or the same slice for both"
	}
	panic(fmt.Sprintf("%s: the output %s overlaps %s in memory (want %s)", p.op.Name, tensors[of.out].Name,
		tensors[of.other].Name, want))
}

// run is Run without another copy of the data's slices, which takes a tenth of a small call.
func (p *Plan[P]) run(s Shape, a *Args) error {
	Made(p)
	if p.maxError > 0 {
		if err := p.inexact(s); err != nil {
			return err
		}
	}
	if p.running {
		panic(p.op.Name + ": two goroutines use one plan at a time (want a plan for each)")
	}
	p.checkApart(a)
	p.args, p.running = *a, true
	defer func() { p.args, p.running = Args{}, false }()
	i := p.choose(s)
	refused := p.refusedBy(s)
	switch {
	case p.only < 0:
		i = p.unrefused(i, s, refused)
	case p.stage == nil:
		i = p.only
	}
	err := p.runInTurn(i, s)
	if err != nil && p.only < 0 {
		err = p.runNext(i, s, refused, err)
	}
	if err != nil {
		p.ran = -1
	}
	return err
}

// Ran returns the implementation that computed the last call, or "" if there was none or it failed.
func (p *Plan[P]) Ran() string {
	if p.ran < 0 {
		return ""
	}
	return p.makers[p.ran].Name
}

// choose returns the implementation that is fastest at a shape, or −1 if none can run.
func (p *Plan[P]) choose(s Shape) int {
	if now := p.dispatcher.Changes(); now != p.changes {
		p.follow(now)
	}
	if p.stage == nil { // in a pipeline, forecasts are of caller memory wherever a stage on the processor has its data
		p.placed = p.placement()
	}
	choose := (*dispatch.Case).Choose
	s = p.op.alike(&p.params, s)
	if p.op.Judged != nil {
		if i := p.named(p.operation(p.placed).ChooseShape(s[:len(p.op.Axes)]...)); i >= 0 {
			return i
		}
		choose = (*dispatch.Case).Peek // the call is counted already, at its shape
	}
	c, size := p.choiceIn(s, p.placed)
	if i := p.named(choose(c.of, size)); i >= 0 {
		return i
	}
	return p.preferred(c.line, 0)
}

// follow follows a change of the dispatcher: a Retry, or a Watch that begins or ends.
func (p *Plan[P]) follow(changes uint64) {
	p.changes = changes
	p.turn = p.dispatcher.Watching().Turn()
	if now := p.dispatcher.Retries(); now != p.retries {
		p.retries = now
		clear(p.failed)
		p.refusals = p.refusals[:0]
		p.forgetChoices()
	}
}

// named returns the implementation of a name, or −1 if there is none.
func (p *Plan[P]) named(name string) int {
	for i := range p.makers {
		if p.makers[i].Name == name {
			return i
		}
	}
	return -1
}

// forgetChoices makes the plan ask the dispatcher anew, because other implementations have failed than before.
func (p *Plan[P]) forgetChoices() { p.choices, p.caller, p.shared = p.choices[:0], nil, nil }

// refusedBy returns the implementations that refused a shape, a bit each. It returns 0 for a shape that the plan does not
// remember.
func (p *Plan[P]) refusedBy(s Shape) uint64 {
	for i := range p.refusals {
		if p.refusals[i].shape == s {
			return p.refusals[i].by
		}
	}
	return 0
}

// unrefused returns implementation i. If i refused the shape, it returns the preferred implementation that did not, or −1 if
// there is none.
func (p *Plan[P]) unrefused(i int, s Shape, refused uint64) int {
	if i < 0 || refused>>i&1 == 0 {
		return i
	}
	c, _ := p.choiceIn(p.op.alike(&p.params, s), p.placed)
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

// preferred returns the first implementation in the order of preference that can run on a line, is accurate enough, has not
// failed, and has no bit in refused. It returns −1 if there is none.
func (p *Plan[P]) preferred(line int, refused uint64) int {
	for i := range p.makers {
		if (refused|p.leftOut)>>i&1 == 0 && p.failed[i] == nil && p.missing(i, line) == nil {
			return i
		}
	}
	return -1
}

func (p *Plan[P]) runBy(i int, s Shape) error {
	if i < 0 {
		return fmt.Errorf("%s: no implementation can run here", p.op.Name)
	}
	p.ran = i
	r := p.held.runners[i]
	if r == nil {
		var err error
		if r, err = p.runner(i); err != nil {
			return err
		}
	}
	if p.times != nil {
		return p.runTimed(r, s)
	}
	return r.Run(s, &p.args)
}

// runTimed runs a runner, and writes to p.times where the time went, which is nothing if it runs on the processor.
func (p *Plan[P]) runTimed(r Runner, s Shape) error {
	*p.times = gpu.CallTimes{} // or what an implementation left that has failed
	if g, onGPU := r.(gpuRunner); onGPU {
		return g.runTimed(s, &p.args, p.times)
	}
	return r.Run(s, &p.args)
}

// runner returns the runner of an implementation. It makes the runner when it is first needed.
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

// runNext computes a call after implementation i failed with err. refused has a bit for each implementation that refused the
// shape.
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
		if err = p.runBy(i, s); err == nil {
			p.remember(s, refused)
			return nil
		}
	}
	return err
}

// missing returns nil if an implementation can run here on a line.
func (p *Plan[P]) missing(i, line int) error {
	if line >= 0 && p.op.Lines[line].Without != nil {
		if err := p.op.Lines[line].Without(p.makers[i].Name); err != nil {
			return err
		}
	}
	return p.makers[i].Missing()
}

// fail closes an implementation, leaves it out of later choices, and reports it to the dispatcher.
func (p *Plan[P]) fail(i int, err error) {
	p.failed[i] = err
	p.forgetChoices()
	if r, ok := p.held.runners[i].(interface{ Close() }); ok {
		r.Close()
	}
	p.held.runners[i] = nil
	p.dispatcher.Failed(p.makers[i].Name, err)
}

// choiceIn returns the dispatcher's case for a call with its data in the given placement, and the size on its axis. s is the shape
// whose times decide the call: see [Op].Alike.
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
	const most = 16 // choices that a plan remembers
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
	measured := name // the case in caller memory, which decides if the file lacks the placement
	name = placed(name, p.op.Name, placement)
	names, obstacle := p.has(line)
	return p.dispatcher.CaseIn(p.stage, name, measured, p.key(line), names, obstacle)
}

// operation returns the dispatcher's choices at all shapes of the operation, with data in the given placement.
func (p *Plan[P]) operation(placement Placement) *dispatch.Operation {
	of := &p.caller
	if placement == Shared {
		of = &p.shared
	}
	if *of == nil {
		names, obstacle := p.has(-1)
		*of = p.dispatcher.OperationIn(p.stage, placed(p.op.Name, p.op.Name, placement), p.key(-1), names, obstacle)
	}
	return *of
}

// has returns the names of the implementations that are accurate enough. It also returns what says why an implementation
// cannot be used on a line: it cannot run here, has failed, or is not accurate enough.
func (p *Plan[P]) has(line int) (names []string, obstacle func(implementation string) string) {
	makers, op, failed, leftOut := p.makers, p.op, slices.Clone(p.failed), p.leftOut
	for i := range makers {
		if leftOut>>i&1 == 0 {
			names = append(names, makers[i].Name)
		}
	}
	return names, func(implementation string) string {
		for i := range makers {
			switch {
			case makers[i].Name != implementation || failed[i] != nil:
				continue
			case leftOut>>i&1 != 0:
				return fmt.Sprintf("may err by %g", makers[i].ErrorBound)
			case line >= 0 && op.Lines[line].Without != nil && op.Lines[line].Without(implementation) != nil, makers[i].Missing() != nil:
				return dispatch.NotThere
			}
			return ""
		}
		return dispatch.NotThere
	}
}

// key is equal for plans of one operation that have the same implementations. Such plans share the dispatcher's cases.
func (p *Plan[P]) key(line int) string {
	key := fmt.Sprintf("%d %s %d %x", p.backends.identity(), p.op.Name, line, p.leftOut)
	for i, err := range p.failed {
		if err != nil {
			key += " " + p.makers[i].Name
		}
	}
	return key
}

// placement returns the placement of the current call: shared if all of its data lie in shared memory, and otherwise caller.
func (p *Plan[P]) placement() Placement {
	if !gpu.AnyShared() {
		return Caller
	}
	for _, g := range p.backends.GPUs {
		if d := g.Opened(); d != nil && inShared(d, &p.args) {
			return Shared
		}
	}
	return Caller
}

// shapeText returns a shape as "rows=30 columns=40".
func (op *Op[P]) shapeText(s Shape) string {
	var parts []string
	for i, a := range op.Axes {
		parts = append(parts, fmt.Sprintf("%s=%d", a.Name, s[i]))
	}
	return strings.Join(parts, " ")
}

// inShared reports whether the data of a call lie in shared memory. Tensors of a few values count only if there are no
// larger ones, because the time to copy them does not matter.
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

// Explain says which implementation computes a call at a shape, and why. It assumes the placement of the last call, and
// caller before the first call. If a measured call with as much work decides (see [Op].Alike), the explanation names the shape
// of that one, and the reason says so.
func (p *Plan[P]) Explain(s Shape) dispatch.Explanation {
	Made(p)
	return p.ExplainIn(s, p.placed)
}

// ExplainIn is [Plan.Explain] for data in the given placement. It says so if no call has such a shape.
func (p *Plan[P]) ExplainIn(s Shape, placement Placement) dispatch.Explanation {
	if least := slices.Min(s[:len(p.op.Axes)]); least < 0 || least == 0 && !p.op.Hidden {
		return dispatch.Explanation{
			Case: p.op.Name, Shape: p.op.shapeText(s), Implementation: "none", Reason: "no call has such a size (want at least 1)",
			Answer: dispatch.Unknown,
		}
	}
	measured := p.op.alike(&p.params, s)
	e := p.explainIn(measured, placement)
	if measured != s && e.Answer != dispatch.Unknown {
		e.Reason += ", where a measured call has as much work as this one"
	}
	if p.maxError > 0 {
		if err := p.inexact(s); err != nil {
			e.Implementation, e.Reason, e.Answer = "none", err.Error(), dispatch.Unknown
		}
	}
	return e
}

// explainIn explains a shape that decides: see [Op].Alike.
func (p *Plan[P]) explainIn(s Shape, placement Placement) (e dispatch.Explanation) {
	if p.op.Judged != nil {
		e = p.operation(placement).ExplainShape(s[:len(p.op.Axes)]...)
		if e.Answer != dispatch.Unknown || p.named(e.Implementation) >= 0 { // as choose goes by it
			return e
		}
	}
	c, size := p.choiceIn(s, placement)
	line := c.of.Explain(size)
	if line.Answer != dispatch.Unknown || p.named(line.Implementation) >= 0 {
		return line
	}
	// Nothing that was measured tells. The reason of a line that the file has is the better one. Without it, the reason is that of the
	// shape, whatever line the plan goes by. A value of 0 is not known.
	axes, known := s[:len(p.op.Axes)], line.Unit != ""
	if p.dispatcher == nil || len(axes) < 2 || slices.Contains(axes, 0) || known && p.op.Judged == nil {
		e = line
	} else if e = p.operation(placement).ExplainShape(axes...); e.Answer != dispatch.Unknown { // by a line that the plan does not go by
		e = line
	} else {
		if e.Shape = p.op.shapeText(s); known {
			e.Reason = line.Reason
		}
	}
	if i := p.preferred(c.line, 0); i >= 0 {
		e.Implementation = p.makers[i].Name
	}
	return e
}

// Close releases what the implementations hold, such as GPU memory. The garbage collector does the same for a dropped plan.
// A call after Close makes its implementation anew.
func (p *Plan[P]) Close() {
	Made(p)
	p.held.close()
}

// mostValues is the greatest number of values that Alloc takes, as [gpu.Device.Alloc] does. With more than a slice can have, make
// panics.
const mostValues = 1 << 40

// Alloc returns n zeros in shared memory, which a GPU reaches without a copy by the processor. The placement of a call is
// shared if all of its slices lie in such memory. Parts of slices from Alloc do. Alloc opens GPUs until it finds one that
// works. If none works, Alloc returns ordinary memory.
//
// Only free frees the memory, because the garbage collector cannot know whether a part of data is still in use. If the
// system has no such memory left, or if n is above 2⁴⁰, Alloc returns an error that wraps [gpu.ErrOutOfMemory]. A program
// that has no room for ordinary memory ends, as it does in make.
//
// Alloc panics if n is below 0.
func (b *Backends) Alloc(n int) (data []float32, free func(), err error) {
	if n < 0 {
		panic(fmt.Sprintf("kernels: Alloc of %d values: want at least 0", n))
	}
	if int64(n) > mostValues {
		return nil, nil, fmt.Errorf("kernels: Alloc of %d values: want at most %d: %w", n, int64(mostValues), gpu.ErrOutOfMemory)
	}
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
