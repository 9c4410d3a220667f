package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/plans"
	"crossover/harness"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/sweeps"
	"crossover/thresholds"
)

// report is the outcome of a verification. Its JSON is the output of --json.
type report struct {
	Host       string         `json:"host"`
	Created    string         `json:"calibration_created"`
	Seed       uint64         `json:"seed"`
	Regret     float64        `json:"regret"`       // geometric mean over the fresh sizes of all cases with enough of them, minus 1
	Upper      *float64       `json:"regret_upper"` // of a one-sided 95 % interval of regret; null if too little was measured for one
	Worst      float64        `json:"worst_regret"`
	Beyond     float64        `json:"worst_regret_outside_ties"` // of the sizes at which the regret is above the case's tie band
	FreshSizes int            `json:"fresh_sizes"`
	Unproven   float64        `json:"unproven"`        // share of the cases' axes, in log-size, about which nothing can be said; drawn cases stand for all
	Disturbed  int            `json:"disturbed_sizes"` // further sizes, at which the machine was not quiet; no regret has them
	State      harness.States `json:"machine_state"`
	Plans      plans.Summary  `json:"typed_plans"` // comparison of typed plans with what a sweep times
	Cases      []caseReport   `json:"cases"`
	Operations []shapesReport `json:"operations"` // over all their shapes
	Skipped    []string       `json:"skipped"`
}

type caseReport struct {
	Name     string       `json:"name"`
	Verdict  string       `json:"verdict"` // HOLDS, DRIFTED, AMBIGUOUS, UNMEASURED or NOT DRAWN
	Regret   float64      `json:"regret"`
	Upper    *float64     `json:"regret_upper"`
	Worst    float64      `json:"worst_regret"`
	Beyond   float64      `json:"worst_regret_outside_ties"`
	Excused  float64      `json:"excused"` // share of the axis, in log-size, on which the calibration says that it does not know
	Sizes    []sizeReport `json:"sizes"`
	Wrong    []string     `json:"wrong"` // implementations that compute wrong values here
	Warnings []string     `json:"warnings"`

	unit    string    // unit of the sizes
	changed bool      // nothing was measured, because implementations have changed since the calibration
	losses  []float64 // logarithms, at the fresh sizes at which the machine was quiet
}

type sizeReport struct {
	Size      int     `json:"size"`
	Chosen    string  `json:"chosen"`
	Fastest   string  `json:"fastest"`
	Slowdown  float64 `json:"slowdown"` // time of chosen divided by time of fastest
	Verdict   string  `json:"verdict"`
	Disturbed bool    `json:"disturbed"` // the machine was not quiet
}

var verdictNames = map[thresholds.Finding]string{
	thresholds.Unmeasured: "UNMEASURED",
	thresholds.Holds:      "HOLDS",
	thresholds.Ambiguous:  "AMBIGUOUS",
	thresholds.Drifted:    "DRIFTED",
}

// notDrawn is the verdict of a case or an operation that is not in the random sample, because the budget did not suffice for all.
const notDrawn = "NOT DRAWN"

// summarise returns the report of a verification.
func summarise(v *harness.Verification, seed uint64) *report {
	r := &report{
		Host: v.Entry.ID, Created: v.Entry.Created.Format("2006-01-02T15:04:05Z"), Seed: seed,
		State: v.States, Operations: []shapesReport{}, Skipped: append([]string{}, v.Skipped...),
	}
	var losses []float64
	drawn, changed := 0, 0
	for _, check := range v.Checks {
		c := reportOf(check)
		for _, s := range c.Sizes {
			if s.Disturbed {
				r.Disturbed++
			}
		}
		if c.told() {
			losses = append(losses, c.losses...)
			r.Worst, r.Beyond = max(r.Worst, c.Worst), max(r.Beyond, c.Beyond)
		}
		switch {
		case c.changed:
			changed++
		case !check.Undrawn:
			drawn++
			r.Unproven += c.unproven()
		}
		r.Cases = append(r.Cases, c)
	}
	// Those drawn stand for all that could be. Nothing is said of those that have changed.
	all := float64(max(len(v.Checks), 1))
	r.Unproven = (r.Unproven/float64(max(drawn, 1))*float64(len(v.Checks)-changed) + float64(changed)) / all
	for _, check := range v.Shapes {
		r.Operations = append(r.Operations, shapesReportOf(check))
	}
	r.FreshSizes = len(losses)
	r.Regret, r.Upper = known(thresholds.MeanLoss(losses))
	return r
}

