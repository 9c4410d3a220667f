package kernels_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/host"
	"crossover/kernels"
	"crossover/pool"
)

// addingRows is the adding operation over rows and columns. The number of rows on the line of 100 columns decides a call of
// which nothing is predicted.
func addingRows(calls map[string]int) *kernels.Op[params] {
	op := adding(calls)
	op.Axes = []kernels.Axis{{Name: "rows", Unit: "rows", Min: 1, Max: 4096}, {Name: "columns", Unit: "columns", Min: 1, Max: 4096}}
	op.Lines = []kernels.Line{kernels.Along(op.Axes, "rows", kernels.Param{Name: "columns", Value: 100})}
	op.Judged = func(_ params, s kernels.Shape) (line, size int) { return 0, s[0] }
	op.By = op.By[:3]
	return op
}

var machine = host.Facts{Chip: "a chip", Family: "chips", Architecture: "amd64", Cores: 2}

// addingFile is a calibration in which third wins on the line of 100 columns, and elsewhere first up to a work of 1000
// and second above it.
func addingFile() *calibration.File {
	all := []calibration.Implementation{{Name: "first", Processor: "cpu"}, {Name: "second", Processor: "cpu"}, {Name: "third", Processor: "cpu"}}
	line := func(name, implementation string, columns int) calibration.Case {
		return calibration.Case{
			Name: name, Operation: "add", Parameters: map[string]int{"columns": columns}, Implementations: all,
			Axis:    calibration.Axis{Name: "rows", Unit: "rows", From: 1, To: 4096},
			Verdict: calibration.Always, Sizes: []int{1, 4, 16, 64, 256, 1024, 4096},
			Segments: []calibration.Segment{{From: 1, To: 4096, Implementation: implementation}},
		}
	}
	operation := calibration.Operation{
		Name: "add", Placement: "caller", Implementations: all,
		Axes: []calibration.Axis{{Name: "rows", Unit: "rows", From: 1, To: 4096}, {Name: "columns", Unit: "columns", From: 1, To: 4096}},
		Surface: surface.Surface{
			Axes: []string{"rows", "columns"}, Features: []surface.Feature{{Kind: surface.Logarithm, Weights: []float64{1, 1}}},
			Scales: []float64{1}, Shapes: []int{1, 1},
			Implementations: []surface.Implementation{
				{Name: "first", Linear: []float64{math.Log(1e-9), math.Ln2}, Weights: []float64{0}},
				{Name: "second", Linear: []float64{math.Log(1e-6), 0}, Weights: []float64{0}},
				{Name: "third", Linear: []float64{math.Log(1e-5), 0}, Weights: []float64{0}},
			},
		},
	}
	return &calibration.File{Hosts: []calibration.Host{{
		ID: machine.ID(), Facts: calibration.Facts(machine), Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: "linux", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm"},
		Cases:       []calibration.Case{line("add/columns=100", "third", 100)},
		Operations:  []calibration.Operation{operation},
	}}}
}

func runShape(t *testing.T, p *kernels.Plan[params], rows, columns int) {
	t.Helper()
	x, y := make([]float32, rows*columns), make([]float32, rows*columns)
	if err := p.Run(kernels.Shape{rows, columns}, kernels.Args{y, x}); err != nil {
		t.Fatal(err)
	}
}

// A case names its sizes by their unit, and that of a space by the shapes that they stand for.
func TestCasesNameSizes(t *testing.T) {
	op := addingRows(map[string]int{})
	b := &kernels.Backends{Pool: pool.Shared()}
	if got, want := op.Cases(b)[0].At(40), "40 rows"; got != want {
		t.Errorf("a size of a line is %q, want %q", got, want)
	}
	space := op.Space(b, kernels.Caller)
	if got, want := space.Case.At(space.Add(kernels.Shape{30, 40})), "rows=30,columns=40"; got != want {
		t.Errorf("a size of a space is %q, want %q", got, want)
	}
}

