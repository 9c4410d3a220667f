#include <metal_stdlib>
using namespace metal;

// One thread computes one vector of four. n4 is the number of vectors; the length is rounded up to it, and what is past
// the length is padding that nobody reads.

kernel void scale(device float4* y [[buffer(0)]],
                  device const float4* x [[buffer(1)]],
                  constant uint& n4 [[buffer(2)]],
                  constant float& a [[buffer(3)]],
                  constant float& b [[buffer(4)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < n4) y[i] = x[i] * a + b;
}

// The logarithm of a denormal is that of its mantissa, an integer, plus the logarithm of the unit of denormals: a GPU
// may take a denormal for 0, which Metal's specification allows.
static inline float natural_logarithm(float x) {
    const float unit = -103.278929903431851103f;  // ln 2⁻¹⁴⁹
    uint bits = as_type<uint>(x);
    bool denormal = bits - 1 < 0x007fffff;
    float l = precise::log(denormal ? float(bits) : x);
    return denormal ? l + unit : l;
}

kernel void logarithm(device float4* y [[buffer(0)]],
                      device const float4* x [[buffer(1)]],
                      constant uint& n4 [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
    if (i >= n4) return;
    float4 v = x[i];
    y[i] = float4(natural_logarithm(v.x), natural_logarithm(v.y), natural_logarithm(v.z), natural_logarithm(v.w));
}
