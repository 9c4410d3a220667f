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
// A row is vectors of four samples; where n is no multiple of four, what lies past it is padding that nobody reads.

#define SECTION // for the texts that go on from here

struct Section {
    float b0, c1, c2, e1, e2, turn;
};

struct Shape {
    uint channels;
    uint n;        // samples a channel
    uint vectors;  // a channel
};

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

// A state that has decayed to nothing ends in zeros: the next call may run on a processor that denormals slow down.
static inline float2 settled(float2 s) {
    bool silent = fabs(s.x) < 1e-30f && fabs(s.y) < 1e-30f;
    return silent ? float2(0.0f, 0.0f) : s;
}
