package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/cmd/internal/plans"
	"crossover/harness"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// A size at which the machine was never quiet is in the list, and in no mean.
func TestDisturbedSizesCountForNothing(t *testing.T) {
	const disturbed, quiet = 100, 200 // and seven sizes behind it
	set := timings.Set{Implementations: []string{"a", "b"}}
	sizes := []int{disturbed, quiet}
	for len(sizes) < 9 {
		sizes = append(sizes, quiet+len(sizes))
	}
	auditor := thresholds.NewAuditor(sizes[1:], func(size int) string { return map[bool]string{true: "b", false: "a"}[size == disturbed] },
		func(int) (int, bool) { return 0, false }, 0.03, nil)
	for _, size := range sizes {
		for range 5 {
			set.Blocks = append(set.Blocks, timings.Block{
				Size: size, Twin: -1, Seconds: []float64{1e-6, 2e-6}, Iterations: []int{100, 100}, Disturbed: size == disturbed,
			})
		}
		auditor.Visited(size)
	}
	check := &harness.Check{Case: kernels.Case{Name: "op"}, Recorded: &calibration.Case{Axis: calibration.Axis{From: 1, To: 1000}}, Result: &sweeps.Result{Samples: set}, Audit: auditor.Judge(&set)}
	r := summarise(&harness.Verification{Entry: &calibration.Host{}, Checks: []*harness.Check{check}}, 1)
	if r.FreshSizes != 8 || r.Disturbed != 1 || r.Worst != 0 || r.Beyond != 0 || math.Abs(r.Regret) > 1e-12 || r.Cases[0].Verdict != "HOLDS" {
		t.Errorf("%+v", r)
	}
	if sizes := r.Cases[0].Sizes; len(sizes) != 9 || !sizes[0].Disturbed || sizes[1].Disturbed || sizes[0].Slowdown < 1.9 {
		t.Errorf("%+v", sizes)
	}
	var table bytes.Buffer
	if err := r.writeTable(&table); err != nil || !strings.Contains(table.String(), "1 size more could not be measured") {
		t.Errorf("%v\n%s", err, table.String())
	}
	if err := r.verdict("file"); err != nil {
		t.Error(err)
	}
}

// The table and the JSON have a bound of the regret, from the looks at all sizes that nothing selected.
func TestTheRegretHasABound(t *testing.T) {
	check := func(name string, finding thresholds.Finding, losses ...float64) *harness.Check {
		audit := thresholds.Audit{Sizes: []thresholds.SizeAudit{{Size: 99, Slowdown: 9, Loss: 1, Disturbed: true}}}
		for k, loss := range losses {
			audit.Sizes = append(audit.Sizes, thresholds.SizeAudit{Size: 100 + k, Slowdown: 9, Loss: loss, Finding: thresholds.Holds})
		}
		audit.Regret, audit.Upper = thresholds.MeanLoss(losses)
		audit.Finding = finding
		return &harness.Check{
			Case: kernels.Case{Name: name}, Recorded: &calibration.Case{Axis: calibration.Axis{From: 1, To: 1000}},
			Result: &sweeps.Result{Samples: timings.Set{Implementations: []string{"a"}}}, Audit: audit,
		}
	}
	v := &harness.Verification{Entry: &calibration.Host{}, Checks: []*harness.Check{
		check("eight", thresholds.Holds, slices.Repeat([]float64{math.Log(1.01), math.Log(1.03)}, 4)...),
		check("one", thresholds.Holds, 0, math.NaN()), check("none", thresholds.Holds),
		check("too few", thresholds.Unmeasured, 0, 0, 0, 0),    // without a loss there is no variance, and a bound would be 0
		check("too few, and bad", thresholds.Drifted, 1, 1, 1), // to count these and not the good ones would be unjust
	}}
	r := summarise(v, 1)
	eight, one, none := r.Cases[0], r.Cases[1], r.Cases[2]
	if r.FreshSizes != 8 || math.Abs(r.Regret-(math.Sqrt(1.01*1.03)-1)) > 1e-9 || r.Upper == nil || *r.Upper < r.Regret {
		t.Errorf("of eight sizes the regret is %v below %v", r.Regret, r.Upper)
	}
	// The bound of four values each is their mean plus t(0.95, 7) = 1.895 times half of their difference divided by √7.
	if want := math.Exp(math.Log(1.01*1.03)/2+1.895*math.Log(1.03/1.01)/2/math.Sqrt(7)) - 1; eight.Upper == nil || math.Abs(*eight.Upper-want) > 1e-4 {
		t.Errorf("of eight sizes the bound is %v, want %v", eight.Upper, want)
	}
	if one.Upper != nil || one.Regret != 0 || none.Upper != nil || none.Regret != 0 {
		t.Errorf("of one size and of none the bounds are %v and %v", one.Upper, none.Upper)
	}
	if few := r.Cases[3]; few.Upper != nil || few.Regret != 0 {
		t.Errorf("of too few sizes for a finding the bound is %v", few.Upper)
	}
	var table, data bytes.Buffer
	if err := r.write(&table, false); err != nil || !strings.Contains(table.String(), "AT MOST") || !strings.Contains(table.String(), "(95 % below ") {
		t.Errorf("%v\n%s", err, table.String())
	}
	if err := r.write(&data, true); err != nil || !strings.Contains(data.String(), `"regret_upper": 0.`) || !strings.Contains(data.String(), `"regret_upper": null`) {
		t.Errorf("%v\n%s", err, data.String())
	}
}

