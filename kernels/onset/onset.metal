#include <metal_stdlib>
using namespace metal;

#ifndef BANDS // compiled alone, without a launch to say how
#define BANDS 128
#define WIDTH 4
#define RUN 8
#endif

// A simdgroup takes RUN successive frames and keeps the bands of the last one in registers, so that memory is read about
// once. An element is WIDTH bands: four where the frames are whole vectors, else one. Where a frame has more than MOST
// elements a lane, it is read twice.

#if WIDTH == 4
typedef float4 element;
#else
typedef float element;
#endif

#define ELEMENTS (BANDS / WIDTH)
#define PER_LANE ((ELEMENTS + 31) / 32)
#define MOST 16

struct Shape {
    uint frames, shift;
};

// rise is 0 below 0 and NaN for a NaN.
static inline float rise(float d) { return d < 0.0f ? 0.0f : d; }
static inline float rise(float4 d) { return (rise(d.x) + rise(d.y)) + (rise(d.z) + rise(d.w)); }

kernel void onset(device float* y [[buffer(0)]],
                  device const float* x [[buffer(1)]],
                  constant Shape& shape [[buffer(2)]],
                  uint group [[threadgroup_position_in_grid]],
                  uint width [[threads_per_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint start = (group * (width / 32) + simdgroup) * RUN;
    if (start >= shape.frames) return;
    uint end = min(start + RUN, shape.frames), first = max(start, shape.shift + 1);
    device const element* next = (device const element*)x + size_t(first - shape.shift) * ELEMENTS;
    float strength = 0.0f;
#if PER_LANE <= MOST
    element before[PER_LANE];
    if (first < end) {
        for (uint k = 0; k < PER_LANE; ++k) {
            uint e = lane + 32 * k;
            before[k] = e < ELEMENTS ? (next - ELEMENTS)[e] : element(0.0f);
        }
    }
#endif
    for (uint t = first; t < end; ++t) {
        float sum = 0.0f;
        for (uint k = 0; k < PER_LANE; ++k) {
            uint e = lane + 32 * k;
#if PER_LANE <= MOST
            element now = e < ELEMENTS ? next[e] : element(0.0f);
            sum += rise(now - before[k]);
            before[k] = now;
#else
            if (e < ELEMENTS) sum += rise(next[e] - (next - ELEMENTS)[e]);
#endif
        }
        next += ELEMENTS;
        sum = simd_sum(sum);
        if (lane == t - start) strength = sum / float(BANDS);
    }
    if (lane < end - start) y[start + lane] = strength;
}
