package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"crossover/cmd/internal/command"
	"crossover/harness"
	"crossover/kernels/catalogue"
	"crossover/thresholds"
)

// shapesReport is what was found of an operation at fresh shapes all over it.
type shapesReport struct {
	Name     string        `json:"name"`
	Verdict  string        `json:"verdict"` // HOLDS, DRIFTED, AMBIGUOUS, UNMEASURED or NOT DRAWN
	Regret   float64       `json:"regret"`  // geometric mean over the shapes
	Lower    *float64      `json:"regret_lower"`
	Upper    *float64      `json:"regret_upper"`     // the ends of one-sided 95 % intervals of regret; null where too little was measured
	Promised *float64      `json:"promised_upper"`   // the same end by the shapes that the calibration held out; null of none
	Broken   bool          `json:"promise_broken"`   // regret is above that beyond doubt
	Within   float64       `json:"within_5_percent"` // share of the shapes at which the choice takes at most 5 % longer than the fastest
	Worst    float64       `json:"worst_regret"`
	Calls    int64         `json:"calls"`        // that weigh the shapes, which are those of a record or asked for; 0 for shapes from all over the operation
	AskedFor bool          `json:"asked_for"`    // the shapes are those that somebody asked calibrate for
	Least    int           `json:"least_shapes"` // that it takes to say something
	Unknown  float64       `json:"unknown"`      // share of the drawn shapes that say nothing of the choices
	Axes     []string      `json:"axes"`
	Shapes   []shapeReport `json:"shapes"`
	Wrong    []string      `json:"wrong"`
	Warnings []string      `json:"warnings"`

	changed  bool // as in a caseReport
	degraded bool // the machine was not quiet, so that nothing counts as drifted
}

// shapeReport is one fresh shape.
type shapeReport struct {
	Shape    []int   `json:"shape"`
	Chosen   string  `json:"chosen"`
	Fastest  string  `json:"fastest"`
	Slowdown float64 `json:"slowdown"` // time of chosen over time of fastest
	Weight   float64 `json:"weight"`   // for how many drawn shapes it stands
}

// shapesReportOf puts one operation's check into words.
func shapesReportOf(check *harness.ShapesCheck) shapesReport {
	audit, names := &check.Audit, check.Result.Samples.Implementations
	o := shapesReport{
		Name: check.Name, Verdict: verdictNames[check.Finding], Regret: math.Expm1(audit.Mean), Lower: relative(audit.Lower),
		Upper: relative(audit.Upper), Broken: check.Broken, Within: audit.Within, Worst: math.Expm1(audit.Worst),
		AskedFor: check.AskedFor, Least: check.Least(), Unknown: check.Untold(), Axes: check.Recorded.Surface.Axes, Shapes: []shapeReport{}, Wrong: wrongOf(check.Result), Warnings: []string{},
	}
	o.degraded = check.Result.Degraded
	if check.Undrawn {
		o.Verdict = notDrawn
	}
	if promised, known := check.Promised(); known {
		o.Promised = &promised
	}
	for _, a := range check.Called {
		o.Calls += min(a.Calls, math.MaxInt64-o.Calls)
	}
	for _, one := range audit.Audited {
		o.Shapes = append(o.Shapes, shapeReport{one.Shape, names[one.Chosen], names[one.Best], math.Exp(one.Loss), one.Weight})
	}
	for _, warning := range check.Result.Warnings {
		if strings.HasPrefix(warning, "degraded: ") || strings.Contains(warning, " was not timed above ") || strings.Contains(warning, " was timed up to ") {
			o.Warnings = append(o.Warnings, warning)
		}
	}
	if check.Excused {
		o.Warnings = append(o.Warnings, excuse)
	}
	if o.changed = check.Changed != ""; o.changed {
		o.Warnings = append(o.Warnings, check.Changed)
	}
	return o
}

// relative returns a log-loss as a regret, nil for one that is not known.
func relative(log float64) *float64 {
	if math.IsNaN(log) {
		return nil
	}
	regret := math.Expm1(log)
	return &regret
}

