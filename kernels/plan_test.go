package kernels_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// params are those of an operation that adds. They say how its implementations behave.
type params struct{ fail map[string]error }

const n = 0

var axes = []kernels.Axis{{Name: "n", Unit: "elements", Min: 1, Max: 1 << 20}}

// adding declares y = x + 1 by three implementations on the processor and by a kernel text.
func adding(calls map[string]int) *kernels.Op[params] {
	by := func(name string) kernels.Makers[params] {
		return kernels.Named(name, func(_ *kernels.Backends, p params) (kernels.Runner, error) {
			return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
				if err := p.fail[name]; err != nil {
					return err
				}
				if calls != nil {
					calls[name]++
				}
				for i, v := range a[1] {
					a[0][i] = v + 1
				}
				return nil
			}), nil
		})
	}
	return &kernels.Op[params]{
		Name: "add", Formula: "y = x + 1", Source: "arithmetic", Axes: axes,
		Lines:  []kernels.Line{kernels.Along(axes, "n")},
		Params: func(kernels.Shape) params { return params{} },
		IO: func(_ params, s kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{
				{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[n]}, InPlaceOf: "x"},
				{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[n]}},
			}
		},
		Reference: func(_ params, _ kernels.Shape, a *kernels.Args) []float64 {
			var y []float64
			for _, v := range a[1] {
				y = append(y, float64(v)+1)
			}
			return y
		},
		Tolerance: func(kernels.Shape) float64 { return 1e-6 },
		Work: func(s kernels.Shape, _ string) kernels.Work {
			return kernels.Work{Bytes: 8 * float64(s[n]), Flops: float64(s[n])}
		},
		By: []kernels.Makers[params]{by("first"), by("second"), by("third"), kernels.KernelText("", func(b *gpu.Builder, _ params, s kernels.Shape, t []*gpu.Buffer) {
			if s[n] > 5000 {
				b.Refuse(fmt.Errorf("%d elements are too many: %w", s[n], kernels.ErrRefused))
			}
			b.Dispatch(b.Kernel(addText, "add"), gpu.Size{X: (s[n] + 31) / 32, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, t[0], t[1], gpu.Values(s[n]))
		})},
	}
}

var addText = gpu.Source{Name: "add.metal", Text: `
#include <metal_stdlib>
using namespace metal;

kernel void add(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[i] + 1.0f;
}
`}

// emulated returns backends with an emulated GPU, and counts how often the GPU is opened.
func emulated(t *testing.T, opened *int, options ...emulator.Option) *kernels.Backends {
	t.Helper()
	if _, err := emulator.New(); err != nil {
		t.Skip(err)
	}
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend("emulator", func() (gpu.Driver, error) {
		if opened != nil {
			*opened++
		}
		return emulator.New(options...)
	})}}
}

func newPlan(t *testing.T, b *kernels.Backends, d *dispatch.Dispatcher, op *kernels.Op[params], p params) *kernels.Plan[params] {
	t.Helper()
	plan := kernels.NewPlanOn(b, d, op, p)
	t.Cleanup(plan.Close)
	return plan
}

func run(t *testing.T, p *kernels.Plan[params], size int) error {
	t.Helper()
	x, y := make([]float32, size), make([]float32, size)
	for i := range x {
		x[i] = float32(i)
	}
	if err := p.Run(kernels.Shape{size}, kernels.Args{y, x}); err != nil {
		return err
	}
	for i, v := range y {
		if v != float32(i)+1 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	return nil
}

func TestPlanGoesOnWhereAnImplementationFails(t *testing.T) {
	calls := map[string]int{}
	lost := errors.New("lost")
	p := params{map[string]error{"first": lost, "second": fmt.Errorf("too long: %w", kernels.ErrRefused)}}
	d := dispatch.Always("first")
	var told []string
	d.OnFailure(func(f dispatch.Failure) { told = append(told, fmt.Sprint(f.Implementation, ": ", f.Err)) })
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, adding(calls), p)
	for range 3 {
		if err := run(t, plan, 10); err != nil {
			t.Fatal(err)
		}
	}
	if calls["third"] != 3 || len(calls) != 1 {
		t.Errorf("computed by %v, want the third alone", calls)
	}
	if got := strings.Join(told, "; "); got != "first: lost" {
		t.Errorf("the program is told %q", got)
	}
	delete(p.fail, "first")
	if err := run(t, plan, 10); err != nil || calls["first"] != 0 {
		t.Errorf("%v: what failed is tried again before anybody asks for it", err)
	}
	d.Retry()
	if err := run(t, plan, 10); err != nil || calls["first"] != 1 {
		t.Errorf("%v: what failed is not tried again", err)
	}
	p.fail["first"], p.fail["third"] = lost, lost
	if err := run(t, plan, 10); err == nil {
		t.Error("all fail and the call does not")
	}
}

