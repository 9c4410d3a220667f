package msl

import (
	"errors"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"what the dialect has", `#include <metal_stdlib>
using namespace metal;
#define TWICE(x) \
    static_assert(true, ""); float y = 2 * x
struct Params { uint n; };
typedef float2 complex;
constant float table[2] = {1, 2};
constant constexpr uint width = 4;
enum class Side { left = 0 };
static inline float2 times(float2 a, float2 b = float2(1)) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
static inline void swap(thread float& a, thread complex& b, device const float* p, constant Params& q) { float s = *p * a; a = s; }
template <typename T> static inline T first(device const T* p) { return *p; }
kernel void k(device float4* y [[buffer(0)]], constant Params& p [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    threadgroup float2 a[8], b[2];
    const device float4* x = y + 1;
    bool both = i > 0 && p.n & 1;
    device float* z = (device float*)y;
    a[0] = float2(*z) * float(i);
    thread auto& s = a[1];
}`, ""},
		{"half as a name", "kernel void k() {\n uint half = 2;\n}", "line 2: half is a word of Metal"},
		{"double", "static inline float f(float x) { return float(double(x)); }", "line 1: double"},
		{"half in a comment", "// half of it", ""},
		{"pointer", "static inline float f(float* p) { return *p; }", "line 1: float* without an address space"},
		{"reference", "\nstatic inline void f(float2 &p) { p = 0; }", "line 2: float2& without an address space"},
		{"const reference", "static inline float f(const uint& p) { return p; }", "uint& without"},
		{"const behind", "static inline float f(int const* p) { return *p; }", "int* without"},
		{"own struct", "struct S { float a; };\nstatic inline float f(const struct S& s) { return s.a; }", "line 2: S& without"},
		{"template", "template <typename T> static inline T f(T* p) { return *p; }", "T* without"},
		{"cast", "kernel void k(device float* y [[buffer(0)]]) { y[0] = *(float*)(y + 1); }", "float* without"},
		{"auto", "kernel void k() { float x = 0; auto& y = x; }", "auto& without"},
		{"program scope", "constant float a = 1;\nconst float b = 2;", "line 2: a variable outside of functions that is not constant"},
		{"program scope, constexpr", "\n\nconstexpr uint n = 4;\n", "line 3: a variable outside"},
		{"program scope, array", "static const float a[2] = {1, 2};", "a variable outside"},
		{"static in a function", "kernel void k() {\n    static float a;\n}", "line 2: a static variable"},
		{"threadgroup memory in a helper", "static inline void f() {\n    threadgroup float a[2];\n}", "line 2: threadgroup memory outside of a kernel"},
		{"threadgroup memory outside", "threadgroup float a[2];\nkernel void k() {}", "line 1: threadgroup memory outside of a kernel"},
		{"threadgroup memory that is a parameter", "kernel void k(threadgroup float* a [[threadgroup(0)]]) {}", ""},
		{"threadgroup memory of a helper", "static inline void f(threadgroup float* a) {}", "line 1: threadgroup memory outside of a kernel"},
		{"signature", "kernel void k(device half* y [[buffer(0)]]) {}", "line 1: kernel k: y has type half"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Check(c.text)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v; want %q", err, c.want)
			}
			var m *Mistake
			if err != nil && !errors.As(err, &m) && !strings.Contains(err.Error(), "kernel k") {
				t.Errorf("%T", err)
			}
		})
	}
}

func TestCheckCommittedTexts(t *testing.T) {
	for path, text := range texts(t) {
		if err := Check(text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, text := range texts(f) {
		f.Add(text)
	}
	f.Add("}}{=;static ")
	f.Add("#\\\n#\\")
	f.Fuzz(func(t *testing.T, text string) {
		var m *Mistake
		if err := Check(text); errors.As(err, &m) && (m.Line < 1 || m.Line > 1+strings.Count(text, "\n")) {
			t.Errorf("line %d", m.Line)
		}
	})
}
