
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "../fft/launch/passes.metal"
#define ROWS 2
#define SHIFT 4
#endif

// The inverse of a spectrogram in one kernel: frames of LENGTH samples are transformed back, two in one complex transform, and
// added up in registers. Of frame A and the next one, B, the values
//
//   Z[k] = A[k] + i·B[k],   bin LENGTH - k being the conjugate of bin k,
//
// have an inverse transform with the samples of A as real parts and those of B as imaginary parts. Each bin is loaded twice, by
// two threads of a threadgroup at about the same time. The imaginary parts of bins 0 and LENGTH/2 are taken as 0.
//
// The hop is SHIFT·LANES samples. A thread has samples lane + m·LANES of every frame, so that it has all that is added at a
// sample: `sums` begins with the samples of A. Frame f begins block f, which is a hop of samples. A threadgroup walks ROWS
// parts of the signal, each by LANES threads. A part begins with the frames that reach its first block.

// The frames that reach a block.
#define OVERLAP ((POINTS + SHIFT - 1) / SHIFT)

// The least sum of squared weights that is divided by.
#define LEAST_WEIGHT 1.17549435e-38f

#define SIMDGROUPS (LANES * ROWS / 32)

struct Walk {
    uint frames;
    uint samples;
    uint first;   // block of the signal's first sample
    uint blocks;  // of a part
    uint steps;   // of a part, with two frames each
};

// 512 instead of the number of threads leaves a thread 128 registers of an NVIDIA GPU.
[[max_total_threads_per_threadgroup(512)]]
kernel void overlapped(device float* dst [[buffer(0)]],
                       device const float2* src [[buffer(1)]],
                       device const float2* roots [[buffer(2)]],
                       device const float* window [[buffer(3)]],
                       device const float* shares [[buffer(4)]],
                       constant Walk& walk [[buffer(5)]],
                       uint group [[threadgroup_position_in_grid]],
                       uint i [[thread_position_in_threadgroup]],
                       uint simd_lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup CELL memory[MEMORY];
    threadgroup uint broken[2 * SIMDGROUPS];
    uint lane = i % LANES;
    uint tile = i / LANES * PITCH, last_tile = tile;
    uint last[POINTS / LAST_RADIX];
    UNROLL
    for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
        last[b] = lane + b * LANES;
    }
    int begin = int(walk.first + (group * ROWS + i / LANES) * walk.blocks), end = begin + int(walk.blocks);
    int frames = int(walk.frames), frame = begin - (OVERLAP - 1);

    float sums[POINTS + SHIFT];
    UNROLL
    for (uint m = 0; m < POINTS + SHIFT; ++m) {
        sums[m] = 0.0f;
    }
    // Both frames of a step are transformed at once. If a bin is not finite, they are transformed one by one, because only the
    // samples of its own frame may get lost.
    const uint both = 3;
    uint which = both;
    uint turn = 0;
    for (uint step = 0; step < walk.steps; ++turn) {
        bool has_a = (which & 1) != 0 && frame >= 0 && frame < frames;
        bool has_b = (which & 2) != 0 && frame + 1 >= 0 && frame + 1 < frames;
        // Points are swapped, which makes the transform an inverse one. Neighbours in this order share bins. No load waits for
        // another one.
        device const float2* from_a = src + size_t(max(frame, 0)) * (LENGTH / 2 + 1);
        device const float2* from_b = src + size_t(max(frame + 1, 0)) * (LENGTH / 2 + 1);
        const float2 none = float2(0.0f, 0.0f);
        float2 v[POINTS];
        UNROLL
        for (uint m = 0; m < POINTS / 2; ++m) {
            float2 a = has_a ? from_a[lane + m * LANES] : none, b = has_b ? from_b[lane + m * LANES] : none;
            float2 c = has_a ? from_a[(m + 1) * LANES - lane] : none, d = has_b ? from_b[(m + 1) * LANES - lane] : none;
            if (m == 0 && lane == 0) {
                a.y = 0.0f;
                b.y = 0.0f;
            }
            if (m == POINTS / 2 - 1 && lane == 0) {
                c.y = 0.0f;
                d.y = 0.0f;
            }
            v[m] = float2(a.y + b.x, a.x - b.y);
            v[POINTS - 1 - m] = float2(d.x - c.y, c.x + d.y);
        }
        FIRST_PASS(RADIX0)
        // The first points are the sums of all.
        float2 total = v[0];
        UNROLL
        for (uint b = 1; b < POINTS / RADIX0; ++b) {
            total += v[b];
        }
        bool lost = simd_any(!isfinite(total.x + total.y));
        if (simd_lane == 0) {
            broken[turn % 2 * SIMDGROUPS + simdgroup] = lost ? 1 : 0;
        }
        LATER_PASSES
        uint any = 0;
        UNROLL
        for (uint s = 0; s < SIMDGROUPS; ++s) {
            any |= broken[turn % 2 * SIMDGROUPS + s];
        }
        if (any != 0 && which == both) {
            which = 1;
            continue;
        }
        // A frame that is not there has rounding errors of the other one.
        UNROLL
        for (uint m = 0; m < POINTS; ++m) {
            float weight = window[lane + m * LANES];
            sums[m] = has_a ? fma(weight, v[m].y, sums[m]) : sums[m];
            sums[m + SHIFT] = has_b ? fma(weight, v[m].x, sums[m + SHIFT]) : sums[m + SHIFT];
        }
        if (which == 1) {
            which = 2;
            continue;
        }
        which = both;

        // Blocks `frame` and `frame + 1` are complete.
        UNROLL
        for (uint b = 0; b < 2; ++b) {
            int block = frame + int(b);
            if (block < begin || block >= end) {
                continue;
            }
            bool all = block >= OVERLAP - 1 && block < frames;
            UNROLL
            for (uint m = 0; m < SHIFT; ++m) {
                int at = (block * SHIFT + int(m) - POINTS / 2) * LANES + int(lane);
                if (at < 0 || at >= int(walk.samples)) {
                    continue;
                }
                float share = shares[lane + m * LANES];
                if (!all) {
                    float weights = 0.0f;
                    for (uint t = 0; t * SHIFT + m < POINTS; ++t) {
                        float w = window[lane + (t * SHIFT + m) * LANES];
                        weights += block >= int(t) && block - int(t) < frames ? w * w : 0.0f;
                    }
                    share = (weights > LEAST_WEIGHT ? 1.0f / weights : 1.0f) * (1.0f / LENGTH);
                }
                dst[at] = sums[b * SHIFT + m] * share;
            }
        }
        UNROLL
        for (uint m = 0; m < POINTS + SHIFT; ++m) {
            sums[m] = m < POINTS - SHIFT ? sums[min(m + 2 * SHIFT, uint(POINTS + SHIFT - 1))] : 0.0f;
        }
        frame += 2;
        ++step;
    }
}
