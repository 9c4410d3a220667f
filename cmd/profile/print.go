package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"crossover/cmd/internal/command"
	"crossover/plots"
	"crossover/profiles"
	"crossover/songs"
)

// allocated says in words what a call allocates on average. The runtime itself allocates now and then.
func allocated(p *profiles.Profile) string {
	switch {
	case p.Allocations <= 0:
		return "nothing"
	case p.Allocations < 2./3:
		return fmt.Sprintf("once in %.0f calls, %s a call", 1/p.Allocations, command.Plural(int(math.Round(p.Allocated)), "byte"))
	}
	return command.Plural(int(math.Round(p.Allocations)), "time") + ", " + command.Plural(int(p.Allocated), "byte")
}

// report prints a profile.
func report(w io.Writer, p *profiles.Profile) error {
	var out strings.Builder
	fmt.Fprintf(&out, "%s of %s, plan %s, %s on %s\n", p.Pipeline, p.Input(), p.Plan, command.Plural(len(p.Calls), "call"), p.Host)
	if p.Reason != "" {
		fmt.Fprintln(&out, command.Wrap("its route: "+p.Reason))
	}
	median := profiles.Quantile(p.Calls, 0.5)
	fmt.Fprintf(&out, "a call takes %s%s, and allocates %s\n", duration(median), tails(p.Calls), allocated(p))
	if p.Loading > 0 {
		fmt.Fprintf(&out, "the recording was loaded once, in %s, which is no part of a call\n", duration(p.Loading))
	}
	fmt.Fprintln(&out)

	rows := [][]string{{"stage", "where", "by", "median", "p95", "p99", "of call", "MB", "GB/s", "GFLOP/s", "of roof"}}
	for i := range p.Stages {
		rows = append(rows, row(p, &p.Stages[i], median))
	}
	between := profiles.Quantile(p.Between, 0.5)
	rows = append(rows, []string{"between the stages", "", "", duration(between), tail(p.Between, 0.95), tail(p.Between, 0.99), profiles.Percent(between / median)})
	for _, line := range command.Align(rows, 3, 4, 5, 6, 7, 8, 9, 10) {
		fmt.Fprintln(&out, line)
	}
	fmt.Fprint(&out, onGPU(p))
	fmt.Fprint(&out, columnsLegend)
	if _, enough := profiles.Tail(p.Calls, 0.99); !enough {
		fmt.Fprintln(&out, "A dash stands where calls are too few: p95 takes 20 of them, and p99 takes 100 (--calls).")
	}
	if remark := restless(p.Calls); remark != "" {
		fmt.Fprintln(&out, command.Wrap(remark))
	}
	fmt.Fprintln(&out)
	for _, r := range p.Roofs {
		fmt.Fprintln(&out, command.Wrap(roofLine(&r)))
	}
	if worst := p.Bottlenecks(3); len(worst) > 0 {
		fmt.Fprintf(&out, "\nThe worst bottlenecks. A gain is at most this, because a roof is no promise:\n")
		for i, b := range worst {
			fmt.Fprintln(&out, command.Wrap(fmt.Sprintf("  %d. %s", i+1, b.Sentence)))
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

const columnsLegend = `
MB counts what a stage must read and write. "of roof" is the share of the stage's time that it would
take if only this machine's memory, caches or arithmetic limited it.
`

// restless says that calls differ more than those of a quiet machine, and "" if they do not.
func restless(calls []float64) string {
	const (
		usual  = 1.5 // greatest ratio of the slowest call of twenty to the median that is not remarked
		fewest = 10
	)
	of := profiles.Quantile(calls, 0.95) / profiles.Quantile(calls, 0.5)
	if len(calls) < fewest || of <= usual {
		return ""
	}
	return fmt.Sprintf("One call in 20 takes about %.1f times the median or longer. Other programs may be at work, and medians of another minute may differ.", of)
}

// comparePlans says how long calls by other plans take beside those of the profiled one. calibrated says whether that rests on a
// calibration of this host.
func comparePlans(w io.Writer, p *profiles.Profile, others []plots.Planned, calibrated bool) {
	if len(others) == 0 {
		return
	}
	own, least := profiles.Quantile(p.Calls, 0.5), ""
	fastest := own
	var parts []string
	for _, o := range others {
		median := profiles.Quantile(o.Profile.Calls, 0.5)
		parts = append(parts, fmt.Sprintf("%s %s", o.Plan, duration(median)))
		if median < fastest {
			fastest, least = median, o.Plan
		}
	}
	text := fmt.Sprintf("By other plans, timed afterwards, a call takes: %s.", strings.Join(parts, ", "))
	if calibrated && p.Plan == songs.Best && fastest < own/1.05 {
		text += fmt.Sprintf(" The plan %s takes %.2f times the time of the calibration's best one: go run ./cmd/calibrate --pipelines measures again which is best.", least, fastest/own)
	}
	fmt.Fprintf(w, "\n%s\n", command.Wrap(text))
}

// row returns the line of a stage.
func row(p *profiles.Profile, st *profiles.Stage, call float64) []string {
	wall := profiles.Quantile(st.Wall, 0.5)
	name := st.Name
	if st.Times > 1 {
		name = fmt.Sprintf("%s ×%d", name, st.Times)
	}
	cells := []string{name, string(st.Place), st.Implementation, duration(wall), tail(st.Wall, 0.95), tail(st.Wall, 0.99), profiles.Percent(wall / call),
		fmt.Sprintf("%.2f", st.Work.Bytes/1e6), "–", "–", "–"}
	if wall > 0 {
		cells[8], cells[9] = fmt.Sprintf("%.1f", st.Work.Bytes/wall/1e9), fmt.Sprintf("%.1f", st.Work.Operations/wall/1e9)
		if b, ok := p.Bound(st); ok {
			cells[10] = profiles.Percent(b.Seconds/wall) + " " + b.By
		}
	}
	return cells
}

// onGPU returns the table of what a GPU computed, lists of kernels and stages alone: where the time of each went. It is "" if
// there is nothing.
func onGPU(p *profiles.Profile) string {
	rows := [][]string{{"on the GPU", "time in", "median", "p95", "p99"}}
	var remarks []string
	for i := range p.Stages {
		st := &p.Stages[i]
		o, ok := st.Overheads()
		if !ok {
			continue
		}
		name := st.Name
		for _, part := range []struct {
			name    string
			seconds []float64
		}{{"launch", o.Launch}, {"copies", o.Copies}, {"waits", o.Wait}, {"kernels", o.Kernels}} {
			rows = append(rows, []string{name, part.name, duration(profiles.Quantile(part.seconds, 0.5)), tail(part.seconds, 0.95), tail(part.seconds, 0.99)})
			name = ""
		}
		remarks = append(remarks, ofKernels(st, &o))
	}
	if len(rows) == 1 {
		return ""
	}
	text := "\n" + strings.Join(command.Align(rows, 2, 3, 4), "\n") + "\n"
	for _, remark := range remarks {
		text += command.Wrap(remark) + "\n"
	}
	return text
}

// shortestPause is the shortest pause between two kernels that is printed, in seconds. GPUs' clocks resolve no
// shorter one.
const shortestPause = 1e-7

// ofKernels says how much of a stage's time its kernels are, or what the GPU does not tell of them. A stage that a GPU computed
// in some calls only has the times of these.
func ofKernels(st *profiles.Stage, o *profiles.Overheads) string {
	text := st.Name + ": "
	efficiency, gap, told := st.Efficiency()
	switch {
	case told && gap >= shortestPause:
		text += fmt.Sprintf("kernels run for %s of its time, with pauses of %s", profiles.Percent(efficiency), duration(gap))
	case told:
		text += fmt.Sprintf("kernels run for %s of its time", profiles.Percent(efficiency))
	case profiles.Quantile(o.Kernels, 0.5) > 0:
		text += "the GPU does not tell its kernels from the pauses between them, so both count as kernels"
	default:
		text += "the GPU does not tell how long its kernels take, so they are part of the waits"
	}
	computed := 0
	for _, wall := range st.Wall {
		if wall > 0 {
			computed++
		}
	}
	if n := len(o.Launch); n < computed {
		text += fmt.Sprintf(" (a GPU computed it in %d of %d calls)", n, computed)
	}
	return text
}

// roofLine says what a processor can do.
func roofLine(r *profiles.Roof) string {
	name := string(r.Place)
	if r.Place == profiles.GPU {
		name = "GPU"
	}
	var parts, can []string
	for _, c := range r.Copies {
		parts = append(parts, fmt.Sprintf("%s at %.0f GB/s", size(c.Bytes), c.Rate/1e9))
	}
	if len(parts) > 0 {
		can = append(can, "copies "+strings.Join(parts, ", "))
	}
	if r.Operations > 0 {
		can = append(can, fmt.Sprintf("multiplies and adds at %.0f GFLOP/s", r.Operations/1e9))
	}
	if len(can) == 0 {
		return fmt.Sprintf("The %s does not tell how long it computes, so its stages have no roof.", name)
	}
	return fmt.Sprintf("The %s %s.", name, strings.Join(can, ", and "))
}

// reportChanges prints a comparison.
func reportChanges(w io.Writer, before, after *profiles.Profile) error {
	var out strings.Builder
	fmt.Fprintf(&out, "\nBefore is %s of %s, plan %s, %s.\n", before.Pipeline, before.Recording, before.Plan, before.Created.Format("2006-01-02 15:04"))
	if why := profiles.Comparable(before, after); why != "" {
		fmt.Fprintln(&out, command.Wrap("The two are hard to compare: "+why+"."))
	}
	rows := [][]string{{"part", "before", "after", "ratio", "95 %", ""}}
	for _, c := range profiles.Compare(before, after, 1) {
		cells := []string{c.Name, duration(c.Before), duration(c.After), "–", "", string(c.Verdict)}
		if c.Ratio > 0 {
			cells[3] = fmt.Sprintf("%.3f", c.Ratio)
		}
		if c.Low > 0 {
			cells[4] = fmt.Sprintf("%.3f – %.3f", c.Low, c.High)
		}
		if c.By[0] != c.By[1] && c.By[0] != "" && c.By[1] != "" {
			cells[5] += fmt.Sprintf(", %s → %s", c.By[0], c.By[1])
		}
		rows = append(rows, cells)
	}
	for _, line := range command.Align(rows, 1, 2, 3, 4) {
		fmt.Fprintln(&out, line)
	}
	fmt.Fprintln(&out, command.Wrap("A change counts if its whole 95 % interval lies outside of 0.97 to 1.03: two runs of one program differ by as much."))
	_, err := io.WriteString(w, out.String())
	return err
}

func duration(seconds float64) string {
	if seconds <= 0 {
		return "–"
	}
	return command.Time(seconds)
}

// tail writes a quantile far out, or a dash if the calls are too few.
func tail(values []float64, share float64) string {
	if v, ok := profiles.Tail(values, share); ok {
		return duration(v)
	}
	return "–"
}

// tails writes p95 and p99, as far as the calls say them.
func tails(values []float64) (text string) {
	for _, q := range []float64{0.95, 0.99} {
		if v, ok := profiles.Tail(values, q); ok {
			text += fmt.Sprintf(", p%.0f %s", 100*q, duration(v))
		}
	}
	if text == "" {
		text = ", at most " + duration(slices.Max(values))
	}
	return text
}

// size writes a power of two in bytes.
func size(bytes float64) string {
	for _, unit := range []string{"B", "KiB"} {
		if bytes < 1024 {
			return fmt.Sprintf("%.0f %s", bytes, unit)
		}
		bytes /= 1024
	}
	return fmt.Sprintf("%.0f MiB", bytes)
}
