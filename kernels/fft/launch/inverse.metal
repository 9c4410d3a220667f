
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#define ROWS 2
#endif

// Rows of LENGTH + 1 bins, ROWS of them a threadgroup, back to 2·LENGTH real values: the reverse of real.metal. A row of bins
// X makes LENGTH complex values
//
//   Z[k] = (X[k] + conj(X[LENGTH-k])) / 2 + (X[k] - conj(X[LENGTH-k])) · conj(halves[k]),
//
// whose inverse transform has the even values as real parts and the odd ones as imaginary parts. Each bin is loaded twice, by
// neighbouring threads once, and in reverse order the second time. The imaginary parts of bins 0 and LENGTH are taken as 0.

// halves[lane + m·LANES], of which the table is read for m = 0 and, where POINTS is 32, for m = 1 only.
#define HALF_ROOT(m) \
    turned32(halves[lane + ((m) - (m) * 16 / POINTS * POINTS / 16) * LANES], (m) * 16 / POINTS)

[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void inverse_rows(device float* dst [[buffer(0)]],
                         device const float2* src [[buffer(1)]],
                         device const float2* roots [[buffer(2)]],
                         device const float2* halves [[buffer(3)]],
                         constant uint& rows [[buffer(4)]],
                         constant float& scale [[buffer(5)]],
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
    device const float2* from = src + size_t(min(row, rows - 1)) * (LENGTH + 1);
    float2 v[POINTS], mirrored[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = from[lane + m * LANES];
        mirrored[m] = from[LENGTH - lane - m * LANES];
    }
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        float2 half_root = HALF_ROOT(m);
        float2 sum = float2(v[m].x + mirrored[m].x, v[m].y - mirrored[m].y) * 0.5f;
        float2 turned = product(float2(v[m].x - mirrored[m].x, v[m].y + mirrored[m].y), float2(half_root.x, -half_root.y));
        float2 z = sum + turned;
        if (m == 0 && lane == 0) {
            z = float2(v[m].x + mirrored[m].x, v[m].x - mirrored[m].x) * 0.5f;
        }
        v[m] = swapped(z);
    }
    TRANSFORM
    if (row >= rows) {
        return;
    }
    device float2* to = (device float2*)dst + size_t(row) * LENGTH;
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        UNROLL
        for (uint q = 0; q < LAST_RADIX; ++q) {
            to[last[b] + q * (LENGTH / LAST_RADIX)] = swapped(v[b + q * (POINTS / LAST_RADIX)]) * scale;
        }
    }
}
