
#ifndef VECTORS // compiled alone, without vectors.metal before it
#include "vectors.metal"
#define VECTORS 8
#endif

// first_greatest writes the greatest of n values, up to one value a threadgroup, and the index of the first that equals it. A
// threadgroup reads `share` vectors that lie one after the other. So of threadgroups with the same greatest value the first
// has the first place. A last launch reads those greatest values, and takes the index from `found`, which the threadgroups
// wrote.
//
// A thread remembers in which turn it met its greatest value, and reads that turn's values again if no thread has a greater
// one.
[[max_total_threads_per_threadgroup(1024)]]
kernel void first_greatest(device float* values [[buffer(0)]],
                           device uint* places [[buffer(1)]],
                           device const float4* x [[buffer(2)]],
                           device const uint* found [[buffer(3)]],
                           constant uint& n [[buffer(4)]],
                           constant uint& share [[buffer(5)]],
                           constant uint& last [[buffer(6)]],
                           uint group [[threadgroup_position_in_grid]],
                           uint index [[thread_position_in_threadgroup]],
                           uint width [[threads_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint keys[32];
    threadgroup uint indexes[32];
    uint step = width * VECTORS, end = min((group + 1) * share, (n + 3) / 4);
    float most = -INFINITY;
    bool nan = false;
    uint turn = group * share;
    for (uint start = turn; start < end && !nan; start += step) {
        float4 v[VECTORS];
        for (uint k = 0; k < VECTORS; ++k) v[k] = vector_of(x, start + k * width + index, n, -INFINITY);
        float4 all = v[0];
        for (uint k = 0; k < VECTORS; ++k) {
            nan = nan || broken(v[k]);
            all = max(all, v[k]);
        }
        float here = greatest(all);
        if (nan || here > most) {
            most = here;
            turn = start;
        }
    }
    uint own = nan ? 0xffffffffu : key_of(most);
    uint key = simd_max(own);
    if (lane == 0) keys[simdgroup] = key;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    key = simd_max(lane < width / 32 ? keys[lane] : 0u);

    uint first = 0xffffffffu;
    if (own == key) {
        for (uint k = VECTORS; k > 0; --k) {
            uint i = turn + (k - 1) * width + index;
            float4 v = vector_of(x, i, n, 0.0f);
            if (4 * i + 3 < n && key_of(v.w) == key) first = 4 * i + 3;
            if (4 * i + 2 < n && key_of(v.z) == key) first = 4 * i + 2;
            if (4 * i + 1 < n && key_of(v.y) == key) first = 4 * i + 1;
            if (4 * i < n && key_of(v.x) == key) first = 4 * i;
        }
    }
    first = simd_min(first);
    if (lane == 0) indexes[simdgroup] = first;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    first = simd_min(lane < width / 32 ? indexes[lane] : 0xffffffffu);
    if (index == 0) {
        values[group] = value_of(key);
        places[group] = last != 0 && first < n ? found[first] : first;
    }
}
