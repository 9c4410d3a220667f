
#ifndef WORDS // compiled alone, without words.metal before it
#include "words.metal"
#endif

// The least filter, y <- gain·y + x, which stands for others where rows.metal is compiled alone, and in tests.

#define MEMORY float // for rows.metal

struct Filter {
    float gain;
};

struct State {
    uint low, high;
};

static inline float begun(Filter, device const State* from) { return halves(from->low, from->high).x; }

static inline float sample(Filter f, thread float& s, float x) {
    s = f.gain * s + x;
    return s;
}

static inline void keep(Filter, float s, device State* to) {
    uint2 w = words(s, 0.0f);
    to->low = w.x;
    to->high = w.y;
}
