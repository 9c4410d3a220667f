package harness

import (
	"math"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/thresholds"
	"crossover/timings"
)

// An entry has one line on the share of the time in which its processors did not reach their speed all at once.
func TestCrowdedRuns(t *testing.T) {
	times := func(ratio float64) *calibration.SentinelTimes {
		return &calibration.SentinelTimes{AllProcessorsRatio: ratio}
	}
	crowd := func(share, ratio float64) *calibration.Sentinel {
		return &calibration.Sentinel{
			Processors: 16, Baseline: *times(1.05), Kept: times(1.1), Crowded: &calibration.Crowded{Share: share, AllProcessorsRatio: ratio},
		}
	}
	alone := func(share float64) *calibration.Sentinel {
		return &calibration.Sentinel{Processors: 2, Baseline: *times(1.05), Company: new(1 - share)}
	}
	apart := &calibration.Sentinel{Processors: 16, Baseline: *times(1.05), Kept: times(1.1)}
	for name, c := range map[string]struct {
		runs []*calibration.Sentinel
		want string // beginning of the line
	}{
		"nothing noted":           {[]*calibration.Sentinel{nil}, ""},
		"nothing known":           {[]*calibration.Sentinel{{Processors: 2}}, ""},
		"apart":                   {[]*calibration.Sentinel{apart}, ""},
		"for a moment":            {[]*calibration.Sentinel{crowd(0.05, 2.1)}, ""},
		"for some time":           {[]*calibration.Sentinel{crowd(0.3, 2.1)}, "all 16 processors at once took 2.10 times as long as one alone for 30 % of the run: "},
		"always":                  {[]*calibration.Sentinel{crowd(1, 2.16)}, "all 16 processors at once took 2.16 times as long as one alone for 100 % of the run: "},
		"an old file, apart":      {[]*calibration.Sentinel{{Processors: 2, Baseline: *times(1.5)}}, ""},
		"an old file":             {[]*calibration.Sentinel{{Processors: 2, Baseline: *times(1.6)}}, "all 2 processors at once took 1.60 times as long as one alone: "},
		"an old file, kept":       {[]*calibration.Sentinel{{Processors: 2, Kept: times(1.6)}}, "all 2 processors at once took 1.60 "},
		"an old file, kept apart": {[]*calibration.Sentinel{{Processors: 2, Baseline: *times(1.6), Kept: times(1)}}, ""},
		"in four runs": {[]*calibration.Sentinel{crowd(1, 2.16), crowd(0.4, 2.02), apart, crowd(0.98, 2.15)},
			"all 16 processors at once took 2.02 to 2.16 times as long as one alone for 40 to 100 % of the time in 3 of 4 runs: "},
		"in two runs alike": {[]*calibration.Sentinel{crowd(1, 2.161), crowd(1, 2.159)},
			"all 16 processors at once took 2.16 times as long as one alone for 100 % of the time in 2 of 2 runs: "},
		"in two old runs": {[]*calibration.Sentinel{{Processors: 2, Kept: times(1.6)}, {Processors: 2, Kept: times(1.9)}, apart},
			"all 2 processors at once took 1.60 to 1.90 times as long as one alone in 2 of 3 runs: "},
		"in an old run and a new one": {[]*calibration.Sentinel{{Processors: 2, Kept: times(1.6)}, crowd(0.5, 2)},
			"all 16 processors at once took 1.60 to 2.00 times as long as one alone for 50 % of the time in 2 of 2 runs: "},
		"never, as a new run says": {[]*calibration.Sentinel{crowd(0, 0)}, ""},
		"in none of two":           {[]*calibration.Sentinel{apart, apart}, ""},
		"seldom alone":             {[]*calibration.Sentinel{alone(0.08)}, "others, perhaps another virtual machine, mostly used the core of the calls for 92 % of the run: "},
		"mostly alone":             {[]*calibration.Sentinel{alone(0.8)}, ""},
		"seldom alone, once":       {[]*calibration.Sentinel{alone(0.08), alone(0.8), apart}, "others, perhaps another virtual machine, mostly used the core of the calls for 92 % of the time in 1 of 3 runs: "},
		"beside an old run":        {[]*calibration.Sentinel{nil, crowd(0.5, 2)}, "all 16 processors at once took 2.00 times as long as one alone for 50 % of the run: "},
	} {
		entry := &calibration.Host{Environment: calibration.Environment{Sentinel: c.runs[0]}}
		for _, s := range c.runs[1:] {
			entry.Runs = append(entry.Runs, calibration.Run{Environment: calibration.Environment{Sentinel: s}})
		}
		switch got := warnings(entry); {
		case c.want == "" && len(got) > 0, c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)):
			t.Errorf("%s: %q, want %q", name, got, c.want)
		case strings.Contains(strings.Join(got, ""), "\n"):
			t.Errorf("%s: more than a line: %q", name, got)
		}
	}
}

