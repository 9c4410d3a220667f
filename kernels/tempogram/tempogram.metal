#include <metal_stdlib>
using namespace metal;

#ifndef WINDOW // compiled alone, without a launch to say how
#define WINDOW 384
#define POINTS 1024
#define WIDTH 4
#define UNIT_ENERGY 0
#endif

// What lies around the autocorrelations of windows: WINDOW strengths each, in rows of POINTS values.

#define HALF_WINDOW (WINDOW / 2)

// strength_at returns strength t, and values on a straight line to 0 before the first one and behind the last one.
static inline float strength_at(device const float* x, int count, int t) {
    if (t < 0) return x[0] * (float(t + HALF_WINDOW) / float(HALF_WINDOW));
    if (t >= count) return x[count - 1] * (float(count - 1 + HALF_WINDOW - t) / float(HALF_WINDOW));
    return x[t];
}

static inline float windowed(device const float* x, device const float* window, int count, int first, uint j) {
    return j < WINDOW ? window[j] * strength_at(x, count, first + int(j)) : 0.0f;
}

// cut writes the windowed strengths around a frame, divided by their greatest magnitude or, with UNIT_ENERGY, by the root of
// their energy, and zeros behind them. One simdgroup a frame. Values that are silent become 0. If one is not finite, all become
// NaN.
kernel void cut(device float4* y [[buffer(0)]],
                device const float* x [[buffer(1)]],
                device const float* window [[buffer(2)]],
                constant uint& frames [[buffer(3)]],
                uint group [[threadgroup_position_in_grid]],
                uint width [[threads_per_threadgroup]],
                uint lane [[thread_index_in_simdgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint frame = group * (width / 32) + simdgroup;
    if (frame >= frames) return;
    int first = int(frame) - HALF_WINDOW, count = int(frames);
    float most = 0.0f;
    int strange = 0;
    for (uint j = lane; j < WINDOW; j += 32) {
        float v = windowed(x, window, count, first, j);
        most = max(most, abs(v));
        if (!isfinite(v)) strange = 1;
    }
    most = simd_max(most);
    if (simd_max(strange) != 0) most = NAN;
    bool silent = most < 1e-30f;
    float gain = 1.0f;
#if UNIT_ENERGY
    float energy = 0.0f;
    for (uint j = lane; j < WINDOW; j += 32) {
        float v = windowed(x, window, count, first, j) / most;
        energy += v * v;
    }
    gain = precise::rsqrt(simd_sum(energy));
#endif
    for (uint v = lane; v < POINTS / 4; v += 32) {
        float4 now = float4(windowed(x, window, count, first, 4 * v), windowed(x, window, count, first, 4 * v + 1),
                            windowed(x, window, count, first, 4 * v + 2), windowed(x, window, count, first, 4 * v + 3));
        y[size_t(frame) * (POINTS / 4) + v] = silent ? float4(0.0f) : now / most * gain;
    }
}

// divide writes the lags of each row, divided by its first one: one thread for WIDTH of them.
kernel void divide(device float* y [[buffer(0)]],
                   device const float* x [[buffer(1)]],
                   constant uint& values [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= values) return;
    device const float* row = x + size_t(i / (WINDOW / WIDTH)) * POINTS;
    uint k = i % (WINDOW / WIDTH);
    float by = row[0] != 0.0f ? 1.0f / row[0] : 0.0f;
#if WIDTH == 4
    ((device float4*)y)[i] = ((device const float4*)row)[k] * by;
#else
    y[i] = row[k] * by;
#endif
}
