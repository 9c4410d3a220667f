//go:build (darwin || linux) && (amd64 || arm64)

package emulator

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"

	"crossover/gpu"
)

// compute runs `y[i] = expression` for the values of x, whose number is a multiple of 32, and returns y of each
// expression.
func compute(t *testing.T, x []float32, expressions ...string) [][]float32 {
	t.Helper()
	var text strings.Builder
	text.WriteString("#include <metal_stdlib>\nusing namespace metal;\n")
	for n, e := range expressions {
		fmt.Fprintf(&text, `kernel void k%d(device float* y [[buffer(0)]], device const float* v [[buffer(1)]], uint i [[thread_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) { float x = v[i]; y[i] = %s; }
`, n, e)
	}
	src := gpu.Source{Name: "expressions.metal", Text: text.String()}
	d := Open(t)
	results := make([][]float32, len(expressions))
	for n, e := range expressions {
		b := d.NewPlan()
		in, out := b.Input(gpu.Float, len(x)), b.Output(gpu.Float, len(x))
		b.Dispatch(b.Kernel(src, fmt.Sprintf("k%d", n)), gpu.Size{X: len(x) / 32, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1}, out, in)
		p, err := b.Build()
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		copy(in.Floats(), x)
		if err := p.Run(); err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		results[n] = append([]float32(nil), out.Floats()...)
		p.Close()
	}
	return results
}

// ramp returns 64 values from low to high.
func ramp(low, high float64) []float32 {
	x := make([]float32, 64)
	for i := range x {
		x[i] = float32(low + (high-low)*float64(i)/63)
	}
	return x
}

// The functions that come in two accuracies, within 2 units in the last place when precise. When fast they are within
// 2^-19 of the greater of 1 and the value, and not all of them exact.
func TestAccurateFunctions(t *testing.T) {
	for _, f := range []struct {
		name      string
		low, high float64
		want      func(float64) float64
	}{
		{"sin", -3, 3, math.Sin},
		{"cos", -3, 3, math.Cos},
		{"tan", -1.5, 1.5, math.Tan},
		{"sinpi", -4, 4, func(x float64) float64 { return math.Sin(math.Pi * math.Remainder(x, 2)) }},
		{"cospi", -4, 4, func(x float64) float64 { return math.Cos(math.Pi * math.Remainder(x, 2)) }},
		{"asin", -1, 1, math.Asin},
		{"acos", -1, 1, math.Acos},
		{"atan", -9, 9, math.Atan},
		{"sinh", -5, 5, math.Sinh},
		{"cosh", -5, 5, math.Cosh},
		{"tanh", -5, 5, math.Tanh},
		{"exp", -20, 20, math.Exp},
		{"exp2", -20, 20, math.Exp2},
		{"exp10", -10, 10, func(x float64) float64 { return math.Pow(10, x) }},
		{"log", 0.01, 9, math.Log},
		{"log2", 0.01, 9, math.Log2},
		{"log10", 0.01, 9, math.Log10},
		{"sqrt", 0, 9, math.Sqrt},
		{"rsqrt", 0.01, 9, func(x float64) float64 { return 1 / math.Sqrt(x) }},
		{"floor", -3, 3, math.Floor},
		{"ceil", -3, 3, math.Ceil},
		{"trunc", -3, 3, math.Trunc},
		{"rint", -3, 3, math.RoundToEven},
		{"round", -3, 3, math.Round},
		{"abs", -3, 3, math.Abs},
		{"fabs", -3, 3, math.Abs},
	} {
		x := ramp(f.low, f.high)
		var expressions []string
		for _, namespace := range []string{"precise", "fast"} {
			call := namespace + "::" + f.name
			expressions = append(expressions, call+"(x)", fmt.Sprintf("%s(float2(0.5f, x)).y + %[1]s(float4(0.5f, x, 1.0f, 0.25f)).y - %[1]s(x)", call))
		}
		results := compute(t, x, expressions...)
		for k, namespace := range []string{"precise", "fast"} {
			scalar, vector := results[2*k], results[2*k+1]
			for i, v := range x {
				want := f.want(float64(v))
				tolerance := 2 * float64(math.Nextafter32(float32(math.Abs(want)), math.MaxFloat32)-float32(math.Abs(want)))
				if strings.HasSuffix(f.name, "pi") {
					tolerance = 1.5e-7 // the reference itself rounds
				}
				if namespace == "fast" {
					tolerance = 0x1p-19 * math.Max(1, math.Abs(want))
					if f.name == "tan" {
						tolerance *= math.Max(1, math.Abs(want))
					}
				}
				if e := math.Abs(float64(scalar[i]) - want); !(e <= tolerance) {
					t.Errorf("%s::%s(%g) = %g, want %g", namespace, f.name, v, scalar[i], want)
					break
				}
				if vector[i] != scalar[i] {
					t.Errorf("%s::%s(%g) = %g in a vector, %g alone", namespace, f.name, v, vector[i], scalar[i])
					break
				}
			}
		}
	}
	x := ramp(0.55, 1.95)
	names := []string{"sin", "exp", "log"}
	results := compute(t, x, "precise::sin(x)", "precise::exp(x)", "precise::log(x)", "fast::sin(x)", "fast::exp(x)", "fast::log(x)")
	for k, name := range names {
		differ := 0
		for i := range x {
			if results[k][i] != results[k+len(names)][i] {
				differ++
			}
		}
		if differ < len(x)/4 {
			t.Errorf("fast::%s is exact at %d of %d values", name, len(x)-differ, len(x))
		}
	}
}

