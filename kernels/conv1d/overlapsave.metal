
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "../fft/launch/passes.metal"
#define ROWS 2
#endif

// Overlap-save in one kernel, for filters that one window has room for: a row of LENGTH complex values is a window of the
// signal in the real parts and the next window in the imaginary parts, which a real filter keeps apart. It is
// transformed, multiplied by the filter's transform and transformed back, and the last `hop` values of each window are
// outputs; the others are not, since what of the filter reaches past a window's end has come back at its beginning.

// The sample i, zero outside of the signal.
static inline float sample_at(device const float* x, int i, uint n) { return i >= 0 && (uint)i < n ? x[i] : 0.0f; }

[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void overlap_save(device float* y [[buffer(0)]],
                         device const float* x [[buffer(1)]],
                         device const float2* roots [[buffer(2)]],
                         device const float2* filter [[buffer(3)]],
                         constant uint& n [[buffer(4)]],
                         constant uint& outputs [[buffer(5)]],
                         constant uint& hop [[buffer(6)]],
                         uint group [[threadgroup_position_in_grid]],
                         uint i [[thread_position_in_threadgroup]]) {
    threadgroup CELL memory[MEMORY];
    uint lane = i % LANES;
    uint tile = i / LANES * PITCH, last_tile = tile;
    uint last[POINTS / LAST_RADIX];
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        last[b] = lane + b * LANES;
    }
    // Value p of the row has sample first + p, and later output first + p, in its real part.
    int first = (int)((group * ROWS + i / LANES) * 2 * hop) - (int)(LENGTH - hop);
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        int at = first + (int)(lane + m * LANES);
        v[m] = float2(sample_at(x, at, n), sample_at(x, at + (int)hop, n));
    }
    TRANSFORM
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = swapped(product(v[m], filter[lane + m * LANES]));
    }
    TRANSFORM
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        uint p = lane + m * LANES;
        int at = first + (int)p;
        if (p >= LENGTH - hop) {
            if ((uint)at < outputs) {
                y[at] = v[m].y;
            }
            if ((uint)at + hop < outputs) {
                y[(uint)at + hop] = v[m].x;
            }
        }
    }
}