// known returns a regret and its upper bound in the form of the report. JSON has no NaN.
func known(mean, upper float64) (float64, *float64) {
	if math.IsNaN(mean) {
		mean = 0
	}
	if math.IsNaN(upper) {
		return mean, nil
	}
	return mean, &upper
}

// reportOf returns the report of one check.
func reportOf(check *harness.Check) caseReport {
	audit, result := &check.Audit, check.Result
	c := caseReport{
		Name: check.Case.Name, unit: check.Case.Axis.Unit, Verdict: verdictNames[audit.Finding], Worst: audit.Worst, Beyond: audit.Beyond,
		Excused: harness.UnsureShare(check.Recorded),
		Sizes:   []sizeReport{}, Warnings: append([]string{}, result.Warnings...),
	}
	if check.Undrawn {
		c.Verdict = notDrawn
	}
	c.Wrong = wrongOf(result)
	for _, status := range result.Implementations {
		if status.Excluded != "" && !status.Wrong {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s cannot run here: %s", status.Name, status.Excluded))
		}
	}
	if check.Excused {
		c.Warnings = append(c.Warnings, excuse)
	}
	if c.changed = check.Changed != ""; c.changed {
		c.Warnings = append(c.Warnings, check.Changed)
	}
	names := result.Samples.Implementations
	for _, s := range audit.Sizes {
		c.Sizes = append(c.Sizes, sizeReport{
			Size: s.Size, Chosen: names[s.Chosen], Fastest: names[s.Best], Slowdown: s.Slowdown, Verdict: verdictNames[s.Finding],
			Disturbed: s.Disturbed,
		})
		if !s.Disturbed && !math.IsNaN(s.Loss) {
			c.losses = append(c.losses, s.Loss)
		}
	}
	c.Regret, c.Upper = known(audit.Regret, audit.Upper)
	if !c.told() {
		c.Upper = nil // a few sizes at which nothing was lost have no variance, and so a bound of 0
	}
	return c
}

// told reports whether enough was measured to say something of the regret of the case, whatever that is.
func (c *caseReport) told() bool { return len(c.losses) >= thresholds.Evidence }

// excuse is said of a drift that another state of the machine may explain.
const excuse = "not called drift: it concerns parallel implementations, and " + otherState

// wrongOf lists the implementations that compute wrong values.
func wrongOf(result *sweeps.Result) []string {
	wrong := []string{} // and not null in the JSON
	for _, status := range result.Implementations {
		if status.Wrong {
			wrong = append(wrong, fmt.Sprintf("%s: %s", status.Name, status.Excluded))
		}
	}
	return wrong
}

// count returns the number of cases with a verdict.
func (r *report) count(verdict thresholds.Finding) int {
	n := 0
	for _, c := range r.Cases {
		if c.Verdict == verdictNames[verdict] {
			n++
		}
	}
	return n
}

// faults lists wrong values, and the cases and operations that have drifted.
func (r *report) faults() (wrong, drifted []string) {
	add := func(name, verdict string, found []string) {
		for _, w := range found {
			wrong = append(wrong, name+": "+w)
		}
		if verdict == verdictNames[thresholds.Drifted] {
			drifted = append(drifted, name)
		}
	}
	for _, c := range r.Cases {
		add(c.Name, c.Verdict, c.Wrong)
	}
	for _, o := range r.Operations {
		add(o.Name+overAll, o.Verdict, o.Wrong)
	}
	return wrong, drifted
}

