package harness

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/thresholds/surfaces"
)

// ShapesCheck is one recorded operation under verification, at shapes that were not measured before.
type ShapesCheck struct {
	Name     string // "stft", "stft/shared"
	Recorded *calibration.Operation
	Space    *kernels.Space
	Called   []Asked // the shapes to check, by their calls; none for shapes all over the space

	// What Measure found.
	Result  *sweeps.Result
	Audit   surfaces.Audit
	Finding thresholds.Finding
	// Broken says that the choices lose more than the file promises, beyond doubt.
	Broken bool
	// Excused is like that of a Check.
	Excused bool

	auditor  *surfaces.Auditor
	distinct int // called shapes that were drawn
}

const (
	// LossLimit is the mean loss above which the choices of an operation have drifted, if it exceeds that beyond doubt.
	LossLimit = 0.05
	// LeastShapes is how many fresh shapes it takes to say something of an operation.
	LeastShapes = 8
	// mostUntold is the greatest part of the shapes that may say nothing of the choices if these are to hold.
	mostUntold = 0.25
)

// AddShapes pairs the recorded operations that have a case that is asked for, or are asked for by name, with the spaces of this
// program. Operations of which there are called shapes are checked at those alone.
func (v *Verification) AddShapes(spaces []*kernels.Space, asked func(name string) bool, called []Asked) {
	for k := range v.Entry.Operations {
		o := &v.Entry.Operations[k]
		name := shapesName(o)
		at := slices.IndexFunc(spaces, func(s *kernels.Space) bool { return s.Case.Name == name })
		switch {
		case !asked(name) && !v.asksForCaseOf(o, asked):
		case at < 0:
			v.Skipped = append(v.Skipped, name+": its shapes are not in the catalogue of this version")
		case !o.Surface.Fitted():
			v.Skipped = append(v.Skipped, name+": the file predicts nothing for shapes beside its cases")
		case !slices.Equal(axisNames(spaces[at]), o.Surface.Axes):
			v.Skipped = append(v.Skipped, fmt.Sprintf("%s: the file has the axes %q, and this version has %q", name, o.Surface.Axes, axisNames(spaces[at])))
		default:
			space := *spaces[at]
			space.Case.Implementations = promised(o.Implementations, space.Case.Implementations)
			v.Shapes = append(v.Shapes, &ShapesCheck{Name: name, Recorded: o, Space: &space, Called: of(called, name)})
		}
	}
}

// of returns the shapes that lie in a space.
func of(called []Asked, space string) []Asked {
	return slices.DeleteFunc(slices.Clone(called), func(a Asked) bool { return a.Case != space })
}

// asksForCaseOf reports whether a case of an operation is asked for, with its data in the operation's placement.
func (v *Verification) asksForCaseOf(o *calibration.Operation, asked func(name string) bool) bool {
	return slices.ContainsFunc(v.Entry.Cases, func(c calibration.Case) bool {
		return c.Operation == o.Name && placementOf(&c) == o.Placement && asked(c.Name)
	})
}

// freshShare is the part of the budget that goes into fresh shapes; the cases get the rest.
const freshShare = 0.45

// budgets returns the budget of the shapes, which is 0 if there are none to measure, and that of the cases.
func (v *Verification) budgets(all time.Duration) (shapes, cases time.Duration) {
	if len(v.Shapes) == 0 {
		return 0, all
	}
	shapes = time.Duration(freshShare * float64(all))
	return shapes, all - shapes
}

// measureShapes sweeps every operation at fresh shapes, with the options that the cases were swept with.
func (v *Verification) measureShapes(ctx context.Context, d *dispatch.Dispatcher, o sweeps.Options) error {
	byName := map[string]*ShapesCheck{}
	var cases []kernels.Case
	for _, check := range v.Shapes {
		byName[check.Name] = check
		cases = append(cases, check.Space.Case)
	}
	o.Planner = func(c *kernels.Case) sweeps.Planner { return byName[c.Name].audit(d, o.Seed) }
	o.Observe, o.Brief = nil, true
	results, err := sweeps.Run(ctx, cases, o)
	for k, result := range results {
		v.Shapes[k].Result = result
	}
	return err
}

