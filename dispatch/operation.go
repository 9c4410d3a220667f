package dispatch

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
)

// Operation chooses among the implementations of a program at any shape of an operation. It is for programs whose calls
// differ in several axes. The zero Operation always chooses CPU.
type Operation struct {
	name     string // with its placement
	names    []string
	obstacle obstacle
	in       routed
	present  atomic.Pointer[overShapes]
}

// overShapes is what an Operation uses for the present calibration and policies. It never changes.
type overShapes struct {
	shapes *shapes // nil if nothing is predicted
	fixed  string  // the implementation at every shape, if shapes is nil; CPU if nothing is known
	reason string  // reason for fixed
	note   string  // added to every reason; may be ""
	// refused says why CROSSOVER_FORCE does not count, or is "". A case that decides says so itself.
	refused string
	axes    []string // nil if they are not known
	entry   entry
	now     func() time.Time

	swaps   []*swapping
	counter *counter // of calls; nil where nothing is recorded
}

// Operation returns the chooser of an operation, such as "matmul", among the implementations that the program has. A call
// without names stands for all implementations. "matmul/shared" is the operation with its data in shared memory. If the
// calibration has nothing for that, the measurements in caller memory count.
//
// Programs call Operation when they start. It returns the same Operation for the same arguments.
func (d *Dispatcher) Operation(name string, have ...string) *Operation {
	if len(have) == 0 {
		return d.OperationOf(name, "", nil, nil)
	}
	key, have, obstacle := among(have)
	return d.OperationOf(name, key, have, obstacle)
}

// OperationOf is Operation for a program that does not look for an implementation before the implementation may be chosen,
// as CaseOf is for Case. ChooseShape asks for the obstacle of an implementation before it chooses it for the first time.
func (d *Dispatcher) OperationOf(name, key string, names []string, obstacle func(implementation string) string) *Operation {
	return d.OperationIn(nil, name, key, names, obstacle)
}

// OperationIn is OperationOf for a stage of a pipeline, as CaseIn is CaseOf.
func (d *Dispatcher) OperationIn(s *Stage, name, key string, names []string, obstacle func(implementation string) string) *Operation {
	return d.operationIn(s.routed(), name, key, names, obstacle)
}

func (d *Dispatcher) operationIn(in routed, name, key string, names []string, obstacle obstacle) *Operation {
	o := &Operation{name: name, names: names, obstacle: obstacle, in: in}
	if d.none() {
		o.present.Store(forcedAlone().newOverShapes(o))
		return o
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	of := caseKey{name, key, o.in}
	if known := d.operations[of]; known != nil {
		return known
	}
	o.present.Store(d.newOverShapes(o))
	d.operations[of] = o
	return o
}

// newOverShapes returns what an operation uses from now on. The caller holds the lock.
func (d *Dispatcher) newOverShapes(o *Operation) *overShapes {
	operation, fixed, placement := splitName(o.name)
	p := d.predictedFor(operation, placement)
	if p == nil && placement == shared {
		p = d.predictedFor(operation, caller)
	}
	if p == nil {
		p = d.knownFor(operation, placement)
	}
	s := &overShapes{fixed: CPU, axes: d.axesOf(operation), entry: d.entryFor(operation), now: d.now}
	b := builder{d: d, names: o.names, lacks: o.obstacle, otherGPU: s.entry.otherGPU}
	if p != nil {
		s.shapes = d.newShapes(p, placement, o.names, o.obstacle)
		b = s.shapes.b
	}
	if o.in.list {
		b.recorded = noRecord
	}
	if o.in != (routed{}) {
		s.shapes, s.fixed, s.reason = nil, o.in.implementation, o.in.reason()
		s.swaps = b.swapped(o.name, true, o.in.stageOf)
		return s
	}
	s.counter = d.counterOver(o.name)
	forced, refused := b.forced(o.name)
	switch {
	case strings.ContainsFunc(o.name, unicode.IsControl) || len(fixed) > 0:
		s.shapes, s.reason = nil, fmt.Sprintf("%q is no name of an operation (want matmul or matmul/shared)", short(o.name))
	case forced != "":
		s.shapes, s.fixed, s.reason = nil, forced, d.forcedBy()
	case p == nil && s.entry.host == nil:
		s.reason = s.entry.fallback
	case p == nil:
		s.reason = s.entry.nothingOf(operation)
	}
	if refused != "" {
		s.refused = "; " + refused
	}
	if s.shapes != nil {
		s.note += noteOf(p.Placement, placement)
		s.swaps = s.shapes.b.swapped(o.name, true, stageOf{})
	}
	return s
}

// ChooseShape returns the name of the implementation to use at a shape, which has a value for every axis of the operation,
// in the order of the calibration's axes. It returns CPU if nothing is known, and at a shape that the operation does not
// have. On a measured line, and between its sizes, the segments of its case decide. Elsewhere times are predicted. Beyond
// the measured shapes the nearest ones decide.
//
// ChooseShape allocates nothing. It takes some ten nanoseconds at a recent shape. It takes some microseconds at another
// shape, and while SetGPUWait says that the GPU is busy, because it then predicts times.
func (o *Operation) ChooseShape(shape ...int) string {
	s := o.present.Load()
	if s == nil {
		return CPU
	}
	if s.counter != nil {
		s.counter.values(shape)
	}
	chosen := s.fixed
	if s.shapes != nil {
		chosen = s.shapes.choose(shape)
	}
	if s.swaps == nil {
		return chosen
	}
	if by := overSwap(s.swaps, shape); by != nil {
		return by.instead(chosen)
	}
	return chosen
}

// ExplainShape says why ChooseShape now answers as it does at a shape. It allocates.
func (o *Operation) ExplainShape(shape ...int) Explanation {
	s := o.present.Load()
	if s == nil {
		s = &overShapes{fixed: CPU, reason: noCalibration, entry: entry{fallback: noCalibration}, now: time.Now}
	}
	e := Explanation{Implementation: s.fixed, Reason: s.reason, Answer: Unknown}
	if s.shapes != nil {
		e = s.shapes.explain(shape)
	}
	if e.Case == "" {
		e.Case, e.Shape = o.name, s.worded(shape)
		e.Reason += s.refused
		if e.Host == "" { // otherwise the shape was asked for
			e.describe(s.entry, s.created(), s.now)
		}
	}
	e.Reason += s.note
	if by := overSwap(s.swaps, shape); by != nil {
		by.explain(&e, s.now)
	}
	return e
}

// created returns when the newest run began that measured the operation.
func (s *overShapes) created() time.Time {
	switch {
	case s.entry.host == nil:
		return time.Time{}
	case s.shapes == nil:
		return s.entry.host.Created
	}
	return s.entry.host.NewestRun(s.shapes.of.Operation)
}

// worded writes a shape: "n=480 batch=64", or only its values if the axes are not known.
func (s *overShapes) worded(shape []int) string {
	if len(shape) != len(s.axes) {
		return fmt.Sprint(shape)
	}
	var b strings.Builder
	for i, name := range s.axes {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%d", name, shape[i])
	}
	return b.String()
}
