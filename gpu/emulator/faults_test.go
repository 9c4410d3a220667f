//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// run runs a kernel `k` with the given body on y (64 floats) and x (48 floats). It does so the given number of times,
// each time in another order.
func run(t *testing.T, d *gpu.Device, runs, groups, threads int, body string) ([]float32, error) {
	t.Helper()
	text := `#include <metal_stdlib>
using namespace metal;
constant float table[4] = {1, 2, 3, 4};
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]],
              uint i [[thread_position_in_grid]], uint local [[thread_position_in_threadgroup]]) {
` + body + "\n}\n"
	b := d.NewPlan()
	x, y := b.Input(gpu.Float, 48), b.Output(gpu.Float, 64)
	b.Dispatch(b.Kernel(gpu.Source{Name: "test.metal", Text: text}, "k"), gpu.Size{X: groups, Y: 1, Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, y, x, gpu.Values(64))
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for i := range x.Floats() {
		x.Floats()[i] = float32(i)
	}
	var first error
	for range runs {
		if err := p.Run(); err != nil && first == nil {
			first = err
		} else if (err == nil) != (first == nil) {
			t.Errorf("%v in one order, %v in another one", first, err)
		}
	}
	if first != nil {
		return nil, first
	}
	return append([]float32(nil), y.Floats()...), nil
}

func TestFaults(t *testing.T) {
	d := Open(t)
	const shared = "threadgroup float a[64]; a[local] = float(i);\n"
	for _, c := range []struct {
		name            string
		groups, threads int
		body            string
		want            string // of the error; "" for none
	}{
		{"right", 2, 32, "y[i] = x[i % 48];", ""},
		{"table", 2, 32, "y[i] = table[i % 4];", ""},
		{"read past the end", 2, 32, "y[i] = x[i];", "of x, which has 192"},
		{"read before the beginning", 1, 32, "y[i] = x[int(i) - 1];", "of x"},
		{"write past the end", 3, 32, "y[i] = 1;", "of y, which has 256"},
		{"wild write", 1, 32, "y[i * 1000000000u] = 1;", "none of its own"},
		{"exchange", 1, 64, shared + "threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = a[63 - local];", ""},
		{"no barrier", 1, 64, shared + "y[i] = a[63 - local];", "data race"},
		{"wrong flag", 1, 64, shared + "threadgroup_barrier(mem_flags::mem_device); y[i] = a[63 - local];", "data race"},
		{"no barrier before the next write", 1, 64, shared + "threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = a[63 - local];\na[local] = 1;", "data race"},
		{"device memory without its flag", 1, 64, "y[i] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); y[63 - i] += 1;", "data race"},
		{"device memory with its flag", 1, 64, "y[i] = 1; threadgroup_barrier(mem_flags::mem_device); y[63 - i] += 1;", ""},
		{"two threadgroups, one word", 2, 32, "y[local] = 1;", "another threadgroup uses too"},
		{"reads what another threadgroup writes", 2, 32, "y[i] = 1; if (local == 0) y[i] = y[(i + 32) % 64];", "another threadgroup uses too"},
		{"simdgroup barrier", 1, 64, shared + "simdgroup_barrier(mem_flags::mem_threadgroup); y[i] = a[local ^ 1];", ""},
		{"simdgroup barrier does too little", 1, 64, shared + "simdgroup_barrier(mem_flags::mem_threadgroup); y[i] = a[local ^ 32];", "data race"},
		{"simdgroup barriers do too little", 1, 64, shared + "simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_barrier(mem_flags::mem_threadgroup); y[i] = a[local ^ 32];", "data race"},
		{"lanes without a barrier", 1, 32, shared + "y[i] = a[local ^ 1];", "data race"},
		{"lanes without the flag", 1, 32, shared + "simdgroup_barrier(mem_flags::mem_device); y[i] = a[local ^ 1];", "data race"},
		{"the last reader writes", 1, 64, "threadgroup float a[1]; if (local == 0) a[0] = 1; threadgroup_barrier(mem_flags::mem_threadgroup);\ny[i] = a[0]; if (local == 63) a[0] = 2;", "data race"},
		{"another simdgroup reads", 1, 64, "threadgroup float a[1]; if (local == 0) a[0] = 1; threadgroup_barrier(mem_flags::mem_threadgroup);\ny[i] = a[0]; simdgroup_barrier(mem_flags::mem_threadgroup); if (local == 63) a[0] = 2;", "data race"},
		{"the own simdgroup reads", 1, 32, "threadgroup float a[1]; if (local == 0) a[0] = 1; threadgroup_barrier(mem_flags::mem_threadgroup);\ny[i] = a[0]; simdgroup_barrier(mem_flags::mem_threadgroup); if (local == 31) a[0] = 2;", ""},
		{"barrier for textures", 1, 32, "threadgroup_barrier(mem_flags(4)); y[i] = 1;", "other memory than"},
		{"barrier in a branch", 1, 64, "if (i < 32)\nthreadgroup_barrier(mem_flags::mem_none); y[i] = 1;", "test.metal:7: kernel k has a barrier in divergent control flow"},
		{"two barriers", 1, 64, "if (i < 32)\nthreadgroup_barrier(mem_flags::mem_none);\nelse\nthreadgroup_barrier(mem_flags::mem_none); y[i] = 1;", "waits in line 9"},
		{"early return", 1, 64, "if (i == 7) return; threadgroup_barrier(mem_flags::mem_none); y[i] = 1;", "divergent"},
		{"simd in a branch", 1, 64, "if (i < 16) y[i] = simd_sum(1.0f);", "simd function in divergent"},
		{"two simd functions", 1, 32, "if (i < 16) y[i] = simd_sum(1.0f);\nelse y[i] = simd_sum(2.0f);", "waits in line 7"},
		{"lanes at different times", 1, 32, "for (uint k = 0; k < 2 + (i < 16); ++k) y[i] = simd_sum(1.0f);", "simd function in divergent"},
		{"input", 1, 32, "((device float*)x)[i] = 1; y[i] = 1;", "writes to x, which is not for writing"},
		{"partial simdgroup", 1, 48, "y[i] = simd_sum(1.0f);", "simdgroup of 16 threads"},
		{"too much threadgroup memory", 1, 32, "threadgroup float a[8193]; a[local] = 1; y[i] = a[local];", "32772 bytes of threadgroup memory"},
		{"all the threadgroup memory", 1, 32, "threadgroup float a[4096]; threadgroup float b[4096]; a[local] = 1; b[local] = 2; y[i] = a[local] + b[local];", ""},
		{"array", 1, 32, "threadgroup float a[16]; a[local] = 1; y[i] = a[local];", "test.metal:6: kernel k indexes an array out of its bounds"},
		{"division", 1, 32, "y[i] = 1 / (i - 3);", "divides an integer by zero"},
		{"shift", 1, 64, "y[i] = 1u << i;", "shifts"},
		{"conversion", 1, 32, "y[i] = uint(x[i] - 1);", "converts"},
		{"misaligned", 1, 8, "((device float4*)(y + i))->x = 1;", "not a multiple of its size"},
		{"constant", 1, 32, "table[i % 4] = 1; y[i] = 1;", "table"},
		{"static", 1, 32, "y[i] = x[i];\nstatic float s;", "test.metal:7: kernel k: a static variable"},
		{"double", 1, 32, "y[i] = x[i] * 0.5;", "double"},
		{"unknown", 1, 32, "y[i] = x[i];\nfrobnicate();", "frobnicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, d, 8, c.groups, c.threads, c.body)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("%v; want %q", err, c.want)
			}
		})
	}
}

