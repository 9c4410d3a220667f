
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#define STRIDE 1024
#define COLUMNS 2
#define FINE 1024
#define INVERSE 1
#endif

// A step of a transform that is longer than a threadgroup's: each row of LENGTH·STRIDE values is a matrix of
// LENGTH×STRIDE, of which the columns are transformed, COLUMNS of them a threadgroup. The value in row p and column c is
// then multiplied by exp(-2·pi·i·e / (LENGTH·STRIDE)), e = p·c, the product of step_roots[e % FINE] and
// step_roots[FINE + e / FINE]. With INVERSE the values come with their parts swapped.

[[max_total_threads_per_threadgroup(LANES * COLUMNS)]]
kernel void columns(device float2* dst [[buffer(0)]],
                    device const float2* src [[buffer(1)]],
                    device const float2* roots [[buffer(2)]],
                    device const float2* step_roots [[buffer(3)]],
                    uint group [[threadgroup_position_in_grid]],
                    uint i [[thread_position_in_threadgroup]]) {
    threadgroup CELL memory[MEMORY];
    uint lane = i / COLUMNS;
    uint tile = i % COLUMNS, last_tile = tile;
    uint column = group % (STRIDE / COLUMNS) * COLUMNS + i % COLUMNS;
    uint row = group / (STRIDE / COLUMNS);
    uint last[POINTS / LAST_RADIX];
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        last[b] = lane + b * LANES;
    }

    device const float2* from = src + size_t(row) * (LENGTH * STRIDE) + column;
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        float2 x = from[(lane + m * LANES) * STRIDE];
        v[m] = INVERSE ? swapped(x) : x;
    }
    TRANSFORM
    device float2* to = dst + size_t(row) * (LENGTH * STRIDE) + column;
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        UNROLL
        for (uint q = 0; q < LAST_RADIX; ++q) {
            uint p = last[b] + q * (LENGTH / LAST_RADIX);
            uint e = p * column;
            float2 step_root = product(step_roots[e % FINE], step_roots[FINE + e / FINE]);
            to[p * STRIDE] = product(v[b + q * (POINTS / LAST_RADIX)], step_root);
        }
    }
}
