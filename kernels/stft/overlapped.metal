
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "../fft/launch/passes.metal"
#define ROWS 2
#define SHIFT 4
#define TEAM 2
#define RESIDENT 512
#endif

// The inverse of a spectrogram in one kernel: frames of 2·LENGTH samples are transformed back and added up in registers. Of the
// LENGTH + 1 bins X of a frame, the values
//
//   Z[k] = X[k] + conj(X[LENGTH-k]) + (X[k] - conj(X[LENGTH-k])) · conj(halves[k]),   k < LENGTH,
//   halves[k] = -i · exp(-2·pi·i·k / (2·LENGTH)),
//
// have an inverse transform with the even samples as real parts and the odd ones as imaginary parts, each 2·LENGTH times. The
// imaginary parts of bins 0 and LENGTH are taken as 0. Z[k] and Z[LENGTH-k] are of the same two bins, so that a thread loads the bins
// of butterflies j and D - j of the first pass, D = LENGTH / RADIX0. Butterflies 0 and D/2, their own mirror images, go to thread 0.
//
// The hop is SHIFT·LANES pairs of samples. A thread has pairs lane + m·LANES of every frame, so that it has all that is added at a
// sample. Frame f begins block f, which is a hop of samples. A threadgroup walks ROWS/TEAM parts of the signal. A part begins with
// the frames that reach its first block. With a TEAM of 2, two rows of threads transform every other frame of it, and add up in
// threadgroup memory what they have of a block.

#define FIRST_COUNT (POINTS / RADIX0)
#define APART (LENGTH / RADIX0)

// The frames that reach a block.
#define OVERLAP ((POINTS + SHIFT - 1) / SHIFT)

// The pairs of samples from one frame of a row of threads to the next, and those that both have.
#define STRIDE (TEAM * SHIFT)
#define KEPT (POINTS - STRIDE)

// The least sum of squared weights that is divided by.
#define LEAST_WEIGHT 1.17549435e-38f

struct Walk {
    uint frames;
    uint samples;
    uint first;   // block of the signal's first sample
    uint blocks;  // of a part
    uint steps;   // of a part, with TEAM frames each
};

// The butterflies of the first pass that a thread computes: of b and b + FIRST_COUNT/2, the points are mirror images.
inline void butterflies(thread uint* first, uint lane) {
    UNROLL
    for (uint b = 0; b < FIRST_COUNT / 2; ++b) {
        first[b] = lane + b * LANES;
        first[b + FIRST_COUNT / 2] = first[b] == 0 ? APART / 2 : APART - first[b];
    }
}

// load loads the bins of these butterflies, and bin LENGTH for thread 0. A frame that is not there has bins of 0.
inline void load(thread float2* bins, thread float& top, device const float2* src, uint lane, int frame, int frames) {
    uint first[FIRST_COUNT];
    butterflies(first, lane);
    if (frame < 0 || frame >= frames) {
        UNROLL
        for (uint m = 0; m < POINTS; ++m) {
            bins[m] = float2(0.0f, 0.0f);
        }
        top = 0.0f;
        return;
    }
    device const float2* from = src + size_t(frame) * (LENGTH + 1);
    UNROLL
    for (uint b = 0; b < FIRST_COUNT; ++b) {
        UNROLL
        for (uint q = 0; q < RADIX0; ++q) {
            bins[b + q * FIRST_COUNT] = (from + first[b])[q * APART];
        }
    }
    if (lane == 0) {
        top = from[LENGTH].x;
    }
}

// fold makes Z[k] and Z[LENGTH-k] of the bins k and LENGTH - k. The values are swapped, which makes the transform an inverse one.
inline void fold(thread float2& low, thread float2& high, float2 half_root) {
    float2 sum = float2(low.x + high.x, low.y - high.y), difference = float2(low.x - high.x, low.y + high.y);
    low = float2(fma(difference.y, half_root.x, fma(-difference.x, half_root.y, sum.y)),
                 fma(difference.x, half_root.x, fma(difference.y, half_root.y, sum.x)));
    high = float2(fma(-2.0f, sum.y, low.x), fma(2.0f, sum.x, -low.y));
}

// halves[j + q·APART], of halves[j], and halves[e·LENGTH/16].
#define HALF_ROOT(half_root, q) turned32(half_root, (q) * 16 / RADIX0)
#define OWN_ROOT(e) turned32(float2(0.0f, -1.0f), e)

#define SCATTER_FIRST(part, r, d, shift, slice)                                        \
    UNROLL for (uint b = 0; b < FIRST_COUNT; ++b) {                                    \
        uint cell = SKEWED(first[b] * (r), shift, d);                                  \
        UNROLL for (uint q = 0; q < (r); ++q) {                                        \
            memory[SPOT(tile, cell, q, shift, d)] = v[b + q * FIRST_COUNT] part;       \
        }                                                                              \
    }