// A race between threadgroups is found whichever of them runs first.
func TestRacesInEveryOrder(t *testing.T) {
	d := Open(t)
	src := gpu.Source{Name: "order.metal", Text: `kernel void k(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 0) {
        y[0] = y[40];
    } else if (i >= 32) {
        y[i] = 1;
    }
}`}
	b := d.NewPlan()
	b.Dispatch(b.Kernel(src, "k"), gpu.Size{X: 2, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, b.Output(gpu.Float, 64))
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	lines := map[int]bool{}
	for i := range 16 {
		var fault *Fault
		if err := p.Run(); !errors.As(err, &fault) || !strings.Contains(err.Error(), "another threadgroup uses too") {
			t.Fatalf("run %d: %v", i, err)
		}
		lines[fault.Line] = true
	}
	if runtime.GOOS == "linux" && len(lines) != 2 {
		t.Errorf("the threadgroups ran in one order: the race is always found at %v", lines)
	}
}

func TestUninitialised(t *testing.T) {
	d := Open(t)
	y, err := run(t, d, 1, 2, 32, "threadgroup float a[32]; if (local != 5) a[local] = 1; y[i] = a[local];")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range y {
		if nan := v != v; nan != (i%32 == 5) {
			t.Errorf("y[%d] = %g", i, v)
		}
	}
}

func TestWithoutBarrier(t *testing.T) {
	d := Open(t)
	src := gpu.Source{Name: "row_sum.metal", Text: rowSum}.Define("WIDTH", 128)
	if n := Barriers(src); n != 1 {
		t.Fatalf("%d barriers", n)
	}
	for i := range Barriers(src) {
		b := d.NewPlan()
		x, y := b.Input(gpu.Float, 256), b.Output(gpu.Float, 1)
		b.Dispatch(b.Kernel(WithoutBarrier(src, i), "row_sum"), gpu.Size{X: 1, Y: 1, Z: 1}, gpu.Size{X: 128, Y: 1, Z: 1}, y, x, gpu.Values(256))
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		err = p.Run()
		p.Close()
		var fault *Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Message, "data race") {
			t.Errorf("without barrier %d: %v", i, err)
		}
	}
}

