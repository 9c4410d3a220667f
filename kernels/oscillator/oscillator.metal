#include <metal_stdlib>
using namespace metal;

// A bank of voices, mixed to one channel. Positions and phases are 64-bit integers, in samples since Reset and in units
// of 2^-64 of a cycle: they wrap by themselves, and float values only ever see what is wrapped already.

typedef unsigned long word64;

struct Position {
    uint low, high;
};

// Cycles a sample of the sine and of the sawtooth.
struct Voice {
    uint sineLow, sineHigh, sawLow, sawHigh;
};

// A straight piece of an envelope: level + slope·(t - begin) for the samples from begin to end-1. A voice has STAGES of
// them, one after the other; those that it does not need end at 0.
struct Stage {
    uint beginLow, beginHigh, endLow, endHigh;
    float level, slope;
};

static inline word64 whole(uint low, uint high) { return (word64)high << 32 | low; }

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

// A threadgroup mixes 32·SPAN samples, one in 32 in each lane. Its PARTS simdgroups share out the voices, and their
// mixes are added in order, so that a block gives the same bits whenever it is rendered.
[[max_total_threads_per_threadgroup(32 * PARTS)]]
kernel void bank(device float* y [[buffer(0)]],
                 device const Position* position [[buffer(1)]],
                 device const Voice* voices [[buffer(2)]],
                 device const Stage* stages [[buffer(3)]],
                 constant uint& count [[buffer(4)]],
                 constant uint& n [[buffer(5)]],
                 uint group [[threadgroup_position_in_grid]],
                 uint id [[thread_position_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float mixes[PARTS * 32 * SPAN];
    uint first = group * 32 * SPAN;
    word64 start = whole(position[0].low, position[0].high) + first;

    float mix[SPAN];
    for (uint r = 0; r < SPAN; ++r) {
        mix[r] = 0.0f;
    }
    for (uint v = simdgroup; v < count; v += PARTS) {
        device const Stage* stage = stages + v * STAGES;
        uint k = 0;
        while (k < STAGES && whole(stage[k].endLow, stage[k].endHigh) <= start) {
            ++k;
        }
        if (k == STAGES) {
            continue;
        }
        Voice voice = voices[v];
        word64 sineStep = whole(voice.sineLow, voice.sineHigh);
        word64 sawStep = whole(voice.sawLow, voice.sawHigh);
        uint sine = (uint)(sineStep * (start + lane) >> 32);
        uint saw = (uint)(sawStep * (start + lane) >> 32);
        uint sineStride = (uint)(sineStep >> 27);
        uint sawStride = (uint)(sawStep >> 27);

        if (whole(stage[k].endLow, stage[k].endHigh) >= start + 32 * SPAN) {
            word64 since = start + lane - whole(stage[k].beginLow, stage[k].beginHigh);
            float slope = stage[k].slope;
            float level = stage[k].level + slope * (float)since;
            for (uint r = 0; r < SPAN; ++r) {
                mix[r] += (level + slope * (float)(32 * r)) * tone(sine, saw);
                sine += sineStride;
                saw += sawStride;
            }
            continue;
        }
        for (uint r = 0; r < SPAN; ++r) {
            word64 t = start + 32 * r + lane;
            while (k < STAGES && whole(stage[k].endLow, stage[k].endHigh) <= t) {
                ++k;
            }
            if (k < STAGES) {
                word64 since = t - whole(stage[k].beginLow, stage[k].beginHigh);
                mix[r] += (stage[k].level + stage[k].slope * (float)since) * tone(sine, saw);
            }
            sine += sineStride;
            saw += sawStride;
        }
    }

    for (uint r = 0; r < SPAN; ++r) {
        mixes[(simdgroup * SPAN + r) * 32 + lane] = mix[r];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = id; i < 32 * SPAN; i += 32 * PARTS) {
        float sum = mixes[i];
        for (uint part = 1; part < PARTS; ++part) {
            sum += mixes[part * 32 * SPAN + i];
        }
        if (first + i < n) {
            y[first + i] = sum;
        }
    }
}
