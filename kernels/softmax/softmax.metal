#include <metal_stdlib>
using namespace metal;

#ifndef WIDTH // compiled alone, without a launch to say how
#define WIDTH 4
#define PER_THREAD 8
#endif
#ifndef LONG_THREADS // threads of a threadgroup of long_rows
#define LONG_THREADS 1024
#endif

// Rows of `columns` elements, an element being WIDTH values: four where the rows are whole vectors, else one. A thread
// keeps PER_THREAD elements of a row in registers, `stride` apart, so that memory is read once and written once; only
// rows that are cut into chunks are read twice, and long rows in part.

#if WIDTH == 4
typedef float4 element;
#else
typedef float element;
#endif

struct Shape {
    uint rows, columns;
};

static inline float largest(float v) { return v; }
static inline float largest(float4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }
static inline float total(float v) { return v; }
static inline float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// weight is e^d of a distance to the largest value of the row. Below −87 it would be a denormal, of which some devices
// make 0 and others do not: it is 0. A NaN stays one. The exponential is computed before the choice: as a branch of it, it would be
// a jump for each value, and a thread could not compute several at once.
static inline float weight(float d) {
    float w = precise::exp(d);
    return d < -87.0f ? 0.0f : w;
}
static inline float4 weight(float4 d) { return float4(weight(d.x), weight(d.y), weight(d.z), weight(d.w)); }

// take reads an element for the last time, and put writes one that this kernel does not read. Where a GPU can be told so, its cache
// keeps other data: those that are read again.
static inline element take(device const element* from) {
#ifdef CROSSOVER_STREAMING
    return streaming_load(from);
#else
    return *from;
#endif
}
static inline void put(device element* to, element v) {
#ifdef CROSSOVER_STREAMING
    streaming_store(to, v);
#else
    *to = v;
#endif
}

// fetch reads a thread's elements of a row. Past its end there is −∞: never the largest, and of weight 0.
static inline void fetch(thread element* v, device const element* row, uint first, uint stride, uint columns) {
    #pragma unroll
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint j = first + k * stride;
        v[k] = j < columns ? row[j] : element(-INFINITY);
    }
}

// fetch_last is fetch of elements that nobody reads again.
static inline void fetch_last(thread element* v, device const element* row, uint first, uint stride, uint columns) {
    #pragma unroll
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint j = first + k * stride;
        v[k] = element(-INFINITY);
        if (j < columns) v[k] = take(row + j);
    }
}

static inline float largest(thread const element* v) {
    float most = largest(v[0]);
    #pragma unroll
    for (uint k = 1; k < PER_THREAD; ++k) most = max(most, largest(v[k]));
    return most;
}

// weigh turns a thread's elements into their weights, and returns the sum of those.
static inline float weigh(thread element* v, float most) {
    float sum = 0.0f;
    #pragma unroll
    for (uint k = 0; k < PER_THREAD; ++k) {
        v[k] = weight(v[k] - most);
        sum += total(v[k]);
    }
    return sum;
}

static inline void store(device element* row, thread const element* v, float factor, uint first, uint stride,
                         uint columns) {
    #pragma unroll
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint j = first + k * stride;
        if (j < columns) row[j] = v[k] * factor;
    }
}

// store_beside is store for kernels that need the cache for what they read twice.
static inline void store_beside(device element* row, thread const element* v, float factor, uint first, uint stride,
                                uint columns) {
    #pragma unroll
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint j = first + k * stride;
        if (j < columns) put(row + j, v[k] * factor);
    }
}