// RESIDENT instead of the number of threads leaves a thread 128 registers of an NVIDIA GPU, or 80 where it has 8 points.
[[max_total_threads_per_threadgroup(RESIDENT)]]
kernel void overlapped(device float* dst [[buffer(0)]],
                       device const float2* src [[buffer(1)]],
                       device const float2* roots [[buffer(2)]],
                       device const float2* halves [[buffer(3)]],
                       device const float2* window [[buffer(4)]],
                       device const float4* scaled [[buffer(5)]],
                       constant Walk& walk [[buffer(6)]],
                       uint group [[threadgroup_position_in_grid]],
                       uint i [[thread_position_in_threadgroup]]) {
    threadgroup CELL memory[MEMORY];
    uint row = i / LANES, member = row % TEAM;
    int begin = int(walk.first + (group * ROWS + row) / TEAM * walk.blocks), frames = int(walk.frames);
    int frame = begin - (OVERLAP - 1) + int(member);

    float2 sums[KEPT + 1]; // of frame `frame`, from its first pair on
    UNROLL
    for (uint m = 0; m < KEPT; ++m) {
        sums[m] = float2(0.0f, 0.0f);
    }
#if TEAM == 2
    threadgroup float2 handed[ROWS * SHIFT * LANES];
    float2 held[SHIFT];
    UNROLL
    for (uint m = 0; m < SHIFT; ++m) {
        held[m] = float2(0.0f, 0.0f);
    }
#endif
    // The bins of a frame are loaded while the frame before it is transformed.
    float2 bins[POINTS];
    float top = 0.0f;
    load(bins, top, src, i % LANES, frame, frames);
    for (uint step = 0; step < walk.steps; ++step, frame += TEAM) {
        // A compiler does not know that step / 2^31 is 0. If it did, it would compute all that depends on the lane before the loop,
        // which takes more registers than there are.
        uint lane = i % LANES + (step >> 31);
        uint tile = row * PITCH, last_tile = tile;
        uint first[FIRST_COUNT], last[POINTS / LAST_RADIX];
        butterflies(first, lane);
        UNROLL
        for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {
            last[b] = lane + b * LANES;
        }
        float2 v[POINTS];
        UNROLL
        for (uint m = 0; m < POINTS; ++m) {
            v[m] = bins[m];
        }
        UNROLL
        for (uint b = 0; b < FIRST_COUNT / 2; ++b) {
            uint c = b + FIRST_COUNT / 2;
            if (first[b] != 0) {
                float2 half_root = halves[first[b]];
                UNROLL
                for (uint q = 0; q < RADIX0; ++q) {
                    fold(v[b + q * FIRST_COUNT], v[c + (RADIX0 - 1 - q) * FIRST_COUNT], HALF_ROOT(half_root, q));
                }
                continue;
            }
            v[b] = float2(v[b].x - top, v[b].x + top);
            UNROLL
            for (uint q = 1; q < RADIX0 / 2; ++q) {
                fold(v[b + q * FIRST_COUNT], v[b + (RADIX0 - q) * FIRST_COUNT], OWN_ROOT(q * 16 / RADIX0));
            }
            float2 middle = v[b + RADIX0 / 2 * FIRST_COUNT];
            v[b + RADIX0 / 2 * FIRST_COUNT] = float2(-2.0f * middle.y, 2.0f * middle.x);
            UNROLL
            for (uint q = 0; q < RADIX0 / 2; ++q) {
                fold(v[c + q * FIRST_COUNT], v[c + (RADIX0 - 1 - q) * FIRST_COUNT], OWN_ROOT((2 * q + 1) * 8 / RADIX0));
            }
        }
        load(bins, top, src, lane, frame + TEAM, frames);
        FIRST_PASS(RADIX0)
        LATER_PASSES(SCATTER_FIRST)

        float2 done[STRIDE]; // what no later frame of this row reaches
        UNROLL
        for (uint m = 0; m < POINTS; ++m) {
            float4 two = (scaled + lane)[m / 2 * LANES];
            float2 weight = m % 2 == 0 ? float2(two.x, two.y) : float2(two.z, two.w);
            float2 sum = fma(weight, swapped(v[m]), m < KEPT ? sums[m] : float2(0.0f, 0.0f));
            if (m < STRIDE) {
                done[m] = sum;
            } else {
                sums[m - STRIDE] = sum;
            }
        }
#if TEAM == 2
        // A row has done blocks `frame` and `frame + 1`. It hands over the first one. To the other one, the first row of a team adds
        // the sums that the second row hands over now. The second row keeps it for one step.
        UNROLL
        for (uint m = 0; m < SHIFT; ++m) {
            (handed + row * (SHIFT * LANES) + lane)[m * LANES] = done[m];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        UNROLL
        for (uint m = 0; m < SHIFT; ++m) {
            float2 own = member == 0 ? done[m + SHIFT] : held[m];
            held[m] = done[m + SHIFT];
            done[m] = own + (handed + (row ^ 1) * (SHIFT * LANES) + lane)[m * LANES];
        }
        int block = frame + 1 - 2 * int(member);
#else
        int block = frame;
#endif
        if (block < begin) {
            continue;
        }
        int start = (block * SHIFT - POINTS / 2) * int(2 * LANES);
        bool all = block >= OVERLAP - 1 && block < frames;
        if (all && start >= 0 && start + int(2 * SHIFT * LANES) <= int(walk.samples)) {
            UNROLL
            for (uint m = 0; m < SHIFT; ++m) {
                ((device float2*)(dst + start) + lane)[m * LANES] = done[m];
            }
            continue;
        }
        // The window is scaled for samples that OVERLAP frames reach.
        UNROLL
        for (uint m = 0; m < SHIFT; ++m) {
            int at = start + int(2 * (lane + m * LANES));
            if (at < 0 || at >= int(walk.samples)) {
                continue;
            }
            float2 weights = float2(0.0f, 0.0f), most = float2(0.0f, 0.0f);
            for (uint t = 0; t * SHIFT + m < POINTS; ++t) {
                float2 w = window[lane + (t * SHIFT + m) * LANES];
                most += w * w;
                weights += block >= int(t) && block - int(t) < frames ? w * w : float2(0.0f, 0.0f);
            }
            done[m].x *= (most.x > LEAST_WEIGHT ? most.x : 1.0f) / (weights.x > LEAST_WEIGHT ? weights.x : 1.0f);
            done[m].y *= (most.y > LEAST_WEIGHT ? most.y : 1.0f) / (weights.y > LEAST_WEIGHT ? weights.y : 1.0f);
            *(device float2*)(dst + at) = done[m];
        }
    }
}