// verdict returns the error of the command, which has its exit code. Wrong values come before drift, drift before typed
// plans that take another time, and those before too little evidence. On a processor of another speed, apparent drift means
// that the entry is of another host.
func (r *report) verdict(file string) error {
	wrong, drifted := r.faults()
	switch {
	case len(wrong) > 0:
		return &command.Error{Code: command.ExitWrong, Err: fmt.Errorf("wrong values: %s", strings.Join(wrong, "; "))}
	case len(drifted) > 0 && r.State.Speed != "":
		return &command.Error{Code: command.ExitNoEntry, Err: fmt.Errorf(
			"%s has a near match for this host alone, which does not hold for %s: %s; go run ./cmd/calibrate measures this host",
			file, command.Few(drifted, ", "), r.State.Speed)}
	case len(drifted) > 0:
		return &command.Error{Code: command.ExitDrifted, Err: fmt.Errorf(
			"%s does not hold for %s; go run ./cmd/calibrate --ops '%s' measures that again (exit code %d)",
			file, command.Few(drifted, ", "), opsOf(drifted), command.ExitDrifted)}
	case r.Plans.Finding == plans.Outside:
		return &command.Error{Code: command.ExitDrifted, Err: fmt.Errorf(
			"%s does not hold the times that a program gets; go run ./cmd/speed --plans tells of which implementations", file)}
	case r.Unproven > mostUnproven:
		return &command.Error{Code: command.ExitTooLittle, Err: fmt.Errorf(
			"too little could be measured: nothing is said of %.0f %% of the cases' axes (%s)", 100*r.Unproven, r.remedy())}
	}
	if err := r.enough(r.caseSamples(), "cases"); err != nil {
		return err
	}
	return r.enoughShapes()
}

// enough returns an error if too few of some cases or operations have a finding. Those elsewhere are a sample beside a GPU, which says
// what it can. So they are asked for enough only if there are no others.
func (r *report) enough(samples []sample, what string) error {
	for _, s := range samples {
		if s.all == 0 {
			continue
		}
		if !s.enough() {
			return r.tooFew(&s, what)
		}
		return nil
	}
	return nil
}

// tooFew returns the error of a sample that is too small to say something of all.
func (r *report) tooFew(s *sample, what string) error {
	return &command.Error{Code: command.ExitTooLittle, Err: fmt.Errorf(
		"too little could be measured: %d of %d %s have a finding (%s)", s.found, s.all, what, r.remedy())}
}

// overAll follows the name of an operation that was checked over all shapes.
const overAll = " over all shapes"

// opsOf returns the pattern of --ops for the operations of some cases.
func opsOf(names []string) string {
	var operations []string
	for _, name := range names {
		operation, _, _ := strings.Cut(strings.TrimSuffix(name, overAll), "/")
		if !slices.Contains(operations, operation) {
			operations = append(operations, operation)
		}
	}
	return "^(" + strings.Join(operations, "|") + ")(/|$)"
}

// remedy says what helps if too little was measured.
func (r *report) remedy() string {
	if slices.ContainsFunc(r.Cases, func(c caseReport) bool { return c.changed }) ||
		slices.ContainsFunc(r.Operations, func(o shapesReport) bool { return o.changed }) {
		return "go run ./cmd/calibrate measures what has changed"
	}
	return "a larger --budget or a quiet machine helps"
}

// mostUnproven is the greatest share of the axes about which nothing can be said without an error.
const mostUnproven = 0.25

// unproven returns the share of a case's axis about which nothing can be said. It is 1 if too little was measured, and
// otherwise the share on which the calibration does not know.
func (c *caseReport) unproven() float64 {
	if c.Verdict == verdictNames[thresholds.Unmeasured] || len(c.losses) == 0 {
		return 1
	}
	return min(c.Excused, 1)
}

// write prints the report as JSON or as a table.
func (r *report) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return r.writeJSON(w)
	}
	return r.writeTable(w)
}