func TestInjectedFaults(t *testing.T) {
	t.Run("lost", func(t *testing.T) {
		d := Open(t, LoseAfter(1))
		for i, want := range []error{nil, gpu.ErrLost, gpu.ErrLost} {
			if _, err := run(t, d, 1, 2, 32, "y[i] = 1;"); !errors.Is(err, want) {
				t.Errorf("run %d: %v", i, err)
			}
		}
	})
	t.Run("memory", func(t *testing.T) {
		d := Open(t, MemoryLimit(10000))
		if _, err := run(t, d, 1, 2, 32, "y[i] = 1;"); !errors.Is(err, gpu.ErrOutOfMemory) {
			t.Error(err)
		}
	})
	t.Run("nan", func(t *testing.T) {
		d := Open(t, ReturnNaN())
		y, err := run(t, d, 1, 2, 32, "y[i] = 1;")
		if err != nil || y[63] == y[63] {
			t.Error(fmt.Sprint(y), err)
		}
	})
}

// A buffer that is bound twice, once as const, may be written through the other argument.
func TestAliasedBuffer(t *testing.T) {
	d := Open(t)
	src := gpu.Source{Name: "alias.metal", Text: `kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
    uint i [[thread_position_in_grid]]) { y[i] = x[i] + 1; }`}
	b := d.NewPlan()
	s := b.State(gpu.Float, 32)
	b.Dispatch(b.Kernel(src, "k"), gpu.Size{X: 1, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, s, s)
	p, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i := range s.Floats() {
		s.Floats()[i] = float32(i)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for i, v := range s.Floats() {
		if v != float32(i+1) {
			t.Fatalf("y[%d] = %g", i, v)
		}
	}
}

func TestRun(t *testing.T) {
	d, err := New()
	if err != nil {
		t.Skip(err)
	}
	src := gpu.Source{Name: "run.metal", Text: `kernel void k(device float* y [[buffer(0)]], constant float& a [[buffer(1)]],
    uint i [[thread_position_in_grid]]) { y[i] = a * float(i); }`}
	functions, err := msl.Parse(src.Text)
	if err != nil {
		t.Fatal(err)
	}
	library, err := d.Compile(src, functions)
	if err != nil {
		t.Fatal(err)
	}
	p, err := library.Pipeline(&functions[0])
	if err != nil {
		t.Fatal(err)
	}
	y, half := make([]byte, 4*64), binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.5))
	one := gpu.Size{X: 1, Y: 1, Z: 1}
	if err := Run(p, gpu.Size{X: 2, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, [][]byte{y, half}); err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		if v := math.Float32frombits(binary.LittleEndian.Uint32(y[4*i:])); v != float32(i)/2 {
			t.Fatalf("y[%d] = %g", i, v)
		}
	}
	var fault *Fault
	if err := Run(p, gpu.Size{X: 3, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, [][]byte{y, half}); !errors.As(err, &fault) {
		t.Errorf("past the end: %v", err)
	}
	if err := Run(p, one, one, [][]byte{y}); err == nil {
		t.Error("an argument is missing, and Run does not say so")
	}
	if err := Run(p, one, gpu.Size{X: 1025, Y: 1, Z: 1}, [][]byte{y, half}); err == nil {
		t.Error("1025 threads, and Run does not say so")
	}
}
