//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"errors"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/msl"
)

// newRecording records `y[i] = x[i]` on memory of 12 bytes each, and a copy of y to z.
func newRecording(t *testing.T, options ...Option) (r gpu.Recording, x, y, z gpu.Memory) {
	t.Helper()
	d, err := New(options...)
	if err != nil {
		t.Skip(err)
	}
	src := gpu.Source{Name: "strict.metal", Text: `kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
    uint i [[thread_position_in_grid]]) { y[i] = x[i]; }`}
	functions, err := msl.Parse(src.Text)
	if err != nil {
		t.Fatal(err)
	}
	library, err := d.Compile(src, functions)
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := library.Pipeline(&functions[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []*gpu.Memory{&x, &y, &z} {
		if *m, err = d.Allocate(12, gpu.Shared); err != nil {
			t.Fatal(err)
		}
	}
	r, err = d.Record([]gpu.Command{
		{Kind: gpu.Dispatch, Pipeline: pipeline, Groups: gpu.Size{X: 1, Y: 1, Z: 1}, Threads: gpu.Size{X: 3, Y: 1, Z: 1},
			Arguments: []gpu.Binding{{Region: gpu.Region{Memory: y, Bytes: 12}}, {Region: gpu.Region{Memory: x, Bytes: 12}}}},
		{Kind: gpu.Copy, Target: gpu.Region{Memory: z, Bytes: 12}, Source: gpu.Region{Memory: y, Bytes: 12}, Bytes: 12},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, x, y, z
}

// The commands run in their order, and not before they are waited for. A host that reads early reads old values.
func TestRecordingRunsWhenItIsWaitedFor(t *testing.T) {
	r, x, _, z := newRecording(t)
	if err := r.Submit(false); err != nil {
		t.Fatal(err)
	}
	copy(x.Host(), "abcdefghijkl")
	if z.Host()[0] != 0 {
		t.Error("the results are there before the wait")
	}
	if times, err := r.Wait(); err != nil || times != (gpu.Times{}) {
		t.Errorf("%+v, %v", times, err)
	}
	if got := string(z.Host()); got != "abcdefghijkl" {
		t.Errorf("%q", got)
	}
	r.Close()
}

func TestRecordingMisuse(t *testing.T) {
	expect := func(what, want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
	}
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		f()
	}
	r, x, _, _ := newRecording(t)
	_, err := r.Wait()
	expect("wait for nothing", "without a submission", err)
	if err := r.Submit(false); err != nil {
		t.Fatal(err)
	}
	expect("submission in flight", "before it was waited for", r.Submit(false))
	panics("close in flight", r.Close)
	if _, err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	panics("close twice", r.Close)
	expect("submission after close", "closed", r.Submit(false))
	x.Free()
	panics("free twice", x.Free)
	expect("fill after free", "freed", x.Fill(0))

	for i, which := range []string{"input", "output", "target of a copy"} {
		r, x, y, z := newRecording(t)
		[]gpu.Memory{x, y, z}[i].Free()
		if err := r.Submit(false); err != nil {
			t.Fatal(err)
		}
		_, err := r.Wait()
		expect("freed "+which, "freed", err)
	}
}

func TestLostDeviceStaysLost(t *testing.T) {
	r, x, _, _ := newRecording(t, LoseAfter(1))
	for i, want := range []error{nil, gpu.ErrLost} {
		if err := r.Submit(true); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Wait(); !errors.Is(err, want) {
			t.Errorf("wait %d: %v", i, err)
		}
	}
	if err := r.Submit(false); !errors.Is(err, gpu.ErrLost) {
		t.Error(err)
	}
	if _, err := x.(*memory).driver.Allocate(1, gpu.Private); !errors.Is(err, gpu.ErrLost) {
		t.Error(err)
	}
	r.Close()
}

// A vector that begins inside of a buffer and ends outside of it is outside.
func TestVectorAcrossTheEnd(t *testing.T) {
	d, err := New()
	if err != nil {
		t.Skip(err)
	}
	src := gpu.Source{Name: "across.metal", Text: `#include <metal_stdlib>
using namespace metal;
kernel void k(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant uint& n [[buffer(2)]]) {
    float2 v = ((device const float2*)x)[n];
    y[0] = v.x + v.y;
}`}
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
	one, x := gpu.Size{X: 1, Y: 1, Z: 1}, make([]byte, 16)
	for n, outside := range []bool{false, true, true} {
		err := Run(p, one, one, [][]byte{make([]byte, 4), x[:12], {byte(n), 0, 0, 0}})
		if (err != nil) != outside {
			t.Errorf("pair %d of 3 floats: %v", n, err)
		}
	}
}