// Verify does not pass on little evidence: neither with few sizes, nor with an interval over most of the axis.
func TestTooLittleEvidence(t *testing.T) {
	recorded := &calibration.Case{
		Axis: calibration.Axis{From: 1, To: 1 << 20}, Verdict: calibration.Crossover,
		Segments: []calibration.Segment{{
			From: 1, To: 1 << 20, Implementation: "a",
			Doubts: []calibration.Doubt{{From: 1 << 4, To: 1 << 9, Implementation: "b"}, {From: 1 << 8, To: 1 << 11, Implementation: "b"}},
		}},
	}
	if share := harness.UnsureShare(recorded); math.Abs(share-7.0/20) > 1e-9 {
		t.Errorf("%v of the axis is unsure, want 0.35", share)
	}
	for name, c := range map[string]struct {
		sizes  int
		doubts []calibration.Doubt
		code   int
	}{
		"enough":          {9, nil, 0},
		"too few sizes":   {7, nil, command.ExitTooLittle},
		"unsure mostly":   {9, recorded.Segments[0].Doubts, command.ExitTooLittle},
		"a tie is no lie": {9, []calibration.Doubt{{From: 1, To: 1 << 20, Implementation: "b", Tie: true}}, 0},
	} {
		recorded.Segments[0].Doubts = c.doubts
		set := timings.Set{Implementations: []string{"a", "b"}}
		var sizes []int
		for k := range 12 {
			sizes = append(sizes, 100<<k)
		}
		auditor := thresholds.NewAuditor(sizes, func(int) string { return "a" }, func(int) (int, bool) { return 0, false }, 0.03, nil)
		for _, size := range sizes[:c.sizes] {
			for range 5 {
				set.Blocks = append(set.Blocks, timings.Block{Size: size, Twin: -1, Seconds: []float64{1e-6, 2e-6}, Iterations: []int{100, 100}})
			}
			auditor.Visited(size)
		}
		check := &harness.Check{Case: kernels.Case{Name: "op"}, Recorded: recorded, Result: &sweeps.Result{Samples: set}, Audit: auditor.Judge(&set)}
		r := summarise(&harness.Verification{Entry: &calibration.Host{}, Checks: []*harness.Check{check}}, 1)
		if code := command.Exit(io.Discard, "verify", r.verdict("file")); code != c.code {
			t.Errorf("%s: exit %d, want %d: %+v", name, code, c.code, r.Cases[0].Verdict)
		}
	}
}

// The worst size outside of ties is printed beside the worst size.
func TestTheWorstOutsideTiesIsPrinted(t *testing.T) {
	var table bytes.Buffer
	r := &report{Worst: 0.144, Beyond: 0.061, FreshSizes: 8}
	if err := r.writeTable(&table); err != nil || !strings.Contains(table.String(), "worst 14.4 % (6.1 % where it is no tie)") {
		t.Errorf("%v\n%s", err, table.String())
	}
}

// A file that says that it does not know where a threshold is cannot be wrong about the threshold.
func TestAnUnresolvedFile(t *testing.T) {
	for verdict, want := range map[calibration.Verdict]string{calibration.Crossover: "DRIFTED", calibration.Unresolved: "AMBIGUOUS"} {
		file := recorded(8000) // the truth is 4 000
		c := &file.Hosts[0].Cases[0]
		c.Verdict, c.Reason = verdict, "for a test"
		c.Segments[1].Interval = &calibration.Interval{Low: 3900, High: 16000}
		if stdout, stderr, _ := verifyOn(t, truth(1), "--calibration", save(t, file), "--seed", "1"); !strings.Contains(stdout, "1 "+want) {
			t.Errorf("%s: want %s\n%s%s", verdict, want, stdout, stderr)
		}
	}
}