func TestLostGPU(t *testing.T) {
	for lose := 3; lose < 9; lose++ {
		d := dispatch.Always("emulator")
		told := 0
		d.OnFailure(func(f dispatch.Failure) {
			if told++; !errors.Is(f.Err, gpu.ErrLost) {
				t.Error(f.Err)
			}
		})
		plan := newPlan(t, emulated(t, nil, emulator.LoseAfter(lose)), d, adding(nil), params{})
		for range 10 {
			if err := run(t, plan, 100); err != nil {
				t.Fatal(err)
			}
		}
		if told != 1 {
			t.Errorf("lost after %d: told %d times, want once", lose, told)
		}
	}
}

func TestGPUWithoutMemory(t *testing.T) {
	d := dispatch.Always("emulator")
	told := 0
	d.OnFailure(func(dispatch.Failure) { told++ })
	plan := newPlan(t, emulated(t, nil, emulator.MemoryLimit(40_000)), d, adding(nil), params{})
	for _, size := range []int{100, 4000, 100} {
		if err := run(t, plan, size); err != nil {
			t.Fatal(err)
		}
	}
	if told != 1 {
		t.Errorf("told %d times, want once", told)
	}
	// A shape that no kernel takes is no failure.
	plan = newPlan(t, emulated(t, nil), d, adding(nil), params{})
	if err := run(t, plan, 6000); err != nil {
		t.Fatal(err)
	}
	if told != 1 {
		t.Error("a refused shape counts as a failure")
	}
}

// A refused shape is not tried again until Retry.
func TestRefusalsAreRemembered(t *testing.T) {
	op := adding(nil)
	asked := map[int]int{}
	op.By = append([]kernels.Makers[params]{kernels.Named("picky", func(*kernels.Backends, params) (kernels.Runner, error) {
		return kernels.RunnerFunc(func(s kernels.Shape, _ *kernels.Args) error {
			asked[s[n]]++
			return kernels.ErrRefused
		}), nil
	})}, op.By...)
	d := dispatch.Always("picky")
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, d, op, params{})
	for range 5 {
		for _, size := range []int{10, 20, 30} {
			if err := run(t, plan, size); err != nil {
				t.Fatal(err)
			}
		}
	}
	if asked[10] != 1 || asked[20] != 1 || asked[30] != 1 {
		t.Errorf("asked %v times, want once at each size", asked)
	}
	x := make([]float32, 10)
	if got := testing.AllocsPerRun(10, func() { _ = plan.Run(kernels.Shape{10}, kernels.Args{x, x}) }); got != 0 {
		t.Errorf("a refused shape costs %v allocations", got)
	}
	d.Retry()
	for range 3 {
		if err := run(t, plan, 10); err != nil || asked[10] != 2 {
			t.Errorf("%v: asked %d times after a retry, want once more", err, asked[10])
		}
	}
	// A plan remembers mostRefusals shapes and forgets the oldest.
	for size := range 20 {
		if err := run(t, plan, 100+size); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(t, plan, 119); err != nil || asked[119] != 1 {
		t.Errorf("%v: the last size was asked for %d times, want once", err, asked[119])
	}
	if err := run(t, plan, 10); err != nil || asked[10] != 3 {
		t.Errorf("%v: what was forgotten was asked for %d times, want 3", err, asked[10])
	}
	// If all implementations refuse, each call fails with their error.
	op.By = op.By[:1]
	plan = newPlan(t, &kernels.Backends{Pool: pool.Shared()}, nil, op, params{})
	for range 2 {
		if err := run(t, plan, 10); !errors.Is(err, kernels.ErrRefused) {
			t.Errorf("nobody computes and the call says %v", err)
		}
	}
}