func TestExpressions(t *testing.T) {
	x := ramp(-31.5, 31.5)
	bitsOf := func(x float32) uint32 { return uint32(int32(x)) }
	sum := func(v []float32) (s float32) {
		for _, x := range v {
			s += x
		}
		return s
	}
	nan := float32(math.NaN())
	group := func(i int) []float32 { return x[i/32*32 : i/32*32+32] }
	cases := []struct {
		expression string
		want       func(i int, x float32) float32
	}{
		{"min(x, 2.0f) + max(x, 2.0f)", func(i int, x float32) float32 { return x + 2 }},
		{"fmin(x, NAN)", func(i int, x float32) float32 { return x }},
		{"precise::max(x, 1.0f) + fast::min(x, 1.0f)", func(i int, x float32) float32 { return x + 1 }},
		{"float(min(int(x), 2)) + float(max(int(x), -2))", func(i int, x float32) float32 {
			return float32(min(int(x), 2) + max(int(x), -2))
		}},
		{"float(min(i, 20u) + max(i, 20u))", func(i int, x float32) float32 { return float32(i + 20) }},
		{"clamp(x, -2.0f, 3.0f)", func(i int, x float32) float32 { return min(max(x, -2), 3) }},
		{"float(clamp(int(x), -2, 3))", func(i int, x float32) float32 { return float32(min(max(int(x), -2), 3)) }},
		{"float(clamp(i, 2u, 3u))", func(i int, x float32) float32 { return float32(min(max(i, 2), 3)) }},
		{"saturate(x)", func(i int, x float32) float32 { return min(max(x, 0), 1) }},
		{"abs(x) + float(abs(int(x)))", func(i int, x float32) float32 {
			return float32(math.Abs(float64(x)) + math.Abs(float64(int(x))))
		}},
		{"fma(x, 2.0f, 1.0f)", func(i int, x float32) float32 { return 2*x + 1 }},
		{"fma(float2(x), float2(2), float2(0, 1)).y + fma(float4(x), float4(2), float4(0, 0, 0, 1)).w", func(i int, x float32) float32 { return 4*x + 2 }},
		{"mix(x, 1.0f, 0.5f)", func(i int, x float32) float32 { return x + (1-x)*0.5 }},
		{"select(x, 1.0f, x < 0)", func(i int, x float32) float32 {
			if x < 0 {
				return 1
			}
			return x
		}},
		{"sign(x) + 2 * step(0.25f, x)", func(i int, x float32) float32 {
			if x < 0 {
				return -1
			}
			return 3
		}},
		{"fract(x)", func(i int, x float32) float32 { return x - float32(math.Floor(float64(x))) }},
		{"copysign(2.0f, x)", func(i int, x float32) float32 { return float32(math.Copysign(2, float64(x))) }},
		{"ldexp(x, 3)", func(i int, x float32) float32 { return 8 * x }},
		{"float(isnan(x) + 2 * isnan(NAN) + 4 * isinf(INFINITY) + 8 * isfinite(x) + 16 * isfinite(INFINITY))", func(i int, x float32) float32 { return 14 }},
		{"as_type<float>(as_type<uint>(x) ^ 0x80000000u)", func(i int, x float32) float32 { return -x }},
		{"float(as_type<int>(1.0f))", func(i int, x float32) float32 { return 0x3f800000 }},
		{"float(popcount(uint(int(x))))", func(i int, x float32) float32 { return float32(bits.OnesCount32(bitsOf(x))) }},
		{"float(clz(uint(int(x))) + 100 * ctz(uint(int(x))))", func(i int, x float32) float32 {
			return float32(bits.LeadingZeros32(bitsOf(x)) + 100*bits.TrailingZeros32(bitsOf(x)))
		}},
		{"as_type<float>(reverse_bits(as_type<uint>(x)) >> 9)", func(i int, x float32) float32 {
			return math.Float32frombits(bits.Reverse32(math.Float32bits(x)) >> 9)
		}},
		{"float(mulhi(0x80000000u, i)) + float(mulhi(int(0x40000000), int(x) * 16))", func(i int, x float32) float32 {
			return float32(i/2) + float32(int(x)*4)
		}},
		{"precise::pow(2.0f, x) - precise::powr(2.0f, x) + precise::fmod(x, 2.0f)", func(i int, x float32) float32 {
			return float32(math.Mod(float64(x), 2))
		}},
		{"precise::atan2(x, 1.0f)", func(i int, x float32) float32 { return float32(math.Atan(float64(x))) }},
		{"precise::divide(x, 3.0f)", func(i int, x float32) float32 { return x / 3 }},
		{"[&] { float c; float s = precise::sincos(x, c); return s - precise::sin(x) + c - precise::cos(x); }()", func(i int, x float32) float32 { return 0 }},
		{"dot(float2(x, 2), float2(1, 1)) + dot(float4(1, 2, 3, x), float4(1))", func(i int, x float32) float32 { return x + 2 + 6 + x }},
		{"(float2(x, 1) * 2 + float2(1) - float2(0, 1) / 2).x", func(i int, x float32) float32 { return 2*x + 1 }},
		{"(2 * float4(x) - 1).z + (-float4(1, 2, 3, 4)).w", func(i int, x float32) float32 { return 2*x - 5 }},
		{"[&] { float4 v(1, 2, 3, 4); v += x; v *= float4(2); return v.x + v.w; }()", func(i int, x float32) float32 { return 4*x + 10 }},
		{"float4(float2(1, 2), float2(3, x)).w + float4(float2(1, x), 3, 4).y", func(i int, x float32) float32 { return 2 * x }},
		{"float2(int2(3, 4)).y + float(uint2(float2(5.5f)).x) + float(int4(uint4(7)).w)", func(i int, x float32) float32 { return 4 + 5 + 7 }},
		{"float((uint4(i) << 1 | uint4(1) ^ uint4(3)).y % 4)", func(i int, x float32) float32 { return float32((i<<1 | 2) % 4) }},
		{"float((uint3(i, 1, 2) & uint3(1)).x)", func(i int, x float32) float32 { return float32(i % 2) }},
		{"simd_sum(x)", func(i int, x float32) float32 { return sum(group(i)) }},
		{"float(simd_sum(1u)) + simd_product(lane == 3 ? 2.0f : 1.0f)", func(i int, x float32) float32 { return 34 }},
		{"simd_max(x) + 1000 * simd_min(x)", func(i int, x float32) float32 { return group(i)[31] + 1000*group(i)[0] }},
		{"float(simd_max(int(x)) - simd_min(int(x)))", func(i int, x float32) float32 { return 31 }},
		{"simd_prefix_inclusive_sum(x) - simd_prefix_exclusive_sum(x)", func(i int, x float32) float32 { return x }},
		{"simd_prefix_exclusive_sum(x)", func(i int, x float32) float32 { return sum(group(i)[:i%32]) }},
		{"simd_shuffle(x, ushort(31 - lane))", func(i int, x float32) float32 { return group(i)[31-i%32] }},
		{"simd_shuffle_xor(x, 5)", func(i int, x float32) float32 { return group(i)[i%32^5] }},
		{"simd_shuffle_up(x, 1)", func(i int, x float32) float32 {
			if i%32 == 0 {
				return nan
			}
			return group(i)[i%32-1]
		}},
		{"simd_shuffle_down(x, 2)", func(i int, x float32) float32 {
			if i%32 >= 30 {
				return nan
			}
			return group(i)[i%32+2]
		}},
		{"simd_broadcast(x, 7) + simd_broadcast_first(x)", func(i int, x float32) float32 { return group(i)[7] + group(i)[0] }},
		{"simd_shuffle(float4(0, 0, 0, x), 3).w + simd_sum(float2(0, 1)).y", func(i int, x float32) float32 { return group(i)[3] + 32 }},
		{"float(simd_any(lane == 3) + 2 * simd_any(lane == 32) + 4 * simd_all(lane < 32) + 8 * simd_all(lane == 3))", func(i int, x float32) float32 { return 5 }},
		{"M_PI_F * M_1_PI_F + M_PI_2_F / M_PI_F", func(i int, x float32) float32 { return 1.5 }},
	}
	var expressions []string
	for _, c := range cases {
		expressions = append(expressions, c.expression)
	}
	results := compute(t, x, expressions...)
	for n, c := range cases {
		got := results[n]
		for i, v := range x {
			want := c.want(i, v)
			if e := math.Abs(float64(got[i] - want)); !(e <= 1e-6*math.Max(1, math.Abs(float64(want)))) && !(got[i] != got[i] && want != want) {
				t.Errorf("%s: at %d, x = %g: %g, want %g", c.expression, i, v, got[i], want)
				break
			}
		}
	}
}

