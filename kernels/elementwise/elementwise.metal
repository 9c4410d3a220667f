#include <metal_stdlib>
using namespace metal;

// One thread computes PER_THREAD vectors of four, a threadgroup's width apart, so that its loads are in flight
// together. n4 is the number of vectors; n is rounded up to it, and what is past n is padding that nobody reads.

kernel void scale(device float4* y [[buffer(0)]],
                  device const float4* x [[buffer(1)]],
                  constant uint& n4 [[buffer(2)]],
                  constant float& a [[buffer(3)]],
                  constant float& b [[buffer(4)]],
                  uint group [[threadgroup_position_in_grid]],
                  uint lane [[thread_position_in_threadgroup]],
                  uint width [[threads_per_threadgroup]]) {
    uint first = group * width * PER_THREAD + lane;
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint i = first + k * width;
        if (i < n4) {
            y[i] = x[i] * a + b;
        }
    }
}

kernel void logarithm(device float4* y [[buffer(0)]],
                      device const float4* x [[buffer(1)]],
                      constant uint& n4 [[buffer(2)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint lane [[thread_position_in_threadgroup]],
                      uint width [[threads_per_threadgroup]]) {
    uint first = group * width * PER_THREAD + lane;
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint i = first + k * width;
        if (i < n4) {
            float4 v = x[i];
            y[i] = float4(precise::log(v.x), precise::log(v.y), precise::log(v.z), precise::log(v.w));
        }
    }
}
