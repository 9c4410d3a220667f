
#ifndef WORDS // compiled alone, without words.metal before it
#include "launch/words.metal"
#endif

// e <- e + c·(v - e), where c is the attack if v > e, and else the release. e is the sum of two floats, the second of which
// is what rounding left over: a step of a slow follower is less than float has digits for.

#define FOLLOWER      // for the texts that go on from here
#define MEMORY float2 // for rows.metal

static inline void follow(thread float2& e, float v, float attack, float release) {
    float d = (v - e.x) - e.y;
    float step = (d > 0.0f ? attack : release) * d + e.y;
    float next = e.x + step;
    e.y = step - (next - e.x);
    e.x = next;
}

struct State {
    uint low, high;
};

static inline float2 at(device const State* from) { return halves(from->low, from->high); }

// Writes the state that a channel ends with, for the host. One that has decayed to nothing ends in zeros: the next call may
// run on a processor that denormals slow down.
static inline void leave(float2 e, device State* to) {
    uint2 w = words(e.x, isnan(e.y) ? 0.0f : e.y);
    bool silent = fabs(e.x) < 1e-30f;
    to->low = silent ? 0 : w.x;
    to->high = silent ? 0 : w.y;
}
