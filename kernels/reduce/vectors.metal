#include <metal_stdlib>
using namespace metal;

// vector_of returns vector i of n values. What lies behind the last value is not the caller's, and none takes its place.
static inline float4 vector_of(device const float4* x, uint i, uint n, float none) {
    uint first = 4 * i;
    if (first >= n) return float4(none);
    float4 v = x[i];
    if (first + 1 >= n) v.y = none;
    if (first + 2 >= n) v.z = none;
    if (first + 3 >= n) v.w = none;
    return v;
}

// LOAD loads the VECTORS vectors that a thread has from `start` on, `width` apart. Where all threads have whole vectors only,
// none compares an index with n.
#define LOAD(v, start, none)                                          \
    if (4 * ((start) + width * VECTORS) <= n) {                       \
        for (uint k = 0; k < VECTORS; ++k) {                          \
            v[k] = x[(start) + k * width + index];                    \
        }                                                             \
    } else {                                                          \
        for (uint k = 0; k < VECTORS; ++k) {                          \
            v[k] = vector_of(x, (start) + k * width + index, n, none); \
        }                                                             \
    }

// Extremes are exact, so their order of evaluation is free. Within a thread they are floats, and a flag says that there was a
// NaN. Between threads they are keys: integers in the order of the floats, with NaN above all of them and one key for both
// zeros.
static inline uint key_of(float v) {
    uint bits = as_type<uint>(v);
    if (isnan(v)) return 0xffffffffu;
    if (v == 0.0f) return 0x80000000u;
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
static inline float value_of(uint key) {
    if (key == 0xffffffffu) return NAN;
    return as_type<float>((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

static inline bool broken(float4 v) { return isnan(v.x) || isnan(v.y) || isnan(v.z) || isnan(v.w); }
static inline float greatest(float4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }
