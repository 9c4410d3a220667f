#include <metal_stdlib>
using namespace metal;

#ifndef THREADS // compiled alone, without a launch to say how
#define THREADS 256
#define WIDTH 16
#define SPAN 16
#define FOLDS 4
#define BATCH 64
#define RESIDENT 768
#endif
#define UNROLL _Pragma("unroll")

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
#define SINE_UNIT 2.3283064365386963e-10f
#define SAW_UNIT 4.656612873077393e-10f

// a·b for complex values.
static inline float2 product(float2 a, float2 b) {
    return float2(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

// A voice at a thread's samples, one after the other. The samples are WIDTH apart. Where a thread has several, its sines are those of
// sums: sin(a + b) = sin a·cos b + cos a·sin b, with a of FOLDS samples side by side, and b turned from FOLDS samples to the next
// ones. So a sine takes three instructions where the polynomial takes ten.
struct Sound {
    float2 own[FOLDS];  // sine and cosine of the first FOLDS samples
    float2 turn, step;  // cosine and sine of b; of what it is turned by
    word64 saw, stride;
    float unit;
};

// What sample k of FOLDS adds to a sum.
static inline float added(thread Sound& s, uint k, float sum) {
    sum = fma((float)(int)(uint)(s.saw >> 32), s.unit, sum);
    s.saw += s.stride;
#if SPAN == 1
    return s.own[0].x + sum;
#else
    sum = fma(s.own[k].x, s.turn.x, fma(s.own[k].y, s.turn.y, sum));
    if (k == FOLDS - 1) {
        s.turn = product(s.turn, s.step);
    }
    return sum;
#endif
}

// How many of the `most` samples from start on are before end.
static inline uint before(word64 end, word64 start, uint most) {
    return end <= start ? 0 : end - start < most ? (uint)(end - start) : most;
}

// A voice is 20 words: the cycles a sample of the sine and of the sawtooth, low words first; the ends of its envelope's
// four pieces, in samples since Reset; the pieces' levels where they begin, and their slopes a sample. A piece begins
// where the one before it ends, and the first one at 0. Pieces that a voice does not need come first, and end at 0.
// Where a thread has several samples, 2·FOLDS words follow: cosine and sine of what 1 to FOLDS times WIDTH samples turn the sine by.
#define QUADS (SPAN == 1 ? 5 : 5 + FOLDS / 2)

// A voice at the first sample of a threadgroup.
struct Start {
    uint4 phases;  // of the sine and of the sawtooth, low words first
    uint4 steps;   // of both phases from sample to sample
    uint4 turns[SPAN == 1 ? 1 : FOLDS / 2];
    float level, slope;
    uint until;    // so many samples belong to the same piece; 0 where the voice is silent
};

static inline Start begun(device const uint4* voice, word64 start, uint needed) {
    uint4 steps = voice[0], early = voice[1], late = voice[2], levels = voice[3], slopes = voice[4];
    word64 end0 = whole(early.x, early.y), end1 = whole(early.z, early.w);
    word64 end2 = whole(late.x, late.y), end3 = whole(late.z, late.w);
    bool past0 = end0 <= start, past1 = end1 <= start, past2 = end2 <= start;
    word64 begin = past2 ? end2 : past1 ? end1 : past0 ? end0 : 0;
    word64 sine = whole(steps.x, steps.y) * start, saw = whole(steps.z, steps.w) * start;
    Start s;
    s.phases = uint4((uint)sine, (uint)(sine >> 32), (uint)saw, (uint)(saw >> 32));
    s.steps = steps;
    for (uint k = 0; k < QUADS - 5; ++k) {
        s.turns[k] = voice[5 + k];
    }
    s.slope = as_type<float>(past2 ? slopes.w : past1 ? slopes.z : past0 ? slopes.y : slopes.x);
    s.level = as_type<float>(past2 ? levels.w : past1 ? levels.z : past0 ? levels.y : levels.x);
    s.level += s.slope * (float)(start - begin);
    s.until = before(past2 ? end3 : past1 ? end2 : past0 ? end1 : end0, start, needed);
    return s;
}

// mixed adds a voice to the samples of a thread. `needed` are those of its threadgroup that are asked for.
static inline void mixed(thread float* mix, Start s, device const uint4* voice, word64 start, uint column, uint needed) {
    Sound sound;
    uint sine = (uint)((whole(s.phases.x, s.phases.y) + whole(s.steps.x, s.steps.y) * column) >> 32);
    // The sawtooth's phase keeps its lower half: without it a phase that comes to 1/2 exactly would be below it.
    word64 step = whole(s.steps.z, s.steps.w);
    sound.saw = whole(s.phases.z, s.phases.w) + step * column;
    sound.stride = step * WIDTH;
    sound.unit = SAW_UNIT;
    sound.own[0] = float2(sin2Pi((float)(int)sine * SINE_UNIT), 0.0f);
#if SPAN > 1
    sound.own[0].y = sin2Pi((float)(int)(sine + 0x40000000u) * SINE_UNIT);
    sound.turn = float2(1.0f, 0.0f);
    float2 turns[FOLDS];
    UNROLL
    for (uint k = 0; k < FOLDS; k += 2) {
        uint4 two = s.turns[k / 2];
        turns[k] = float2(as_type<float>(two.x), as_type<float>(two.y));
        turns[k + 1] = float2(as_type<float>(two.z), as_type<float>(two.w));
    }
    UNROLL
    for (uint k = 1; k < FOLDS; ++k) {
        float2 turned = product(float2(sound.own[0].y, sound.own[0].x), turns[k - 1]);
        sound.own[k] = float2(turned.y, turned.x);
    }
    sound.step = turns[FOLDS - 1];
#endif
    if (s.until == needed && s.slope == 0.0f) {
        UNROLL
        for (uint k = 0; k < FOLDS; ++k) {
            sound.own[k] = sound.own[k] * s.level;
        }
        sound.unit *= s.level;
        UNROLL
        for (uint r = 0; r < SPAN; ++r) {
            mix[r] = added(sound, r % FOLDS, mix[r]);
        }
        return;
    }
    if (s.until == needed) {
        float level = s.level + s.slope * (float)column;
        UNROLL
        for (uint r = 0; r < SPAN; ++r) {
            mix[r] += (level + s.slope * (float)(WIDTH * r)) * added(sound, r % FOLDS, 0.0f);
        }
        return;
    }
    uint4 early = voice[1], late = voice[2], levels = voice[3], slopes = voice[4];
    uint until0 = before(whole(early.x, early.y), start, needed), until1 = before(whole(early.z, early.w), start, needed);
    uint until2 = before(whole(late.x, late.y), start, needed), until3 = before(whole(late.z, late.w), start, needed);
    UNROLL
    for (uint r = 0; r < SPAN; ++r) {
        uint t = WIDTH * r + column;
        float level = s.level, slope = s.slope, tone = added(sound, r % FOLDS, 0.0f);
        uint from = 0;
        if (t >= s.until) {
            bool second = t < until1, third = t < until2;
            level = as_type<float>(second ? levels.y : third ? levels.z : levels.w);
            slope = as_type<float>(second ? slopes.y : third ? slopes.z : slopes.w);
            from = second ? until0 : third ? until1 : until2;
        }
        if (t < until3) {
            mix[r] += (level + slope * (float)(t - from)) * tone;
        }
    }
}

// A threadgroup mixes WIDTH·SPAN samples, one in WIDTH of them in each thread, and its threads share out the voices; where
// there are several threadgroups in y, they share them out too, and each has a row of y of its own. What they mix is
// added in an order that depends on nothing else, so that a block gives the same bits whenever it is rendered. WIDTH is
// a power of two up to 32. Where a thread has several samples, the threads compute where BATCH voices start, a voice each, and
// leave it to all in threadgroup memory.
#define SHARE (THREADS / WIDTH)
#define START_QUADS (3 + FOLDS / 2)
#define VOICE(i) (((i) / SHARE * groups.y + group.y) * SHARE + (i) % SHARE)

[[max_total_threads_per_threadgroup(RESIDENT)]]
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
    uint column = id % WIDTH, needed = min(most, n - group.x * most);
    word64 start = whole(position[0].low, position[0].high) + group.x * most;

    float mix[SPAN];
    UNROLL
    for (uint r = 0; r < SPAN; ++r) {
        mix[r] = 0.0f;
    }
#if SPAN == 1
    for (uint i = id / WIDTH; VOICE(i) < count; i += SHARE) {
        device const uint4* voice = voices + VOICE(i) * QUADS;
        Start s = begun(voice, start, needed);
        if (s.until > 0) {
            mixed(mix, s, voice, start, column, needed);
        }
    }
#else
    threadgroup uint4 starts[BATCH * START_QUADS];
    for (uint first = 0; VOICE(first) < count; first += BATCH) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = id; i < BATCH && VOICE(first + i) < count; i += THREADS) {
            Start s = begun(voices + VOICE(first + i) * QUADS, start, needed);
            starts[i * START_QUADS] = s.phases;
            starts[i * START_QUADS + 1] = s.steps;
            starts[i * START_QUADS + 2] = uint4(as_type<uint>(s.level), as_type<uint>(s.slope), s.until, 0);
            for (uint k = 0; k < FOLDS / 2; ++k) {
                starts[i * START_QUADS + 3 + k] = s.turns[k];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = id / WIDTH; i < BATCH && VOICE(first + i) < count; i += SHARE) {
            uint4 rest = starts[i * START_QUADS + 2];
            Start s;
            s.phases = starts[i * START_QUADS];
            s.steps = starts[i * START_QUADS + 1];
            s.level = as_type<float>(rest.x);
            s.slope = as_type<float>(rest.y);
            s.until = rest.z;
            for (uint k = 0; k < FOLDS / 2; ++k) {
                s.turns[k] = starts[i * START_QUADS + 3 + k];
            }
            if (s.until > 0) {
                mixed(mix, s, voices + VOICE(first + i) * QUADS, start, column, needed);
            }
        }
    }
#endif

    UNROLL
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
