package harness

import (
	"context"
	"fmt"
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

// ShapesCheck is the check of one recorded operation, at shapes that were not measured before or that a program calls.
type ShapesCheck struct {
	Name     string // such as "stft" or "stft/shared"
	Recorded *calibration.Operation
	Space    *kernels.Space
	Changed  string  // the same as in a Check
	Called   []Asked // shapes that a program calls; if there are none, the check draws shapes all over the space
	AskedFor bool    // Called are those of the file, which predicts no others

	// The next fields are results of Measure.
	Undrawn bool // the same as in a Check
	Result  *sweeps.Result
	Audit   surfaces.Audit
	Finding thresholds.Finding
	// Broken says that the choices certainly lose more than the file promises.
	Broken bool
	// Excused is the same as in a Check.
	Excused bool

	auditor  *surfaces.Auditor
	distinct int // number of different called shapes that are drawn
}

const (
	// LossLimit is the limit of an operation's mean regret. The operation has drifted if the 95 % interval of the regret
	// lies above it.
	LossLimit = 0.05
	// LeastShapes is the least number of fresh shapes for a finding about an operation.
	LeastShapes = surfaces.LeastAudited
	// mostUntold is the greatest part of the drawn shapes that may show nothing of the choices. If there are more, the
	// finding is not that the choices hold.
	mostUntold = 0.25
)

// AddShapes adds the recorded operations that are asked for by their names, or by the name of one of their cases. It pairs
// them with the spaces of this program. An operation with called shapes is checked only at those. One of which the file predicts
// nothing is checked at the shapes that somebody asked calibrate for.
func (v *Verification) AddShapes(spaces []*kernels.Space, asked func(name string) bool, called []Asked) {
	for k := range v.Entry.Operations {
		o := &v.Entry.Operations[k]
		name := shapesName(o)
		at := slices.IndexFunc(spaces, func(s *kernels.Space) bool { return s.Case.Name == name })
		switch {
		case !asked(name) && !v.asksForCaseOf(o, asked):
		case at < 0:
			v.Skipped = append(v.Skipped, name+": its shapes are not in the catalogue of this version")
		case !o.Surface.Fitted() && len(o.Asked) == 0:
			v.Skipped = append(v.Skipped, name+": the file predicts nothing for shapes beside its cases")
		case !slices.Equal(spaces[at].Case.Axes, o.Surface.Axes):
			v.Skipped = append(v.Skipped, fmt.Sprintf("%s: the file has the axes %q, and this version has %q", name, o.Surface.Axes, spaces[at].Case.Axes))
		default:
			space := *spaces[at]
			space.Case.Implementations = promised(o.Implementations, space.Case.Implementations)
			check := &ShapesCheck{
				Name: name, Recorded: o, Space: &space, Called: of(called, name),
				Changed: changedSince(o.Implementations, &space.Case, v.Entry.Processors()),
			}
			if len(check.Called) == 0 && !o.Surface.Fitted() {
				check.Called, check.AskedFor = calledOf(o, name), true
			}
			v.Shapes = append(v.Shapes, check)
		}
	}
}

// calledOf returns the shapes that the file has because somebody asked for them.
func calledOf(o *calibration.Operation, space string) []Asked {
	var all []Asked
	for _, a := range o.Asked {
		all = append(all, Asked{Case: space, Shape: a.Shape, Calls: a.Calls})
	}
	return all
}

// of returns the called shapes of a space.
func of(called []Asked, space string) []Asked {
	return slices.DeleteFunc(slices.Clone(called), func(a Asked) bool { return a.Case != space })
}

// asksForCaseOf reports whether a case of an operation, in the operation's placement, is asked for.
func (v *Verification) asksForCaseOf(o *calibration.Operation, asked func(name string) bool) bool {
	return slices.ContainsFunc(v.Entry.Cases, func(c calibration.Case) bool {
		return c.Operation == o.Name && placementOf(&c) == o.Placement && asked(c.Name)
	})
}

// freshShare is the part of the budget for fresh shapes. The cases get the rest.
const freshShare = 0.4

// budgets returns the budget of the shapes, which is 0 if there are none to measure, and the budget of the cases.
func (v *Verification) budgets(all time.Duration) (shapes, cases time.Duration) {
	if len(v.Shapes) == 0 {
		return 0, all
	}
	shapes = time.Duration(freshShare * float64(all))
	return shapes, all - shapes
}

// measureShapes sweeps every drawn operation at fresh shapes. o are the options of the sweep of the cases.
func (v *Verification) measureShapes(ctx context.Context, d *dispatch.Dispatcher, budget time.Duration, o sweeps.Options) error {
	byName := map[string]*ShapesCheck{}
	var cases []kernels.Case
	for _, check := range v.Shapes {
		check.Result = &sweeps.Result{Case: &check.Space.Case}
		check.Undrawn = check.Changed == ""
		if check.Changed == "" {
			byName[check.Name] = check
			cases = append(cases, check.Space.Case)
		}
	}
	o.Observe, o.Brief = nil, true
	called := func(name string) bool { return len(byName[name].Called) > 0 }
	results, undrawn, err := sweepParts(ctx, parts(cases, budget, shapesGroupOf, called, o.Seed), o, func(c *kernels.Case) auditor {
		return byName[c.Name].audit(d, o.Seed)
	})
	for _, result := range results {
		check := byName[result.Case.Name]
		check.Result, check.Undrawn = result, undrawn[result.Case.Name]
	}
	return err
}

// audit returns a new auditor of the operation. Each call gives the same shapes.
func (c *ShapesCheck) audit(d *dispatch.Dispatcher, seed uint64) *surfaces.Auditor {
	operation := d.Operation(c.Name, available(&c.Space.Case)...)
	choice := func(shape []int) string { return operation.ChooseShape(shape...) }
	seed ^= numberOf(c.Name)
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

// known returns the shapes that the file has times of.
func (c *ShapesCheck) known() [][]int {
	axes := len(c.Space.Axes)
	known := slices.AppendSeq(slices.Collect(slices.Chunk(c.Recorded.Surface.Shapes, axes)), slices.Chunk(c.Recorded.HeldOut.Points, axes))
	for _, a := range c.Recorded.Asked {
		known = append(known, a.Shape)
	}
	return known
}

// judge audits what was measured, on a machine with these differences of its states.
func (c *ShapesCheck) judge(states *States) {
	if c.Changed != "" || c.Undrawn {
		c.Audit = surfaces.Audit{Judged: surfaces.Judged{Lower: math.NaN(), Upper: math.NaN()}}
		return
	}
	c.Audit = c.auditor.Judge(&c.Result.Samples)
	c.decide(states)
}

// decide sets the finding from the audit.
func (c *ShapesCheck) decide(states *States) {
	promised, known := c.Promised()
	c.Broken = known && c.Audit.Lower > math.Log1p(promised)
	c.Finding = c.finding()
	if c.Result.Degraded {
		c.Finding = min(c.Finding, thresholds.Ambiguous) // a disturbed machine proves no drift
	}
	if c.Finding == thresholds.Drifted && c.excusedBy(states) {
		c.Finding, c.Excused = thresholds.Ambiguous, true
	}
}

// finding returns the finding of the audit alone. A mean loss that is more than promised but below the least tie band is no
// drift, because days differ by as much.
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

// Promised returns the bound that the file promises of the mean regret, and whether there is one. There is none for the
// calls of a program.
func (c *ShapesCheck) Promised() (upper float64, known bool) {
	held := &c.Recorded.HeldOut
	return held.RegretUpper, held.Shapes > 0 && len(c.Called) == 0
}

// Least returns the least number of shapes for a finding: LeastShapes, or the number of called shapes that are drawn if that
// is less.
func (c *ShapesCheck) Least() int {
	if len(c.Called) == 0 {
		return LeastShapes
	}
	return min(LeastShapes, c.distinct)
}

// Untold returns the part of the drawn shapes that show nothing of the choices.
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

// excusedBy reports whether another state of the machine may be the only cause of a drift. It does for shapes what
// States.excuse does for sizes.
func (c *ShapesCheck) excusedBy(s *States) bool {
	parallel := onAllCores(c.Result)
	return len(s.Moved) > 0 && !slices.ContainsFunc(c.Audit.Audited, func(one surfaces.ShapeAudit) bool {
		return one.Loss > math.Log1p(LossLimit) && !parallel[one.Chosen] && !parallel[one.Best]
	})
}