// writeShapes prints the table of the operations: a line each, and others beneath that say where it is worst, and why it does
// not simply hold.
func (r *report) writeShapes(w io.Writer) {
	if len(r.Operations) == 0 {
		return
	}
	operations := slices.DeleteFunc(slices.Clone(r.Operations), func(o shapesReport) bool { return o.Verdict == notDrawn })
	slices.SortFunc(operations, func(a, b shapesReport) int { return catalogue.Compare(a.Name, b.Name) })
	rows := [][]string{{"OPERATION, ALL SHAPES", "VERDICT", "SHAPES", "REGRET", "AT MOST", "PROMISED", "WITHIN 5 %", "WORST"}}
	for _, o := range operations {
		rows = append(rows, []string{
			o.Name, o.Verdict, fmt.Sprint(len(o.Shapes)), o.known(&o.Regret), o.known(o.Upper), percentOf(o.Promised), o.within(), o.known(&o.Worst),
		})
	}
	fmt.Fprintln(w)
	for k, line := range command.Align(rows, 2, 3, 4, 5, 6, 7) {
		fmt.Fprintln(w, line)
		if k == 0 {
			continue
		}
		for _, remark := range operations[k-1].remarks() {
			fmt.Fprintln(w, command.Wrap("    "+remark))
		}
	}
	var few, fewCalled []string
	called, asked := 0, 0
	for k := range operations {
		o := &operations[k]
		if o.Calls > 0 {
			called++
		}
		if o.AskedFor {
			asked++
		}
		switch {
		case !o.tooFew():
		case o.Calls > 0:
			fewCalled = append(fewCalled, o.Name)
		default:
			few = append(few, o.Name)
		}
	}
	if len(few) > 0 {
		fmt.Fprintln(w, command.Wrap(fmt.Sprintf("too few shapes to say something (want %d: a larger --budget): %s",
			harness.LeastShapes, command.Few(few, ", "))))
	}
	if len(fewCalled) > 0 {
		fmt.Fprintln(w, command.Wrap(fmt.Sprintf("too few of the called shapes were measured while the machine was quiet (a larger --budget): %s",
			command.Few(fewCalled, ", "))))
	}
	fmt.Fprintf(w, shapesLegend, shapesFrom(called, asked, len(operations)), harness.LeastShapes, 100*harness.LossLimit)
}

// shapesFrom says where the shapes of some operations are from. So many have called ones, of which some are those that calibrate was
// asked for.
func shapesFrom(called, asked, all int) string {
	switch {
	case called == 0:
		return "The shapes are fresh, and drawn from all over the operation."
	case asked == all:
		return "The shapes are those that calibrate was asked for, weighted by their calls."
	case asked > 0:
		return "The shapes are fresh, or those of the record if there is one, or those that calibrate was asked for."
	case called == all:
		return "The shapes are those of the record, weighted by their calls."
	}
	return "The shapes are fresh, and drawn from all over the operation, or those of the record."
}

// tooFew reports whether nothing is said of an operation because fewer shapes were measured than that takes.
func (o *shapesReport) tooFew() bool {
	return !o.changed && o.Verdict == verdictNames[thresholds.Unmeasured] && len(o.Shapes) < o.Least
}

const shapesLegend = `
%s
PROMISED is the greatest regret that the file expects of fresh shapes. It takes %d shapes to say
something, or all that are called if fewer. The choices of an operation have drifted if the
regret is above %.0f %%, or above a tie and what is promised, with 95 %% confidence. They hold if the
regret is at most %.0[3]f %%, and not above what is promised with that confidence.
`

// known writes a regret that is 0 where nothing was measured.
func (o *shapesReport) known(regret *float64) string {
	if len(o.Shapes) == 0 {
		return "-"
	}
	return percentOf(regret)
}

func (o *shapesReport) within() string {
	if len(o.Shapes) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*o.Within)
}

// percentOf writes a regret, "-" for none.
func percentOf(regret *float64) string {
	if regret == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**regret)
}

