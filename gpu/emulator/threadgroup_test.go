package emulator

import (
	"errors"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// share runs a kernel with threadgroup memory as an argument in two threadgroups of 64 threads. own is the memory that the kernel
// declares, in floats.
func share(t *testing.T, d *gpu.Device, bytes int, own, body string) ([]float32, error) {
	t.Helper()
	text := `#include <metal_stdlib>
using namespace metal;
typedef float2 element;
kernel void k(device float* y [[buffer(0)]], constant uint& n [[buffer(1)]],
              threadgroup element* a [[threadgroup(0)]], // of any type
              uint i [[thread_position_in_grid]], uint local [[thread_position_in_threadgroup]]) {
    threadgroup float b[` + own + `];
    b[local] = 1.0f;
` + body + "\n}\n"
	plan := d.NewPlan()
	y := plan.Output(gpu.Float, 128)
	plan.Dispatch(plan.Kernel(gpu.Source{Name: "share.metal", Text: text}, "k"), gpu.Size{X: 2, Y: 1, Z: 1}, gpu.Size{X: 64, Y: 1, Z: 1},
		y, gpu.Values(64), gpu.Threadgroup(bytes))
	p, err := plan.Build()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	for range 3 { // in several orders
		if err := p.Run(); err != nil {
			return nil, err
		}
	}
	return append([]float32(nil), y.Floats()...), nil
}

func TestThreadgroupArgument(t *testing.T) {
	const write, barrier = "a[local] = element(float(i));\n", "threadgroup_barrier(mem_flags::mem_threadgroup);\n"
	for _, c := range []struct {
		name      string
		has, asks int // bytes, of the device and of the launch
		own, body string
		want      string // of the error; "" for none
	}{
		{"exchange", 32 << 10, 512, "64", write + barrier + "y[i] = a[63 - local].y;", ""},
		{"all there is", 32 << 10, 32<<10 - 256, "64", write + barrier + "y[i] = a[63 - local].y;", ""},
		{"more than arrays may have", 227 << 10, 227<<10 - 256, "64", "a[local + 28900] = element(float(i));\n" + barrier + "y[i] = a[28963 - local].x;", ""},
		{"no barrier", 32 << 10, 512, "64", write + "y[i] = a[63 - local].x;", "of a, which thread"},
		{"another barrier", 32 << 10, 512, "64", write + "threadgroup_barrier(mem_flags::mem_device);\ny[i] = a[63 - local].x;", "data race"},
		{"no barrier before the next write", 32 << 10, 512, "64", write + barrier + "y[i] = a[63 - local].x;\na[local] = element(0.0f);", "data race"},
		{"past its end", 32 << 10, 496, "64", write + barrier + "y[i] = 1.0f;", "of a, which has 496"},
		{"too much with the arrays", 32 << 10, 32<<10 - 256, "65", write + "y[i] = 1.0f;", "takes 260 bytes of threadgroup memory; want at most 256"},
		{"too much in arrays", 227 << 10, 512, "8193", write + "y[i] = 1.0f;", "takes 32772 bytes of threadgroup memory; want at most 32768"},
		{"too much", 32 << 10, 32<<10 + 16, "64", write + "y[i] = 1.0f;", "32784 bytes of threadgroup memory; emulator has 32768"},
	} {
		t.Run(c.name, func(t *testing.T) {
			y, err := share(t, Open(t, ThreadgroupMemory(c.has)), c.asks, c.own, c.body)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v; want %q", err, c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range y {
				if want := float32(i/64*64 + 63 - i%64); v != want {
					t.Fatalf("y[%d] = %g; want %g", i, v, want)
				}
			}
		})
	}
}

// A threadgroup finds nothing that another one, or another run, left.
func TestThreadgroupArgumentIsUninitialised(t *testing.T) {
	y, err := share(t, Open(t), 512, "64", "y[i] = a[local].x;\na[local] = element(1.0f);")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range y {
		if v == v {
			t.Fatalf("y[%d] = %g; want NaN", i, v)
		}
	}
}

func TestReturnNaNSparesThreadgroupMemory(t *testing.T) {
	y, err := share(t, Open(t, ReturnNaN()), 512, "64", "y[i] = 1.0f;")
	if err != nil {
		t.Fatal(err)
	}
	if y[126] != 1 || y[127] == y[127] {
		t.Errorf("y ends with %g and %g", y[126], y[127])
	}
}

func TestRunWantsALength(t *testing.T) {
	src := gpu.Source{Name: "run.metal", Text: "kernel void k(device float* y [[buffer(0)]], threadgroup float* a [[threadgroup(0)]]) { a[0] = 2.0f; y[0] = a[0]; }"}
	d, err := New()
	if err != nil {
		t.Skip(err)
	}
	functions, err := msl.Parse(src.Text)
	if err != nil {
		t.Fatal(err)
	}
	library, err := d.Compile(src, functions)
	if err != nil {
		t.Fatal(err)
	}
	k, err := library.Pipeline(&functions[0])
	if err != nil {
		t.Fatal(err)
	}
	one, y := gpu.Size{X: 1, Y: 1, Z: 1}, make([]byte, 4)
	if err := Run(k, one, one, [][]byte{y, make([]byte, 4)}); err != nil || y[3] != 0x40 {
		t.Errorf("%v, %x", err, y)
	}
	if err := Run(k, one, one, [][]byte{y, nil}); err == nil || errors.As(err, new(*Fault)) {
		t.Errorf("without a length: %v", err)
	}
}