// A plan whose calls differ in several axes goes by what is predicted at the shape of a call, by a line if that was measured
// through the shape, and by the line that it is judged by where nothing is predicted.
func TestPlanOverShapes(t *testing.T) {
	calls := map[string]int{}
	d, err := dispatch.New(addingFile(), dispatch.WithHost(machine))
	if err != nil {
		t.Fatal(err)
	}
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, addingRows(calls), params{})
	ran := func(want string, answer dispatch.Answer, rows, columns int) {
		t.Helper()
		clear(calls)
		for range 2 {
			runShape(t, plan, rows, columns)
		}
		e := plan.Explain(kernels.Shape{rows, columns})
		if calls[want] != 2 || e.Implementation != want || e.Answer != answer {
			t.Errorf("%d×%d: computed by %v (%s), want %s (%s): %s", rows, columns, calls, e.Answer, want, answer, e)
		}
	}
	ran("first", dispatch.Predicted, 30, 30)
	ran("second", dispatch.Predicted, 30, 40)
	ran("third", dispatch.Measured, 30, 100)
	if e := plan.Explain(kernels.Shape{30, 40}); e.Case != "add" || e.Shape != "rows=30 columns=40" || e.Prediction == nil {
		t.Errorf("explained as %+v", e)
	}
	if e := plan.Explain(kernels.Shape{30, 100}); e.Case != "add/columns=100" || e.Size != 30 {
		t.Errorf("explained as %+v", e)
	}
	x, y := make([]float32, 1200), make([]float32, 1200)
	for _, s := range []kernels.Shape{{30, 40}, {12, 100}} {
		if got := testing.AllocsPerRun(10, func() { _ = plan.Run(s, kernels.Args{y, x}) }); got != 0 {
			t.Errorf("%v costs %v allocations", s, got)
		}
	}

	// Data in shared memory have a surface of their own.
	both := addingFile()
	inShared := both.Hosts[0].Operations[0]
	inShared.Placement, inShared.Surface.Implementations = "shared", inShared.Surface.Implementations[2:]
	both.Hosts[0].Operations = append(both.Hosts[0].Operations, inShared)
	if err := d.Swap(both); err != nil {
		t.Fatal(err)
	}
	for placement, want := range map[kernels.Placement]string{kernels.Caller: "second", kernels.Shared: "third"} {
		if e := plan.ExplainIn(kernels.Shape{30, 40}, placement); e.Implementation != want {
			t.Errorf("data in %s memory: %s, want %s", placement, e, want)
		}
	}

	// A file that predicts nothing, swapped in: the number of rows decides, on the line of 100 columns.
	without := addingFile()
	without.Hosts[0].Operations = nil
	if err := d.Swap(without); err != nil {
		t.Fatal(err)
	}
	ran("third", dispatch.Measured, 30, 40)
	if err := d.Swap(addingFile()); err != nil {
		t.Fatal(err)
	}
	ran("second", dispatch.Predicted, 30, 40)
	if err := d.Swap(nil); err != nil {
		t.Fatal(err)
	}
	ran("first", dispatch.Unknown, 30, 40) // in the order of preference
	if e := plan.Explain(kernels.Shape{30, 40}); e.Case != "add" || e.Shape != "rows=30 columns=40" {
		t.Errorf("explained as %+v", e)
	}
}

// The reason for a shape of which nothing is known is the same for a plan and for whoever asks for the shape.
func TestPlanExplainsWhatIsNotKnown(t *testing.T) {
	asked := addingFile()
	of := &asked.Hosts[0].Operations[0]
	of.Surface = surface.Surface{Axes: of.Surface.Axes, Features: of.Surface.Features}
	of.Asked = []calibration.Asked{{Shape: []int{7, 8}, Calls: 1, MedianSeconds: []float64{2, 1, 3}}}
	of.HeldOut = calibration.HeldOut{}
	asked.Hosts[0].Cases = nil
	other := addingFile()
	other.Hosts[0].Operations, other.Hosts[0].Cases = nil, other.Hosts[0].Cases[:1]
	other.Hosts[0].Cases[0].Name, other.Hosts[0].Cases[0].Operation, other.Hosts[0].Cases[0].Parameters = "sum", "sum", nil
	for name, file := range map[string]*calibration.File{"asked shapes alone": asked, "another operation": other} {
		d, err := dispatch.New(file, dispatch.WithHost(machine))
		if err != nil {
			t.Fatal(err)
		}
		for _, judged := range []bool{true, false} {
			op := addingRows(map[string]int{})
			if !judged {
				op.Judged = nil
			}
			plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, op, params{})
			e, want := plan.Explain(kernels.Shape{30, 40}), d.Operation("add").ExplainShape(30, 40)
			if e.Reason != want.Reason || e.Reason == "" || e.Case != "add" || e.Shape != "rows=30 columns=40" || e.Answer != dispatch.Unknown || e.Implementation != "first" {
				t.Errorf("%s, judged %v: %s\nwant the reason of %s", name, judged, e, want)
			}
		}
	}
}