// audit begins the check, at the same fresh shapes each time.
func (c *ShapesCheck) audit(d *dispatch.Dispatcher, seed uint64) *surfaces.Auditor {
	hash := fnv.New64a()
	hash.Write([]byte(c.Name))
	operation := d.Operation(c.Name, available(&c.Space.Case)...)
	choice := func(shape []int) string { return operation.ChooseShape(shape...) }
	seed ^= hash.Sum64()
	if len(c.Called) == 0 {
		c.auditor = surfaces.NewAuditor(shapesOf{c.Space}, len(c.Space.Axes), c.known(), choice, seed)
		return c.auditor
	}
	var shapes [][]int
	var calls []int64
	for _, a := range c.Called {
		shapes, calls = append(shapes, a.Shape), append(calls, a.Calls)
	}
	c.auditor = surfaces.NewAuditorOf(shapesOf{c.Space}, shapes, calls, choice, seed)
	c.distinct = c.auditor.Distinct()
	return c.auditor
}

// known returns the shapes of which the file knows times.
func (c *ShapesCheck) known() [][]int {
	axes := len(c.Space.Axes)
	known := slices.AppendSeq(slices.Collect(slices.Chunk(c.Recorded.Surface.Shapes, axes)), slices.Chunk(c.Recorded.HeldOut.Points, axes))
	for _, a := range c.Recorded.Asked {
		known = append(known, a.Shape)
	}
	return known
}

// judge audits what was measured.
func (c *ShapesCheck) judge(states *States) {
	c.Audit = c.auditor.Judge(&c.Result.Samples)
	c.decide(states)
}

// decide says what the audit comes to on a machine in such states.
func (c *ShapesCheck) decide(states *States) {
	promised, known := c.Promised()
	c.Broken = known && c.Audit.Lower > math.Log1p(promised)
	c.Finding = c.finding()
	if c.Result.Degraded {
		c.Finding = min(c.Finding, thresholds.Ambiguous) // a disturbed machine says nothing of the entry
	}
	if c.Finding == thresholds.Drifted && c.excusedBy(states) {
		c.Finding, c.Excused = thresholds.Ambiguous, true
	}
}

// finding is what the audit comes to by itself. A mean loss that is more than promised, and less than the least difference of two
// times that counts as one, is no drift: days differ by as much.
func (c *ShapesCheck) finding() thresholds.Finding {
	limit := math.Log1p(LossLimit)
	switch a := &c.Audit; {
	case len(a.Audited) < c.Least():
		return thresholds.Unmeasured
	case a.Lower > limit, c.Broken && a.Lower > math.Log1p(thresholds.MinTieBand):
		return thresholds.Drifted
	case c.Untold() > mostUntold:
		return thresholds.Unmeasured
	case c.Broken, a.Mean > limit:
		return thresholds.Ambiguous
	}
	return thresholds.Holds
}

// Promised returns the most that the file expects of the mean regret, and whether it says so: of the calls of a program it
// does not.
func (c *ShapesCheck) Promised() (upper float64, known bool) {
	held := &c.Recorded.HeldOut
	return held.RegretUpper, held.Shapes > 0 && len(c.Called) == 0
}

// Least is how many shapes it takes to say something of the operation: LeastShapes, or all that a program calls often
// enough to count.
func (c *ShapesCheck) Least() int {
	if len(c.Called) == 0 {
		return LeastShapes
	}
	return min(LeastShapes, c.distinct)
}

// Untold returns the part of the drawn shapes that say nothing of the choices.
func (c *ShapesCheck) Untold() float64 {
	untold := float64(c.Audit.Dear + c.Audit.Disturbed + c.Audit.Untold)
	all := untold
	for _, one := range c.Audit.Audited {
		all += one.Weight
	}
	if all == 0 {
		return 1
	}
	return untold / all
}

// excusedBy reports whether another state of the machine may be all that is behind a drift, as States.excuse does of cases.
func (c *ShapesCheck) excusedBy(s *States) bool {
	names := c.Result.Samples.Implementations
	return len(s.Moved) > 0 && !slices.ContainsFunc(c.Audit.Audited, func(one surfaces.ShapeAudit) bool {
		return one.Loss > math.Log1p(LossLimit) && !kernels.Parallel(names[one.Chosen]) && !kernels.Parallel(names[one.Best])
	})
}