func (r *report) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// writeTable prints the report as a table. Each case has a line. A second line below it says where a case that does not hold
// is slowest.
func (r *report) writeTable(w io.Writer) error {
	cases := slices.DeleteFunc(slices.Clone(r.Cases), func(c caseReport) bool { return c.Verdict == notDrawn })
	slices.SortFunc(cases, func(a, b caseReport) int { return catalogue.Compare(a.Name, b.Name) })
	rows := [][]string{{"CASE", "VERDICT", "FRESH SIZES", "REGRET", "AT MOST", "WORST", "NOT KNOWN"}}
	for _, c := range cases {
		unknown := ""
		if c.Excused > 0 {
			unknown = fmt.Sprintf("%.0f %%", 100*c.Excused)
		}
		regret, worst := "-", "-"
		if len(c.losses) > 0 {
			regret, worst = fmt.Sprintf("%.1f %%", 100*c.Regret), fmt.Sprintf("%.1f %%", 100*c.Worst)
		}
		rows = append(rows, []string{c.Name, c.Verdict, fmt.Sprint(len(c.losses)), regret, c.bound(), worst, unknown})
	}
	var text strings.Builder
	for k, line := range command.Align(rows, 2, 3, 4, 5, 6) {
		fmt.Fprintln(&text, line)
		if k == 0 {
			continue
		}
		if worst := cases[k-1].worst(); worst != "" {
			fmt.Fprintln(&text, "    "+worst)
		}
	}
	fmt.Fprint(&text, legend)
	r.writeShapes(&text)
	r.writeNotes(&text, cases)
	fmt.Fprintf(&text, "\n%d HOLDS, %d AMBIGUOUS, %d DRIFTED, %d UNMEASURED\n",
		r.count(thresholds.Holds), r.count(thresholds.Ambiguous), r.count(thresholds.Drifted), r.count(thresholds.Unmeasured))
	r.writeShapesCount(&text)
	for _, line := range r.undrawn() {
		fmt.Fprintln(&text, command.Wrap(line))
	}
	if r.FreshSizes > 0 {
		fmt.Fprintf(&text, "regret %.2f %%%s over %s, worst %.1f %%%s\n",
			100*r.Regret, r.bound(), command.Plural(r.FreshSizes, "fresh size"), 100*r.Worst, r.beyond())
	}
	fmt.Fprintln(&text, command.Wrap(r.Plans.Line()))
	_, err := io.WriteString(w, text.String())
	return err
}

// beyond adds the worst size at which the choice is slower than the tie band, if that is not the worst of all.
func (r *report) beyond() string {
	if r.Beyond == r.Worst {
		return ""
	}
	return fmt.Sprintf(" (%.1f %% where it is no tie)", 100*r.Beyond)
}

// sample counts the verdicts of cases, or of operations, of which the budget may not suffice for all. Those that were measured are a
// random sample then. Those that have changed count for nothing, because they would not have been measured in any case.
type sample struct {
	where          string // what is said of where their data are
	all, drawn     int
	found, holding int // of those drawn: with a finding, and with choices that hold
}

// add counts a verdict.
func (s *sample) add(verdict string) {
	s.all++
	if verdict != notDrawn {
		s.drawn++
	}
	switch verdict {
	case verdictNames[thresholds.Holds]:
		s.holding++
		s.found++
	case verdictNames[thresholds.Ambiguous], verdictNames[thresholds.Drifted]:
		s.found++
	}
}

// line says how many were drawn, and what those say of all. It is "" if all were.
func (s *sample) line(what string) string {
	if s.drawn == s.all {
		return ""
	}
	line := fmt.Sprintf("%d of %d %s%s were drawn at random, because the budget does not suffice for all (a larger --budget draws more)",
		s.drawn, s.all, what, s.where)
	if s.found > 0 {
		line += fmt.Sprintf(". %d of the %d with a finding hold, so with 95 %% confidence at least %.0f %% of all %d do",
			s.holding, s.found, math.Floor(100*s.least(s.holding)), s.all)
	}
	return line
}

// least returns the least share of all of which something is true, with 95 % confidence, if it is true of so many with a finding.
func (s *sample) least(holding int) float64 {
	return max(harness.LeastHolding(holding, s.found), float64(holding)/float64(s.all))
}

// enough reports whether so many were measured that, if the choices of all of them held, they would hold for all but a share of
// mostUnproven with 95 % confidence.
func (s *sample) enough() bool { return s.drawn == s.all || s.least(s.found) >= 1-mostUnproven }

// newSamples returns a sample of those in ordinary slices and one of the others.
func newSamples() []sample { return []sample{{}, {where: " with data in shared or resident memory"}} }

// at returns the sample to which a case or an operation belongs, by its name.
func at(samples []sample, name string) *sample {
	if elsewhere(name) {
		return &samples[1]
	}
	return &samples[0]
}

