
#ifndef BINS // compiled alone, without tempogram.metal before it
#include "tempogram.metal"
#define BINS (POINTS / 2 + 1)
#define FIRST 9
#endif

// What follows the transforms of a tempo: the mean of power spectra, in two launches, and the choice of a lag.

struct Sums {
    uint frames, per_part, parts;
};

// sum_powers adds up the powers of some frames, one thread a bin.
kernel void sum_powers(device float* sums [[buffer(0)]],
                       device const float2* spectra [[buffer(1)]],
                       constant Sums& s [[buffer(2)]],
                       uint2 at [[thread_position_in_grid]]) {
    if (at.x >= BINS) return;
    uint end = min((at.y + 1) * s.per_part, s.frames);
    float sum = 0.0f;
    for (uint t = at.y * s.per_part; t < end; ++t) {
        float2 v = spectra[size_t(t) * BINS + at.x];
        sum += v.x * v.x + v.y * v.y;
    }
    sums[size_t(at.y) * BINS + at.x] = sum;
}

// mean_powers adds up the sums of all parts, and makes a spectrum of them.
kernel void mean_powers(device float2* spectrum [[buffer(0)]],
                        device const float* sums [[buffer(1)]],
                        constant Sums& s [[buffer(2)]],
                        constant float& gain [[buffer(3)]],
                        uint bin [[thread_position_in_grid]]) {
    if (bin >= BINS) return;
    float sum = 0.0f;
    for (uint part = 0; part < s.parts; ++part) sum += sums[size_t(part) * BINS + bin];
    spectrum[bin] = float2(sum / float(s.frames) * gain, 0.0f);
}

// better keeps the greater score or, of equal ones, the less lag.
static inline bool is_better(float score, uint lag, float than, uint other) {
    return score > than || (score == than && lag < other);
}

// choose writes the lag with the greatest score, and 0 if means are no numbers. One threadgroup of 256 threads.
kernel void choose(device uint* lag [[buffer(0)]],
                   device const float* means [[buffer(1)]],
                   device const float* prior [[buffer(2)]],
                   uint index [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float scores[8];
    threadgroup uint lags[8];
    float most = -INFINITY;
    uint at = 0xffffffff;
    for (uint k = FIRST + index; k < WINDOW; k += 256) {
        float m = means[k] < 1e-6f ? 0.0f : means[k];
        float score = precise::log(1.0f + 1e6f * m) + prior[k];
        if (is_better(score, k, most, at)) {
            most = score;
            at = k;
        }
    }
    for (uint d = 16; d > 0; d /= 2) {
        float score = simd_shuffle_xor(most, d);
        uint k = simd_shuffle_xor(at, d);
        if (is_better(score, k, most, at)) {
            most = score;
            at = k;
        }
    }
    if (lane == 0) {
        scores[simdgroup] = most;
        lags[simdgroup] = at;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (index > 0) return;
    for (uint s = 1; s < 8; ++s) {
        if (is_better(scores[s], lags[s], most, at)) {
            most = scores[s];
            at = lags[s];
        }
    }
    lag[0] = isfinite(means[0]) ? at : 0;
}
