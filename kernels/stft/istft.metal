#include <metal_stdlib>
using namespace metal;

#ifndef VECTOR // compiled alone, without a launch to say how
#define VECTOR 4
#endif

// overlap_add adds up the samples of overlapping frames, which are rows of n values, each times its weight, and divides by the
// sum of the squared weights: frame f begins at sample f·hop - lead. A thread computes VECTOR samples side by side, which the
// same frames reach where VECTOR is 4: then it divides n, hop and lead.

#if VECTOR == 4
typedef float4 element;
#else
typedef float element;
#endif

// The least sum that is divided by.
#define LEAST_WEIGHT 1.17549435e-38f

struct Overlap {
    uint n;
    uint hop;
    uint lead;
    uint samples;
    uint frames;
};

inline float quotient(float sum, float weights) { return weights > LEAST_WEIGHT ? sum / weights : sum; }
inline float4 quotient(float4 sum, float4 weights) {
    return float4(quotient(sum.x, weights.x), quotient(sum.y, weights.y), quotient(sum.z, weights.z),
                  quotient(sum.w, weights.w));
}

kernel void overlap_add(device float* dst [[buffer(0)]],
                        device const float* rows [[buffer(1)]],
                        device const float* window [[buffer(2)]],
                        constant Overlap& shape [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
    uint at = i * VECTOR + shape.lead;
    if (i * VECTOR >= shape.samples) {
        return;
    }
    uint first = at < shape.n ? 0 : (at - shape.n) / shape.hop + 1;
    uint last = min(at / shape.hop, shape.frames - 1);
    element sum = element(0.0f), weights = element(0.0f);
    for (uint f = first; f <= last; ++f) {
        uint j = at - f * shape.hop;
        element w = *(device const element*)(window + j);
        sum += w * *(device const element*)(rows + size_t(f) * shape.n + j);
        weights += w * w;
    }
    *(device element*)(dst + i * VECTOR) = quotient(sum, weights);
}