// A condition of several runs has one warning. It comes before the warning about the processors.
func TestWarnings(t *testing.T) {
	low := calibration.Environment{PowerMode: "low", Sentinel: &calibration.Sentinel{
		Processors: 2, Crowded: &calibration.Crowded{Share: 1, AllProcessorsRatio: 2},
	}}
	got := warnings(&calibration.Host{Environment: low, Runs: []calibration.Run{{Environment: low}, {Environment: low}}})
	if len(got) != 2 || !strings.HasPrefix(got[0], "running in low-power mode") || !strings.HasPrefix(got[1], "all 2 processors") {
		t.Errorf("%q", got)
	}
}

// A run on a part of the processors says so.
func TestPartOfTheProcessors(t *testing.T) {
	for processors, want := range map[int]bool{1: true, 2: false} {
		got := warnings(&calibration.Host{
			Facts: calibration.Facts{Cores: 2}, Environment: calibration.Environment{Sentinel: &calibration.Sentinel{Processors: processors}},
		})
		if told := len(got) == 1 && strings.HasPrefix(got[0], "Go used 1 of 2 processors (GOMAXPROCS, or a limit on the process): "); told != want {
			t.Errorf("%d of 2 processors: %q", processors, got)
		}
	}
}

// The reason why one core is fastest at every size stays only where one core is.
func TestTheReasonForOneCore(t *testing.T) {
	const declared, fitted = "each sample waits for the one before it", "why it is so"
	names := []string{"go", "go-parallel", "cuda"}
	for _, test := range []struct {
		winner        int
		verdict       thresholds.Verdict
		reason, stays string
	}{
		{0, thresholds.Always, "", declared},
		{0, thresholds.Always, fitted, fitted},
		{0, thresholds.Tie, fitted, fitted},
		{1, thresholds.Always, "", ""},
		{1, thresholds.Tie, fitted, fitted},
		{2, thresholds.Always, "", ""},
	} {
		c := calibration.Case{Reason: declared}
		for k, name := range names {
			c.Implementations = append(c.Implementations, calibration.Implementation{Name: name, Processor: []string{"cpu", "cpu", "gpu"}[k]})
		}
		r := thresholds.Result{Verdict: test.verdict, Reason: test.reason, Segments: []thresholds.Segment{{From: 1, To: 9, Implementation: test.winner}}}
		fill(&c, &timings.Set{Implementations: names}, &r)
		if c.Reason != test.stays {
			t.Errorf("%s, verdict %v for %q: %q, want %q", names[test.winner], test.verdict, test.reason, c.Reason, test.stays)
		}
	}
}

// Among accurate implementations a case has thresholds of their own, fitted to their times alone. They cover the whole axis,
// also where none of these implementations was timed.
func TestWithin(t *testing.T) {
	m := func(name string, bound float64) calibration.Implementation {
		return calibration.Implementation{Name: name, Processor: "cpu", ErrorBound: bound}
	}
	set := &timings.Set{Case: "norm", Implementations: []string{"fast", "exact", "exact-parallel", "wrong", "unbounded"}}
	for size := 16; size <= 1<<14; size *= 2 {
		for visit := range 8 {
			n := float64(size)
			noise := 1 + 0.002*float64(visit)
			seconds := []float64{1e-7, noise * (1e-9 * n), noise * (5e-7 + 2e-10*n), 1e-9, 1e-9} // the exact ones cross at 625
			if size > 1<<12 {
				seconds[1], seconds[2] = math.NaN(), math.NaN()
			}
			b := timings.Block{Size: size, Visit: visit, Seconds: seconds, Iterations: []int{9, 9, 9, 9, 9}, Twin: 0, TwinSeconds: 1e-7}
			set.Blocks = append(set.Blocks, b)
		}
	}
	c := calibration.Case{
		Name: "norm", Operation: "norm", Axis: calibration.Axis{Name: "n", Unit: "samples", From: 16, To: 1 << 14},
		Implementations: []calibration.Implementation{
			m("fast", 5e-4), m("exact", 5e-5), m("exact-parallel", 5e-5), m("wrong", 5e-5), m("unbounded", 0),
		},
	}
	c.Implementations[3].Excluded = "wrong"
	r := &Run{Entry: calibration.Host{Cases: []calibration.Case{c}}, Timings: map[string]*timings.Set{"norm": set}}
	got := r.within(&c, thresholds.Options{Seed: 1})
	if len(got) != 1 || got[0].MaxError != 5e-5 || got[0].Verdict != calibration.Crossover || len(got[0].Segments) != 2 {
		t.Fatalf("%+v, want a crossover within 5e-05", got)
	}
	low, high := got[0].Segments[0], got[0].Segments[1]
	if low.Implementation != "exact" || high.Implementation != "exact-parallel" || high.From < 560 || high.From > 690 || high.Interval == nil {
		t.Errorf("%+v and %+v, want exact up to about 625", low, high)
	}
	if low.From != 16 || high.To != 1<<14 {
		t.Errorf("the segments are from %d to %d, want the whole axis", low.From, high.To)
	}
	if len(low.Next) != 1 || low.Next[0].Implementation != "exact-parallel" {
		t.Errorf("next best: %+v", low.Next)
	}
	for i := range c.Implementations {
		c.Implementations[i].ErrorBound = 0
	}
	if got := r.within(&c, thresholds.Options{Seed: 1}); got != nil {
		t.Errorf("without bounds: %+v", got)
	}
}
