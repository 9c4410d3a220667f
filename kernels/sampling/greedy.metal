#include <metal_stdlib>
using namespace metal;

#ifndef WIDTH // compiled alone, without a launch to say how
#define WIDTH 4
#endif

// The greatest value of each row, the first of equals, in two launches where there are few rows: `parts` threadgroups take a
// part of a row each, and then one simdgroup a row joins their results.

struct Shape {
    uint rows, columns, parts, per_part; // columns and per_part in elements of WIDTH values
};

// key_of orders values as unsigned integers: as the values themselves, with 0 and -0 equal, and a NaN above all of them. It is
// never 0.
static inline uint key_of(float v) {
    uint bits = as_type<uint>(v);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0xffffffff;
    if (bits == 0x80000000) bits = 0;
    return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

// better keeps in best what is better: the greater key or, of equal ones, the less index. x is the key, y the index.
static inline uint2 better(uint2 best, uint2 other) {
    return other.x > best.x || (other.x == best.x && other.y < best.y) ? other : best;
}

static inline uint2 best_lane(uint2 best) {
    for (uint d = 16; d > 0; d /= 2) best = better(best, uint2(simd_shuffle_xor(best.x, d), simd_shuffle_xor(best.y, d)));
    return best;
}

// greedy: the result of the only part of a row is its index; else there are two words for each part, the key and the index.
[[max_total_threads_per_threadgroup(1024)]]
kernel void greedy(device uint* y [[buffer(0)]], device const float* x [[buffer(1)]], constant Shape& shape [[buffer(2)]],
                   uint2 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                   uint2 threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint2 bests[32];
    uint row = group.x, part = group.y, width = threads.x, end = min((part + 1) * shape.per_part, shape.columns);
    uint2 best = uint2(0, 0xffffffff);
    for (uint j = part * shape.per_part + index; j < end; j += width) {
#if WIDTH == 4
        float4 v = ((device const float4*)x)[size_t(row) * shape.columns + j];
        best = better(best, uint2(key_of(v.x), 4 * j));
        best = better(best, uint2(key_of(v.y), 4 * j + 1));
        best = better(best, uint2(key_of(v.z), 4 * j + 2));
        best = better(best, uint2(key_of(v.w), 4 * j + 3));
#else
        best = better(best, uint2(key_of(x[size_t(row) * shape.columns + j]), j));
#endif
    }
    best = best_lane(best);
    if (lane == 0) bests[simdgroup] = best;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    best = best_lane(lane < width / 32 ? bests[lane] : uint2(0, 0xffffffff));
    if (index > 0) return;
    if (shape.parts == 1) {
        y[row] = best.y;
    } else {
        ((device uint2*)y)[size_t(row) * shape.parts + part] = best;
    }
}

kernel void join_parts(device uint* y [[buffer(0)]], device const uint* parts [[buffer(1)]],
                       constant Shape& shape [[buffer(2)]], uint row [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    uint2 best = uint2(0, 0xffffffff);
    for (uint k = lane; k < shape.parts; k += 32) best = better(best, ((device const uint2*)parts)[size_t(row) * shape.parts + k]);
    best = best_lane(best);
    if (lane == 0) y[row] = best.y;
}
