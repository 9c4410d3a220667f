#include <metal_stdlib>
using namespace metal;

// Complex arithmetic and the transforms of a few points, in registers, which the texts that begin with this one share.

#define UNROLL _Pragma("unroll")

inline float2 product(float2 a, float2 b) {
    return float2(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x));
}

inline float2 swapped(float2 a) { return float2(a.y, a.x); }

// a times exp(-2·pi·i / 4).
inline float2 quarter(float2 a) { return float2(a.y, -a.x); }

// a times exp(-2·pi·i / 8) and times exp(-2·pi·i · 3/8).
inline float2 eighth(float2 a) { return float2(a.x + a.y, a.y - a.x) * M_SQRT1_2_F; }
inline float2 three_eighths(float2 a) { return float2(a.y - a.x, -(a.x + a.y)) * M_SQRT1_2_F; }

// dft transforms v[0], v[S], … v[(R-1)·S] in place, in order.

template <uint S>
inline void dft2(thread float2* v) {
    float2 a = v[0];
    v[0] = a + v[S];
    v[S] = a - v[S];
}

template <uint S>
inline void dft4(thread float2* v) {
    float2 a = v[0] + v[2 * S], b = v[0] - v[2 * S];
    float2 c = v[S] + v[3 * S], d = quarter(v[S] - v[3 * S]);
    v[0] = a + c;
    v[S] = b + d;
    v[2 * S] = a - c;
    v[3 * S] = b - d;
}

template <uint S>
inline void dft8(thread float2* v) {
    dft4<2 * S>(v);
    dft4<2 * S>(v + S);
    // Half of the odd points are turned by an eighth as well. Their factor is multiplied when they are added.
    float2 b = v[3 * S], d = v[7 * S];
    float2 odd[4] = {v[S], float2(b.x + b.y, b.y - b.x), quarter(v[5 * S]), float2(d.y - d.x, -(d.x + d.y))};
    float2 even[4] = {v[0], v[2 * S], v[4 * S], v[6 * S]};
    UNROLL
    for (uint q = 0; q < 4; ++q) {
        float factor = q % 2 == 1 ? M_SQRT1_2_F : 1.0f;
        v[q * S] = fma(odd[q], float2(factor), even[q]);
        v[(q + 4) * S] = fma(odd[q], float2(-factor), even[q]);
    }
}

template <uint S>
inline void dft16(thread float2* v) {
    const float2 first = float2(0.923879532511286756f, -0.382683432365089772f);
    const float2 third = float2(0.382683432365089772f, -0.923879532511286756f);
    UNROLL
    for (uint q = 0; q < 4; ++q) {
        dft4<4 * S>(v + q * S);
    }
    v[5 * S] = product(v[5 * S], first);
    v[6 * S] = eighth(v[6 * S]);
    v[7 * S] = product(v[7 * S], third);
    v[9 * S] = eighth(v[9 * S]);
    v[10 * S] = quarter(v[10 * S]);
    v[11 * S] = three_eighths(v[11 * S]);
    v[13 * S] = product(v[13 * S], third);
    v[14 * S] = three_eighths(v[14 * S]);
    v[15 * S] = product(v[15 * S], float2(0.0f, 0.0f) - first);
    UNROLL
    for (uint q = 0; q < 4; ++q) {
        dft4<S>(v + 4 * q * S);
    }
    UNROLL
    for (uint q = 0; q < 4; ++q) {
        UNROLL
        for (uint k = 0; k < q; ++k) {
            float2 a = v[(4 * q + k) * S];
            v[(4 * q + k) * S] = v[(4 * k + q) * S];
            v[(4 * k + q) * S] = a;
        }
    }
}
