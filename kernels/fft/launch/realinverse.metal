
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#define ROWS 2
#endif

// The inverse of what real.metal computes: rows of LENGTH + 1 bins to 2·LENGTH real values, ROWS of them a threadgroup.
// The values of the spectrum of LENGTH complex values are
//
//   Z[k] = (X[k] + conj(X[LENGTH-k])) / 2 + (X[k] - conj(X[LENGTH-k])) · conj(halves[k]),   halves[k] as there,
//
// and the inverse transform is that of the values with their parts swapped, its parts swapped again.

[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void real_inverse_rows(device float* dst [[buffer(0)]],
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
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        uint k = lane + m * LANES;
        float2 x = from[k], mirrored = from[LENGTH - k], half_root = halves[k];
        if (k == 0) {
            x.y = 0.0f;
            mirrored.y = 0.0f;
        }
        float2 sum = float2(x.x + mirrored.x, x.y - mirrored.y) * 0.5f;
        float2 difference = float2(x.x - mirrored.x, x.y + mirrored.y);
        v[m] = swapped(sum + product(difference, float2(half_root.x, -half_root.y)));
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