// Ten thousand plans are made and then closed or dropped. Afterwards neither the device nor the host holds more memory.
func TestTenThousandPlans(t *testing.T) {
	for _, closed := range []bool{false, true} {
		b, account := kerneltest.AccountBackends(false)
		d := dispatch.Always(kerneltest.AccountName)
		device, err := b.GPUs[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		op := adding(nil)
		x, y := make([]float32, 100), make([]float32, 100)
		thousand := func() {
			for range 1000 {
				plan := kernels.NewPlanOn(b, d, op, params{})
				if err := plan.Run(kernels.Shape{100}, kernels.Args{y, x}); err != nil {
					t.Fatal(err)
				}
				if closed {
					plan.Close()
				}
			}
			for range 100 {
				if runtime.GC(); device.Memory().Used == 0 {
					break
				}
				time.Sleep(time.Millisecond) // cleanups run on another goroutine
			}
			device.Trim()
		}
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		thousand()
		before := heap()
		for range 9 {
			thousand()
		}
		if use := account.Usage(); use.Bytes != 0 || use.Recordings != 0 {
			t.Errorf("closed %v: %+v is held", closed, use)
		}
		if after := heap(); after > before+before/4+1<<20 {
			t.Errorf("closed %v: the heap grew from %d to %d bytes", closed, before, after)
		}
	}
}

func TestNoGPUIsOpenedInVain(t *testing.T) {
	opened := 0
	plan := newPlan(t, emulated(t, &opened), nil, adding(nil), params{})
	if err := run(t, plan, 100); err != nil || opened != 0 {
		t.Errorf("%v: without a calibration %d GPUs were opened", err, opened)
	}
}

// Plans that are made and closed leave no memory behind.
func TestDroppedPlansHoldNothing(t *testing.T) {
	b := emulated(t, nil)
	d := dispatch.Always("emulator")
	device, err := b.GPUs[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	op := adding(nil)
	for range 300 {
		plan := kernels.NewPlanOn(b, d, op, params{})
		if err := run(t, plan, 100); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		runtime.GC()
		if device.Memory().Used == 0 {
			break
		}
		runtime.Gosched()
	}
	if used := device.Memory().Used; used != 0 {
		t.Errorf("%d bytes of the device are in use", used)
	}
}

func TestPlacementOfACall(t *testing.T) {
	b := emulated(t, nil)
	if _, err := b.GPUs[0].Open(); err != nil {
		t.Fatal(err)
	}
	plan := newPlan(t, b, dispatch.Always("emulator"), adding(nil), params{})
	x, free, err := b.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	y, freeY, err := b.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	defer freeY()
	if err := plan.Run(kernels.Shape{100}, kernels.Args{y, x}); err != nil || y[99] != 1 {
		t.Errorf("%v, %v", err, y[99])
	}
	if got := testing.AllocsPerRun(10, func() { _ = plan.Run(kernels.Shape{100}, kernels.Args{y, x}) }); got != 0 && !emulator.Racing() {
		t.Errorf("%v allocations a call", got)
	}
	explained := func(want string, got dispatch.Explanation) {
		t.Helper()
		if got.Case != want {
			t.Errorf("the case %q is explained, want %q", got.Case, want)
		}
	}
	explained("add/shared", plan.Explain(kernels.Shape{100}))
	explained("add", plan.ExplainIn(kernels.Shape{100}, kernels.Caller))
	if err := run(t, plan, 100); err != nil {
		t.Fatal(err)
	}
	explained("add", plan.Explain(kernels.Shape{100}))
	explained("add/shared", plan.ExplainIn(kernels.Shape{100}, kernels.Shared))
}

// A size below 1 is explained as that of no call, and not by the case that is nearest.
func TestExplainOfNoSize(t *testing.T) {
	plan := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, nil, adding(nil), params{}).Along(0, kernels.Shape{})
	for _, n := range []int{0, -3} {
		e := plan.Explain(n)
		want := fmt.Sprintf("add at n=%d: none, no call has such a size (want at least 1)", n)
		if !strings.HasPrefix(e.String(), want) || e.Answer != dispatch.Unknown {
			t.Errorf("%v (%v), want %q", e, e.Answer, want)
		}
	}
	several := newPlan(t, &kernels.Backends{Pool: pool.Shared()}, nil, scored(nil), params{})
	for _, s := range []kernels.Shape{{7, 0, 9}, {7, 1, -9}} {
		e := several.Explain(s)
		want := fmt.Sprintf("scored at a=7 b=%d c=%d: none, no call has such a size (want at least 1)", s[1], s[2])
		if !strings.HasPrefix(e.String(), want) || e.Answer != dispatch.Unknown {
			t.Errorf("%v (%v), want %q", e, e.Answer, want)
		}
	}
	if e := several.Explain(kernels.Shape{7, 1, 9}); e.Implementation == "none" {
		t.Errorf("%v, want an implementation", e)
	}
}

// Memory of less than nothing is a mistake of the program.
func TestAllocOfLessThanNothing(t *testing.T) {
	defer func() {
		if got, want := recover(), "kernels: Alloc of -1 values: want at least 0"; got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
	}()
	new(kernels.Backends).Alloc(-1)
}

// No system has memory for so many values, whose number of bytes may overflow to 0 or less. That is an error and no panic.
func TestAllocOfTooMuch(t *testing.T) {
	for _, n := range []int{1<<40 + 1, 1 << 61, 1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt} {
		data, free, err := new(kernels.Backends).Alloc(n)
		if data != nil || free != nil || !errors.Is(err, gpu.ErrOutOfMemory) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d values: %d, %v", n, len(data), err)
		}
	}
}

