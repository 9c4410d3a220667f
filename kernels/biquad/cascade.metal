
#ifndef SECTION // compiled alone, without section.metal before it
#include "section.metal"
#endif

#ifndef SECTIONS // compiled alone, without a launch to say how many
#define SECTIONS 4
#endif

// A cascade of SECTIONS sections, for rows.metal: the output of each is the input of the next. A thread has all sections of a
// channel.

#define MEMORY Cascade
#define STATES SECTIONS

struct Filter {
    float sections[192]; // six coefficients of each of at most 32 sections
};

struct Cascade {
    float2 s[SECTIONS];
};

static inline Section section_of(Filter f, uint k) {
    Section section;
    section.b0 = f.sections[6 * k];
    section.c1 = f.sections[6 * k + 1];
    section.c2 = f.sections[6 * k + 2];
    section.e1 = f.sections[6 * k + 3];
    section.e2 = f.sections[6 * k + 4];
    section.turn = f.sections[6 * k + 5];
    return section;
}

static inline Cascade begun(Filter f, device const State* from) {
    Cascade c;
    #pragma unroll
    for (uint k = 0; k < SECTIONS; ++k) {
        c.s[k] = begun(section_of(f, k), from + k);
    }
    return c;
}

static inline float sample(Filter f, thread Cascade& c, float x) {
    #pragma unroll
    for (uint k = 0; k < SECTIONS; ++k) {
        x = sample(section_of(f, k), c.s[k], x);
    }
    return x;
}

static inline void keep(Filter f, Cascade c, device State* to) {
    #pragma unroll
    for (uint k = 0; k < SECTIONS; ++k) {
        keep(section_of(f, k), c.s[k], to + k);
    }
}
