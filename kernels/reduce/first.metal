
#ifndef VECTORS // compiled alone, without vectors.metal before it
#include "vectors.metal"
#define VECTORS 4
#endif

// first_greatest writes the greatest of n values, up to one value a threadgroup, and the index of the first that equals it. A
// last launch, of one threadgroup, reads those greatest values. Of those that are the same it takes the least index from
// `found`, which the threadgroups wrote.
//
// A thread remembers in which turn it met its greatest value first. If no thread has a greater one, it looks for it among that
// turn's values, and reads them again if that was not its last turn. Which values a turn reads does not depend on values, so that
// the next ones can be on their way.
static inline uint place(device const uint* found, uint i, uint last) { return last != 0 ? found[i] : i; }

[[max_total_threads_per_threadgroup(1024)]]
kernel void first_greatest(device float* values [[buffer(0)]],
                           device uint* places [[buffer(1)]],
                           device const float4* x [[buffer(2)]],
                           device const uint* found [[buffer(3)]],
                           constant uint& n [[buffer(4)]],
                           constant uint& last [[buffer(5)]],
                           uint group [[threadgroup_position_in_grid]],
                           uint groups [[threadgroups_per_grid]],
                           uint index [[thread_position_in_threadgroup]],
                           uint width [[threads_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint keys[32];
    threadgroup uint indexes[32];
    uint step = width * VECTORS, vectors = (n + 3) / 4;
    float most = -INFINITY;
    bool nan = false;
    uint turn = group * step, held = turn;
    float4 v[VECTORS];
    for (uint start = turn; start < vectors; start += groups * step) {
        LOAD(v, start, -INFINITY)
        held = start;
        float4 all = v[0];
        bool lost = nan;
        for (uint k = 0; k < VECTORS; ++k) {
            nan = nan || broken(v[k]);
            all = max(all, v[k]);
        }
        float here = greatest(all);
        if (!lost && (nan || here > most)) {
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
        if (turn != held) {
            LOAD(v, turn, -INFINITY)
        }
        for (uint k = 0; k < VECTORS; ++k) {
            uint i = turn + k * width + index;
            if (4 * i < n && key_of(v[k].x) == key) first = min(first, place(found, 4 * i, last));
            if (4 * i + 1 < n && key_of(v[k].y) == key) first = min(first, place(found, 4 * i + 1, last));
            if (4 * i + 2 < n && key_of(v[k].z) == key) first = min(first, place(found, 4 * i + 2, last));
            if (4 * i + 3 < n && key_of(v[k].w) == key) first = min(first, place(found, 4 * i + 3, last));
        }
    }
    first = simd_min(first);
    if (lane == 0) indexes[simdgroup] = first;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    first = simd_min(lane < width / 32 ? indexes[lane] : 0xffffffffu);
    if (index == 0) {
        values[group] = value_of(key);
        places[group] = first;
    }
}
