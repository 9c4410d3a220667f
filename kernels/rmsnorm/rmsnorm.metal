#include <metal_stdlib>
using namespace metal;

#ifndef WIDTH // compiled alone, without a launch to say how
#define WIDTH 4
#endif

// An element is WIDTH values: four where the rows are whole vectors, else one.
#if WIDTH == 4
typedef float4 element;
#else
typedef float element;
#endif

static inline float total(float v) { return v; }
static inline float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// rms_norm: one threadgroup a row, which is one simdgroup where the row is short.
[[max_total_threads_per_threadgroup(1024)]]
kernel void rms_norm(device float* y [[buffer(0)]], device const float* x [[buffer(1)]],
                     device const float* w [[buffer(2)]], constant uint& elements [[buffer(3)]],
                     constant float& epsilon [[buffer(4)]], uint row [[threadgroup_position_in_grid]],
                     uint index [[thread_position_in_threadgroup]], uint width [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[32];
    device const element* from = (device const element*)x + size_t(row) * elements;
    device element* to = (device element*)y + size_t(row) * elements;
    device const element* weights = (device const element*)w;
    element squares = element(0.0f);
    for (uint j = index; j < elements; j += width) squares += from[j] * from[j];
    float sum = simd_sum(total(squares));
    if (lane == 0) sums[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < width / 32 ? sums[lane] : 0.0f);
    float factor = precise::rsqrt(sum / float(elements * WIDTH) + epsilon);
    for (uint j = index; j < elements; j += width) to[j] = from[j] * factor * weights[j];
}