// simdgroup_rows: one simdgroup a row, so that there is no barrier. columns <= 32·PER_THREAD.
kernel void simdgroup_rows(device float* y [[buffer(0)]],
                           device const float* x [[buffer(1)]],
                           constant Shape& shape [[buffer(2)]],
                           uint group [[threadgroup_position_in_grid]],
                           uint width [[threads_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint row = group * (width / 32) + simdgroup;
    if (row >= shape.rows) return;
    element v[PER_THREAD];
    fetch(v, (device const element*)x + size_t(row) * shape.columns, lane, 32, shape.columns);
    float most = simd_max(largest(v));
    float sum = simd_sum(weigh(v, most));
    store((device element*)y + size_t(row) * shape.columns, v, 1.0f / sum, lane, 32, shape.columns);
}

// threadgroup_rows: one threadgroup a row. columns <= threads·PER_THREAD. A simdgroup weighs its values against its own largest one
// as soon as it has them, while others still wait for memory. Its weights against the largest value of the row differ by a factor.
[[max_total_threads_per_threadgroup(1024)]]
kernel void threadgroup_rows(device float* y [[buffer(0)]],
                             device const float* x [[buffer(1)]],
                             constant Shape& shape [[buffer(2)]],
                             uint row [[threadgroup_position_in_grid]],
                             uint index [[thread_position_in_threadgroup]],
                             uint width [[threads_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float maxima[32];
    threadgroup float sums[32];
    element v[PER_THREAD];
    fetch(v, (device const element*)x + size_t(row) * shape.columns, index, width, shape.columns);
    float own = simd_max(largest(v));
    // Against −∞ the weights would be NaN.
    float sum = simd_sum(weigh(v, own == -INFINITY ? 0.0f : own));
    if (lane == 0) {
        maxima[simdgroup] = own;
        sums[simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bool there = lane < width / 32;
    float its = there ? maxima[lane] : -INFINITY, most = simd_max(its);
    sum = simd_sum(there ? sums[lane] * weight(its - most) : 0.0f);
    store((device element*)y + size_t(row) * shape.columns, v, weight(own - most) / sum, index, width, shape.columns);
}

// long_rows: one threadgroup a row of any length. The last LONG_THREADS·PER_THREAD elements stay in registers. The others are
// read a second time, from the last to the first, because the last ones may still be in a cache.
[[max_total_threads_per_threadgroup(LONG_THREADS)]]
kernel void long_rows(device float* y [[buffer(0)]],
                      device const float* x [[buffer(1)]],
                      constant Shape& shape [[buffer(2)]],
                      uint row [[threadgroup_position_in_grid]],
                      uint index [[thread_position_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float maxima[32];
    threadgroup float sums[32];
    device const element* from = (device const element*)x + size_t(row) * shape.columns;
    device element* to = (device element*)y + size_t(row) * shape.columns;
    const uint tile = LONG_THREADS * PER_THREAD;
    uint kept = shape.columns > tile ? shape.columns - tile : 0;
    element v[PER_THREAD];
    float own = -INFINITY, sum = 0.0f;
    for (uint start = 0;; start = min(start + tile, kept)) {
        bool last = start == kept;
        if (last) {
            fetch_last(v, from, start + index, LONG_THREADS, shape.columns);
        } else {
            fetch(v, from, start + index, LONG_THREADS, kept);
        }
        float before = own;
        own = max(own, largest(v));
        float base = own == -INFINITY ? 0.0f : own; // against −∞ the weights would be NaN
        float weights = weigh(v, base);
        sum = sum * weight(before - base) + weights;
        if (last) break;
    }
    float its = simd_max(own);
    sum = simd_sum(sum * weight(own - (its == -INFINITY ? 0.0f : its)));
    if (lane == 0) {
        maxima[simdgroup] = its;
        sums[simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bool there = lane < LONG_THREADS / 32;
    its = there ? maxima[lane] : -INFINITY;
    float most = simd_max(its);
    sum = simd_sum(there ? sums[lane] * weight(its - most) : 0.0f);
    store_beside(to, v, weight(own - most) / sum, kept + index, LONG_THREADS, shape.columns);
    for (uint start = (kept + tile - 1) / tile * tile; start > 0;) {
        start -= tile;
        fetch_last(v, from, start + index, LONG_THREADS, kept);
        weigh(v, most);
        store_beside(to, v, 1.0f / sum, start + index, LONG_THREADS, kept);
    }
}

// chunk_statistics: threadgroup (i, c) takes chunk c, threads·PER_THREAD columns, of row i, and leaves the chunk's
// largest value and the sum of its weights against that, rows×chunks.
[[max_total_threads_per_threadgroup(1024)]]
kernel void chunk_statistics(device float2* statistics [[buffer(0)]],
                             device const float* x [[buffer(1)]],
                             constant Shape& shape [[buffer(2)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint2 groups [[threadgroups_per_grid]],
                             uint index [[thread_index_in_threadgroup]],
                             uint2 threads [[threads_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float maxima[32];
    threadgroup float sums[32];
    uint row = group.x, chunk = group.y, width = threads.x;
    element v[PER_THREAD];
    fetch(v, (device const element*)x + size_t(row) * shape.columns, chunk * PER_THREAD * width + index, width,
         shape.columns);
    float most = simd_max(largest(v));
    if (lane == 0) maxima[simdgroup] = most;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    most = simd_max(lane < width / 32 ? maxima[lane] : -INFINITY);
    // Against −∞ the weights would be NaN; a chunk that holds nothing else has the sum 0.
    float sum = simd_sum(weigh(v, most == -INFINITY ? 0.0f : most));
    if (lane == 0) sums[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < width / 32 ? sums[lane] : 0.0f);
    if (index == 0) statistics[size_t(row) * groups.y + chunk] = float2(most, sum);
}

// chunk_values: the same grid, in reverse order: the chunks that were read last may still be in a cache. Every simdgroup joins the
// statistics of its row for itself, so that there is no barrier.
[[max_total_threads_per_threadgroup(1024)]]
kernel void chunk_values(device float* y [[buffer(0)]],
                         device const float* x [[buffer(1)]],
                         device const float2* statistics [[buffer(2)]],
                         constant Shape& shape [[buffer(3)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint2 groups [[threadgroups_per_grid]],
                         uint index [[thread_index_in_threadgroup]],
                         uint2 threads [[threads_per_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]]) {
    uint row = groups.x - 1 - group.x, chunks = groups.y, width = threads.x;
    uint first = (chunks - 1 - group.y) * PER_THREAD * width + index;
    element v[PER_THREAD];
    fetch_last(v, (device const element*)x + size_t(row) * shape.columns, first, width,
               shape.columns);
    device const float2* chunk = statistics + size_t(row) * chunks;
    float most = -INFINITY;
    for (uint c = lane; c < chunks; c += 32) most = max(most, chunk[c].x);
    most = simd_max(most);
    float sum = 0.0f;
    for (uint c = lane; c < chunks; c += 32) sum += chunk[c].y * weight(chunk[c].x - most);
    sum = simd_sum(sum);
    weigh(v, most);
    store_beside((device element*)y + size_t(row) * shape.columns, v, 1.0f / sum, first, width, shape.columns);
}
