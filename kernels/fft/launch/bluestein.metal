
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#define ROWS 2
#define INVERSE 1
#endif

// Bluestein's algorithm in one threadgroup, ROWS rows of `count` complex values each: the row times the chirp, followed by
// zeros, is transformed, multiplied by the filter, transformed back and multiplied by the chirp again. LENGTH is a power
// of two of at least 2·count - 1. Transforms leave points in the threads that they took them from. With INVERSE the
// transform is the inverse one.

[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void bluestein_rows(device float2* dst [[buffer(0)]],
                           device const float2* src [[buffer(1)]],
                           device const float2* roots [[buffer(2)]],
                           device const float2* chirp [[buffer(3)]],
                           device const float2* filter [[buffer(4)]],
                           constant uint& count [[buffer(5)]],
                           constant uint& rows [[buffer(6)]],
                           constant float& scale [[buffer(7)]],
                           uint group [[threadgroup_position_in_grid]],
                           uint i [[thread_position_in_threadgroup]]) {
    threadgroup CELL memory[MEMORY];
    uint lane = i % LANES;
    uint tile = i / LANES * PITCH, last_tile = tile;
    uint row = group * ROWS + i / LANES;
    uint last[POINTS / LAST_RADIX];
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        last[b] = lane + b * LANES;
    }

    // Threads past the last row compute it too, since they have to take part in the barriers.
    device const float2* from = src + size_t(min(row, rows - 1)) * count;
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        uint p = lane + m * LANES;
        v[m] = float2(0.0f, 0.0f);
        if (p < count) {
            v[m] = product(INVERSE ? swapped(from[p]) : from[p], chirp[p]);
        }
    }
    TRANSFORM
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = swapped(product(v[m], filter[lane + m * LANES]));
    }
    TRANSFORM
    if (row >= rows) {
        return;
    }
    device float2* to = dst + size_t(row) * count;
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        uint p = lane + m * LANES;
        if (p < count) {
            float2 x = product(swapped(v[m]), chirp[p]) * scale;
            to[p] = INVERSE ? swapped(x) : x;
        }
    }
}
