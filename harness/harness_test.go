package harness_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/sweeps"
	"crossover/thresholds"
)

// launch is the scenario of these tests: a GPU whose calls cost a launch, on a quiet machine.
func launch() *model.Scenario { return &model.Scenarios()[0] }

// anywhere returns a host that is not this machine.
func anywhere() calibration.Host {
	facts := calibration.Facts{Chip: "Somebody's chip", Family: "somebody", Architecture: "none", Cores: 1, GPU: "Somebody's GPU"}
	return calibration.Host{
		ID: host.Facts(facts).ID(), Facts: facts, Environment: calibration.Environment{Power: "mains", Thermal: "unknown", Load: -1},
	}
}

func on(m *model.Machine) harness.Machine { return harness.Machine{Clock: m, Sentinel: m.Sentinel} }

// measured returns a measured run of the scenario that is not fitted. If folder is not "", the run is saved there.
func measured(t *testing.T, o harness.Options, folder string) *harness.Run {
	t.Helper()
	machine := model.New(launch(), 1)
	o.Budget, o.Seed = 5*time.Second, 1
	r := harness.NewRun(anywhere(), []kernels.Case{machine.Case()}, o)
	r.Folder = folder
	if err := r.Measure(t.Context(), on(machine)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunFindsTheCrossover(t *testing.T) {
	r := measured(t, harness.Options{}, "")
	if c := r.Entry.Cases[0]; len(c.Segments) != 0 || c.Blocks == 0 || r.Entry.Method.SpentSeconds == 0 {
		t.Errorf("before the fit the entry has %d segments, %d blocks and %v s", len(c.Segments), c.Blocks, r.Entry.Method.SpentSeconds)
	}
	fit(t, r)
	c, truth := r.Entry.Cases[0], launch().Truth()[0]
	if len(c.Segments) != 2 || c.Segments[1].Implementation != "gpu" || c.Segments[1].Interval.Low > truth || c.Segments[1].Interval.High < truth {
		t.Fatalf("%+v: want one threshold, about %d, to gpu", c.Segments, truth)
	}
	if fit := r.Fits[c.Name]; fit.Segments[1].From != c.Segments[1].From || fit.Verdict != thresholds.Switches {
		t.Errorf("the fit is %+v, the entry has %+v", fit.Segments, c.Segments)
	}
	if len(r.Results) != 1 || len(r.Timings[c.Name].Blocks) != c.Blocks {
		t.Errorf("%d results, %d blocks of %d", len(r.Results), len(r.Timings[c.Name].Blocks), c.Blocks)
	}
	if err := r.Entry.Validate(); err != nil {
		t.Error(err)
	}
}

func fit(t *testing.T, r *harness.Run) {
	t.Helper()
	if err := r.Fit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// bytesOf returns the text of a calibration file with the entry of a run.
func bytesOf(t *testing.T, entry calibration.Host) string {
	t.Helper()
	var text strings.Builder
	file := calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{entry}}
	if _, err := file.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestASavedRunFitsToTheSameBytes(t *testing.T) {
	folder := t.TempDir()
	r := measured(t, harness.Options{Precision: 0.2}, folder)
	fit(t, r)
	loaded, err := harness.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	fit(t, loaded)
	if diff := cmp.Diff(bytesOf(t, r.Entry), bytesOf(t, loaded.Entry)); diff != "" {
		t.Errorf("the entry of the loaded run differs (-measured +loaded):\n%s", diff)
	}
}

// The memory of the machine bounds the sizes of a sweep.
func TestMemory(t *testing.T) {
	machine := model.New(launch(), 1)
	c := machine.Case()
	c.Bytes = func(size int) float64 { return float64(size) }
	m := on(machine)
	m.Memory = 1
	r := harness.NewRun(anywhere(), []kernels.Case{c}, harness.Options{Budget: time.Second, Seed: 1})
	if err := r.Measure(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if found := r.Entry.Cases[0]; found.Blocks > 0 || len(found.Warnings) != 1 || !strings.Contains(found.Warnings[0], "of memory") {
		t.Errorf("%d blocks, %q", found.Blocks, found.Warnings)
	}
}

func TestAFitIsInterrupted(t *testing.T) {
	r := measured(t, harness.Options{}, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Fit(ctx); !errors.Is(err, context.Canceled) || len(r.Fits) > 0 {
		t.Errorf("error %v, %d cases fitted", err, len(r.Fits))
	}
}

func TestAnInterruptedRunIsSaved(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	machine := model.New(launch(), 1)
	r := harness.NewRun(anywhere(), []kernels.Case{machine.Case()}, harness.Options{
		Budget: 5 * time.Second, Seed: 1,
		Progress: func(p sweeps.Progress) {
			if p.Elapsed > time.Second {
				cancel()
			}
		},
	})
	r.Folder = folder
	if err := r.Measure(ctx, on(machine)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	loaded, err := harness.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	spent := loaded.Entry.Method.SpentSeconds
	if blocks := len(loaded.Timings["launch"].Blocks); blocks == 0 || blocks != r.Entry.Cases[0].Blocks || spent < 1 || spent > 4 {
		t.Errorf("%d blocks saved of %d, after %v s", blocks, r.Entry.Cases[0].Blocks, spent)
	}
}

// The sweep and the method have the options of the run. They have calls in flight only if a GPU is timed.
func TestOptions(t *testing.T) {
	r := measured(t, harness.Options{
		Mode: sweeps.Throughput, InFlight: 3, Ratio: 16, Include: func(implementation string) bool { return implementation == "cpu" },
	}, "")
	if m := r.Entry.Method; m.Mode != "throughput" || m.State != "warm" || m.InFlight != 0 || m.Precision != 0.1 || m.Seed != 1 || m.BudgetSeconds != 5 {
		t.Errorf("%+v", m)
	}
	c := launch()
	k := model.New(c, 1).Case()
	if sizes := r.FirstSizes(&k); sizes[0] != c.Low || sizes[1] < 12*c.Low || sizes[len(sizes)-1] != c.High {
		t.Errorf("the first sizes are %v", sizes)
	}
	if names := r.Timings["launch"].Implementations; !slices.Equal(names, []string{"cpu"}) {
		t.Errorf("%v were timed", names)
	}
	gpus := harness.NewRun(anywhere(), []kernels.Case{k}, harness.Options{Mode: sweeps.Throughput, InFlight: 3})
	if gpus.Entry.Method.InFlight != 3 {
		t.Errorf("%+v", gpus.Entry.Method)
	}
}

// verified verifies an entry on a machine.
func verified(t *testing.T, entry calibration.Host, m harness.Machine, cases ...kernels.Case) *harness.Verification {
	t.Helper()
	return verifiedFor(t, entry, m, 10*time.Second, cases...)
}

// verifiedFor verifies an entry on a machine for a time.
func verifiedFor(t *testing.T, entry calibration.Host, m harness.Machine, budget time.Duration, cases ...kernels.Case) *harness.Verification {
	t.Helper()
	d, err := dispatch.New(&calibration.File{Hosts: []calibration.Host{entry}}, dispatch.WithHost(host.Facts(entry.Facts)))
	if err != nil {
		t.Fatal(err)
	}
	v := harness.NewVerification(&entry, cases, func(string) bool { return true }, entry.Environment)
	if err := v.Measure(t.Context(), m, d, harness.VerifyOptions{Budget: budget, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerification(t *testing.T) {
	r := measured(t, harness.Options{}, "")
	fit(t, r)
	right := r.Entry.Cases[0].Segments[1].From
	for name, c := range map[string]struct {
		from   int
		others bool // whether other programs compute
		want   thresholds.Finding
	}{
		"right":                {right, false, thresholds.Holds},
		"eight times too high": {8 * right, false, thresholds.Drifted},
		"on a busy machine":    {8 * right, true, thresholds.Ambiguous},
	} {
		t.Run(name, func(t *testing.T) {
			entry := r.Entry
			entry.Cases = slices.Clone(entry.Cases)
			recorded := &entry.Cases[0]
			recorded.Segments = slices.Clone(recorded.Segments)
			recorded.Segments[0].To, recorded.Segments[1].From = c.from-1, c.from
			recorded.Segments[1].Interval = &calibration.Interval{Low: c.from, High: c.from}
			machine := model.New(launch(), 2)
			m := on(machine)
			if c.others {
				m.Others = func() float64 { return machine.Now().Seconds() }
			}
			m.Observe = func() host.Condition { return host.Condition{Power: "battery", Thermal: "nominal"} }
			v := verified(t, entry, m, machine.Case())
			check := v.Checks[0]
			if check.Audit.Finding != c.want || check.Excused {
				t.Errorf("finding %v, excused %v, want %v", check.Audit.Finding, check.Excused, c.want)
			}
			if len(check.Audit.Sizes) < 10 || v.Now.Power != "battery" || len(v.States.Conditions) != 1 {
				t.Errorf("%d sizes, power %q, conditions %q", len(check.Audit.Sizes), v.Now.Power, v.States.Conditions)
			}
		})
	}
}

// A budget that is too short for all cases decides some of them, and leaves at most a group undecided.
func TestAShortVerificationDecidesSomeCases(t *testing.T) {
	r := measured(t, harness.Options{}, "")
	fit(t, r)
	machine := model.New(launch(), 2)
	entry, recorded := r.Entry, r.Entry.Cases[0]
	entry.Cases = nil
	var all []kernels.Case
	for k := range 60 {
		recorded.Name = fmt.Sprint("launch/k=", k)
		c := machine.Case()
		c.Name = recorded.Name
		entry.Cases, all = append(entry.Cases, recorded), append(all, c)
	}
	v := verifiedFor(t, entry, on(machine), 3*time.Second, all...)
	var undrawn, decided, undecided int
	for _, check := range v.Checks {
		switch {
		case check.Undrawn:
			undrawn++
		case check.Audit.Finding == thresholds.Unmeasured:
			undecided++
		default:
			decided++
		}
	}
	if undrawn == 0 || decided < 8 || undecided > 8 {
		t.Errorf("%d cases were not drawn, %d are decided and %d are not", undrawn, decided, undecided)
	}
}

// The same seed draws the same fresh sizes. They are none that the run has measured.
func TestSizesAreFresh(t *testing.T) {
	r := measured(t, harness.Options{}, "")
	fit(t, r)
	sizes := func() []int {
		machine := model.New(launch(), 2)
		var sizes []int
		for _, s := range verified(t, r.Entry, on(machine), machine.Case()).Checks[0].Audit.Sizes {
			sizes = append(sizes, s.Size)
		}
		return sizes
	}
	first := sizes()
	if again := sizes(); !slices.Equal(first, again) {
		t.Errorf("sizes %v, then %v", first, again)
	}
	r.Entry.Cases[0].Sizes = first
	for _, size := range sizes() {
		if slices.Contains(first, size) {
			t.Errorf("size %d was measured by the run", size)
		}
	}
}

// A verification leaves out everything that the entry does not promise: cases without a choice, cases that this program does
// not have, and implementations that did not compete.
func TestWhatIsNotVerified(t *testing.T) {
	k := model.New(launch(), 1).Case()
	segments := []calibration.Segment{{From: 100, To: 200, Implementation: "cpu"}}
	axis := calibration.Axis{From: 100, To: 200}
	entry := calibration.Host{Cases: []calibration.Case{
		{Name: k.Name, Axis: axis, Segments: segments, Implementations: []calibration.Implementation{
			{Name: "cpu"}, {Name: "gpu", Excluded: "it was lost"},
		}},
		{Name: "gone", Axis: axis, Segments: segments},
		{Name: "undecided", Reason: "too little was measured"},
		{Name: "not asked for", Axis: axis, Segments: segments},
		{Name: "single", Axis: calibration.Axis{From: 100, To: 100}, Segments: segments[:1]},
	}}
	undecided, single := k, k
	undecided.Name, single.Name = "undecided", "single"
	v := harness.NewVerification(&entry, []kernels.Case{k, undecided, single}, func(name string) bool { return name != "not asked for" }, calibration.Environment{})
	want := []string{"gone: not in the catalogue of this version", "undecided: the file chooses nothing (too little was measured)",
		"single: one size was measured, and there is no other one to check (a longer calibration measures more)"}
	if diff := cmp.Diff(want, v.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if len(v.Checks) != 1 {
		t.Fatalf("%d checks", len(v.Checks))
	}
	c := v.Checks[0].Case
	if c.Axis.Min != 100 || c.Axis.Max != 200 || len(c.Implementations) != 1 || c.Implementations[0].Name != "cpu" {
		t.Errorf("%+v", c)
	}
	if k.Axis.Min == 100 || len(k.Implementations) != 2 {
		t.Error("the case of the catalogue was changed")
	}
}
