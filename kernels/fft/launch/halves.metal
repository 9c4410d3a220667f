#include <metal_stdlib>
using namespace metal;

// Real transforms by complex ones, where the two have kernels of their own. One thread a pair of bins, or a value.

inline float2 product(float2 a, float2 b) {
    return float2(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

// unfold makes the h + 1 bins of 2·h real values of the spectrum of the h complex values that their pairs are: see
// real.metal, of which it has the table halves, for k up to h / 2.
kernel void unfold(device float2* dst [[buffer(0)]],
                   device const float2* src [[buffer(1)]],
                   device const float2* halves [[buffer(2)]],
                   constant uint& h [[buffer(3)]],
                   constant uint& values [[buffer(4)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint pairs = h / 2 + 1;
    uint row = i / pairs, k = i % pairs;
    device const float2* from = src + row * h;
    device float2* to = dst + row * (h + 1);
    float2 z = from[k];
    if (k == 0) {
        to[0] = float2(z.x + z.y, 0.0f);
        to[h] = float2(z.x - z.y, 0.0f);
        return;
    }
    float2 mirrored = from[h - k];
    float2 sum = float2(z.x + mirrored.x, z.y - mirrored.y) * 0.5f;
    float2 turned = product(float2(z.x - mirrored.x, z.y + mirrored.y), halves[k]);
    to[k] = sum + turned;
    to[h - k] = float2(sum.x - turned.x, turned.y - sum.y);
}

// widen makes complex values of real ones.
kernel void widen(device float2* dst [[buffer(0)]],
                  device const float* src [[buffer(1)]],
                  constant uint& values [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < values) {
        dst[i] = float2(src[i], 0.0f);
    }
}

// bins keeps the first n / 2 + 1 values of rows of n, n odd.
kernel void bins(device float2* dst [[buffer(0)]],
                 device const float2* src [[buffer(1)]],
                 constant uint& n [[buffer(2)]],
                 constant uint& values [[buffer(3)]],
                 uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint kept = n / 2 + 1;
    uint k = i % kept;
    float2 x = src[i / kept * n + k];
    dst[i] = k == 0 ? float2(x.x, 0.0f) : x;
}

// fold is the inverse of unfold: it makes h complex values, of which the transform has h values, of h + 1 bins.
kernel void fold(device float2* dst [[buffer(0)]],
                 device const float2* src [[buffer(1)]],
                 device const float2* halves [[buffer(2)]],
                 constant uint& h [[buffer(3)]],
                 constant uint& values [[buffer(4)]],
                 uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint pairs = h / 2 + 1;
    uint row = i / pairs, k = i % pairs;
    device const float2* from = src + row * (h + 1);
    device float2* to = dst + row * h;
    float2 x = from[k], mirrored = from[h - k];
    if (k == 0) {
        to[0] = float2(x.x + mirrored.x, x.x - mirrored.x) * 0.5f;
        return;
    }
    float2 sum = float2(x.x + mirrored.x, x.y - mirrored.y) * 0.5f;
    float2 turned = product(float2(x.x - mirrored.x, x.y + mirrored.y), float2(halves[k].x, -halves[k].y));
    to[k] = sum + turned;
    to[h - k] = float2(sum.x - turned.x, turned.y - sum.y);
}

// mirror makes rows of n values of their first n / 2 + 1 ones, n odd: the others are conjugates of these.
kernel void mirror(device float2* dst [[buffer(0)]],
                   device const float2* src [[buffer(1)]],
                   constant uint& n [[buffer(2)]],
                   constant uint& values [[buffer(3)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint given = n / 2 + 1;
    uint k = i % n;
    float2 x = src[i / n * given + min(k, n - k)];
    x.y = k == 0 ? 0.0f : k < given ? x.y : -x.y;
    dst[i] = x;
}

// narrow keeps the real parts.
kernel void narrow(device float* dst [[buffer(0)]],
                   device const float2* src [[buffer(1)]],
                   constant uint& values [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
    if (i < values) {
        dst[i] = src[i].x;
    }
}

// scaled_bins copies rows of n / 2 + 1 bins. Those that are real in the spectrum of a real row become real.
kernel void scaled_bins(device float2* dst [[buffer(0)]],
                        device const float2* src [[buffer(1)]],
                        constant uint& n [[buffer(2)]],
                        constant uint& values [[buffer(3)]],
                        constant float& factor [[buffer(4)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    float2 x = src[i];
    if (2 * (i % (n / 2 + 1)) % n == 0) {
        x.y = 0.0f;
    }
    dst[i] = x * factor;
}

kernel void scale(device float2* x [[buffer(0)]],
                  constant uint& values [[buffer(1)]],
                  constant float& factor [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < values) {
        x[i] = x[i] * factor;
    }
}
