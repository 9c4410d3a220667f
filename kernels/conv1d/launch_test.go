package conv1d

import (
	"fmt"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

// launches returns an engine for each algorithm, and for the ways to divide it that tests force upon small problems.
func launches(d *gpu.Device, taps []float32) map[string]*launched {
	all := map[string]*launched{}
	for name, build := range map[string]func(*gpu.Device, []float32) (engine, error){
		"direct": newDirectLaunch, "fft": newFFTLaunch, "partitioned": newPartitionedLaunch,
	} {
		e, err := build(d, taps)
		if err != nil {
			panic(err) // none of them fails
		}
		all[name] = e.(*launched)
	}
	force := func(name string, describe func(e *launched, b *gpu.Builder, y, x *gpu.Buffer, n int)) {
		e := &launched{taps: taps, device: d}
		e.describe = func(b *gpu.Builder, y, x *gpu.Buffer, n int) { describe(e, b, y, x, n) }
		all[name] = e
	}
	for _, t := range []tiling{{wide, 1}, {wide, 3}, {narrow, 2}, {tile{32, 5, 2, 24}, 2}} {
		force(fmt.Sprintf("direct %+v", t), func(e *launched, b *gpu.Builder, y, x *gpu.Buffer, n int) {
			e.direct(b, y, x, n, t)
		})
	}
	if len(taps) <= 64 {
		force("windows of 64", func(e *launched, b *gpu.Builder, y, x *gpu.Buffer, n int) {
			e.overlapSave(b, y, x, n, 64)
		})
	}
	for _, span := range []int{1, 2, 4} {
		force(fmt.Sprintf("blocks of 8, %d sums a thread", span), func(e *launched, b *gpu.Builder, y, x *gpu.Buffer, n int) {
			e.partitioned(b, y, x, n, 8, span)
		})
	}
	return all
}

// TestLaunch holds every algorithm against the reference at sizes on both sides of every edge: vectors, the ring of
// registers, runs of taps, tiles, partitions, filters longer than signals.
func TestLaunch(t *testing.T) {
	device := emulator.Open(t)
	for _, size := range []struct{ n, taps int }{
		{1, 1}, {1, 5}, {5, 1}, {2, 2}, {3, 4}, {7, 3}, {16, 16}, {31, 64}, {64, 33}, {127, 8}, {257, 16},
		{1000, 17}, {31, 500}, {600, 257}, {513, 512},
	} {
		p := newProblem(size.n, size.taps, generated())
		want := p.Reference()
		for name, e := range launches(device, p.h) {
			t.Run(fmt.Sprintf("n=%d,taps=%d/%s", size.n, size.taps, name), func(t *testing.T) {
				call, err := e.bind(p.x)
				if err != nil {
					t.Fatal(err)
				}
				defer call.Release()
				if err := call.Run(); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(call.Output(), want); !(e <= tolerance/2) {
					t.Errorf("relative error %.2g, want below %.2g", e, tolerance/2)
				}
			})
		}
	}
}

// TestLaunchSciPy holds the launch plans against scipy.signal.fftconvolve, and runs engines as a typed plan does: signals
// of changing length, and no allocation once warm.
func TestLaunchSciPy(t *testing.T) {
	device := emulator.Open(t)
	x, h := readArray[float32](t, "signal"), readArray[float32](t, "fir_taps_512")
	want := readArray[float64](t, "convolve_8192_512")
	for _, build := range []func(*gpu.Device, []float32) (engine, error){newDirectLaunch, newPartitionedLaunch, newFFTLaunch} {
		e, err := build(device, h)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{100, len(x)} {
			if err := e.prepare(n); err != nil {
				t.Fatal(err)
			}
			y := make([]float32, n+len(h)-1)
			if err := e.convolve(y, x[:n]); err != nil {
				t.Fatal(err)
			}
			exact := want
			if n < len(x) {
				exact = Reference(x[:n], h)
			}
			if e := kernels.RelativeError(y, exact); !(e <= tolerance) {
				t.Errorf("n=%d: relative error %.2g", n, e)
			}
		}
		y := make([]float32, 100+len(h)-1)
		got := testing.AllocsPerRun(2, func() {
			e.prepare(100)
			e.convolve(y, x[:100])
		})
		if got != 0 && !emulator.Racing() {
			t.Errorf("%g allocations a call", got)
		}
		e.(*launched).plans.Close()
	}
}

func TestTilingFor(t *testing.T) {
	for _, test := range []struct {
		outputs, taps, cores int
		want                 tiling
	}{
		{1 << 20, 512, 132, tiling{wide, 1}},
		{33279, 512, 132, tiling{narrow, 1}},
		{32775, 8, 132, tiling{wide, 1}},
		{65535, 32768, 132, tiling{wide, 36}},
		{1 << 20, 4096, 132, tiling{wide, 2}},
		{1 << 10, 1000, 132, tiling{wide, 4}},
		{1, 1, 0, tiling{wide, 1}},
		{9999, 9999, 0, tiling{wide, 1}},
	} {
		if got := tilingFor(test.outputs, test.taps, test.cores); got != test.want {
			t.Errorf("tilingFor(%d, %d, %d) = %+v, want %+v", test.outputs, test.taps, test.cores, got, test.want)
		}
	}
}

// TestLaunchNeedsBarriers removes each barrier of the direct sum in turn; a run over two runs of taps must then fail.
func TestLaunchNeedsBarriers(t *testing.T) {
	device := emulator.Open(t)
	defer func(whole string) { directText = whole }(directText)
	const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
	parts := strings.Split(directText, barrier)
	for i := 1; i < len(parts); i++ {
		directText = strings.Join(parts[:i], barrier) + strings.Join(parts[i:], barrier)
		e := &launched{taps: make([]float32, 600), device: device}
		e.describe = func(b *gpu.Builder, y, x *gpu.Buffer, n int) { e.direct(b, y, x, n, tiling{tile{64, 1, 4, 64}, 1}) }
		if err := e.prepare(700); err != nil {
			t.Fatal(err)
		}
		if e.convolve(make([]float32, 1299), make([]float32, 700)) == nil {
			t.Errorf("nothing fails without barrier %d of %d", i, len(parts)-1)
		}
		e.plans.Close()
	}
}

func TestWindows(t *testing.T) {
	for _, test := range []struct{ outputs, taps, window int }{
		{1, 1, 512}, {33279, 256, 512}, {33279, 257, 1024}, {1 << 20, 1, 1024}, {1 << 20, 512, 2048}, {1 << 20, 1000, 2048},
		{1 << 20, 2048, 4096}, {4000, 2049, 0}, {65535, 32768, 0},
	} {
		if got := windowFor(test.outputs, test.taps); got != test.window {
			t.Errorf("windowFor(%d, %d) = %d, want %d", test.outputs, test.taps, got, test.window)
		}
	}
	for _, test := range []struct{ outputs, taps, block, span int }{
		{36863, 4096, 1024, 4}, {36863, 8192, 1024, 1}, {65535, 32768, 2048, 1}, {1 << 20, 32768, 2048, 4},
	} {
		block, span := partitionsFor(test.outputs, test.taps)
		if block != test.block || span != test.span {
			t.Errorf("partitionsFor(%d, %d) = %d, %d, want %d, %d", test.outputs, test.taps, block, span, test.block, test.span)
		}
	}
}
