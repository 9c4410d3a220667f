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
	name    string // with its placement
	names   []string
	has     func(implementation string) bool
	present atomic.Pointer[overShapes]
}

// overShapes is what an Operation uses for the present calibration and policies. It never changes.
type overShapes struct {
	shapes *shapes // nil if nothing is predicted
	fixed  string  // the implementation at every shape, if shapes is nil; CPU if nothing is known
	reason string  // reason for fixed
	note   string  // added to every reason; may be ""
	entry  entry
	now    func() time.Time

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
	key, have, has := among(have)
	return d.OperationOf(name, key, have, has)
}

// OperationOf is Operation for a program that does not look for an implementation before the implementation may be chosen,
// as CaseOf is for Case. ChooseShape asks has about an implementation before it chooses it for the first time.
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
	s := &overShapes{fixed: CPU, entry: d.entry, now: d.now, counter: d.counterOver(o.name)}
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
	if s.shapes == nil {
		return s.fixed
	}
	return s.shapes.choose(shape)
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
		e.describe(s.entry, nil, s.now)
	}
	e.Reason += s.note
	return e
}

// worded writes a shape: "n=480 batch=64", or only its values if the axes are not known.
func (s *overShapes) worded(shape []int) string {
	if s.shapes != nil && len(shape) == len(s.shapes.of.Axes) {
		return s.shapes.of.in(shape)
	}
	return fmt.Sprint(shape)
}