// Nothing is said of a case at whose worst size the file takes the fastest implementation.
func TestNoWorstSizeOfRightChoices(t *testing.T) {
	for verdict, fastest := range map[string]string{"UNMEASURED": "a", "AMBIGUOUS": "a", "DRIFTED": "b", "HOLDS": "b"} {
		c := caseReport{Verdict: verdict, unit: "rows", Sizes: []sizeReport{
			{Size: 7, Chosen: "a", Fastest: "a", Slowdown: 1}, {Size: 64, Chosen: "a", Fastest: fastest, Slowdown: 1.5}, {Size: 80, Chosen: "a", Fastest: "a", Slowdown: 1},
		}}
		want := ""
		if verdict == "DRIFTED" {
			want = "at 64 rows the file takes a, b is faster"
		}
		if got := c.worst(); got != want {
			t.Errorf("%s: %q, want %q", verdict, got, want)
		}
	}
	equal := caseReport{Verdict: "UNMEASURED", unit: "rows", Sizes: []sizeReport{{Size: 7, Chosen: "a", Fastest: "b", Slowdown: 1.0004}}}
	if got := equal.worst(); got != "" {
		t.Errorf("a loss of 0.0 %%: %q", got)
	}
}

// The table fits the width of a terminal, whatever the names are. It has the cases in the catalogue's order, and remarks
// that several cases have only once.
func TestTheTable(t *testing.T) {
	fewer := caseReport{
		Name: "sum", Verdict: "HOLDS", Regret: 0.001, Worst: 0.02, losses: make([]float64, 12), Sizes: []sizeReport{{Size: 64, Chosen: "a", Fastest: "b", Slowdown: 1.02}},
		Warnings: []string{"degraded: other programs or virtual machines took 49 % of a processor meanwhile"},
	}
	worse := caseReport{
		Name: "stage-graph/block=512,cost=4,resident", Verdict: "UNMEASURED", Regret: 1.234, Worst: 9.876, Excused: 0.314, losses: make([]float64, 3), unit: "elements",
		Sizes: []sizeReport{
			{Size: 64, Chosen: "a", Fastest: "b", Slowdown: 1.02},
			{Size: 16 << 20, Chosen: "go-parallel/partitioned", Fastest: "accelerate/partitioned", Slowdown: 10.876},
			{Size: 128, Chosen: "a", Fastest: "b", Slowdown: 20, Disturbed: true},
		},
		Warnings: []string{"degraded: other programs or virtual machines took 62 % of a processor meanwhile"},
	}
	nothing := caseReport{Name: "max", Verdict: "UNMEASURED"}
	r := &report{
		Cases: []caseReport{worse, nothing, fewer}, Regret: 0.0123, Worst: 9.876, Beyond: 9.876, FreshSizes: 15, Disturbed: 1,
		Skipped: []string{"fft/unheard=1: not in the catalogue of this version", "fft/unheard=2: not in the catalogue of this version"},
		Plans:   plans.Summary{Rows: 1234, Inside: 1000, Undecided: 100, Unmeasured: 134, Median: 1.01, Finding: plans.Inside},
	}
	var table bytes.Buffer
	if err := r.writeTable(&table); err != nil {
		t.Fatal(err)
	}
	const want = `CASE                                   VERDICT     FRESH SIZES   REGRET  AT MOST    WORST  NOT KNOWN
sum                                    HOLDS                12    0.1 %        -    2.0 %
max                                    UNMEASURED            0        -        -        -
stage-graph/block=512,cost=4,resident  UNMEASURED            3  123.4 %        -  987.6 %       31 %
    at 16 777 216 elements the file takes go-parallel/partitioned, accelerate/partitioned is faster
` + legend + `
2 cases: degraded: other programs or virtual machines took 49 to 62 % of a processor meanwhile (sum,
  stage-graph/block=512,cost=4,resident)
2 cases: not in the catalogue of this version (fft/unheard=1, fft/unheard=2)
1 size more could not be measured while the machine was quiet

1 HOLDS, 0 AMBIGUOUS, 0 DRIFTED, 2 UNMEASURED
regret 1.23 % over 15 fresh sizes, worst 987.6 %
calls by a program's plans take as long as the timings say: median ratio 1.01, 0 of 1234 comparisons
  outside 0.85 to 1.15, 100 undecided, 134 unmeasured
`
	if table.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", table.String(), want)
	}
	for line := range strings.Lines(table.String()) {
		if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > command.Columns {
			t.Errorf("%d columns: %q", columns, line)
		}
	}
}

// checked returns the check of a case that holds at a number of fresh sizes.
func checked(name string, sizes int, undrawn bool) *harness.Check {
	set := timings.Set{Implementations: []string{"a", "b"}}
	var fresh []int
	for k := range 9 {
		fresh = append(fresh, 100<<k)
	}
	auditor := thresholds.NewAuditor(fresh, func(int) string { return "a" }, func(int) (int, bool) { return 0, false }, 0.03, nil)
	for _, size := range fresh[:sizes] {
		for range 5 {
			set.Blocks = append(set.Blocks, timings.Block{Size: size, Twin: -1, Seconds: []float64{1e-6, 2e-6}, Iterations: []int{100, 100}})
		}
		auditor.Visited(size)
	}
	return &harness.Check{
		Case: kernels.Case{Name: name}, Recorded: &calibration.Case{Axis: calibration.Axis{From: 1, To: 1 << 20}, Segments: []calibration.Segment{{}}},
		Result: &sweeps.Result{Samples: set}, Audit: auditor.Judge(&set), Undrawn: undrawn,
	}
}

