
#ifndef WORDS // compiled alone, without words.metal before it
#include "../recurrence/launch/words.metal"
#endif

// A section filters rows of samples, one row a channel, each from a state of its own:
//
//     y = b0·x + s1,   s1 <- turn·s1 + (c1·x - e1·s1 + s2),   s2 <- turn·s2 + (c2·x - e2·s1)
//
// This is the transposed direct form in powers of z - turn in place of z, where turn is 1 or -1, whichever is nearer to the
// poles. There the usual state and the coefficients a1 and a2 nearly cancel, and float has no digits for that. These e1 and
// e2 are how far the poles are from turn, and are as exact as any float.
// Source: R. H. Middleton, G. C. Goodwin, Digital Control and Estimation: A Unified Approach, Prentice Hall 1990.

#define SECTION // for the texts that go on from here

struct Section {
    float b0, c1, c2, e1, e2, turn;
};

// The state of a channel as the host has it: the usual s1 and s2, both float64, whose words are these.
struct State {
    uint low1, high1, low2, high2;
};

// The state that a channel begins with. Where s1 and s2 nearly cancel, their upper halves do so exactly.
static inline float2 begun(Section f, device const State* from) {
    float2 s1 = halves(from->low1, from->high1), s2 = halves(from->low2, from->high2);
    return float2(s1.x + s1.y, (s2.x + f.turn * s1.x) + (s2.y + f.turn * s1.y));
}

static inline float sample(Section f, thread float2& s, float x) {
    float y = f.b0 * x + s.x;
    float next = f.turn * s.x + ((f.c1 * x + s.y) - f.e1 * s.x);
    s.y = f.turn * s.y + (f.c2 * x - f.e2 * s.x);
    s.x = next;
    return y;
}

// Writes the state that a channel ends with, for the host. One that has decayed to nothing ends in zeros: the next call may run
// on a processor that denormals slow down. The difference of the two floats is a float and what rounding it left over.
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
