#include <metal_stdlib>
using namespace metal;

#ifndef BANDS // compiled alone, without a launch to say how
#define BANDS 128
#define COEFFICIENTS 13
#define FRAMES 32
#define PER_THREAD 4
#define VECTORS 8
#define THREADS 128
#endif

#define LEAST 1e-10f
#define TOP_POWER 1e-8f // 80 dB below the peak

// greater takes the other value if this one is a NaN.
static inline float greater(float m, float v) { return v > m ? v : m; }

// peak_of returns the greatest of vector i of n powers and m. What lies behind the last one does not count.
static inline float peak_of(device const float4* x, uint i, uint n, float m) {
    uint first = 4 * i;
    if (first >= n) return m;
    float4 v = x[i];
    m = greater(m, v.x);
    if (first + 1 < n) m = greater(m, v.y);
    if (first + 2 < n) m = greater(m, v.z);
    if (first + 3 < n) m = greater(m, v.w);
    return m;
}

// peaks leaves the greatest power that each threadgroup finds among its share of n powers, at least LEAST.
kernel void peaks(device float* y [[buffer(0)]],
                  device const float4* x [[buffer(1)]],
                  constant uint& n [[buffer(2)]],
                  uint group [[threadgroup_position_in_grid]],
                  uint groups [[threadgroups_per_grid]],
                  uint index [[thread_position_in_threadgroup]],
                  uint width [[threads_per_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float each[32];
    float m[VECTORS];
    for (uint k = 0; k < VECTORS; ++k) m[k] = LEAST;
    uint step = width * VECTORS, vectors = (n + 3) / 4;
    for (uint start = group * step; start < vectors; start += groups * step) {
        for (uint k = 0; k < VECTORS; ++k) m[k] = peak_of(x, start + k * width + index, n, m[k]);
    }
    for (uint k = 1; k < VECTORS; ++k) m[0] = greater(m[0], m[k]);
    float most = simd_max(m[0]);
    if (lane == 0) each[simdgroup] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    most = simd_max(lane < width / 32 ? each[lane] : LEAST);
    if (index == 0) y[group] = most;
}

// The logarithms of FRAMES frames lie in threadgroup memory, PITCH apart. The matrix of the cosines, COEFFICIENTS×PADDED, has
// zeros for the values past the last band, which are zeros too. A thread sums PER_THREAD coefficients of one frame at a
// time. Threads with the same coefficients are neighbours and have different frames, so that they read the same cosines.
#define PADDED ((BANDS + 3) / 4 * 4)
#define PITCH (PADDED + 1)
#define SLOTS (THREADS / FRAMES)

struct Shape {
    uint frames, peaks;
};

kernel void coefficients(device float* y [[buffer(0)]],
                         device const float* x [[buffer(1)]],
                         device const float* peaks [[buffer(2)]],
                         device const float4* matrix [[buffer(3)]],
                         constant Shape& shape [[buffer(4)]],
                         uint group [[threadgroup_position_in_grid]],
                         uint index [[thread_position_in_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float tile[FRAMES * PITCH];
    float peak = LEAST;
    for (uint i = lane; i < shape.peaks; i += 32) peak = greater(peak, peaks[i]);
    float least = max(LEAST, simd_max(peak) * TOP_POWER);

    uint first = group * FRAMES, frames = min(shape.frames - first, uint(FRAMES));
    device const float* powers = x + size_t(first) * BANDS;
    for (uint i = index; i < FRAMES * BANDS; i += THREADS) {
        float v = i < frames * BANDS ? powers[i] : 1.0f;
        tile[i / BANDS * PITCH + i % BANDS] = precise::log2(v < least ? least : v);
    }
#if PADDED > BANDS
    for (uint i = index; i < FRAMES * (PADDED - BANDS); i += THREADS) {
        tile[i / (PADDED - BANDS) * PITCH + BANDS + i % (PADDED - BANDS)] = 0.0f;
    }
#endif
    threadgroup_barrier(mem_flags::mem_threadgroup);

    uint frame = index % FRAMES, row = frame * PITCH;
    for (uint k = index / FRAMES * PER_THREAD; k < COEFFICIENTS; k += SLOTS * PER_THREAD) {
        float sum[PER_THREAD];
        for (uint c = 0; c < PER_THREAD; ++c) sum[c] = 0.0f;
        for (uint m = 0; m < PADDED / 4; ++m) {
            float v0 = tile[row + 4 * m], v1 = tile[row + 4 * m + 1], v2 = tile[row + 4 * m + 2], v3 = tile[row + 4 * m + 3];
            for (uint c = 0; c < PER_THREAD; ++c) {
                float4 w = matrix[min(k + c, uint(COEFFICIENTS - 1)) * (PADDED / 4) + m];
                sum[c] = fma(v0, w.x, fma(v1, w.y, fma(v2, w.z, fma(v3, w.w, sum[c]))));
            }
        }
        if (frame >= frames) continue;
        device float* out = y + size_t(first + frame) * COEFFICIENTS;
        for (uint c = 0; c < PER_THREAD; ++c) {
            if (k + c < COEFFICIENTS) out[k + c] = sum[c];
        }
    }
}
