
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#define ROWS 2
#define INVERSE 1
#endif

// Rows of LENGTH complex values, ROWS of them a threadgroup. With INVERSE the transform is the inverse one: that of the
// values with their parts swapped, its parts swapped again.

[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void complex_rows(device float2* dst [[buffer(0)]],
                         device const float2* src [[buffer(1)]],
                         device const float2* roots [[buffer(2)]],
                         constant uint& rows [[buffer(3)]],
                         constant float& scale [[buffer(4)]],
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
    device const float2* from = src + size_t(min(row, rows - 1)) * LENGTH + lane;
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = INVERSE ? swapped(from[m * LANES]) : from[m * LANES];
    }
    TRANSFORM
    if (row >= rows) {
        return;
    }
    device float2* to = dst + size_t(row) * LENGTH;
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        UNROLL
        for (uint q = 0; q < LAST_RADIX; ++q) {
            float2 x = v[b + q * (POINTS / LAST_RADIX)];
            to[last[b] + q * (LENGTH / LAST_RADIX)] = INVERSE ? swapped(x) * scale : x;
        }
    }
}
