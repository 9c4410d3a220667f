
#ifndef MEMORY // compiled alone, without a filter before it
#include "leak.metal"
#endif

// Rows of samples, one row a channel, for a filter that the text before this one declares:
//
//   - Filter is what all channels have in common, and State is a channel's state for the host;
//   - MEMORY is the type of a channel's state between its samples, and STATES the number of State that it has, if not one;
//   - begun reads the state with which a channel begins, sample filters one sample, and keep writes the state.
//
// A row is vectors of four samples. Where n is no multiple of four, what the last one holds past the row is undefined, or
// the next row's, and reaches no result. WHOLE says that every row begins with a whole vector: n is a multiple of four, or
// there is one row. Else vectors are read and written sample by sample.

#ifndef STATES
#define STATES 1
#endif

#ifndef WHOLE // compiled alone, without a launch to say so
#define WHOLE 0
#endif

struct Shape {
    uint channels;
    uint n;        // samples a channel
    uint vectors;  // a channel
};

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

static inline float4 samples(Filter f, thread MEMORY& s, float4 x) {
    float4 y;
    y.x = sample(f, s, x.x);
    y.y = sample(f, s, x.y);
    y.z = sample(f, s, x.z);
    y.w = sample(f, s, x.w);
    return y;
}

// The first `count` samples of a vector, which is the last one of a row.
static inline float4 someSamples(Filter f, thread MEMORY& s, float4 x, uint count) {
    float4 y = float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (count > 0) { y.x = sample(f, s, x.x); }
    if (count > 1) { y.y = sample(f, s, x.y); }
    if (count > 2) { y.z = sample(f, s, x.z); }
    if (count > 3) { y.w = sample(f, s, x.w); }
    return y;
}
