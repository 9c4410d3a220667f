
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#define FIRST 1024
#define MIDDLE 1
#define COLUMNS 2
#define INVERSE 1
#endif

// The last step of a transform that is longer than a threadgroup's: rows of LENGTH values, of which FIRST·MIDDLE make one
// transform, are transformed, COLUMNS of them a threadgroup. Value p of row k·MIDDLE + l, k < FIRST, l < MIDDLE, becomes
// value k + FIRST·(l + MIDDLE·p). Threads that load neighbours of a row store neighbours of the result. With
// INVERSE the parts of the result are swapped back and scaled.

[[max_total_threads_per_threadgroup(LANES * COLUMNS)]]
kernel void transposed(device float2* dst [[buffer(0)]],
                       device const float2* src [[buffer(1)]],
                       device const float2* roots [[buffer(2)]],
                       constant float& scale [[buffer(3)]],
                       uint group [[threadgroup_position_in_grid]],
                       uint i [[thread_position_in_threadgroup]]) {
    threadgroup CELL memory[MEMORY];
    uint lane = i % LANES, last_lane = i / COLUMNS;
    uint tile = i / LANES * PITCH, last_tile = i % COLUMNS * PITCH;
    uint first = group % (FIRST / COLUMNS) * COLUMNS;
    uint middle = group / (FIRST / COLUMNS) % MIDDLE;
    uint row = group / (FIRST / COLUMNS * MIDDLE);
    uint last[POINTS / LAST_RADIX];
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        last[b] = last_lane + b * LANES;
    }

    device const float2* from =
        src + size_t(row) * (LENGTH * FIRST * MIDDLE) + ((first + i / LANES) * MIDDLE + middle) * LENGTH + lane;
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = from[m * LANES];
    }
    TRANSFORM
    device float2* to = dst + size_t(row) * (LENGTH * FIRST * MIDDLE) + first + i % COLUMNS + FIRST * middle;
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        UNROLL
        for (uint q = 0; q < LAST_RADIX; ++q) {
            float2 x = v[b + q * (POINTS / LAST_RADIX)];
            to[(last[b] + q * (LENGTH / LAST_RADIX)) * (FIRST * MIDDLE)] = INVERSE ? swapped(x) * scale : x;
        }
    }
}
