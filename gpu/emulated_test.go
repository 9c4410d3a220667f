package gpu_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
)

const accumulateText = `#include <metal_stdlib>
using namespace metal;

struct Params {
    uint n;
    float step;
};

// y = x + sum, sum += step, both of n elements; table[0] is added to y.
kernel void accumulate(device float* y [[buffer(0)]],
                       device float* sum [[buffer(1)]],
                       device const float* x [[buffer(2)]],
                       constant float* table [[buffer(3)]],
                       constant Params& p [[buffer(4)]],
                       uint i [[thread_position_in_grid]]) {
    if (i >= p.n) {
        return;
    }
    y[i] = x[i] + sum[i] + table[0];
    sum[i] += p.step;
}
`

var accumulateSource = gpu.Source{Name: "accumulate.metal", Text: accumulateText}

type accumulator struct {
	*gpu.Plan
	x, sum, y *gpu.Buffer
}

func newAccumulator(t *testing.T, d *gpu.Device, n int) *accumulator {
	t.Helper()
	a, err := buildAccumulator(d, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func buildAccumulator(d *gpu.Device, n int) (*accumulator, error) {
	b := d.NewPlan()
	a := &accumulator{x: b.Input(gpu.Float, n), sum: b.State(gpu.Float, n), y: b.Output(gpu.Float, n)}
	table := b.Constant(gpu.Float, []float32{0, 100})
	b.Dispatch(b.Kernel(accumulateSource, "accumulate"), gpu.Size{X: (n + 63) / 64, Y: 1, Z: 1}, gpu.Size{X: 64, Y: 1, Z: 1},
		a.y, a.sum, a.x, table.At(1), gpu.Values(n, float32(0.5)))
	var err error
	if a.Plan, err = b.Build(); err != nil {
		return nil, err
	}
	for i := range n {
		a.x.Floats()[i] = float32(i)
		a.sum.Floats()[i] = 0
	}
	return a, nil
}

// expect compares the outputs with those that a call has after the given number of earlier calls.
func (a *accumulator) expect(t *testing.T, calls int) {
	t.Helper()
	for i, y := range a.y.Floats() {
		if want := float32(i) + 100 + 0.5*float32(calls); y != want {
			t.Fatalf("after %d calls: y[%d] = %g, want %g", calls, i, y, want)
		}
		if sum, want := a.sum.Floats()[i], 0.5*float32(calls+1); sum != want {
			t.Fatalf("after %d calls: sum[%d] = %g, want %g", calls, i, sum, want)
		}
	}
}

func onBothDevices(t *testing.T, f func(t *testing.T, unified bool)) {
	for _, unified := range []bool{false, true} {
		t.Run(fmt.Sprintf("unified=%v", unified), func(t *testing.T) { f(t, unified) })
	}
}

func TestRunCarriesState(t *testing.T) {
	onBothDevices(t, func(t *testing.T, unified bool) {
		d := emulator.Open(t, emulator.Unified(unified))
		for _, n := range []int{1, 2, 63, 64, 65, 1021} {
			a := newAccumulator(t, d, n)
			for calls := range 3 {
				if err := a.Run(); err != nil {
					t.Fatal(err)
				}
				a.expect(t, calls)
			}
		}
	})
}

// Resident runs see what was uploaded, and the host sees their results after a download.
func TestResident(t *testing.T) {
	d := emulator.Open(t)
	a := newAccumulator(t, d, 100)
	if err := a.Upload(); err != nil {
		t.Fatal(err)
	}
	a.x.Floats()[0] = 77 // not uploaded
	for range 4 {
		if err := a.RunResident(); err != nil {
			t.Fatal(err)
		}
	}
	if y := a.y.Floats()[1]; y == y {
		t.Errorf("y[1] = %g before the download", y)
	}
	if err := a.Download(); err != nil {
		t.Fatal(err)
	}
	a.expect(t, 3)
}

func TestSubmitted(t *testing.T) {
	onBothDevices(t, func(t *testing.T, unified bool) {
		d := emulator.Open(t, emulator.Unified(unified))
		var plans [4]*accumulator
		for i := range plans {
			plans[i] = newAccumulator(t, d, 50+i)
		}
		for calls := range 3 {
			for _, p := range plans {
				if err := p.Submit(); err != nil {
					t.Fatal(err)
				}
			}
			for _, p := range plans {
				if err := p.Wait(); err != nil {
					t.Fatal(err)
				}
				p.expect(t, calls)
			}
		}
	})
}

func TestTimes(t *testing.T) {
	d := emulator.Open(t)
	a := newAccumulator(t, d, 100)
	for _, resident := range []bool{false, true} {
		times, err := a.Time(resident)
		if err != nil {
			t.Fatal(err)
		}
		if times.Kernel != 1 || times.Busy <= 0 || times.Gaps != 0 || times.Span < times.Busy || resident && times.Span != times.Busy ||
			times.Wall < times.Encode+times.Span || times.Encode <= 0 {
			t.Errorf("resident %v: %+v", resident, times)
		}
	}
}

// A size that the device has no memory for fails, and smaller ones run after it.
func TestOutOfMemory(t *testing.T) {
	onBothDevices(t, func(t *testing.T, unified bool) {
		d := emulator.Open(t, emulator.Unified(unified), emulator.MemoryLimit(1<<20))
		for _, n := range []int{100, 1 << 17, 1 << 30, 200, 1 << 18, 300} {
			a, err := buildAccumulator(d, n)
			if n > 1<<16 {
				if !errors.Is(err, gpu.ErrOutOfMemory) || strings.Contains(err.Error(), "\n") {
					t.Errorf("n=%d: %v", n, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("n=%d: %v", n, err)
			}
			if err := a.Run(); err != nil {
				t.Fatal(err)
			}
			a.expect(t, 0)
			a.Close()
		}
		if use := d.Memory(); use.Used != 0 {
			t.Errorf("%+v", use)
		}
	})
}

// What other plans have cached is given back before a plan fails for want of memory.
func TestCachedMemoryIsGivenBack(t *testing.T) {
	d := emulator.Open(t, emulator.Unified(true), emulator.MemoryLimit(1<<20))
	for _, n := range []int{50_000, 70_000, 40_000, 60_000} { // 12 bytes an element
		a, err := buildAccumulator(d, n)
		if err != nil {
			t.Fatalf("n=%d: %v", n, err)
		}
		a.Close()
	}
}

func TestLostDevice(t *testing.T) {
	d := emulator.Open(t, emulator.Unified(true), emulator.LoseAfter(2))
	a := newAccumulator(t, d, 100)
	for i, want := range []error{nil, nil, gpu.ErrLost, gpu.ErrLost} {
		if err := a.Run(); !errors.Is(err, want) || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("run %d: %v", i, err)
		}
	}
	if _, err := a.Time(false); !errors.Is(err, gpu.ErrLost) {
		t.Error(err)
	}
	a.Close()
	a.Close()
	if use := d.Memory(); use.Used != 0 {
		t.Errorf("%+v", use)
	}
}

func TestCompileErrorNamesTheKernel(t *testing.T) {
	d := emulator.Open(t)
	src := accumulateSource
	src.Text = strings.Replace(src.Text, "sum[i] += p.step", "sum[i] += p.stop", 1)
	_, err := d.Kernel(src, "accumulate")
	var compile *gpu.CompileError
	if !errors.As(err, &compile) {
		t.Fatal(err)
	}
	if compile.Source != "accumulate.metal" || compile.Kernel != "accumulate" || compile.Line != 20 ||
		!strings.Contains(compile.Message, "stop") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%+v", compile)
	}
}

// Goroutines share a device, each with plans of its own.
func TestSharedDevice(t *testing.T) {
	onBothDevices(t, func(t *testing.T, unified bool) {
		d := emulator.Open(t, emulator.Unified(unified))
		var wait sync.WaitGroup
		for g := range 4 {
			wait.Go(func() {
				for i := range 5 {
					a, err := buildAccumulator(d, 30+10*g+i)
					if err != nil {
						t.Error(err)
						return
					}
					for range 3 {
						if err := a.Run(); err != nil {
							t.Error(err)
						}
					}
					if y := a.y.Floats()[1]; y != 102 {
						t.Errorf("y[1] = %g", y)
					}
					a.Close()
				}
			})
		}
		wait.Wait()
		if use := d.Memory(); use.Used != 0 {
			t.Errorf("%+v", use)
		}
	})
}

// A kept buffer has what the host wrote, and then what the calls leave there.
func TestKept(t *testing.T) {
	for _, unified := range []bool{false, true} {
		d := emulator.Open(t, emulator.Unified(unified))
		const n = 100
		b := d.NewPlan()
		x, y, sum := b.Input(gpu.Float, n), b.Output(gpu.Float, n), b.Kept(gpu.Float, n)
		b.Dispatch(b.Kernel(accumulateSource, "accumulate"), gpu.Size{X: 2, Y: 1, Z: 1}, gpu.Size{X: 64, Y: 1, Z: 1},
			y, sum, x, b.Constant(gpu.Float, []float32{0}), gpu.Values(n, float32(0.5)))
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(i)
		}
		if err := p.Write(sum, values); err != nil {
			t.Fatal(err)
		}
		clear(x.Floats())
		for call, from := range []float32{0, 0.5, 7} {
			if call == 2 { // the first values alone
				if err := p.Write(sum, []float32{7, 7}); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if got := y.Floats(); got[0] != from || got[99] != 99+0.5*float32(call) {
				t.Errorf("unified %v, call %d: %v and %v, want %v and %v", unified, call, got[0], got[99], from, 99+0.5*float32(call))
			}
		}
		for _, err := range []error{p.Write(sum, make([]float32, n+1)), p.Write(x, values), p.Write(nil, values)} {
			if err == nil {
				t.Error("a write is not refused")
			}
		}
		p.Close()
		if err := p.Write(sum, values); err == nil {
			t.Error("a write to a closed plan is not refused")
		}
	}
}

// A device that is lost is opened anew. Who holds the old one can still touch the memory that the host sees, and its calls fail.
func TestReopenAfterLoss(t *testing.T) {
	for _, unified := range []bool{false, true} {
		opened := 0
		b := gpu.NewBackend("emulator", func() (gpu.Driver, error) {
			opened++
			options := []emulator.Option{emulator.Unified(unified)}
			if opened == 1 {
				options = append(options, emulator.LoseAfter(3))
			}
			return emulator.New(options...)
		})
		device, err := b.Open()
		if err != nil {
			t.Skip(err)
		}
		old := newAccumulator(t, device, 100)
		shared, err := device.Alloc(100)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			err = old.Run()
		}
		if !errors.Is(err, gpu.ErrLost) {
			t.Fatalf("%v, want ErrLost", err)
		}
		if err := b.Reopen(); err != nil {
			t.Fatal(err)
		}
		for _, memory := range [][]float32{old.x.Floats(), old.sum.Floats(), old.y.Floats(), shared.Floats()} {
			for i := range memory {
				memory[i] = 1
			}
		}
		if err := old.Run(); !errors.Is(err, gpu.ErrLost) {
			t.Errorf("unified %v: the old plan: %v, want ErrLost", unified, err)
		}
		next, err := b.Open()
		if err != nil || next == device {
			t.Fatalf("unified %v: %v, and the same device: %v", unified, err, next == device)
		}
		p := newAccumulator(t, next, 100)
		p.x.Floats()[7], p.sum.Floats()[7] = 3, 4
		// Shared memory of the old device is ordinary memory to the new one.
		if err := p.Run(); err != nil || p.y.Floats()[7] != 107 || next.InShared(shared.Floats()) {
			t.Errorf("unified %v: %v, %g, want 107", unified, err, p.y.Floats()[7])
		}
		old.Close()
		shared.Free()
		if use := device.Memory(); use.Used+use.Cached != 0 {
			t.Errorf("unified %v: the old device holds %+v", unified, use)
		}
	}
}
