#include <metal_stdlib>
using namespace metal;

// What Bluestein's algorithm does beside its two transforms of length m: see bluestein.go. One thread a value. swap is 1
// where the parts of the values change places on their way in and out, which makes the transform an inverse one.

inline float2 product(float2 a, float2 b) {
    return float2(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

kernel void chirp_load(device float2* dst [[buffer(0)]],
                       device const float2* src [[buffer(1)]],
                       device const float2* chirp [[buffer(2)]],
                       constant uint& n [[buffer(3)]],
                       constant uint& m [[buffer(4)]],
                       constant uint& values [[buffer(5)]],
                       constant uint& swap [[buffer(6)]],
                       uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint j = i % m;
    float2 y = float2(0.0f, 0.0f);
    if (j < n) {
        float2 x = src[i / m * n + j];
        y = product(swap == 1 ? float2(x.y, x.x) : x, chirp[j]);
    }
    dst[i] = y;
}

kernel void chirp_filter(device float2* dst [[buffer(0)]],
                         device const float2* src [[buffer(1)]],
                         device const float2* filter [[buffer(2)]],
                         constant uint& m [[buffer(3)]],
                         constant uint& values [[buffer(4)]],
                         uint i [[thread_position_in_grid]]) {
    if (i < values) {
        dst[i] = product(src[i], filter[i % m]);
    }
}

kernel void chirp_store(device float2* dst [[buffer(0)]],
                        device const float2* src [[buffer(1)]],
                        device const float2* chirp [[buffer(2)]],
                        constant uint& n [[buffer(3)]],
                        constant uint& m [[buffer(4)]],
                        constant uint& values [[buffer(5)]],
                        constant uint& swap [[buffer(6)]],
                        constant float& scale [[buffer(7)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint k = i % n;
    float2 x = product(src[i / n * m + k], chirp[k]) * scale;
    dst[i] = swap == 1 ? float2(x.y, x.x) : x;
}
