#include <metal_stdlib>
using namespace metal;

// The words of a float64, which is what a state is for the host, and the sum of two floats, which is what a GPU computes
// with.

#define WORDS // for the texts that go on from here

// A float64 as the sum of two float, which is exact to 47 of its 53 bits. What is beyond the range of float is infinite
// or 0.
static inline float2 halves(uint low, uint high) {
    uint sign = high & 0x80000000u, exponent = high >> 20 & 0x7ffu;
    if (exponent <= 896u) {
        return float2(0.0f, 0.0f);
    }
    if (exponent >= 1151u) {
        bool number = exponent < 0x7ffu || ((high & 0xfffffu) | low) == 0;
        return float2(as_type<float>(sign | (number ? 0x7f800000u : 0x7fc00000u)), 0.0f);
    }
    uint power = sign | (exponent - 896u) << 23; // the power of two below it
    return float2(as_type<float>(power | (high & 0xfffffu) << 3 | low >> 29),
                  (float)(low & 0x1fffffffu) * 2.220446049250313e-16f * as_type<float>(power));
}

// The words of the float64 that is a + rest, low before high; |rest| is at most half a unit in a's last place.
static inline uint2 words(float a, float rest) {
    uint bits = as_type<uint>(a), sign = bits & 0x80000000u, exponent = bits >> 23 & 0xffu, mantissa = bits & 0x7fffffu;
    if (exponent == 0) {
        return uint2(0, sign);
    }
    if (exponent == 255) {
        return uint2(mantissa << 29, sign | 0x7ff00000u | mantissa >> 3);
    }
    uint low = mantissa << 29, high = (exponent + 896u) << 20 | mantissa >> 3;
    // The rest in units of the float64's last place, which are half as long below a power of two.
    float units = rest * as_type<float>((254u - exponent) << 23) * 4503599627370496.0f;
    units = sign != 0 ? -units : units;
    if (units < 0.0f) {
        uint less = (uint)rint(mantissa == 0 ? -2.0f * units : -units);
        high -= low < less ? 1 : 0;
        low -= less;
    } else {
        low += (uint)rint(units);
    }
    return uint2(low, sign | high);
}
