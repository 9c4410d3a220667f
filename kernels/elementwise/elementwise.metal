#include <metal_stdlib>
using namespace metal;

// One thread computes one vector of four, or two values of a complex input. n is the number of vectors; the length is rounded
// up to it, and what is past the length is padding that nobody reads.

kernel void scale(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                  constant float& a [[buffer(3)]], constant float& b [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[i] * a + b;
}

kernel void gain(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                 constant float& a [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = x[i] * a;
}

kernel void absolute(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]],
                     constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = abs(x[i]);
}

kernel void exponential(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]],
                        constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = precise::exp(x[i]);
}

kernel void soft_clip(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                      constant float& a [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = precise::tanh(x[i] * a);
}

// whole returns a number, and for a denormal the integer that it is in the unit of denormals, 2⁻¹⁴⁹: a GPU may take a denormal
// for 0, which Metal's specification allows.
static inline bool is_denormal(float x) { return as_type<uint>(x) - 1 < 0x007fffff; }
static inline float whole(float x) { return is_denormal(x) ? float(as_type<uint>(x)) : x; }

static inline float natural_logarithm(float x) {
    const float unit = -103.278929903431851103f;  // ln 2⁻¹⁴⁹
    float l = precise::log(whole(x));
    return is_denormal(x) ? l + unit : l;
}

kernel void logarithm(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]],
                      constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float4 v = x[i];
    y[i] = float4(natural_logarithm(v.x), natural_logarithm(v.y), natural_logarithm(v.z), natural_logarithm(v.w));
}

// ln(1+x), as package approx computes it: 1+x rounded says e, and t = (1+x)·2⁻ᵉ − 1 is computed from x itself.
static inline float logarithm_of_one_plus(float x) {
    int e = (as_type<int>(1.0f + x) - 0x3f3504f3) >> 23;
    float power = as_type<float>(uint(129 - e) << 23) * 0.25f;
    float t = as_type<float>(as_type<uint>(x) - (uint(e) << 23)) + (power - 1.0f);
    float p = -0.07634664327f;
    p = fma(p, t, 0.1276164353f);
    p = fma(p, t, -0.1316014528f);
    p = fma(p, t, 0.1420174390f);
    p = fma(p, t, -0.1662335992f);
    p = fma(p, t, 0.2000122815f);
    p = fma(p, t, -0.2500081956f);
    p = fma(p, t, 0.3333333135f);
    float square = t * t;
    p = fma(float(e), -2.121944400546905827679e-4f, p * t * square);
    p = fma(square, -0.5f, p);
    p = fma(float(e), 0.693359375f, p + t);
    if (!(x < INFINITY)) return x;
    return x > -1.0f ? p : x == -1.0f ? -INFINITY : NAN;
}

kernel void logarithm1p(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]],
                        constant uint& n [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float4 v = x[i];
    y[i] = float4(logarithm_of_one_plus(v.x), logarithm_of_one_plus(v.y), logarithm_of_one_plus(v.z), logarithm_of_one_plus(v.w));
}

// xᵃ = 2 to the a·log₂|x|. With the logarithm off by four units of its last place, and a result that float has, the power is
// off by a relative 3e-5 at most.
static inline float power_of(float x, float a) {
    float magnitude = abs(x);
    float l = precise::log2(whole(magnitude));
    if (is_denormal(magnitude)) l -= 149.0f;
    float p = precise::exp2(magnitude == 1.0f || a == 0.0f ? 0.0f : a * l);
    bool integer = trunc(a) == a;
    bool odd = integer && trunc(0.5f * a) != 0.5f * a;
    bool negative = as_type<int>(x) < 0;
    if (negative && odd) p = -p;
    return negative && !integer && magnitude > 0.0f && magnitude < INFINITY ? NAN : p;
}

// power_of of a normal number above 0, a finite. The logarithm is ln(1+t)·log₂e + e, as in logarithm_of_one_plus, and 0 of 1.
static inline float power_of_normal(float x, float a) {
    int e = (as_type<int>(x) - 0x3f3504f3) >> 23;
    float t = as_type<float>(as_type<uint>(x) - (uint(e) << 23)) - 1.0f;
    float p = -0.07634664327f;
    p = fma(p, t, 0.1276164353f);
    p = fma(p, t, -0.1316014528f);
    p = fma(p, t, 0.1420174390f);
    p = fma(p, t, -0.1662335992f);
    p = fma(p, t, 0.2000122815f);
    p = fma(p, t, -0.2500081956f);
    p = fma(p, t, 0.3333333135f);
    p = fma(fma(p, t, -0.5f), t * t, t);
    return precise::exp2(a * fma(p, M_LOG2E_F, float(e)));
}

static inline bool is_normal_positive(float x) { return as_type<uint>(x) - 0x00800000u < 0x7f000000u; }

// Most vectors have normal numbers above 0 only, which takes half of the instructions.
kernel void power_law(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                      constant float& a [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float4 v = x[i];
    if (isfinite(a) && is_normal_positive(v.x) && is_normal_positive(v.y) && is_normal_positive(v.z) && is_normal_positive(v.w)) {
        y[i] = float4(power_of_normal(v.x, a), power_of_normal(v.y, a), power_of_normal(v.z, a), power_of_normal(v.w, a));
        return;
    }
    y[i] = float4(power_of(v.x, a), power_of(v.y, a), power_of(v.z, a), power_of(v.w, a));
}

// x·Φ(x), as package approx computes it. rest is what rounding takes from a².
static inline float gaussian_unit(float x) {
    float a = min(abs(x), 16.0f), t = 1.0f / fma(0.305f, a, 1.0f);
    float p = 0.03669935465f;
    p = fma(p, t, -0.1529890448f);
    p = fma(p, t, 0.1857182384f);
    p = fma(p, t, -0.03797813505f);
    p = fma(p, t, 0.1210224032f);
    p = fma(p, t, 0.1034206375f);
    p = fma(p, t, 0.1224668622f);
    p = fma(p, t, 0.1216397285f);
    float square = a * a, rest = fma(a, a, -square);
    float q = p * t * precise::exp(-0.5f * square);
    q = fma(-0.5f * rest, q, q);
    return x * (x < 0.0f ? q : 1.0f - q);
}

kernel void gelu(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float4 v = x[i];
    y[i] = float4(gaussian_unit(v.x), gaussian_unit(v.y), gaussian_unit(v.z), gaussian_unit(v.w));
}

// (1 + tanh u)/2 = 1/(1 + e⁻²ᵘ)
static inline float gaussian_unit_by_tanh(float x) {
    float p = precise::exp(-x * fma(0.07135481627159025f, x * x, 1.5957691216057308f));
    return x / (1.0f + p);
}

kernel void gelu_tanh(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    float4 v = x[i];
    y[i] = float4(gaussian_unit_by_tanh(v.x), gaussian_unit_by_tanh(v.y), gaussian_unit_by_tanh(v.z), gaussian_unit_by_tanh(v.w));
}

// squares is re² + im² of two complex values.
static inline float2 squares(float4 v) { return float2(v.x * v.x + v.y * v.y, v.z * v.z + v.w * v.w); }

kernel void power(device float2* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = squares(x[i]);
}

kernel void magnitude(device float2* y [[buffer(0)]], device const float4* x [[buffer(1)]], constant uint& n [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
    if (i < n) y[i] = precise::sqrt(squares(x[i]));
}
