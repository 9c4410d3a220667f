#include <metal_stdlib>
using namespace metal;

#ifndef BINS // compiled alone, without a launch to say how
#define FRAMES 4
#define BINS 1025
#define COPIED 1
#define THREADS 160
#endif

// The edges of the bands cut the bins into segments. Within segment s the weights of band s rise and those of band s−1
// fall, both on straight lines, and no other band has any: two sums over each segment make up all bands, and the
// weights need no memory. A lane takes a segment, and band s gets its falling side from the lane of segment s+1; so a
// simdgroup takes one segment more than bands, and the next one begins with its last segment again.
//
// A threadgroup of THREADS threads takes FRAMES frames of BINS bins, the powers of a bin side by side in one element.
// Where COPIED is set it copies them to threadgroup memory first, all loads before the first store, so that they are in
// flight together; where it is not, they do not fit there. The last bin lies on the last edge or above it, and has no weight.

#define WEIGHTED (BINS - 1)
#define COPIES ((WEIGHTED + THREADS - 1) / THREADS)

#if FRAMES == 4
typedef float4 element;
#elif FRAMES == 2
typedef float2 element;
#else
typedef float element;
#endif

struct Shape {
    uint frames, bands;
    uint run;  // bands of a simdgroup, at most 31
};

// A segment of `count` bins from `first` on. At its bin i the rising weight is (start + i)·rising, and the falling one
// (end − i)·falling.
struct Segment {
    uint first, count;
    float start, end, rising, falling;
};

// fetch reads a bin of one, two or four frames, of which `frames` are there. The others are 0.
static inline void fetch(thread float& p, device const float* x, uint frames) { p = frames > 0 ? x[0] : 0.0f; }
static inline void fetch(thread float2& p, device const float* x, uint frames) {
    p = float2(frames > 0 ? x[0] : 0.0f, frames > 1 ? x[BINS] : 0.0f);
}
static inline void fetch(thread float4& p, device const float* x, uint frames) {
    p = float4(frames > 0 ? x[0] : 0.0f, frames > 1 ? x[BINS] : 0.0f, frames > 2 ? x[2 * BINS] : 0.0f,
               frames > 3 ? x[3 * BINS] : 0.0f);
}

// store writes a band of one, two or four frames, `bands` apart, of which `frames` are there.
static inline void store(device float* y, float v, uint bands, uint frames) {
    if (frames > 0) y[0] = v;
}
static inline void store(device float* y, float2 v, uint bands, uint frames) {
    if (frames > 0) y[0] = v.x;
    if (frames > 1) y[bands] = v.y;
}
static inline void store(device float* y, float4 v, uint bands, uint frames) {
    store(y, float2(v.x, v.y), bands, frames);
    if (frames > 2) y[2 * bands] = v.z;
    if (frames > 3) y[3 * bands] = v.w;
}

// mel sums x, frames×BINS, into bands, y: frames×bands. There are bands+1 segments.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void mel(device float* y [[buffer(0)]],
                device const float* x [[buffer(1)]],
                device const Segment* segments [[buffer(2)]],
                constant Shape& shape [[buffer(3)]],
                uint group [[threadgroup_position_in_grid]],
                uint index [[thread_position_in_threadgroup]],
                uint lane [[thread_index_in_simdgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint frames = shape.frames - group * FRAMES;  // from the threadgroup's first one on
    device const float* power = x + size_t(group) * FRAMES * BINS;
    device float* mels = y + size_t(group) * FRAMES * shape.bands;
    uint first = simdgroup * shape.run;
    Segment segment = segments[min(first + lane, shape.bands)];
#if COPIED
    threadgroup element powers[WEIGHTED];
    element v[COPIES];
    for (uint c = 0; c < COPIES; ++c) {
        uint k = c * THREADS + index;
        if (k < WEIGHTED) fetch(v[c], power + k, frames);
    }
    for (uint c = 0; c < COPIES; ++c) {
        uint k = c * THREADS + index;
        if (k < WEIGHTED) powers[k] = v[c];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
    while (first < shape.bands) {
        element rising = element(0.0f), falling = element(0.0f);
        float up = segment.start, down = segment.end;
        uint end = lane <= shape.run ? segment.first + segment.count : segment.first;
        for (uint k = segment.first; k < end; ++k) {
            element p;
#if COPIED
            p = powers[k];
#else
            fetch(p, power + k, frames);
#endif
            rising += p * up;
            falling += p * down;
            up += 1.0f;
            down -= 1.0f;
        }
        falling = simd_shuffle_down(falling * segment.falling, 1);
        if (lane < shape.run && first + lane < shape.bands) {
            store(mels + first + lane, rising * segment.rising + falling, shape.bands, frames);
        }
        first += THREADS / 32 * shape.run;
        segment = segments[min(first + lane, shape.bands)];
    }
}