// Cases elsewhere that were not drawn are in no table and no share, and what the drawn ones say of them is printed.
func TestASampleOfCasesElsewhere(t *testing.T) {
	v := &harness.Verification{Entry: &calibration.Host{}}
	add := func(name string, sizes int, undrawn bool) {
		v.Checks = append(v.Checks, checked(name, sizes, undrawn))
	}
	add("sum", 9, false)
	for k := range 6 {
		add(fmt.Sprintf("sum/k=%d,shared", k), 9, false)
		add(fmt.Sprintf("sum/k=%d,resident", k), 0, true)
	}
	r := summarise(v, 1)
	if err := r.verdict("file"); err != nil || r.Unproven != 0 {
		t.Errorf("%v, %v unproven", err, r.Unproven)
	}
	var table bytes.Buffer
	if err := r.writeTable(&table); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	for _, want := range []string{"7 HOLDS, 0 AMBIGUOUS, 0 DRIFTED, 0 UNMEASURED", "6 of 12 cases with data in shared or resident memory were drawn",
		"6 of the 6 with a finding hold, so with 95 % confidence at least 60 % of all 12 do"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
	if strings.Contains(text, "sum/k=1,resident") {
		t.Errorf("a case that was not drawn is in the table:\n%s", table.String())
	}
	// One that was drawn and too little measured counts. One that is ambiguous does not hold, and may have drifted.
	add("sum/k=6,shared", 3, false)
	add("sum/k=7,shared", 3, false)
	add("sum/k=8,shared", 3, false)
	if r = summarise(v, 1); command.Exit(io.Discard, "verify", r.verdict("file")) != command.ExitTooLittle {
		t.Errorf("%v of the drawn cases' axes are unproven, and verify passes", r.Unproven)
	}
	r.Cases[1].Verdict = "AMBIGUOUS"
	if lines := r.undrawn(); len(lines) != 1 || !strings.Contains(lines[0], "5 of the 6 with a finding hold") {
		t.Errorf("%q", lines)
	}
}

// A budget that is too short for all cases decides some, at random. Eleven that hold say that three quarters of all do. Those that
// have changed are not measured in any case, and if all data are elsewhere, those cases must have enough findings.
func TestASampleOfCases(t *testing.T) {
	for name, c := range map[string]struct {
		all, found, changed int
		suffix              string
		code                int
	}{
		"ten":               {76, 10, 0, "", command.ExitTooLittle},
		"eleven":            {76, 11, 0, "", 0},
		"nine of ten":       {10, 9, 0, "", 0},
		"none":              {76, 0, 0, "", command.ExitTooLittle},
		"some have changed": {76, 20, 10, "", 0},
		"many have changed": {76, 20, 30, "", command.ExitTooLittle},
		"elsewhere, none":   {77, 0, 0, "/shared", command.ExitTooLittle},
		"elsewhere, one":    {77, 1, 0, "/shared", command.ExitTooLittle},
		"elsewhere, eleven": {77, 11, 0, "/shared", 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := &harness.Verification{Entry: &calibration.Host{}}
			r := summarise(v, 1)
			for k := range c.all {
				check := checked(fmt.Sprintf("sum/k=%d%s", k, c.suffix), 9, k >= c.found)
				if k >= c.all-c.changed {
					check = checked(check.Case.Name, 0, false)
					check.Changed = "it has changed"
				}
				v.Checks = append(v.Checks, check)
				o := shapesReport{Name: fmt.Sprintf("sum%d%s", k, c.suffix), Verdict: notDrawn}
				switch {
				case check.Changed != "":
					o.Verdict, o.changed = verdictNames[thresholds.Unmeasured], true
				case k < c.found:
					o.Verdict = "HOLDS"
				}
				r.Operations = append(r.Operations, o)
			}
			if got := command.Exit(io.Discard, "verify", r.verdict("file")); got != c.code {
				t.Errorf("of operations the exit code is %d, want %d", got, c.code)
			}
			r = summarise(v, 1)
			if got := command.Exit(io.Discard, "verify", r.verdict("file")); got != c.code {
				t.Errorf("of cases the exit code is %d, want %d", got, c.code)
			}
			want := fmt.Sprintf("%d of %d cases", c.found, c.all-c.changed)
			if lines := r.undrawn(); len(lines) != 1 || !strings.HasPrefix(lines[0], want) || r.where() == "" {
				t.Errorf("%q %q, want %q", lines, r.where(), want)
			}
		})
	}
}
