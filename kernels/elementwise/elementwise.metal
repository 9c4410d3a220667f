#include <metal_stdlib>
using namespace metal;

// One thread computes PER_THREAD vectors of four, a threadgroup's width apart, and reads them all before it writes the
// first one, so that the loads are in flight together. n4 is the number of vectors; the length is rounded up to it, and
// what is past the length is padding that nobody reads.

kernel void scale(device float4* y [[buffer(0)]],
                  device const float4* x [[buffer(1)]],
                  constant uint& n4 [[buffer(2)]],
                  constant float& a [[buffer(3)]],
                  constant float& b [[buffer(4)]],
                  uint group [[threadgroup_position_in_grid]],
                  uint index [[thread_position_in_threadgroup]],
                  uint width [[threads_per_threadgroup]]) {
    uint first = group * width * PER_THREAD + index;
    float4 v[PER_THREAD];
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint i = first + k * width;
        if (i < n4) v[k] = x[i];
    }
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint i = first + k * width;
        if (i < n4) y[i] = v[k] * a + b;
    }
}

// The logarithm of a denormal is that of its mantissa, an integer, plus the logarithm of the unit of denormals: a GPU
// may take a denormal argument for 0, and Metal says that Apple's do.
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
                      uint group [[threadgroup_position_in_grid]],
                      uint index [[thread_position_in_threadgroup]],
                      uint width [[threads_per_threadgroup]]) {
    uint first = group * width * PER_THREAD + index;
    float4 v[PER_THREAD];
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint i = first + k * width;
        if (i < n4) v[k] = x[i];
    }
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint i = first + k * width;
        if (i < n4) {
            y[i] = float4(natural_logarithm(v[k].x), natural_logarithm(v[k].y), natural_logarithm(v[k].z),
                          natural_logarithm(v[k].w));
        }
    }
}
