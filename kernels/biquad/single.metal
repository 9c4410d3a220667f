
#ifndef SECTION // compiled alone, without section.metal before it
#include "section.metal"
#endif

// A filter of one section, for rows.metal.

#define SINGLE // for the texts that go on from here
#define MEMORY float2

struct Filter {
    float b0, c1, c2, e1, e2, turn;
};

static inline Section section_of(Filter f) {
    Section section;
    section.b0 = f.b0;
    section.c1 = f.c1;
    section.c2 = f.c2;
    section.e1 = f.e1;
    section.e2 = f.e2;
    section.turn = f.turn;
    return section;
}

static inline float2 begun(Filter f, device const State* from) { return begun(section_of(f), from); }

static inline float sample(Filter f, thread float2& s, float x) { return sample(section_of(f), s, x); }

static inline void keep(Filter f, float2 s, device State* to) { keep(section_of(f), s, to); }
