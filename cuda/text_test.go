//go:build linux && (amd64 || arm64)

package cuda

import (
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/msl"
)

func TestProgram(t *testing.T) {
	src := gpu.Source{Name: "k.metal", Text: `#include <metal_stdlib>
using namespace metal;
struct P { uint n; float a; };
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void k(device float2* y [[buffer(0)]], constant uint* x [[buffer(1)]], constant P& p [[buffer(2)]],
              uint3 g [[threadgroup_position_in_grid]], uint3 t [[thread_position_in_threadgroup]],
              uint3 i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {}
`}.Define("THREADS", 128)
	functions, err := msl.Parse(src.Text)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(program(src, functions, false), src.Text)
	if !found {
		t.Fatal("the text is not there as it is")
	}
	if want := "#include <metal_stdlib>\n#line 1 \"macros of k.metal\"\n#define THREADS 128\nnamespace metal {\n#line 1 \"k.metal\"\n"; before != want {
		t.Errorf("before the text:\n%s\nwant:\n%s", before, want)
	}
	entry := `extern "C" __global__ __launch_bounds__(THREADS) void crossover_k(float2* __restrict__ y, const uint* __restrict__ x, const P p) ` +
		`{ k(y, x, p, uint3(blockIdx.x, blockIdx.y, blockIdx.z), uint3(threadIdx.x, threadIdx.y, threadIdx.z), ` +
		`uint3(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, blockIdx.z * blockDim.z + threadIdx.z), (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32); }`
	if !strings.Contains(rest, entry+"\n") {
		t.Errorf("after the text:\n%s\nwant in it:\n%s", rest, entry)
	}
	for _, macro := range []string{"kernel", "threadgroup", "thread", "constant", "device"} {
		if !strings.Contains(rest, "#undef "+macro+"\n") || !strings.Contains(Prelude, "\n#define "+macro) {
			t.Errorf("the macro %s stands for something where entry points are", macro)
		}
	}
	if overlapping := program(src, functions, true); strings.Contains(overlapping, "__restrict__") {
		t.Error("buffers that may be the same memory are promised not to be")
	}
}

// Threadgroup memory that is an argument is CUDA's dynamic shared memory, and a plain pointer in the kernel.
func TestProgramWithThreadgroupMemory(t *testing.T) {
	src := gpu.Source{Name: "k.metal", Text: `typedef float2 element;
kernel void k(device float* y [[buffer(0)]],
              threadgroup element* a [[threadgroup(0)]],
              uint i [[thread_position_in_threadgroup]]) {
    threadgroup float b[2];
}`}
	got, err := Program(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n               element* a,\n              uint i", "threadgroup float b[2];", "\nextern __shared__ float4 crossover_shared[];\n",
		"void crossover_k(float* __restrict__ y) { k(y, (element*)crossover_shared, threadIdx.x); }",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the program:\n%s\nwant in it:\n%s", got, want)
		}
	}
	if without, err := Program(gpu.Source{Name: "k.metal", Text: "kernel void k() {}"}); err != nil || strings.Contains(without, "crossover_shared") {
		t.Errorf("a program without such memory has it: %v\n%s", err, without)
	}
}

// Every position that the dialect has is one that CUDA has.
func TestPositions(t *testing.T) {
	for _, attribute := range []string{
		"thread_position_in_grid", "thread_position_in_threadgroup", "threadgroup_position_in_grid",
		"threads_per_threadgroup", "threadgroups_per_grid", "threads_per_grid",
	} {
		for _, kind := range []string{"uint", "uint2", "uint3"} {
			text := "kernel void k(device float* y [[buffer(0)]], " + kind + " i [[" + attribute + "]]) {}"
			functions, err := msl.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			p := functions[0].Parameters[1]
			got := positionArgument(&p)
			want := map[string]int{"uint": 0, "uint2": 1, "uint3": 2}[kind]
			if strings.Count(got, ",") != want || strings.Contains(got, ", )") || strings.HasSuffix(got, ", ") || got == "" {
				t.Errorf("%s %s: %q", kind, attribute, got)
			}
		}
	}
	for _, attribute := range []string{"thread_index_in_threadgroup", "thread_index_in_simdgroup", "simdgroup_index_in_threadgroup"} {
		if positionArgument(&msl.Parameter{Type: "uint", Attribute: attribute}) == "" {
			t.Errorf("%s is not there", attribute)
		}
	}
}
