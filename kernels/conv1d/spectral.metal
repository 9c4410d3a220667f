#include <metal_stdlib>
using namespace metal;

#ifndef SPAN // compiled alone, without a launch to say how
#define SPAN 4
#endif

// Convolution by the convolution theorem, with transforms that other kernels compute.

static inline float2 times(float2 a, float2 b) { return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

// One transform for the whole signal. It is padded with zeros to 2·points samples and taken as `points` complex values,
// the even samples in the real parts and the odd ones in the imaginary parts. Its transform z holds the real signal's
// bins k and points-k at these two places.

// The first n samples of x, and zeros behind them.
kernel void pad(device float* z [[buffer(0)]],
                device const float* x [[buffer(1)]],
                constant uint& n [[buffer(2)]],
                constant uint& length [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i < length) {
        z[i] = i < n ? x[i] : 0.0f;
    }
}

// The product with the filter, packed again, and conjugate: the transform of the conjugate is the conjugate of the
// inverse transform. filter[k] holds the filter's bins k and points-k, the latter conjugate, a quarter of their values;
// roots[k] is exp(-pi·i·k / points).
kernel void filtered(device float2* out [[buffer(0)]],
                     device const float2* z [[buffer(1)]],
                     device const float4* filter [[buffer(2)]],
                     device const float2* roots [[buffer(3)]],
                     constant uint& points [[buffer(4)]],
                     uint k [[thread_position_in_grid]]) {
    if (k > points / 2) {
        return;
    }
    uint mirror = k == 0 ? 0 : points - k;
    float2 root = roots[k], a = z[k], b = z[mirror];
    // Twice the bins k and points-k, the latter conjugate.
    float2 even = float2(a.x + b.x, a.y - b.y);
    float2 odd = times(root, float2(a.y + b.y, b.x - a.x));
    float4 f = filter[k];
    float2 low = times(even + odd, float2(f.x, f.y));
    float2 high = times(even - odd, float2(f.z, f.w));
    even = low + high;
    odd = times(float2(root.x, -root.y), low - high);
    out[k] = float2(even.x - odd.y, -(even.y + odd.x));
    out[mirror] = float2(even.x + odd.y, even.y - odd.x);
}

// The first n samples of z, no longer conjugate.
kernel void crop(device float* y [[buffer(0)]],
                 device const float* z [[buffer(1)]],
                 constant uint& n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = i % 2 == 0 ? z[i] : -z[i];
    }
}

// The sums of products of windows and partitions, row t of which is the sum over p of windows[t+partitions-1-p] times
// filter[p], rows of `points` complex values each. A thread has a value of SPAN successive rows, and the windows that
// they meet next in a ring of registers.

struct Sums {
    uint points;
    uint rows;
    uint partitions;
};

kernel void products(device float2* out [[buffer(0)]],
                     device const float2* windows [[buffer(1)]],
                     device const float2* filter [[buffer(2)]],
                     constant Sums& p [[buffer(3)]],
                     uint i [[thread_position_in_grid]]) {
    uint k = i % p.points;
    uint first = i / p.points * SPAN;
    if (first >= p.rows) {
        return;
    }
    uint last = p.rows + p.partitions - 2;
    uint latest = first + p.partitions - 1;  // the window that the first row meets with the first partition
    float2 sum[SPAN];
    float2 ring[SPAN];
    for (uint q = 0; q < SPAN; ++q) {
        sum[q] = float2(0.0f, 0.0f);
        ring[q] = windows[min(latest + q, last) * p.points + k];
    }
    for (uint start = 0; start < p.partitions; start += SPAN) {
        #pragma unroll
        for (uint turn = 0; turn < SPAN; ++turn) {
            uint partition = start + turn;
            if (partition >= p.partitions) {
                break;
            }
            float2 f = filter[partition * p.points + k];
            #pragma unroll
            for (uint q = 0; q < SPAN; ++q) {
                float2 v = ring[(q + SPAN - turn) % SPAN];
                sum[q].x = fma(v.x, f.x, fma(-v.y, f.y, sum[q].x));
                sum[q].y = fma(v.x, f.y, fma(v.y, f.x, sum[q].y));
            }
            // The window before the earliest one takes the place of the latest.
            if (partition + 1 < p.partitions) {
                ring[SPAN - 1 - turn] = windows[(latest - partition - 1) * p.points + k];
            }
        }
    }
    for (uint q = 0; q < SPAN; ++q) {
        if (first + q < p.rows) {
            out[(first + q) * p.points + k] = sum[q];
        }
    }
}
