
#ifndef WORDS // compiled alone, without words.metal before it
#include "launch/words.metal"
#endif

#define MEMORY Stages // for rows.metal

struct Filter {
    float step, feedback;
};

struct State {
    uint low1, high1, low2, high2, low3, high3, low4, high4;
};

// The stages, each as the sum of two floats, the second of which is what rounding left over: a step of a low cutoff is less
// than float has digits for. The tangents are of the stages after the last sample.
struct Stages {
    float2 y1, y2, y3, y4;
    float t1, t2, t3, t4;
};

static inline Stages begun(Filter, device const State* from) {
    Stages s;
    s.y1 = halves(from->low1, from->high1);
    s.y2 = halves(from->low2, from->high2);
    s.y3 = halves(from->low3, from->high3);
    s.y4 = halves(from->low4, from->high4);
    s.t1 = precise::tanh(s.y1.x);
    s.t2 = precise::tanh(s.y2.x);
    s.t3 = precise::tanh(s.y3.x);
    s.t4 = precise::tanh(s.y4.x);
    return s;
}

// Moves a stage towards the tangent of the one before it, and returns the stage's own.
static inline float moved(thread float2& y, thread float& t, float from, float by) {
    float step = by * (from - t) + y.y;
    float next = y.x + step;
    y.y = step - (next - y.x);
    y.x = next;
    t = precise::tanh(next);
    return t;
}

static inline float sample(Filter f, thread Stages& s, float x) {
    float t = moved(s.y1, s.t1, precise::tanh(x - f.feedback * s.y4.x), f.step);
    t = moved(s.y2, s.t2, t, f.step);
    t = moved(s.y3, s.t3, t, f.step);
    moved(s.y4, s.t4, t, f.step);
    return s.y4.x;
}

static inline uint2 left(float2 y) { return fabs(y.x) < 1e-30f ? uint2(0, 0) : words(y.x, y.y); }

// Writes the state that a channel ends with, for the host. Values that have decayed to nothing end in zeros: the next call
// may run on a processor that denormals slow down.
static inline void keep(Filter, Stages s, device State* to) {
    uint2 y1 = left(s.y1), y2 = left(s.y2), y3 = left(s.y3), y4 = left(s.y4);
    to->low1 = y1.x;
    to->high1 = y1.y;
    to->low2 = y2.x;
    to->high2 = y2.y;
    to->low3 = y3.x;
    to->high3 = y3.y;
    to->low4 = y4.x;
    to->high4 = y4.y;
}
