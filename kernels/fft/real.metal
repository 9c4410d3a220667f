
// Rows of 2·N real values, ROWS of them a threadgroup, as N complex ones: even values are taken as real parts and odd
// values as imaginary parts, and the two interleaved spectra are told apart by their symmetry,
//
//   X[k] = (Z[k] + conj(Z[N-k])) / 2 + (Z[k] - conj(Z[N-k])) · halves[k],   halves[k] = -i/2 · exp(-2·pi·i·k / (2·N)).
//
// With WINDOWED, row r is what the window leaves of the signal's samples from r·hop - lead on, which is zero outside of
// its samples; with ALIGNED too, hop and lead are even.

struct Rows {
    uint rows;
    uint hop;
    uint lead;
    uint samples;
};

// Bins k and N - k, of the values at k and at N - k.
inline float2 low_bin(float2 z, float2 mirrored, float2 half_root) {
    float2 sum = float2(z.x + mirrored.x, z.y - mirrored.y) * 0.5f;
    return sum + product(float2(z.x - mirrored.x, z.y + mirrored.y), half_root);
}
inline float2 high_bin(float2 z, float2 mirrored, float2 half_root) {
    float2 sum = float2(z.x + mirrored.x, z.y - mirrored.y) * 0.5f;
    float2 bin = sum - product(float2(z.x - mirrored.x, z.y + mirrored.y), half_root);
    return float2(bin.x, -bin.y);
}

inline float sample_at(device const float* src, int at, uint samples) {
    return at >= 0 && uint(at) < samples ? src[at] : 0.0f;
}

// The number of butterflies of the last pass that a thread computes. Each has its mirror image in the same thread, so
// that no spectrum has to go through threadgroup memory: butterfly D - j that of butterfly j, where D = N / LAST_RADIX;
// butterflies 0 and D/2, which are their own, are given to thread 0.
#define LAST_COUNT (POINTS / LAST_RADIX)

[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void real_rows(device float2* dst [[buffer(0)]],
                      device const float* src [[buffer(1)]],
                      device const float2* roots [[buffer(2)]],
                      device const float2* halves [[buffer(3)]],
                      device const float2* window [[buffer(4)]],
                      constant Rows& shape [[buffer(5)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint i [[thread_position_in_threadgroup]]) {
    threadgroup CELL memory[MEMORY];
    const uint apart = N / LAST_RADIX;
    uint lane = i % LANES;
    uint tile = i / LANES * PITCH, last_tile = tile;
    uint row = group * ROWS + i / LANES;
    uint last[LAST_COUNT];
    UNROLL
    for (uint b = 0; b < LAST_COUNT / 2; ++b) {
        last[b] = lane + b * LANES;
        last[b + LAST_COUNT / 2] = last[b] == 0 ? apart / 2 : apart - last[b];
    }

    // Threads past the last row compute it too, since they have to take part in the barriers.
    uint loaded = min(row, shape.rows - 1);
    float2 v[POINTS];
#if WINDOWED
    int first = int(loaded * shape.hop) - int(shape.lead);
    if (first >= 0 && uint(first) + 2 * N <= shape.samples) {
        device const float* from = src + first;
        UNROLL
        for (uint m = 0; m < POINTS; ++m) {
            uint p = lane + m * LANES;
#if ALIGNED
            v[m] = ((device const float2*)from)[p] * window[p];
#else
            v[m] = float2(from[2 * p], from[2 * p + 1]) * window[p];
#endif
        }
    } else {
        UNROLL
        for (uint m = 0; m < POINTS; ++m) {
            uint p = lane + m * LANES;
            int at = first + int(2 * p);
            v[m] = float2(sample_at(src, at, shape.samples), sample_at(src, at + 1, shape.samples)) * window[p];
        }
    }
#else
    device const float2* from = (device const float2*)src + size_t(loaded) * N + lane;
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = from[m * LANES];
    }
#endif
    TRANSFORM
    if (row >= shape.rows) {
        return;
    }
    device float2* to = dst + size_t(row) * (N + 1);
    UNROLL
    for (uint b = 0; b < LAST_COUNT / 2; ++b) {
        uint c = b + LAST_COUNT / 2;
        if (last[b] != 0) {
            UNROLL
            for (uint q = 0; q < LAST_RADIX; ++q) {
                float2 z = v[b + q * LAST_COUNT], mirrored = v[c + (LAST_RADIX - 1 - q) * LAST_COUNT];
                uint k = last[b] + q * apart;
                to[k] = low_bin(z, mirrored, halves[k]);
                to[N - k] = high_bin(z, mirrored, halves[k]);
            }
            continue;
        }
        to[0] = float2(v[b].x + v[b].y, 0.0f);
        to[N] = float2(v[b].x - v[b].y, 0.0f);
        UNROLL
        for (uint q = 1; q <= LAST_RADIX / 2; ++q) {
            float2 z = v[b + q * LAST_COUNT], mirrored = v[b + (LAST_RADIX - q) * LAST_COUNT];
            uint k = q * apart;
            to[k] = low_bin(z, mirrored, halves[k]);
            to[N - k] = high_bin(z, mirrored, halves[k]);
        }
        UNROLL
        for (uint q = 0; q < LAST_RADIX / 2; ++q) {
            float2 z = v[c + q * LAST_COUNT], mirrored = v[c + (LAST_RADIX - 1 - q) * LAST_COUNT];
            uint k = apart / 2 + q * apart;
            to[k] = low_bin(z, mirrored, halves[k]);
            to[N - k] = high_bin(z, mirrored, halves[k]);
        }
    }
}
