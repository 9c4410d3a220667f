package kernels_test

import (
	"errors"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

// doubling is a text that the tests run.
var doubling = gpu.Source{Name: "double.metal", Text: `
#include <metal_stdlib>
using namespace metal;

kernel void twice(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = 2.0f * x[i];
    }
}
`}

// doublingCase is y = 2x of the values 1 … n. source is the memory that the host writes the input into.
func doublingCase(d *gpu.Device, source *[]float32) kernels.Case {
	return kernels.Case{
		Name: "double", Operation: "double",
		Problem: func(size int, _ kernels.Input) kernels.Problem { return doublingProblem{d, size, source} },
	}
}

type doublingProblem struct {
	device *gpu.Device
	size   int
	source *[]float32
}

func (p doublingProblem) Reference() []float64 {
	y := make([]float64, p.size)
	for i := range y {
		y[i] = 2 * float64(i+1)
	}
	return y
}

func (p doublingProblem) Bind(name string) (kernels.Call, error) {
	if name == "go" {
		return kernels.Call{Run: func() error { return nil }}, nil
	}
	b := p.device.NewPlan()
	x, y := b.Input(gpu.Float, p.size), b.Output(gpu.Float, p.size)
	b.Dispatch(b.Kernel(doubling, "twice"), gpu.Size{X: (p.size + 31) / 32, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, y, x, gpu.Values(p.size))
	plan, err := b.Build()
	if err != nil {
		return kernels.Call{}, err
	}
	for i := range x.Floats() {
		x.Floats()[i] = float32(i + 1)
	}
	*p.source = x.Floats()
	return kernels.PlanCall(plan, y.Floats), nil
}

func TestResident(t *testing.T) {
	device := emulator.Open(t)
	var source []float32
	c := doublingCase(device, &source)
	const size = 100
	for name, c := range map[string]kernels.Case{"by way of the host": c, "resident": c.Resident()} {
		problem := c.Problem(size, kernels.Input{})
		call, err := problem.Bind("emulator")
		if err != nil {
			t.Fatal(err)
		}
		resident := name == "resident"
		if want := map[bool]float64{true: 0, false: 2 * 4 * size}[resident]; call.GPU.BusBytes != want {
			t.Errorf("%s: a call carries %v bytes, want %v", name, call.GPU.BusBytes, want)
		}
		for how, run := range map[string]func() error{
			"run":       call.Run,
			"submitted": func() error { return errors.Join(call.GPU.Submit(), call.GPU.Wait()) },
			"timed":     func() error { _, err := call.GPU.Time(); return err },
		} {
			if err := run(); err != nil {
				t.Fatal(err)
			}
			if off := kernels.RelativeError(call.Output(), problem.Reference()); off > 0 {
				t.Errorf("%s, %s: relative error %v", name, how, off)
			}
		}
		// What the host writes now is what a call takes with it, or it is not.
		source[0] = 50
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if got, want := call.Output()[0], map[bool]float32{true: 2, false: 100}[resident]; got != want {
			t.Errorf("%s: after the host wrote 50 the call computes %v, want %v", name, got, want)
		}
		call.Release()
	}
	if used := device.Memory().Used; used != 0 {
		t.Errorf("%d bytes are still in use", used)
	}
	cpu, err := c.Resident().Problem(size, kernels.Input{}).Bind("go")
	if err != nil || cpu.GPU != nil {
		t.Errorf("an implementation on the processor became %+v, %v", cpu, err)
	}
}

func TestResidentOnUnifiedMemory(t *testing.T) {
	var source []float32
	c := doublingCase(emulator.Open(t, emulator.Unified(true)), &source)
	call, err := c.Problem(10, kernels.Input{}).Bind("emulator")
	if err != nil {
		t.Fatal(err)
	}
	defer call.Release()
	if call.GPU.BusBytes != 0 {
		t.Errorf("a call carries %v bytes in unified memory", call.GPU.BusBytes)
	}
}

// sized is a plan that says when it is closed.
type sized struct {
	size   int
	closed *[]int
}

func (s sized) Close() { *s.closed = append(*s.closed, s.size) }

func TestPlans(t *testing.T) {
	var plans kernels.Plans[sized]
	var built, closed []int
	build := func(size int) (sized, error) {
		if size < 0 {
			return sized{}, errors.New("no such size")
		}
		built = append(built, size)
		return sized{size, &closed}, nil
	}
	for _, size := range []int{1, 2, 1, 3, 4, 1, 5, 2, 1} {
		p, err := plans.For(size, build)
		if err != nil || p.size != size {
			t.Fatalf("the plan for %d is for %d, %v", size, p.size, err)
		}
	}
	// 5 pushes out 2, which was used longest ago; 2 then pushes out 3.
	if want := []int{1, 2, 3, 4, 5, 2}; !slices.Equal(built, want) {
		t.Errorf("built %v, want %v", built, want)
	}
	if want := []int{2, 3}; !slices.Equal(closed, want) {
		t.Errorf("closed %v, want %v", closed, want)
	}
	if _, err := plans.For(-1, build); err == nil || len(closed) != 2 {
		t.Errorf("a plan that cannot be built: error %v, closed %v", err, closed)
	}
	hit := func() {
		if _, err := plans.For(4, build); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, hit); n != 0 {
		t.Errorf("a plan that is there costs %v allocations", n)
	}
	plans.Close()
	if slices.Sort(closed); !slices.Equal(closed, []int{1, 2, 2, 3, 4, 5}) {
		t.Errorf("closed %v, want every one once", closed)
	}
}
