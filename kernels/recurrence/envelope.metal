
#ifndef FOLLOWER // compiled alone, without follower.metal before it
#include "follower.metal"
#endif

struct Filter {
    float attack, release;
};

static inline float2 begun(Filter, device const State* from) { return at(from); }

static inline float sample(Filter f, thread float2& e, float x) {
    follow(e, fabs(x), f.attack, f.release);
    return e.x;
}

static inline void keep(Filter, float2 e, device State* to) { leave(e, to); }