func TestPositions(t *testing.T) {
	d := Open(t)
	groups, threads := gpu.Size{X: 2, Y: 3, Z: 4}, gpu.Size{X: 8, Y: 4, Z: 2}
	src := gpu.Source{Name: "positions.metal", Text: `#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* y [[buffer(0)]],
    uint3 grid [[thread_position_in_grid]], uint3 local [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]],
    uint3 threads [[threads_per_threadgroup]], uint3 groups [[threadgroups_per_grid]], uint3 all [[threads_per_grid]],
    uint index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    bool right = grid.x == group.x * threads.x + local.x && grid.y == group.y * threads.y + local.y && grid.z == group.z * threads.z + local.z
        && all.x == groups.x * threads.x && all.y == groups.y * threads.y && all.z == groups.z * threads.z
        && index == local.x + threads.x * (local.y + threads.y * local.z) && lane == index % 32 && simdgroup == index / 32
        && local.x < threads.x && local.y < threads.y && local.z < threads.z
        && threads.x == 8 && threads.y == 4 && threads.z == 2 && groups.x == 2 && groups.y == 3 && groups.z == 4;
    y[grid.x + all.x * (grid.y + all.y * grid.z)] = right;
}
kernel void flat(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) { y[i] = n; }
kernel void plane(device uint* y [[buffer(0)]], uint2 i [[thread_position_in_grid]], uint2 n [[threads_per_grid]]) { y[i.x + n.x * i.y] = n.y; }
`}
	for _, c := range []struct {
		kernel          string
		groups, threads gpu.Size
		want            uint32
	}{
		{"k", groups, threads, 1},
		{"flat", gpu.Size{X: 5, Y: 1, Z: 1}, gpu.Size{X: 7, Y: 1, Z: 1}, 35},
		{"plane", gpu.Size{X: 2, Y: 3, Z: 1}, gpu.Size{X: 4, Y: 5, Z: 1}, 15},
	} {
		b := d.NewPlan()
		y := b.Output(gpu.Uint, c.groups.Count()*c.threads.Count())
		b.Dispatch(b.Kernel(src, c.kernel), c.groups, c.threads, y)
		p, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for i, v := range y.Uints() {
			if v != c.want {
				t.Fatalf("%s: thread %d: %d, want %d", c.kernel, i, v, c.want)
			}
		}
		p.Close()
	}
}

func TestMostThreads(t *testing.T) {
	d := Open(t)
	src := gpu.Source{Name: "most.metal", Text: `[[max_total_threads_per_threadgroup(32 * PARTS)]] kernel void k() {}
kernel void l() {}`}.Define("PARTS", 3)
	for name, want := range map[string]int{"k": 96, "l": 256} {
		k, err := d.Kernel(src, name)
		if err != nil {
			t.Fatal(err)
		}
		if k.MaxThreads() != want {
			t.Errorf("%s: %d threads, want %d", name, k.MaxThreads(), want)
		}
	}
}
