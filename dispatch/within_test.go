package dispatch

import (
	"strings"
	"testing"

	"crossover/calibration"
)

// withinFile returns a case whose fastest implementations are the least accurate ones. Among the accurate ones another
// threshold was measured.
func withinFile() *calibration.File {
	h := newHost(epyc)
	m := func(name string, bound float64) calibration.Implementation {
		return calibration.Implementation{Name: name, Processor: "cpu", ErrorBound: bound}
	}
	next := func(names ...string) (all []calibration.Alternative) {
		for i, name := range names {
			all = append(all, calibration.Alternative{Implementation: name, Slowdown: 1.5 + float64(i)})
		}
		return all
	}
	h.Cases = []calibration.Case{{
		Name: "norm", Operation: "norm", Axis: calibration.Axis{Name: "n", Unit: "samples", From: 64, To: 65536},
		Implementations: []calibration.Implementation{m("fast", 5e-4), m("exact", 5e-5), m("exact-parallel", 5e-5)},
		Verdict:         calibration.Always,
		Segments:        []calibration.Segment{{From: 64, To: 65536, Implementation: "fast", Next: next("exact-parallel", "exact")}},
		Within: []calibration.Within{{MaxError: 5e-5, Verdict: calibration.Crossover, Segments: []calibration.Segment{
			{From: 64, To: 999, Implementation: "exact", Next: next("exact-parallel")},
			{From: 1000, To: 65536, Implementation: "exact-parallel", Next: next("exact"), Interval: &calibration.Interval{Low: 900, High: 1100}},
		}}},
	}}
	return &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{h}}
}

// A program that names accurate implementations only gets the thresholds between these. A ranking of the whole case would
// give it one of them at every size.
func TestWithin(t *testing.T) {
	d := newDispatcherFor(t, withinFile(), epyc)
	all := d.Case("norm", "fast", "exact", "exact-parallel")
	expect(t, all, 100, "fast", "fastest at every measured size")
	expect(t, d.Case("norm"), 100, "fast", "fastest at every measured size")
	if reason := all.Explain(100).Reason; strings.Contains(reason, "err by") {
		t.Errorf("without a bound: %q", reason)
	}
	for _, c := range []*Case{d.Case("norm", "exact", "exact-parallel"), d.CaseOf("norm", "", "5e-05", []string{"exact", "exact-parallel"}, tooInexact)} {
		expect(t, c, 999, "exact", "fastest measured; among those that err by at most 5e-05, without fast (0.0005)")
		expect(t, c, 1000, "exact-parallel", "fastest measured; among those that err by at most 5e-05, without fast (0.0005)")
		if e := c.Explain(5000); e.Interval == nil || e.From != 1000 || e.Answer != Measured {
			t.Errorf("explained by %+v", e)
		}
	}
	// The program lacks one of them: the ranking of the part decides.
	expect(t, d.Case("norm", "exact"), 5000, "exact", "next best, as exact-parallel is not there; among those")
}

// tooInexact is the obstacle of a program with a limit of its own.
func tooInexact(implementation string) string {
	if implementation == "fast" {
		return "may err by 0.0005"
	}
	return ""
}

// In a file without such parts, the ranking decides, and the reason says why the fastest is passed over.
func TestWithinOfAnOlderFile(t *testing.T) {
	file := withinFile()
	c := &file.Hosts[0].Cases[0]
	c.Within = nil
	for i := range c.Implementations {
		c.Implementations[i].ErrorBound = 0
	}
	d := newDispatcherFor(t, file, epyc)
	expect(t, d.CaseOf("norm", "", "5e-05", []string{"exact", "exact-parallel"}, tooInexact), 100, "exact-parallel",
		"next best, as fast may err by 0.0005")
}

// CROSSOVER_FORCE does not break a program's limit, and a warning says so.
func TestForceWithin(t *testing.T) {
	t.Setenv(ForceVariable, "norm=fast")
	d := newDispatcherFor(t, withinFile(), epyc)
	expect(t, d.CaseOf("norm", "", "5e-05", []string{"exact", "exact-parallel"}, tooInexact), 100, "exact",
		ForceVariable+" asks for fast, which may err by 0.0005")
	expect(t, d.CaseOf("norm", "", "", nil, nil), 100, "fast", ForceVariable)
}
