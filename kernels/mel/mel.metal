#include <metal_stdlib>
using namespace metal;

// The edges of the bands cut the bins into segments. Within segment s the weights of band s rise and those of band s−1
// fall, both on straight lines, and no other band has any: two sums over each segment make up all bands, and the
// weights need no memory. A lane takes a segment, and band s gets its falling side from the lane of segment s+1; so a
// simdgroup takes 32 segments for 31 bands, and the next one begins with the last of them again.
//
// A threadgroup takes FRAMES frames, the powers of a bin side by side in one element. It copies them to threadgroup
// memory, BINS elements; where BINS is 0 they do not fit, and stay where they are.

#if FRAMES == 4
typedef float4 element;
#elif FRAMES == 2
typedef float2 element;
#else
typedef float element;
#endif

struct Shape {
    uint frames, bins, bands;
};

// A segment of `count` bins from `first` on. At its bin i the rising weight is (start + i)·rising, and the falling one
// (end − i)·falling.
struct Segment {
    uint first, count;
    float start, end, rising, falling;
};

// fetch reads bin k of one, two or four frames. Past the last frame it repeats that.
static inline void fetch(thread float& p, device const float* x, uint frame, uint k, constant Shape& shape) {
    p = x[size_t(min(frame, shape.frames - 1)) * shape.bins + k];
}
static inline void fetch(thread float2& p, device const float* x, uint frame, uint k, constant Shape& shape) {
    float a, b;
    fetch(a, x, frame, k, shape);
    fetch(b, x, frame + 1, k, shape);
    p = float2(a, b);
}
static inline void fetch(thread float4& p, device const float* x, uint frame, uint k, constant Shape& shape) {
    float2 a, b;
    fetch(a, x, frame, k, shape);
    fetch(b, x, frame + 2, k, shape);
    p = float4(a.x, a.y, b.x, b.y);
}

// store writes a band of one, two or four frames, as far as there are so many.
static inline void store(device float* y, float v, uint frame, uint band, constant Shape& shape) {
    if (frame < shape.frames) y[size_t(frame) * shape.bands + band] = v;
}
static inline void store(device float* y, float2 v, uint frame, uint band, constant Shape& shape) {
    store(y, v.x, frame, band, shape);
    store(y, v.y, frame + 1, band, shape);
}
static inline void store(device float* y, float4 v, uint frame, uint band, constant Shape& shape) {
    store(y, float2(v.x, v.y), frame, band, shape);
    store(y, float2(v.z, v.w), frame + 2, band, shape);
}

// mel sums x, frames×bins, into bands, y: frames×bands. There are bands+1 segments.
kernel void mel(device float* y [[buffer(0)]],
                device const float* x [[buffer(1)]],
                device const Segment* segments [[buffer(2)]],
                constant Shape& shape [[buffer(3)]],
                uint group [[threadgroup_position_in_grid]],
                uint index [[thread_position_in_threadgroup]],
                uint width [[threads_per_threadgroup]],
                uint lane [[thread_index_in_simdgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint frame = group * FRAMES;
#if BINS
    threadgroup element powers[BINS];
    for (uint k = index; k < BINS; k += width) {
        element p;
        fetch(p, x, frame, k, shape);
        powers[k] = p;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
    for (uint first = simdgroup * 31; first < shape.bands; first += width / 32 * 31) {
        Segment segment = segments[min(first + lane, shape.bands)];
        element rising = element(0.0f), falling = element(0.0f);
        for (uint i = 0; i < segment.count; ++i) {
            element p;
#if BINS
            p = powers[segment.first + i];
#else
            fetch(p, x, frame, segment.first + i, shape);
#endif
            rising += p * (segment.start + float(i));
            falling += p * (segment.end - float(i));
        }
        falling = simd_shuffle_down(falling * segment.falling, 1);
        if (lane < 31 && first + lane < shape.bands) {
            store(y, rising * segment.rising + falling, frame, first + lane, shape);
        }
    }
}