// remarks returns what is said beneath an operation's line.
func (o *shapesReport) remarks() []string {
	var all []string
	switch {
	case o.AskedFor:
		all = append(all, fmt.Sprintf("the shapes that calibrate was asked for, weighted by %s", calls(o.Calls)))
	case o.Calls > 0:
		all = append(all, fmt.Sprintf("shapes of the record, weighted by %s", calls(o.Calls)))
	}
	switch {
	case o.changed:
		return all // the notes have the reason
	case o.Broken:
		all = append(all, fmt.Sprintf("loses at least %s, and the file promises at most %s", percentOf(o.Lower), percentOf(o.Promised)))
	case o.Verdict == verdictNames[thresholds.Drifted]:
		all = append(all, fmt.Sprintf("loses at least %s", percentOf(o.Lower)))
	case o.degraded && o.Lower != nil && *o.Lower > harness.LossLimit:
		all = append(all, fmt.Sprintf("loses at least %s, but the machine was not quiet, which proves no drift", percentOf(o.Lower)))
	}
	if o.Unknown >= leastTold {
		all = append(all, fmt.Sprintf("nothing is said of %.0f %% of its shapes: too large for the budget, or disturbed", 100*o.Unknown))
	}
	if worst := o.worst(); worst != nil && worst.Chosen != worst.Fastest && worst.Slowdown > leastSlowdown {
		all = append(all, fmt.Sprintf("worst at %s: the file takes %s, %s is faster", command.Shape(o.Axes, worst.Shape), worst.Chosen, worst.Fastest))
	}
	return all
}

// calls writes a number of calls.
func calls(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return command.Thousands(int(n)) + " calls"
}

// leastTold is the least share of shapes of which it is worth saying that nothing is known of them.
const leastTold = 0.01

// worst returns the shape at which the choice loses most, nil where there is none.
func (o *shapesReport) worst() *shapeReport {
	if len(o.Shapes) == 0 {
		return nil
	}
	worst := slices.MaxFunc(o.Shapes, func(a, b shapeReport) int {
		switch {
		case a.Slowdown < b.Slowdown:
			return -1
		case a.Slowdown > b.Slowdown:
			return 1
		}
		return 0
	})
	return &worst
}

// shapesNotes is what is said below the tables.
func (r *report) shapesNotes() []command.Note {
	var notes []command.Note
	for _, o := range r.Operations {
		for _, text := range slices.Concat(o.Wrong, o.Warnings) {
			notes = append(notes, command.Note{Case: o.Name, Text: text})
		}
	}
	return notes
}

// writeShapesCount prints how many operations have each verdict.
func (r *report) writeShapesCount(w io.Writer) {
	if len(r.Operations) == 0 {
		return
	}
	count := map[string]int{}
	for _, o := range r.Operations {
		count[o.Verdict]++
	}
	var parts []string
	for _, finding := range []thresholds.Finding{thresholds.Holds, thresholds.Ambiguous, thresholds.Drifted, thresholds.Unmeasured} {
		parts = append(parts, fmt.Sprintf("%d %s", count[verdictNames[finding]], verdictNames[finding]))
	}
	fmt.Fprintf(w, "over all shapes: %s\n", strings.Join(parts, ", "))
}

// enoughShapes returns an error where nothing is said of the shapes of too many operations. Those drawn stand for all that could be.
func (r *report) enoughShapes() error {
	var unmeasured []string
	drawn, changed := 0, 0
	for _, o := range r.Operations {
		if o.Verdict == verdictNames[thresholds.Unmeasured] {
			unmeasured = append(unmeasured, o.Name)
		}
		switch {
		case o.changed:
			changed++
		case o.Verdict != notDrawn:
			drawn++
		}
	}
	all := len(r.Operations)
	share := float64((len(unmeasured)-changed)*(all-changed))/float64(max(drawn, 1)) + float64(changed)
	if share <= mostUnproven*float64(all) {
		return r.enough(r.operationSamples(), "operations")
	}
	return &command.Error{Code: command.ExitTooLittle, Err: fmt.Errorf(
		"too little could be measured: nothing is said of the shapes of %s (%s)",
		command.Few(unmeasured, ", "), r.remedy())}
}
