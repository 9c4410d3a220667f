#include <metal_stdlib>
using namespace metal;

// A section filters rows of samples, one row a channel, each from a state of its own:
//
//     y = b0·x + s1,   s1 <- turn·s1 + (c1·x - e1·s1 + s2),   s2 <- turn·s2 + (c2·x - e2·s1)
//
// This is the transposed direct form in powers of z - turn in place of z, where turn is 1 or -1, whichever is nearer to the
// poles. There the usual state and the coefficients a1 and a2 nearly cancel, and float has no digits for that. These e1 and
// e2 are how far the poles are from turn, and are as exact as any float.
// Source: R. H. Middleton, G. C. Goodwin, Digital Control and Estimation: A Unified Approach, Prentice Hall 1990.
//
// A row is vectors of four samples. Where n is no multiple of four, what the last one holds past the row is undefined, or
// the next row's, and reaches no result. WHOLE says that every row begins with a whole vector: n is a multiple of four, or
// there is one row. Else vectors are read and written sample by sample.

#define SECTION // for the texts that go on from here

#ifndef WHOLE // compiled alone, without a launch to say so
#define WHOLE 0
#endif

struct Section {
    float b0, c1, c2, e1, e2, turn;
};

struct Shape {
    uint channels;
    uint n;        // samples a channel
    uint vectors;  // a channel
};

// The state of a channel as the host has it: the usual s1 and s2, both float64, whose words are these.
struct State {
    uint low1, high1, low2, high2;
};

// A float64 as the sum of two float, which is exact to 47 of its 53 bits. What is beyond the range of float is infinite
// or 0.
static inline float2 halves(uint low, uint high) {
    uint sign = high & 0x80000000u, exponent = high >> 20 & 0x7ffu;
    if (exponent <= 896u) {
        return float2(0.0f, 0.0f);
    }
    if (exponent >= 1151u) {
        bool number = exponent < 0x7ffu || ((high & 0xfffffu) | low) == 0;
        return float2(as_type<float>(sign | (number ? 0x7f800000u : 0x7fc00000u)), 0.0f);
    }
    uint power = sign | (exponent - 896u) << 23; // the power of two below it
    return float2(as_type<float>(power | (high & 0xfffffu) << 3 | low >> 29),
                  (float)(low & 0x1fffffffu) * 2.220446049250313e-16f * as_type<float>(power));
}

// The words of the float64 that is a + rest, low before high; |rest| is at most half a unit in a's last place.
static inline uint2 words(float a, float rest) {
    uint bits = as_type<uint>(a), sign = bits & 0x80000000u, exponent = bits >> 23 & 0xffu, mantissa = bits & 0x7fffffu;
    if (exponent == 0) {
        return uint2(0, sign);
    }
    if (exponent == 255) {
        return uint2(mantissa << 29, sign | 0x7ff00000u | mantissa >> 3);
    }
    uint low = mantissa << 29, high = (exponent + 896u) << 20 | mantissa >> 3;
    // The rest in units of the float64's last place, which are half as long below a power of two.
    float units = rest * as_type<float>((254u - exponent) << 23) * 4503599627370496.0f;
    units = sign != 0 ? -units : units;
    if (units < 0.0f) {
        uint less = (uint)rint(mantissa == 0 ? -2.0f * units : -units);
        high -= low < less ? 1 : 0;
        low -= less;
    } else {
        low += (uint)rint(units);
    }
    return uint2(low, sign | high);
}

// The state that a channel begins with. Where s1 and s2 nearly cancel, their upper halves do so exactly.
static inline float2 begun(Section f, device const State* from) {
    float2 s1 = halves(from->low1, from->high1), s2 = halves(from->low2, from->high2);
    return float2(s1.x + s1.y, (s2.x + f.turn * s1.x) + (s2.y + f.turn * s1.y));
}

static inline float4 load(device const float4* x, Shape shape, uint row, uint i) {
#if WHOLE
    return x[row * shape.vectors + i];
#else
    device const float* from = (device const float*)x + size_t(row) * shape.n + 4 * i;
    uint count = shape.n - 4 * i;
    return float4(from[0], count > 1 ? from[1] : 0.0f, count > 2 ? from[2] : 0.0f, count > 3 ? from[3] : 0.0f);
#endif
}

static inline void store(device float4* y, Shape shape, uint row, uint i, float4 v) {
#if WHOLE
    y[row * shape.vectors + i] = v;
#else
    device float* to = (device float*)y + size_t(row) * shape.n + 4 * i;
    uint count = shape.n - 4 * i;
    to[0] = v.x;
    if (count > 1) { to[1] = v.y; }
    if (count > 2) { to[2] = v.z; }
    if (count > 3) { to[3] = v.w; }
#endif
}

static inline float sample(Section f, thread float2& s, float x) {
    float y = f.b0 * x + s.x;
    float next = f.turn * s.x + ((f.c1 * x + s.y) - f.e1 * s.x);
    s.y = f.turn * s.y + (f.c2 * x - f.e2 * s.x);
    s.x = next;
    return y;
}

static inline float4 samples(Section f, thread float2& s, float4 x) {
    float4 y;
    y.x = sample(f, s, x.x);
    y.y = sample(f, s, x.y);
    y.z = sample(f, s, x.z);
    y.w = sample(f, s, x.w);
    return y;
}

// The first `count` samples of a vector, which is the last one of a row.
static inline float4 someSamples(Section f, thread float2& s, float4 x, uint count) {
    float4 y = float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (count > 0) { y.x = sample(f, s, x.x); }
    if (count > 1) { y.y = sample(f, s, x.y); }
    if (count > 2) { y.z = sample(f, s, x.z); }
    if (count > 3) { y.w = sample(f, s, x.w); }
    return y;
}

// Writes the state that a channel ends with, for the host. One that has decayed to nothing ends in zeros: the next call may run on
// a processor that denormals slow down. The difference of the two floats is a float and what rounding it left over.
static inline void keep(Section f, float2 s, device State* to) {
    bool silent = fabs(s.x) < 1e-30f && fabs(s.y) < 1e-30f;
    s = silent ? float2(0.0f, 0.0f) : s;
    float other = -f.turn * s.x, sum = s.y + other, part = sum - s.y;
    uint2 s1 = words(s.x, 0.0f), s2 = words(sum, (s.y - (sum - part)) + (other - part));
    to->low1 = s1.x;
    to->high1 = s1.y;
    to->low2 = s2.x;
    to->high2 = s2.y;
}
