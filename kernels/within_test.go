package kernels_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
	"crossover/pool"
)

// bounded declares y = x + 1 by implementations with error bounds.
func bounded(calls map[string]int) *kernels.Op[params] {
	op := adding(calls)
	op.By = []kernels.Makers[params]{
		kernels.Within(1e-3, op.By[0]), kernels.Within(1e-4, op.By[1]), kernels.Within(1e-5, op.By[2]),
	}
	return op
}

func TestSetMaxError(t *testing.T) {
	calls := map[string]int{}
	b := &kernels.Backends{Pool: pool.Shared()}
	plan := newPlan(t, b, nil, bounded(calls), params{})
	by := func(want string) {
		t.Helper()
		clear(calls)
		if err := run(t, plan, 10); err != nil {
			t.Fatal(err)
		}
		if calls[want] != 1 {
			t.Errorf("computed by %v, want %s", calls, want)
		}
	}
	by("first")
	for _, test := range []struct {
		most float64
		want string
	}{{1e-3, "first"}, {9e-4, "second"}, {1e-5, "third"}, {1, "first"}, {1e-4, "second"}} {
		if err := plan.SetMaxError(test.most); err != nil {
			t.Fatal(err)
		}
		by(test.want)
	}
	for most, want := range map[float64]string{
		1e-6:         "add: no implementation promises an error of at most 1e-06 (the least bound is 1e-05)",
		0:            "add: an error of at most 0 is not possible (want a limit above 0)",
		-1:           "add: an error of at most -1 is not possible (want a limit above 0)",
		math.Inf(-1): "add: an error of at most -Inf is not possible (want a limit above 0)",
	} {
		if err := plan.SetMaxError(most); err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if plan.SetMaxError(math.NaN()) == nil {
		t.Error("NaN is a limit")
	}
	by("second") // a limit that fails changes nothing

	// If what is accurate fails, nothing else may compute.
	failing := newPlan(t, b, nil, bounded(nil), params{map[string]error{"third": kernels.ErrRefused}})
	if err := failing.SetMaxError(1e-5); err != nil {
		t.Fatal(err)
	}
	if err := run(t, failing, 10); err == nil {
		t.Error("an implementation that is not accurate enough computed")
	}
}

// Without bounds of their own, implementations promise the tolerance, which may depend on the shape.
func TestSetMaxErrorByTolerance(t *testing.T) {
	op := adding(nil)
	op.Tolerance = func(s kernels.Shape) float64 { return 1e-6 * float64(s[n]) }
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, nil, op, params{})
	if err := plan.SetMaxError(1e-4); err != nil {
		t.Fatal(err)
	}
	if err := run(t, plan, 99); err != nil {
		t.Error(err)
	}
	if err := run(t, plan, 150); err == nil || err.Error() != "add: the error may be up to 0.00015, and the plan accepts 0.0001" {
		t.Error(err)
	}
	e := plan.Explain(kernels.Shape{150})
	if e.Implementation != "none" || e.Reason != "add: the error may be up to 0.00015, and the plan accepts 0.0001" {
		t.Errorf("explained as %s", e)
	}
	if err := plan.SetMaxError(1e-7); err == nil || !strings.HasSuffix(err.Error(), "(the least bound is 1e-06)") {
		t.Error(err) // no size is as exact
	}
}

// A calibration's choices hold only for plans that accept the errors. Others have thresholds of their own, the plan's limit
// can change from call to call, and a warm call allocates nothing.
func TestMaxErrorChooses(t *testing.T) {
	here := host.Identify()
	m := func(name string, bound float64) calibration.Implementation {
		return calibration.Implementation{Name: name, Processor: "cpu", ErrorBound: bound}
	}
	file := &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{{
		ID: here.ID(), Facts: calibration.Facts(here), Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm", TieBand: 0.03},
		Cases: []calibration.Case{{
			Name: "add", Operation: "add", Axis: calibration.Axis{Name: "n", Unit: "elements", From: 1, To: 1000},
			Implementations: []calibration.Implementation{m("first", 1e-3), m("second", 1e-4), m("third", 1e-5)},
			Verdict:         calibration.Always,
			Segments:        []calibration.Segment{{From: 1, To: 1000, Implementation: "first"}},
			Within: []calibration.Within{
				{MaxError: 1e-5, Verdict: calibration.Always, Segments: []calibration.Segment{{From: 1, To: 1000, Implementation: "third"}}},
				{MaxError: 1e-4, Verdict: calibration.Crossover, Segments: []calibration.Segment{
					{From: 1, To: 49, Implementation: "third"},
					{From: 50, To: 1000, Implementation: "second", Interval: &calibration.Interval{Low: 40, High: 60}},
				}},
			},
		}},
	}}}
	d, err := dispatch.New(file)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, bounded(calls), params{})
	x := make([]float32, 100)
	for _, test := range []struct {
		most         float64
		small, large string
		leftOut      string
	}{{0, "first", "first", ""}, {5e-4, "third", "second", "without first (0.001)"}, {5e-5, "third", "third", "without first (0.001), second (0.0001)"}, {1, "first", "first", ""}} {
		if test.most > 0 {
			if err := plan.SetMaxError(test.most); err != nil {
				t.Fatal(err)
			}
		}
		for size, want := range map[int]string{10: test.small, 100: test.large} {
			clear(calls)
			if err := run(t, plan, size); err != nil || calls[want] != 1 {
				t.Errorf("at most %g, %d elements: computed by %v, want %s: %v", test.most, size, calls, want, err)
			}
			e := plan.Explain(kernels.Shape{size})
			if e.Implementation != want || !strings.HasSuffix(e.Reason, test.leftOut) || (test.leftOut == "") == strings.Contains(e.Reason, "err by") {
				t.Errorf("at most %g, %d elements: %s", test.most, size, e)
			}
		}
		if got := testing.AllocsPerRun(10, func() { _ = plan.Run(kernels.Shape{100}, kernels.Args{x, slices.Clip(x)}) }); got != 0 {
			t.Errorf("at most %g: %v allocations in a warm call", test.most, got)
		}
	}
}
