package dispatch

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
)

// Operation chooses at any shape of an operation among the implementations that a program has, for a program whose calls
// differ in several axes. The zero Operation always chooses CPU.
type Operation struct {
	name    string // with its placement
	names   []string
	has     func(implementation string) bool
	present atomic.Pointer[overShapes]
}

// overShapes is what an Operation goes by for the present calibration and policies. It never changes.
type overShapes struct {
	shapes *shapes // nil where nothing is predicted
	fixed  string  // the implementation at every shape, where there is one: CPU where nothing is known
	reason string  // of that
	note   string  // behind every reason, "" for none
	entry  entry
	now    func() time.Time
}

// Operation returns the chooser of an operation, such as "matmul", among the implementations that the program has. A call
// without them stands for all implementations. "matmul/shared" is the operation with its data in shared memory; if the
// calibration has nothing for that, what it has for caller memory counts.
//
// Operation belongs where a program starts. It returns the same Operation for the same arguments.
func (d *Dispatcher) Operation(name string, have ...string) *Operation {
	if len(have) == 0 {
		return d.OperationOf(name, "", nil, nil)
	}
	key, have, has := among(have)
	return d.OperationOf(name, key, have, has)
}

// OperationOf is Operation for a program that does not look for an implementation before the implementation may be chosen,
// as CaseOf is Case. It asks has about an implementation before it chooses it for the first time, in ChooseShape.
func (d *Dispatcher) OperationOf(name, key string, names []string, has func(implementation string) bool) *Operation {
	o := &Operation{name: name, names: names, has: has}
	if d.none() {
		o.present.Store(forcedAlone().newOverShapes(o))
		return o
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	of := caseKey{name, key}
	if known := d.operations[of]; known != nil {
		return known
	}
	o.present.Store(d.newOverShapes(o))
	d.operations[of] = o
	return o
}

// newOverShapes returns what an operation goes by. The caller holds the lock.
func (d *Dispatcher) newOverShapes(o *Operation) *overShapes {
	operation, fixed, placement := splitName(o.name)
	p := d.predictedFor(operation, placement)
	if p == nil && placement == shared {
		p = d.predictedFor(operation, caller)
	}
	s := &overShapes{fixed: CPU, entry: d.entry, now: d.now}
	b := builder{d: d, names: o.names, has: o.has}
	if p != nil {
		s.shapes = d.newShapes(p, placement, o.names, o.has)
		b = s.shapes.b
	}
	forced, refused := b.forced(o.name)
	switch {
	case strings.ContainsFunc(o.name, unicode.IsControl) || len(fixed) > 0:
		s.shapes, s.reason = nil, fmt.Sprintf("%q is no name of an operation (want matmul or matmul/shared)", short(o.name))
	case forced != "":
		s.shapes, s.fixed, s.reason = nil, forced, d.forcedBy()
	case p == nil && d.entry.host == nil:
		s.reason = d.entry.fallback
	case p == nil:
		s.reason = fmt.Sprintf("the calibration of %s predicts nothing for %s", d.entry.host.ID, o.name)
	}
	if refused != "" {
		s.note = "; " + refused
	}
	if s.shapes != nil {
		s.note += p.note(placement)
	}
	return s
}

// ChooseShape returns the name of the implementation to use at a shape, which has a value for every axis of the operation,
// in the order of the calibration's axes. It returns CPU where nothing is known, and at a shape that the operation has not.
// On a line that was measured, and between its sizes, the segments of its case decide. Elsewhere times are predicted. Beyond
// the measured shapes the nearest ones decide.
//
// ChooseShape allocates nothing. It takes some ten nanoseconds at a shape that it was asked for lately, and some
// microseconds at another one or while SetGPUWait says that the GPU is busy, because it then predicts times.
func (o *Operation) ChooseShape(shape ...int) string {
	s := o.present.Load()
	if s == nil {
		return CPU
	}
	if s.shapes == nil {
		return s.fixed
	}
	return s.shapes.choose(shape)
}

// ExplainShape says why ChooseShape answers as it does at a shape now. It allocates.
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
		e.describe(s.entry, nil, s.now)
	}
	e.Reason += s.note
	return e
}

// worded says which shape was asked for: "n=480 batch=64", or its values alone where the axes are not known.
func (s *overShapes) worded(shape []int) string {
	if s.shapes != nil && len(shape) == len(s.shapes.of.Axes) {
		return s.shapes.of.in(shape)
	}
	return fmt.Sprint(shape)
}
