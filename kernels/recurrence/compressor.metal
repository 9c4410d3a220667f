
#ifndef FOLLOWER // compiled alone, without follower.metal before it
#include "follower.metal"
#endif

struct Filter {
    float attack, release;
    float quiet;        // a magnitude that is not lowered, just below those that are
    float threshold;    // decibels
    float half_knee;    // decibels
    float curve;        // of the knee: (1 - 1/ratio) / (4·half_knee), or 0
    float slope;        // 1 - 1/ratio
    float per_decibel;  // nepers
    float makeup;       // nepers
};

static inline float2 begun(Filter, device const State* from) { return at(from); }

static inline float sample(Filter f, thread float2& s, float x) {
    float lowered = 0.0f;
    if (!(fabs(x) < f.quiet)) {
        float over = precise::log(fabs(x)) / f.per_decibel - f.threshold;
        float knee = over + f.half_knee;
        lowered = over <= f.half_knee ? f.curve * knee * knee : f.slope * over;
    }
    follow(s, lowered, f.attack, f.release);
    return x * precise::exp(f.makeup - s.x * f.per_decibel);
}

static inline void keep(Filter, float2 s, device State* to) { leave(s, to); }
