
#ifndef VECTORS // compiled alone, without vectors.metal before it
#include "vectors.metal"
#define VECTORS 8
#define SIGN 1.0f
#endif

// extreme finds the greatest of n values, or the least if SIGN is -1, up to one value a threadgroup: see sum.
[[max_total_threads_per_threadgroup(1024)]]
kernel void extreme(device float* y [[buffer(0)]],
                    device const float4* x [[buffer(1)]],
                    constant uint& n [[buffer(2)]],
                    uint group [[threadgroup_position_in_grid]],
                    uint groups [[threadgroups_per_grid]],
                    uint index [[thread_position_in_threadgroup]],
                    uint width [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint keys[32];
    float4 most = float4(-INFINITY);
    bool nan = false;
    uint step = width * VECTORS, vectors = (n + 3) / 4;
    for (uint start = group * step; start < vectors; start += groups * step) {
        float4 v[VECTORS];
        LOAD(v, start, -INFINITY * SIGN)
        for (uint k = 0; k < VECTORS; ++k) {
            nan = nan || broken(v[k]);
            most = max(most, v[k] * SIGN);
        }
    }
    uint key = simd_max(nan ? 0xffffffffu : key_of(greatest(most)));
    if (lane == 0) keys[simdgroup] = key;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    key = simd_max(lane < width / 32 ? keys[lane] : 0u);
    if (index == 0) y[group] = value_of(key) * SIGN;
}
