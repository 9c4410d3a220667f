#include <metal_stdlib>
using namespace metal;

#ifndef THREADS // compiled alone, without a launch to say how
#define THREADS 256
#define SPAN 4
#endif

#define SIMDGROUPS (THREADS / 32)

// Sums of phase increments, in units of 2^-64 of a cycle: whole cycles wrap by themselves, and a sum does not depend on the
// order of its terms. Increments are rounded towards zero to multiples of 2^-53, which is what the state of a call holds. So
// the lower bits have nothing to add up, and bit 0 says that a NaN or an infinity was among the increments.

typedef unsigned long word64;

static inline word64 whole(uint2 halves) { return (word64)halves.y << 32 | halves.x; }

static inline uint2 halves(word64 sum) { return uint2((uint)sum, (uint)(sum >> 32)); }

static inline word64 plus(word64 a, word64 b) { return ((a >> 1 << 1) + b) | (a & 1); }

// The units of mantissa times 2^exponent, without whole cycles.
static inline word64 units(word64 mantissa, int exponent, bool negative) {
    int left = exponent + 64;
    word64 sum = left >= 64 || left <= -64 ? 0 : left >= 0 ? mantissa << left : mantissa >> -left;
    sum = sum >> 11 << 11;
    return negative ? 0 - sum : sum;
}

static inline word64 increment(float x) {
    uint bits = as_type<uint>(x), exponent = bits >> 23 & 0xffu;
    if (exponent == 255u) {
        return 1;
    }
    return units((bits & 0x7fffffu) | (exponent == 0 ? 0u : 0x800000u), (int)exponent - 150, bits >> 31 != 0);
}

// The sum that a call begins with, from the words of a float64.
static inline word64 begun(uint low, uint high) {
    uint exponent = high >> 20 & 0x7ffu;
    if (exponent == 0x7ffu) {
        return 1;
    }
    uint upper = (high & 0xfffffu) | (exponent == 0 ? 0u : 0x100000u);
    return units(whole(uint2(low, upper)), (int)exponent - 1075, high >> 31 != 0);
}

// The words of the float64 that is a sum in cycles.
static inline uint2 ended(word64 sum) {
    if ((sum & 1) != 0) {
        return uint2(0, 0x7ff80000u);
    }
    uint2 v = halves(sum);
    if ((v.x | v.y) == 0) {
        return uint2(0, 0);
    }
    uint zeros = v.y != 0 ? clz(v.y) : 32 + clz(v.x);
    uint2 mantissa = halves(sum << zeros >> 11); // 53 bits, of which the first is not kept
    return uint2(mantissa.x, (1022u - zeros) << 20 | (mantissa.y & 0xfffffu));
}

static inline float cycles(word64 sum) {
    return (sum & 1) != 0 ? as_type<float>(0x7fc00000u) : (float)(uint)(sum >> 40) * 5.9604644775390625e-8f;
}

// The increments of a vector, of which those from n on count as 0.
struct Four {
    word64 a, b, c, d;
};

static inline Four vector(device const float4* x, uint i, uint n) {
    Four v;
    v.a = 0;
    v.b = 0;
    v.c = 0;
    v.d = 0;
    if (4 * i < n) {
        float4 steps = x[i];
        uint count = n - 4 * i;
        v.a = increment(steps.x);
        v.b = count > 1 ? increment(steps.y) : 0;
        v.c = count > 2 ? increment(steps.z) : 0;
        v.d = count > 3 ? increment(steps.w) : 0;
    }
    return v;
}

static inline word64 total(Four v) { return plus(plus(v.a, v.b), plus(v.c, v.d)); }

// The sum over the lanes of a simdgroup.
static inline word64 overLanes(word64 sum) {
    for (uint k = 16; k > 0; k /= 2) {
        uint2 v = halves(sum);
        sum = plus(sum, whole(simd_shuffle_xor(v, k)));
    }
    return sum;
}

