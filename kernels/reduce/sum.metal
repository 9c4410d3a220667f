
#ifndef VECTORS // compiled alone, without vectors.metal before it
#include "vectors.metal"
#define VECTORS 8
#endif

// sum adds n values, in vectors of four, up to one value a threadgroup, divided by divisor. So two launches, the second one
// of a single threadgroup, add up any number. No long chain of additions rounds in float32: a thread adds VECTORS vectors at
// a time pairwise (so it is a power of two), and the sums of those with the rounding errors kept; then simdgroups add lanes,
// and threadgroups simdgroups, pairwise again.

// both is a sum and its rounding errors in one value. Where the sum is infinite the errors are no number and do not
// count.
static inline float both(float sum, float error) { return isnan(error) ? sum : sum + error; }

[[max_total_threads_per_threadgroup(1024)]]
kernel void sum(device float* y [[buffer(0)]],
                device const float4* x [[buffer(1)]],
                constant uint& n [[buffer(2)]],
                constant float& divisor [[buffer(3)]],
                uint group [[threadgroup_position_in_grid]],
                uint groups [[threadgroups_per_grid]],
                uint index [[thread_position_in_threadgroup]],
                uint width [[threads_per_threadgroup]],
                uint lane [[thread_index_in_simdgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[32];
    float4 sum = float4(0.0f), error = float4(0.0f);
    uint step = width * VECTORS, vectors = (n + 3) / 4;
    for (uint start = group * step; start < vectors; start += groups * step) {
        float4 v[VECTORS];
        LOAD(v, start, 0.0f)
        for (uint half_count = VECTORS / 2; half_count > 0; half_count /= 2) {
            for (uint k = 0; k < half_count; ++k) v[k] += v[k + half_count];
        }
        // Knuth's sum: sum + v[0] is next + what the addition rounded away, exactly.
        float4 next = sum + v[0];
        float4 added = next - sum;
        error += (sum - (next - added)) + (v[0] - added);
        sum = next;
    }
    float total = (both(sum.x, error.x) + both(sum.y, error.y)) + (both(sum.z, error.z) + both(sum.w, error.w));
    total = simd_sum(total);
    if (lane == 0) sums[simdgroup] = total;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    total = simd_sum(lane < width / 32 ? sums[lane] : 0.0f);
    if (index == 0) y[group] = total / divisor;
}
