#include <metal_stdlib>
using namespace metal;

#ifndef WIDTH // compiled alone, without a launch to say how
#define WIDTH 4
#define PER_THREAD 16
#define CANDIDATES 1024
#define FROM_ENTRIES 0
#define LAST 1
#endif

// The k best values of each row. A threadgroup of 256 threads takes 256·PER_THREAD values of a row and leaves its k best, in
// order. The k-th of the threads' greatest values is a bound: at least k values are no worse, and all of them are among the
// k·PER_THREAD values of k threads. These candidates, most often hardly more than k, are ranked by comparing each with each.
// A row of several threadgroups takes further launches (FROM_ENTRIES), which do the same with what the threadgroups left. The
// last one (LAST) writes the results.

constant uint threads = 256;

struct Shape {
    uint columns, n, k, parts; // values of a row; of these or of entries, what a row has here; wanted; threadgroups a row
    float per_temperature;     // 1/temperature
};

// key_of orders values as unsigned integers: as the values themselves, with 0 and -0 equal, and a NaN above all of them. It is
// never 0.
static inline uint key_of(float v) {
    uint bits = as_type<uint>(v);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0xffffffff;
    if (bits == 0x80000000) bits = 0;
    return (bits & 0x80000000) != 0 ? ~bits : bits | 0x80000000;
}

// is_better compares keys and, where they are equal, indices. x is the key, y the index. No two entries have equal indices.
static inline bool is_better(uint2 a, uint2 b) { return a.x > b.x || (a.x == b.x && a.y < b.y); }

// place_of is where in its row, or among its entries, a thread's value k is. It grows with k.
static inline uint place_of(uint k, uint part, uint index) {
    uint first = part * threads * PER_THREAD;
#if WIDTH == 4
    return first + (k / 4 * threads + index) * 4 + k % 4;
#else
    return first + k * threads + index;
#endif
}

// best: entries are pairs of key and index; a key of 0 stands for none. What is not LAST writes entries alone, and what is
// LAST everything else.
kernel void best(device uint* entries [[buffer(0)]], device float* values [[buffer(1)]],
                 device uint* indices [[buffer(2)]], device uint* tokens [[buffer(3)]],
                 device const float* x [[buffer(4)]], device const uint* found [[buffer(5)]],
                 device const float* uniforms [[buffer(6)]], constant Shape& shape [[buffer(7)]],
                 uint2 group [[threadgroup_position_in_grid]], uint index [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint2 greatest[threads];
    threadgroup uint2 bound;
    threadgroup uint counts[threads / 32];
    threadgroup uint2 candidates[CANDIDATES];
    threadgroup uint2 ordered[CANDIDATES / PER_THREAD];
    uint row = group.x, part = group.y;
    uint2 mine[PER_THREAD], most = uint2(0, 0xffffffff);
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint place = place_of(k, part, index);
        mine[k] = uint2(0, 0x80000000 + place);
#if FROM_ENTRIES
        if (place < shape.n) mine[k] = ((device const uint2*)found)[size_t(row) * shape.n + place];
        if (mine[k].x == 0) mine[k].y = 0x80000000 + place;
#elif WIDTH == 1
        if (place < shape.n) mine[k] = uint2(key_of(x[size_t(row) * shape.columns + place]), place);
#endif
    }
#if !FROM_ENTRIES && WIDTH == 4
    for (uint k = 0; k < PER_THREAD; k += 4) {
        uint place = place_of(k, part, index);
        if (place >= shape.n) break;
        float4 v = ((device const float4*)x)[(size_t(row) * shape.columns + place) / 4];
        mine[k] = uint2(key_of(v.x), place);
        mine[k + 1] = uint2(key_of(v.y), place + 1);
        mine[k + 2] = uint2(key_of(v.z), place + 2);
        mine[k + 3] = uint2(key_of(v.w), place + 3);
    }
#endif
    for (uint k = 0; k < PER_THREAD; ++k) {
        if (k == 0 || is_better(mine[k], most)) most = mine[k];
    }
    greatest[index] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    uint rank = 0;
    for (uint t = 0; t < threads; ++t) rank += is_better(greatest[t], most) ? 1 : 0;
    if (rank == shape.k - 1) bound = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    uint2 least = bound;
    uint count = 0;
    for (uint k = 0; k < PER_THREAD; ++k) count += mine[k].x > 0 && !is_better(least, mine[k]) ? 1 : 0;
    uint place = simd_prefix_exclusive_sum(count);
    if (lane == 31) counts[simdgroup] = place + count;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    uint all = 0;
    for (uint s = 0; s < threads / 32; ++s) {
        if (s == simdgroup) place += all;
        all += counts[s];
    }
    for (uint k = 0; k < PER_THREAD; ++k) {
        if (mine[k].x > 0 && !is_better(least, mine[k])) candidates[place++] = mine[k];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (uint c = index; c < all; c += threads) {
        uint2 candidate = candidates[c];
        uint rank = 0;
        for (uint d = 0; d < all; ++d) rank += is_better(candidates[d], candidate) ? 1 : 0;
        if (rank < shape.k) ordered[rank] = candidate;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#if !LAST
    if (index < shape.k) {
        device uint2* to = (device uint2*)entries + (size_t(row) * shape.parts + part) * shape.k;
        to[index] = index < all ? ordered[index] : uint2(0, 0);
    }
#else
    device const float* from = x + size_t(row) * shape.columns;
    if (index < shape.k) {
        values[size_t(row) * shape.k + index] = from[ordered[index].y];
        indices[size_t(row) * shape.k + index] = ordered[index].y;
    }
    if (simdgroup > 0) return;

    // Where the first value is no finite number, so is the distance to it, and no weight is above 0.
    float first = from[ordered[0].y], total = 0.0f, sums[(CANDIDATES / PER_THREAD + 31) / 32];
    uint positive = 0, below = 0;
    for (uint b = 0; b < (CANDIDATES / PER_THREAD + 31) / 32; ++b) {
        uint j = 32 * b + lane;
        float d = j < shape.k ? (from[ordered[j].y] - first) * shape.per_temperature : -INFINITY;
        float weight = d >= -87.0f ? precise::exp(d) : 0.0f;
        positive += weight > 0.0f ? 1 : 0;
        sums[b] = total + simd_prefix_inclusive_sum(weight);
        total = simd_broadcast(sums[b], 31);
    }
    float u = uniforms[row], target = total * (u > 0.0f ? min(u, 1.0f) : 0.0f);
    for (uint b = 0; b < (CANDIDATES / PER_THREAD + 31) / 32; ++b) {
        below += 32 * b + lane < shape.k && sums[b] <= target ? 1 : 0;
    }
    positive = simd_sum(positive);
    below = simd_sum(below);
    if (lane == 0) tokens[row] = ordered[positive == 0 ? 0 : min(below, positive - 1)].y;
#endif
}