// Tiles are THREADS·SPAN vectors. The vectors of a tile that a thread has are THREADS apart.
struct Walk {
    uint n;
    uint tiles; // of a threadgroup, one after the other
};

// The sum of the increments of each threadgroup's tiles, without that of the last threadgroup.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void sums(device uint2* parts [[buffer(0)]],
                 device const float4* x [[buffer(1)]],
                 constant Walk& walk [[buffer(2)]],
                 uint group [[threadgroup_position_in_grid]],
                 uint id [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint2 last[SIMDGROUPS];
    word64 sum = 0;
    uint first = group * walk.tiles * THREADS * SPAN;
    for (uint k = 0; k < walk.tiles * SPAN; ++k) {
        sum = plus(sum, total(vector(x, first + k * THREADS + id, walk.n)));
    }
    sum = overLanes(sum);
    if (lane == 0) {
        last[simdgroup] = halves(sum);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (id == 0) {
        for (uint i = 1; i < SIMDGROUPS; ++i) {
            sum = plus(sum, whole(last[i]));
        }
        parts[group] = halves(sum);
    }
}

// The phases. Each threadgroup adds up what the threadgroups before it found, of which there are fewer than THREADS.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void phases(device float4* y [[buffer(0)]],
                   device const float4* x [[buffer(1)]],
                   device uint* after [[buffer(2)]],
                   device const uint* before [[buffer(3)]],
                   device const uint2* parts [[buffer(4)]],
                   constant Walk& walk [[buffer(5)]],
                   uint group [[threadgroup_position_in_grid]],
                   uint groups [[threadgroups_per_grid]],
                   uint id [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint2 last[SPAN * SIMDGROUPS];
    word64 sum = begun(before[0], before[1]);
    if (group > 0) {
        word64 earlier = overLanes(id < group ? whole(parts[id]) : 0);
        if (lane == 0) {
            last[simdgroup] = halves(earlier);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < SIMDGROUPS; ++i) {
            sum = plus(sum, whole(last[i]));
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    uint first = group * walk.tiles * THREADS * SPAN + id;
    for (uint tile = 0; tile < walk.tiles; ++tile, first += THREADS * SPAN) {
        Four steps[SPAN];
        word64 upTo[SPAN]; // this lane, from the first one of the simdgroup on
        #pragma unroll
        for (uint k = 0; k < SPAN; ++k) {
            steps[k] = vector(x, first + k * THREADS, walk.n);
            upTo[k] = total(steps[k]);
            for (uint distance = 1; distance < 32; distance *= 2) {
                uint2 v = halves(upTo[k]);
                uint2 earlier = simd_shuffle_up(v, distance);
                if (lane >= distance) {
                    upTo[k] = plus(upTo[k], whole(earlier));
                }
            }
            if (lane == 31) {
                last[k * SIMDGROUPS + simdgroup] = halves(upTo[k]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        #pragma unroll
        for (uint k = 0; k < SPAN; ++k) {
            word64 at = sum; // before the simdgroup's first lane
            for (uint i = 0; i < SIMDGROUPS; ++i) {
                if (i == simdgroup) {
                    at = sum;
                }
                sum = plus(sum, whole(last[k * SIMDGROUPS + i]));
            }
            uint2 v = halves(upTo[k]);
            uint2 earlier = simd_shuffle_up(v, 1);
            if (lane > 0) {
                at = plus(at, whole(earlier));
            }
            uint i = first + k * THREADS;
            if (4 * i < walk.n) {
                float4 out;
                at = plus(at, steps[k].a);
                out.x = cycles(at);
                at = plus(at, steps[k].b);
                out.y = cycles(at);
                at = plus(at, steps[k].c);
                out.z = cycles(at);
                at = plus(at, steps[k].d);
                out.w = cycles(at);
                y[i] = out;
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (group == groups - 1 && id == 0) {
        uint2 v = ended(sum);
        after[0] = v.x;
        after[1] = v.y;
    }
}