// caseSamples counts the verdicts of the cases.
func (r *report) caseSamples() []sample {
	samples := newSamples()
	for _, c := range r.Cases {
		if !c.changed {
			at(samples, c.Name).add(c.Verdict)
		}
	}
	return samples
}

// operationSamples counts the verdicts of the operations.
func (r *report) operationSamples() []sample {
	samples := newSamples()
	for _, o := range r.Operations {
		if !o.changed {
			at(samples, o.Name).add(o.Verdict)
		}
	}
	return samples
}

// undrawn says how many cases and operations were not drawn, and what those that were drawn say of all.
func (r *report) undrawn() (lines []string) {
	for _, kind := range []struct {
		what    string
		samples []sample
	}{{"cases", r.caseSamples()}, {"operations", r.operationSamples()}} {
		for _, s := range kind.samples {
			if line := s.line(kind.what); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// where says that not all was checked, if that is so.
func (r *report) where() string {
	if len(r.undrawn()) > 0 {
		return " where it was checked"
	}
	return ""
}

// elsewhere reports whether the name of a case or of an operation is that of one with its data elsewhere.
func elsewhere(name string) bool {
	return slices.ContainsFunc([]kernels.Placement{kernels.Shared, kernels.Resident}, func(p kernels.Placement) bool {
		return strings.HasSuffix(name, ","+string(p)) || strings.HasSuffix(name, "/"+string(p))
	})
}

const legend = `
REGRET is how much longer calls take by the file's choices than by the best ones, on average.
AT MOST is the upper bound of the regret, with 95 % confidence. WORST is the greatest at one size.
NOT KNOWN is the share of the case's sizes of which the file says that it does not know.
HOLDS says that the file's choices were the best ones at fresh sizes, or ties within 10 %. DRIFTED
says that something else is faster: away from thresholds by more than 10 % in every visit to a
size and by more than a tie, or near one by more than a tie, and farther away from it too.
AMBIGUOUS says that the fresh sizes do not decide, and UNMEASURED that there are too few. A larger
--budget or a quiet machine may decide both.
`

// leastSlowdown is the least slowdown that is told, as 0.1 % is printed.
const leastSlowdown = 1.0005

// writeNotes prints, below the table, remarks that do not fit into its lines.
func (r *report) writeNotes(w io.Writer, cases []caseReport) {
	var notes []command.Note
	for _, c := range cases {
		for _, text := range append(c.Wrong, c.Warnings...) {
			notes = append(notes, command.Note{Case: c.Name, Text: text})
		}
	}
	notes = append(notes, r.shapesNotes()...)
	for _, skipped := range r.Skipped {
		name, why, _ := strings.Cut(skipped, ": ")
		notes = append(notes, command.Note{Case: name, Text: why})
	}
	lines := command.Fold(notes)
	if r.Disturbed > 0 {
		lines = append(lines, fmt.Sprintf("%s more could not be measured while the machine was quiet", command.Plural(r.Disturbed, "size")))
	}
	for k, line := range lines {
		if k == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, command.Wrap(line))
	}
}

// bound returns the upper bound of the regret as text, or "" if it is not known.
func (r *report) bound() string {
	if r.Upper == nil {
		return ""
	}
	return fmt.Sprintf(" (95 %% below %.2f %%)", 100**r.Upper)
}

// bound returns the upper bound of a case's regret as text.
func (c *caseReport) bound() string {
	if c.Upper == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**c.Upper)
}

// worst says where a case that does not hold is slowest. It returns "" for a case that holds, or whose choices are the fastest
// ones.
func (c *caseReport) worst() string {
	if c.Verdict == verdictNames[thresholds.Holds] {
		return ""
	}
	var at *sizeReport
	for k := range c.Sizes {
		if s := &c.Sizes[k]; !s.Disturbed && (at == nil || s.Slowdown > at.Slowdown) {
			at = s
		}
	}
	if at == nil || at.Chosen == at.Fastest || at.Slowdown <= leastSlowdown {
		return ""
	}
	return fmt.Sprintf("at %s %s the file takes %s, %s is faster", command.Thousands(at.Size), calibration.UnitOf(at.Size, c.unit), at.Chosen, at.Fastest)
}
