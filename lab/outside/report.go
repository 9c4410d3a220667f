package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
)

// record is the line of a shape in the file of --json.
type record struct {
	Operation       string          `json:"operation"`
	Shape           string          `json:"shape"`
	Implementations []timed         `json:"implementations"`
	Chosen          string          `json:"chosen"`
	Answer          dispatch.Answer `json:"answer"`
	Explanation     string          `json:"explanation"`
	// The ratios of times are null if nothing was measured.
	Ratio    *float64 `json:"chosen_to_best"`
	Unbiased *float64 `json:"chosen_to_best_of_other_visits"`
	Oracle   *float64 `json:"oracle_to_best_of_other_visits"`
	Failures []string `json:"failures,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// timed is an implementation of a record.
type timed struct {
	Name    string    `json:"name"`
	Median  float64   `json:"median_seconds"`
	Visits  []float64 `json:"visit_median_seconds"`
	Blocks  int       `json:"blocks"`
	LeftOut bool      `json:"left_out,omitempty"` // after a few blocks, because it is far behind
}

// record returns the line of a shape.
func (o *outcome) record() record {
	r := record{
		Operation: o.operation.name, Shape: shapeText(o.operation.axes, o.shape), Implementations: []timed{}, Chosen: o.explanation.Implementation,
		Answer: o.explanation.Answer, Failures: o.failures,
	}
	if r.Chosen != "" {
		r.Explanation = o.explanation.String()
	}
	for _, e := range o.entrants {
		if len(e.times) > 0 {
			r.Implementations = append(r.Implementations, timed{e.name, median(e.times), e.visitMedians(o.blocks), len(e.times), e.leftOut})
		}
	}
	switch {
	case o.err != nil:
		r.Error = o.err.Error()
	case o.answered():
		s := o.score()
		r.Ratio, r.Unbiased, r.Oracle = &s.ratio, &s.unbiased, &s.oracle
	}
	return r
}

// visitMedians returns the median time of each visit that timed the implementation.
func (e *entrant) visitMedians(blocks int) []float64 {
	var medians []float64
	for visit := range slices.Chunk(e.times, blocks) {
		medians = append(medians, median(visit))
	}
	return medians
}

// write writes the record as a line of JSON.
func (r record) write(w io.Writer) error { return json.NewEncoder(w).Encode(r) }

// promise is what a calibration expects of the choices of an operation.
type promise struct{ mean, most float64 }

// promiseOf returns what the entry of a host promises of an operation on data in a placement: by the shapes that were held out,
// or, for an operation with one axis, by its case.
func promiseOf(h *calibration.Host, operation, placement string) (promise, bool) {
	line := operation
	if placement != string(kernels.Caller) {
		line += "/" + placement
	}
	for _, o := range h.Operations {
		if o.Name == operation && o.Placement == placement {
			return promise{o.HeldOut.Regret, o.HeldOut.RegretUpper}, o.HeldOut.Shapes > 0
		}
	}
	for _, c := range h.Cases {
		if c.Name == line && c.Regret != nil && c.Regret.Upper != nil {
			return promise{c.Regret.Mean, *c.Regret.Upper}, true
		}
	}
	return promise{}, false
}

// ratios are those of several shapes.
type ratios struct{ chosen, unbiased, oracle []float64 }

func (r *ratios) add(of record) {
	r.chosen = append(r.chosen, *of.Ratio)
	r.unbiased = append(r.unbiased, *of.Unbiased)
	r.oracle = append(r.oracle, *of.Oracle)
}

// judged are the shapes of one line of the table.
type judged struct {
	ratios
	unanswered, failed int
}

// judge returns the shapes that count in a line.
func judge(records []record, counts func(record) bool) judged {
	var j judged
	for _, r := range records {
		switch {
		case !counts(r):
		case r.Error != "":
			j.failed++
		case r.Ratio == nil:
			j.unanswered++
		default:
			j.add(r)
		}
	}
	return j
}

// writeReport prints what the choices cost, by operation and by kind of answer, and the worst shapes.
func writeReport(w io.Writer, ops []operation, records []record, entry *calibration.Host, placement string) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, gap, ' ', tabwriter.AlignRight)
	widest := len("OPERATION")
	for _, op := range ops {
		widest = max(widest, len(op.name))
	}
	row := func(name string, columns ...string) {
		fmt.Fprintf(table, "%-*s\t%s\t\n", widest, name, strings.Join(columns, "\t"))
	}
	row("OPERATION", "SHAPES", "UNANSWERED", "FAILED", "REGRET", "WITHIN 5 %", "P90", "P99", "WORST", "UNBIASED", "PROMISED", "AT MOST", "HELD")
	for _, op := range ops {
		j := judge(records, func(r record) bool { return r.Operation == op.name })
		row(op.name, slices.Concat(j.columns(), promised(entry, op.name, placement, j.unbiased))...)
	}
	for _, kind := range []dispatch.Answer{dispatch.Measured, dispatch.Predicted, dispatch.Beyond} {
		j := judge(records, func(r record) bool { return r.Answer == kind })
		row(string(kind), slices.Concat(j.columns(), nothing[:3])...)
	}
	all := judge(records, func(record) bool { return true })
	row("all", slices.Concat(all.columns(), nothing[:3])...)
	row("oracle", slices.Concat([]string{fmt.Sprint(len(all.oracle)), "-", "-"}, spread(all.oracle), nothing[:4])...)
	table.Flush()
	for line := range strings.Lines(text.String()) {
		fmt.Fprint(w, line[gap:]) // which stands before the first column too
	}
	fmt.Fprint(w, legend)
	writeWorst(w, records)
}

// gap is the width of the gap between two columns.
const gap = 2

// nothing are columns without a figure.
var nothing = []string{"-", "-", "-", "-", "-"}

const legend = `
Regret is the time of the choice divided by that of the best implementation, minus 1, as a geometric mean over the shapes.
Each shape was visited three times, over the whole run. Unbiased is the regret if the best is found in other visits than the
one that judges; it is held against what the file promises. The oracle takes what was best in one visit and is judged in the
other two.
`

// columns returns the columns from the number of shapes to the unbiased regret.
func (j *judged) columns() []string {
	counts := []string{fmt.Sprint(len(j.chosen)), fmt.Sprint(j.unanswered), fmt.Sprint(j.failed)}
	unbiased := "-"
	if len(j.unbiased) > 0 {
		unbiased = percent(summarise(j.unbiased).mean)
	}
	return slices.Concat(counts, spread(j.chosen), []string{unbiased})
}

// spread returns the columns from the mean to the worst.
func spread(ratios []float64) []string {
	if len(ratios) == 0 {
		return nothing
	}
	s := summarise(ratios)
	return []string{percent(s.mean), fmt.Sprintf("%.0f %%", 100*s.within), percent(s.p90), percent(s.p99), percent(s.worst)}
}

// promised returns the columns of what the file promises.
func promised(entry *calibration.Host, operation, placement string, unbiased []float64) []string {
	p, known := promiseOf(entry, operation, placement)
	if !known {
		return nothing[:3]
	}
	held := "-"
	if len(unbiased) > 0 {
		held = "no"
		if summarise(unbiased).mean <= p.most {
			held = "yes"
		}
	}
	return []string{percent(p.mean), percent(p.most), held}
}

func percent(regret float64) string { return fmt.Sprintf("%.1f %%", 100*regret) }

// mostListed is how many shapes are listed at which the choice loses most, and how many that failed.
const mostListed = 10

// writeWorst lists the shapes at which the choice loses most, and those at which something failed.
func writeWorst(w io.Writer, records []record) {
	var worst []record
	var failures []string
	for _, r := range records {
		if r.Ratio != nil && *r.Ratio > 1 {
			worst = append(worst, r)
		}
		for _, failure := range r.Failures {
			failures = append(failures, fmt.Sprintf("%s/%s: %s", r.Operation, r.Shape, failure))
		}
		if r.Error != "" {
			failures = append(failures, fmt.Sprintf("%s/%s was not measured: %s", r.Operation, r.Shape, r.Error))
		}
	}
	slices.SortStableFunc(worst, func(a, b record) int { return cmp.Compare(*b.Ratio, *a.Ratio) })
	if len(worst) > 0 {
		fmt.Fprintln(w, "\nThe worst shapes:")
	}
	for _, r := range worst[:min(mostListed, len(worst))] {
		fmt.Fprintf(w, "\n%s/%s: %s, by other visits %s\n    %s\n    %s\n", r.Operation, r.Shape, percent(*r.Ratio-1),
			percent(*r.Unbiased-1), r.times(), r.Explanation)
	}
	if len(failures) > 0 {
		fmt.Fprintf(w, "\n%d failures:\n", len(failures))
	}
	for _, failure := range failures[:min(mostListed, len(failures))] {
		fmt.Fprintln(w, failure)
	}
}

// times returns "fftw 8.13µs, go 12.1µs", the fastest first, with three digits.
func (r record) times() string {
	sorted := slices.SortedFunc(slices.Values(r.Implementations), func(a, b timed) int { return cmp.Compare(a.Median, b.Median) })
	var parts []string
	for _, t := range sorted {
		d, digit := time.Duration(t.Median*float64(time.Second)), time.Duration(1)
		for d/digit >= 1000 {
			digit *= 10
		}
		parts = append(parts, fmt.Sprintf("%s %v", t.Name, d.Round(digit)))
	}
	return strings.Join(parts, ", ")
}
