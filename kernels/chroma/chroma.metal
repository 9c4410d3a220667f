#include <metal_stdlib>
using namespace metal;

#ifndef BINS // compiled alone, without a launch to say how
#define BINS 1025
#define FRAMES 4
#define SIMDGROUPS 4
#endif

#define CLASSES 12

// A frame of chroma is three vectors. Its greatest magnitude does not see NaNs, but no other class of its frame is a number
// then.
static inline float greater(float m, float v) { return v > m ? v : m; }
static inline float most_of(float m, float4 v) {
    float4 a = abs(v);
    return greater(greater(greater(greater(m, a.x), a.y), a.z), a.w);
}

static inline void store(device float4* y, float4 low, float4 middle, float4 high) {
    float most = most_of(most_of(most_of(0.0f, low), middle), high);
    if (most < FLT_MIN) most = 1.0f;
    y[0] = low / most;
    y[1] = middle / most;
    y[2] = high / most;
}

// chroma sums x, frames×BINS, into classes and divides them. A threadgroup takes FRAMES frames, and each of its simdgroups a
// part of their bins. weights are BINS×CLASSES.
kernel void chroma(device float4* y [[buffer(0)]],
                   device const float* x [[buffer(1)]],
                   device const float4* weights [[buffer(2)]],
                   constant uint& frames [[buffer(3)]],
                   uint group [[threadgroup_position_in_grid]],
                   uint index [[thread_position_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[SIMDGROUPS * FRAMES * CLASSES];
    float4 low[FRAMES], middle[FRAMES], high[FRAMES];
    device const float* rows[FRAMES];
    uint first = group * FRAMES;
    for (uint f = 0; f < FRAMES; ++f) {
        low[f] = float4(0.0f);
        middle[f] = float4(0.0f);
        high[f] = float4(0.0f);
        rows[f] = x + size_t(min(first + f, frames - 1)) * BINS;
    }
    for (uint k = index; k < BINS; k += 32 * SIMDGROUPS) {
        float4 a = weights[3 * k], b = weights[3 * k + 1], c = weights[3 * k + 2];
        for (uint f = 0; f < FRAMES; ++f) {
            float power = rows[f][k];
            low[f] += a * power;
            middle[f] += b * power;
            high[f] += c * power;
        }
    }
    for (uint f = 0; f < FRAMES; ++f) {
        float4 a = float4(simd_sum(low[f].x), simd_sum(low[f].y), simd_sum(low[f].z), simd_sum(low[f].w));
        float4 b = float4(simd_sum(middle[f].x), simd_sum(middle[f].y), simd_sum(middle[f].z), simd_sum(middle[f].w));
        float4 c = float4(simd_sum(high[f].x), simd_sum(high[f].y), simd_sum(high[f].z), simd_sum(high[f].w));
        if (lane < CLASSES) {
            float4 v = lane < 4 ? a : lane < 8 ? b : c;
            uint part = lane % 4;
            sums[(simdgroup * FRAMES + f) * CLASSES + lane] = part == 0 ? v.x : part == 1 ? v.y : part == 2 ? v.z : v.w;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (index >= FRAMES || first + index >= frames) return;
    float total[CLASSES];
    for (uint c = 0; c < CLASSES; ++c) {
        total[c] = 0.0f;
        for (uint s = 0; s < SIMDGROUPS; ++s) total[c] += sums[(s * FRAMES + index) * CLASSES + c];
    }
    store(y + size_t(first + index) * 3, float4(total[0], total[1], total[2], total[3]),
          float4(total[4], total[5], total[6], total[7]), float4(total[8], total[9], total[10], total[11]));
}

// normalise divides sums that a library has computed, one thread a frame.
kernel void normalise(device float4* y [[buffer(0)]],
                      constant uint& frames [[buffer(1)]],
                      uint frame [[thread_position_in_grid]]) {
    if (frame < frames) store(y + size_t(frame) * 3, y[size_t(frame) * 3], y[size_t(frame) * 3 + 1], y[size_t(frame) * 3 + 2]);
}