// Where an implementation fails, the next best one as predicted computes.
func TestPlanOverShapesWithoutAnImplementation(t *testing.T) {
	calls := map[string]int{}
	d, err := dispatch.New(addingFile(), dispatch.WithHost(machine))
	if err != nil {
		t.Fatal(err)
	}
	fails := params{fail: map[string]error{"second": errors.New("lost")}}
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, addingRows(calls), fails)
	for range 3 {
		runShape(t, plan, 100, 1000) // first would take 100 µs, third takes 10 µs
	}
	if calls["third"] != 3 || len(calls) != 1 {
		t.Errorf("computed by %v, want by third alone", calls)
	}
	delete(fails.fail, "second")
	d.Retry()
	runShape(t, plan, 100, 1000)
	if calls["second"] != 1 {
		t.Errorf("computed by %v, want by second once it is tried again", calls)
	}
}

// A plan whose choices are forced names the shape that it is asked about.
func TestPlanExplainsWhatIsForced(t *testing.T) {
	for _, force := range []string{"add=second", "add/columns=40=second"} {
		t.Setenv(dispatch.ForceVariable, force)
		d, err := dispatch.New(addingFile(), dispatch.WithHost(machine))
		if err != nil {
			t.Fatal(err)
		}
		plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, addingRows(map[string]int{}), params{})
		if e := plan.Explain(kernels.Shape{30, 40}); e.Case != "add" || e.Shape != "rows=30 columns=40" || e.Implementation != "second" || e.Answer != dispatch.Unknown {
			t.Errorf("%s: explained as %+v", force, e)
		}
	}
}

// A plan whose parameters make its calls like those at other shapes goes by those, in each way to ask.
func TestPlanAlike(t *testing.T) {
	calls := map[string]int{}
	d, err := dispatch.New(addingFile(), dispatch.WithHost(machine))
	if err != nil {
		t.Fatal(err)
	}
	for _, judged := range []bool{true, false} {
		op := addingRows(calls)
		op.Alike = func(_ params, s kernels.Shape) kernels.Shape { s[0] *= 2; return s }
		want := "rows=40 columns=30"
		if !judged {
			op.Judged, want = nil, ""
		}
		plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, op, params{})
		clear(calls)
		runShape(t, plan, 20, 30) // a work of 600 at its own shape
		if calls["second"] != 1 {
			t.Errorf("computed by %v, want second", calls)
		}
		if e := plan.Explain(kernels.Shape{20, 30}); e.Implementation != "second" || e.Shape != want || !judged && e.Size != 40 {
			t.Errorf("explained as %+v", e)
		}
		if e := plan.Explain(kernels.Shape{20, 30}); !strings.HasSuffix(e.Reason, ", where a measured call has as much work as this one") {
			t.Errorf("the reason does not say that another shape decided: %s", e.Reason)
		}
		step := kernels.StepOf(op, params{})
		if name, size := step.Case(kernels.Shape{20, 100}, kernels.Caller); !judged && (name != "add/columns=100" || size != 40) {
			t.Errorf("the step asks for %s at %d", name, size)
		}
		if w := step.Work(kernels.Shape{20, 30}, "first"); w.Flops != op.Work(kernels.Shape{40, 30}, "").Flops {
			t.Errorf("the step's work is %+v", w)
		}
	}
}

// A plan of which one axis varies from call to call goes by a cut through the surface.
func TestPlanAlongACut(t *testing.T) {
	calls := map[string]int{}
	d, err := dispatch.New(addingFile(), dispatch.WithHost(machine))
	if err != nil {
		t.Fatal(err)
	}
	op := addingRows(calls)
	op.Judged = nil
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, op, params{})
	runShape(t, plan, 30, 30)
	runShape(t, plan, 30, 40)
	runShape(t, plan, 30, 100)
	if calls["first"] != 1 || calls["second"] != 1 || calls["third"] != 1 {
		t.Errorf("computed by %v, want by each once", calls)
	}
	if e := plan.Explain(kernels.Shape{30, 40}); e.Case != "add/columns=40" || e.Answer != dispatch.Predicted || e.From != 26 {
		t.Errorf("explained as %+v", e)
	}
	x := make([]float32, 1200)
	if got := testing.AllocsPerRun(10, func() { _ = plan.Run(kernels.Shape{30, 40}, kernels.Args{x, x}) }); got != 0 {
		t.Errorf("%v allocations a call", got)
	}
}
