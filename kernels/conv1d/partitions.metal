
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "../fft/launch/passes.metal"
#define ROWS 2
#endif

// The transforms of uniformly partitioned overlap-save. Row s has window s of the signal in its real parts and window
// s+APART in its imaginary parts, which a real filter keeps apart; window t is the samples (t-1)·LENGTH/2 to
// (t+1)·LENGTH/2-1, and its last LENGTH/2 values become outputs.

#define BLOCK (LENGTH / 2)

static inline float sample_at(device const float* x, int i, uint n) { return i >= 0 && (uint)i < n ? x[i] : 0.0f; }

struct Rows {
    uint rows;
    uint before;  // rows of windows before the signal's first one
    uint apart;   // windows between a row's two
    uint n;       // samples
};

// The transforms of the windows.
[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void windows(device float2* spectra [[buffer(0)]],
                    device const float* x [[buffer(1)]],
                    device const float2* roots [[buffer(2)]],
                    constant Rows& p [[buffer(3)]],
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
    int first = ((int)row - (int)p.before - 1) * BLOCK;
    int other = first + (int)(p.apart * BLOCK);
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        int k = (int)(lane + m * LANES);
        v[m] = float2(sample_at(x, first + k, p.n), sample_at(x, other + k, p.n));
    }
    TRANSFORM
    if (row >= p.rows) {
        return;
    }
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        spectra[row * LENGTH + lane + m * LANES] = v[m];
    }
}

// The outputs, of which there are p.n, from sums of products of transforms.
[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void blocks(device float* y [[buffer(0)]],
                   device const float2* sums [[buffer(1)]],
                   device const float2* roots [[buffer(2)]],
                   constant Rows& p [[buffer(3)]],
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
    device const float2* from = sums + min(row, p.rows - 1) * LENGTH + lane;
    float2 v[POINTS];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = swapped(from[m * LANES]);
    }
    TRANSFORM
    if (row >= p.rows) {
        return;
    }
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        uint k = lane + m * LANES;
        if (k >= BLOCK) {
            uint at = row * BLOCK + k - BLOCK;
            if (at < p.n) {
                y[at] = v[m].y;
            }
            if (at + p.apart * BLOCK < p.n) {
                y[at + p.apart * BLOCK] = v[m].x;
            }
        }
    }
}
