#include <metal_stdlib>
using namespace metal;

#ifndef THREADS // compiled alone, without a launch to say how
#define THREADS 256
#define WIDTH 16
#define SPAN 16
#endif

// A bank of voices, mixed to one channel. Positions and phases are 64-bit integers, in samples since Reset and in units
// of 2^-64 of a cycle: they wrap by themselves, and float values only ever see what is wrapped already.

typedef unsigned long word64;

static inline word64 whole(uint low, uint high) { return (word64)high << 32 | low; }

struct Position {
    uint low, high;
};

// sin(2·pi·p) for p in [-1/2, 1/2], with an absolute error below 3e-7: the polynomial of sin2Pi in voice.go.
static inline float sin2Pi(float p) {
    float t = p * p;
    float even = 25.1327304f + t * (-64.8346811f + t * (67.043898f + t * (-38.1231967f + t * 12.233301f)));
    return p * (0.25f - t) * even;
}

// The upper half of a phase, read as a signed number, is the phase wrapped to [-1/2, 1/2) in units of 2^-32.
static inline float tone(uint sine, uint saw) {
    return sin2Pi((float)(int)sine * 2.3283064365386963e-10f) + (float)(int)saw * 4.656612873077393e-10f;
}

// How many of the `most` samples from start on are before end.
static inline uint before(word64 end, word64 start, uint most) {
    return end <= start ? 0 : end - start < most ? (uint)(end - start) : most;
}

// A voice is 20 words: the cycles a sample of the sine and of the sawtooth, low words first; the ends of its envelope's
// four pieces, in samples since Reset; the pieces' levels where they begin, and their slopes a sample. A piece begins
// where the one before it ends, and the first one at 0. Pieces that a voice does not need come first, and end at 0.
#define QUADS 5

// A threadgroup mixes WIDTH·SPAN samples, one in WIDTH of them in each thread, and its threads share out the voices; where
// there are several threadgroups in y, they share them out too, and each has a row of y of its own. What they mix is
// added in an order that depends on nothing else, so that a block gives the same bits whenever it is rendered. WIDTH is
// a power of two up to 32.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void bank(device float* y [[buffer(0)]],
                 device const Position* position [[buffer(1)]],
                 device const uint4* voices [[buffer(2)]],
                 constant uint& count [[buffer(3)]],
                 constant uint& n [[buffer(4)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint2 groups [[threadgroups_per_grid]],
                 uint id [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    const uint most = WIDTH * SPAN;
    threadgroup float mixes[THREADS / 32 * WIDTH * SPAN];
    uint column = id % WIDTH;
    word64 start = whole(position[0].low, position[0].high) + group.x * most;

    float mix[SPAN];
    for (uint r = 0; r < SPAN; ++r) {
        mix[r] = 0.0f;
    }
    for (uint v = group.y * (THREADS / WIDTH) + id / WIDTH; v < count; v += groups.y * (THREADS / WIDTH)) {
        device const uint4* voice = voices + v * QUADS;
        uint4 steps = voice[0], early = voice[1], late = voice[2], levels = voice[3], slopes = voice[4];
        word64 end0 = whole(early.x, early.y), end1 = whole(early.z, early.w);
        word64 end2 = whole(late.x, late.y), end3 = whole(late.z, late.w);
        uint until3 = before(end3, start, most);
        if (until3 == 0) {
            continue;
        }
        uint until0 = before(end0, start, most), until1 = before(end1, start, most), until2 = before(end2, start, most);
        // The piece at the first sample, and the level there.
        word64 begin = until2 == 0 ? end2 : until1 == 0 ? end1 : until0 == 0 ? end0 : 0;
        uint until = until2 == 0 ? until3 : until1 == 0 ? until2 : until0 == 0 ? until1 : until0;
        float slope = as_type<float>(until2 == 0 ? slopes.w : until1 == 0 ? slopes.z : until0 == 0 ? slopes.y : slopes.x);
        float level = as_type<float>(until2 == 0 ? levels.w : until1 == 0 ? levels.z : until0 == 0 ? levels.y : levels.x);
        level += slope * (float)(start - begin);

        word64 sineStep = whole(steps.x, steps.y), sawStep = whole(steps.z, steps.w);
        uint sine = (uint)(sineStep * (start + column) >> 32);
        // The sawtooth's phase keeps its lower half: without it a phase that comes to 1/2 exactly would be below it.
        word64 saw = sawStep * (start + column);
        uint sineStride = (uint)(sineStep * WIDTH >> 32);
        word64 sawStride = sawStep * WIDTH;

        if (until == most) {
            level += slope * (float)column;
            for (uint r = 0; r < SPAN; ++r) {
                mix[r] += (level + slope * (float)(WIDTH * r)) * tone(sine, (uint)(saw >> 32));
                sine += sineStride;
                saw += sawStride;
            }
            continue;
        }
        for (uint r = 0; r < SPAN; ++r) {
            uint t = WIDTH * r + column;
            float l = level, s = slope;
            uint from = 0;
            if (t >= until) {
                bool second = t < until1, third = t < until2;
                l = as_type<float>(second ? levels.y : third ? levels.z : levels.w);
                s = as_type<float>(second ? slopes.y : third ? slopes.z : slopes.w);
                from = second ? until0 : third ? until1 : until2;
            }
            if (t < until3) {
                mix[r] += (l + s * (float)(t - from)) * tone(sine, (uint)(saw >> 32));
            }
            sine += sineStride;
            saw += sawStride;
        }
    }

    for (uint r = 0; r < SPAN; ++r) {
        for (uint distance = WIDTH; distance < 32; distance *= 2) {
            mix[r] += simd_shuffle_xor(mix[r], distance);
        }
        if (lane < WIDTH) {
            mixes[simdgroup * most + r * WIDTH + lane] = mix[r];
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = id; i < most; i += THREADS) {
        float sum = mixes[i];
        for (uint part = 1; part < THREADS / 32; ++part) {
            sum += mixes[part * most + i];
        }
        if (group.x * most + i < n) {
            y[group.y * n + group.x * most + i] = sum;
        }
    }
}

// The sum over rows of n samples, 32 samples a threadgroup, whose simdgroups share out the rows.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void rows(device float* y [[buffer(0)]],
                 device const float* mixes [[buffer(1)]],
                 constant uint& count [[buffer(2)]],
                 constant uint& n [[buffer(3)]],
                 uint group [[threadgroup_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[THREADS];
    uint i = group * 32 + lane;
    float sum = 0.0f;
    if (i < n) {
        for (uint row = simdgroup; row < count; row += THREADS / 32) {
            sum += mixes[row * n + i];
        }
    }
    sums[simdgroup * 32 + lane] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0 && i < n) {
        for (uint part = 1; part < THREADS / 32; ++part) {
            sum += sums[part * 32 + lane];
        }
        y[i] = sum;
    }
}