// BenchmarkPlan times a call that does nothing.
func BenchmarkPlan(b *testing.B) {
	op := adding(nil)
	op.By = []kernels.Makers[params]{kernels.Named("nothing", func(*kernels.Backends, params) (kernels.Runner, error) {
		return kernels.RunnerFunc(func(kernels.Shape, *kernels.Args) error { return nil }), nil
	})}
	plan := kernels.NewPlanOn(&kernels.Backends{Pool: pool.Shared()}, dispatch.Always("nothing"), op, params{})
	x := make([]float32, 4)
	for b.Loop() {
		_ = plan.Run(kernels.Shape{4}, kernels.Args{x, x})
	}
}

// The typed plan of a program that is compared with a sweep gives its memory back when its call is released. The next visit
// would otherwise get that memory.
func TestAReleasedProgramHoldsNothing(t *testing.T) {
	b, account := kerneltest.AccountBackends(false)
	op := adding(nil)
	program := kernels.NewProgram(
		func(d *dispatch.Dispatcher, p params) (*kernels.Plan[params], error) {
			return kernels.NewPlanOn(b, d, op, p), nil
		},
		func(p *kernels.Plan[params], s kernels.Shape, a *kernels.Args) error { return p.Run(s, *a) })
	c, _ := kernels.Listed(op, program).Cases(b)[0].WithPrograms()
	call, err := c.Problem(100, kernels.Input{}).Bind("program:" + kerneltest.AccountName)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Run(); err != nil || account.Usage().Bytes == 0 {
		t.Fatalf("%v, the plan holds %+v", err, account.Usage())
	}
	call.Release()
	device, err := b.GPUs[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	if device.Trim(); account.Usage().Bytes != 0 {
		t.Errorf("%+v is held", account.Usage())
	}
}

// No program is compared with an implementation that it does not get.
func TestProgramsOnTheProcessor(t *testing.T) {
	for _, onProcessor := range []bool{false, true} {
		b, _ := kerneltest.AccountBackends(false)
		op := adding(nil)
		op.OnProcessor = onProcessor
		var program kernels.Program[params]
		c := kernels.Listed(op, program).Cases(b)[0]
		for _, placed := range []kernels.Case{c, c.Placed(kernels.Shared)} {
			both, ok := placed.WithPrograms()
			if !ok {
				t.Fatalf("%s has no programs", placed.Name)
			}
			for _, i := range placed.Implementations {
				has := slices.ContainsFunc(both.Implementations, func(other kernels.Implementation) bool { return other.Name == "program:"+i.Name })
				if want := !onProcessor || i.Processor != kernels.GPU; has != want {
					t.Errorf("plans on the processor only: %v; %s, %s: a program is there: %v, want %v", onProcessor, placed.Name, i.Name, has, want)
				}
			}
		}
	}
}

// A second call during a call is found out.
func TestPlanInUse(t *testing.T) {
	op, within := adding(nil), func() {}
	op.By = []kernels.Makers[params]{kernels.Named("calling", func(*kernels.Backends, params) (kernels.Runner, error) {
		return kernels.RunnerFunc(func(kernels.Shape, *kernels.Args) error { within(); return nil }), nil
	})}
	plan := kernels.NewPlan(nil, op, params{})
	defer plan.Close()
	data := kernels.Args{make([]float32, 1), make([]float32, 1)}
	within = func() {
		defer func() {
			if got := recover(); got != "add: two goroutines use one plan at a time (want a plan for each)" {
				t.Errorf("panic %v", got)
			}
		}()
		plan.Run(kernels.Shape{1}, data)
	}
	for range 2 { // also after the panic
		if err := plan.Run(kernels.Shape{1}, data); err != nil {
			t.Error(err)
		}
	}
}

// Outputs that overlap other data are a mistake, and an output that may lie in place of an input may be that slice alone.
func TestOverlap(t *testing.T) {
	op := adding(nil)
	op.IO = func(_ params, s kernels.Shape) []kernels.Tensor {
		dims := []int{s[n]}
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: dims, InPlaceOf: "x"},
			{Name: "z", Role: kernels.Out, Type: kernels.Float32, Dims: dims},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: dims},
			{Name: "w", Role: kernels.In, Type: kernels.Float32, Dims: dims},
		}
	}
	op.By = []kernels.Makers[params]{kernels.Named("nothing", func(*kernels.Backends, params) (kernels.Runner, error) {
		return kernels.RunnerFunc(func(kernels.Shape, *kernels.Args) error { return nil }), nil
	})}
	plan := kernels.NewPlan(nil, op, params{})
	defer plan.Close()
	m := make([]float32, 60)
	const apart, orSame = "slices that do not overlap", "slices that do not overlap, or the same slice for both"
	for _, test := range []struct {
		name       string
		y, z, x, w []float32
		want       string
	}{
		{"next to each other", m[:10], m[10:20], m[20:30], m[30:40], ""},
		{"in place", m[:10], m[10:20], m[:10], m[30:40], ""},
		{"inputs overlap", m[:10], m[10:20], m[20:30], m[25:35], ""},
		{"nothing within an output", m[:10], m[10:20], m[5:5], nil, ""},
		{"no output within an input", m[25:25], m[10:20], m[20:30], m[30:40], ""},
		{"x begins within y", m[:10], m[10:20], m[9:19], m[30:40], "add: the output y overlaps x in memory (want " + orSame + ")"},
		{"y begins within x", m[21:31], m[10:20], m[20:30], m[31:41], "add: the output y overlaps x in memory (want " + orSame + ")"},
		{"y is w", m[:10], m[10:20], m[20:30], m[:10], "add: the output y overlaps w in memory (want " + apart + ")"},
		{"z ends within w", m[:10], m[10:20], m[20:30], m[19:29], "add: the output z overlaps w in memory (want " + apart + ")"},
		{"outputs overlap", m[:10], m[9:19], m[20:30], m[30:40], "add: the output y overlaps z in memory (want " + apart + ")"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != nil && got != test.want || got == nil && test.want != "" {
					t.Errorf("panic %v, want %q", got, test.want)
				}
			}()
			if err := plan.Run(kernels.Shape{10}, kernels.Args{test.y, test.z, test.x, test.w}); err != nil {
				t.Error(err)
			}
		})
	}
}
