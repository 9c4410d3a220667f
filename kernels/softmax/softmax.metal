#include <metal_stdlib>
using namespace metal;

#ifndef WIDTH // compiled alone, without a launch to say how
#define WIDTH 4
#define PER_THREAD 8
#endif
#ifndef LONG_THREADS // threads of a threadgroup of long_rows, elements that each takes at a time, and whether the first of them stay
#define LONG_THREADS 1024
#define LONG_BATCH 8
#define HELD 0
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

// power is weight with fewer instructions, for the long rows: one threadgroup is all that a core has room for, so that nothing hides
// what it computes. It is a power of two, of which a GPU may have one that is 0 where it would be a denormal. Since the product is
// rounded, a weight is wrong by up to |d|·6e-8 of itself: the less it weighs, the more.
static inline float power(float d) {
    float p = d * M_LOG2E_F;
#ifdef CROSSOVER_NORMAL_EXP2
    return normal_exp2(p);
#else
    float w = precise::exp2(p);
    return p < -126.0f ? 0.0f : w;
#endif
}
static inline float4 power(float4 d) { return float4(power(d.x), power(d.y), power(d.z), power(d.w)); }

// fetch_part reads COUNT elements of a thread, LONG_THREADS apart, as far as there are any: the row's part that begins with the first
// of them has `left` elements. The others are −∞. With last, nobody reads them again.
template <int COUNT>
static inline void fetch_part(thread element* v, device const element* from, int left, bool last) {
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        v[k] = element(-INFINITY);
        if (k * LONG_THREADS < left) {
            if (last) {
                v[k] = take(from + k * LONG_THREADS);
            } else {
                v[k] = from[k * LONG_THREADS];
            }
        }
    }
}

// Statistics of what a thread has read of a row: the largest value, and the sum of the weights against that.
struct Statistics {
    float most, sum;
};

// weigh_part turns elements into their weights against the largest value so far, and adds those to the statistics.
template <int COUNT>
static inline void weigh_part(thread element* v, thread Statistics& all) {
    float before = all.most, weights = 0.0f;
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) all.most = max(all.most, largest(v[k]));
    float base = all.most == -INFINITY ? 0.0f : all.most; // against −∞ the weights would be NaN
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        v[k] = power(v[k] - base);
        weights += total(v[k]);
    }
    all.sum = all.sum * power(before - base) + weights;
}

// put_part writes weights, times a factor, to the places that fetch_part reads.
template <int COUNT>
static inline void put_part(device element* to, thread const element* v, float factor, int left) {
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        if (k * LONG_THREADS < left) put(to + k * LONG_THREADS, v[k] * factor);
    }
}

// share_part is put_part for elements that are no weights yet.
template <int COUNT>
static inline void share_part(device element* to, thread const element* v, float most, float factor, int left) {
    #pragma unroll
    for (int k = 0; k < COUNT; ++k) {
        if (k * LONG_THREADS < left) put(to + k * LONG_THREADS, power(v[k] - most) * factor);
    }
}

// long_rows: one threadgroup a row of any length. The last LONG_THREADS·PER_THREAD elements stay in registers as weights, and with
// HELD the first LONG_THREADS·LONG_BATCH in threadgroup memory, each thread its own. Those between are read a second time, from the
// last to the first, because the last ones may still be in a cache.
[[max_total_threads_per_threadgroup(LONG_THREADS)]]
kernel void long_rows(device float* y [[buffer(0)]],
                      device const float* x [[buffer(1)]],
                      constant Shape& shape [[buffer(2)]],
                      threadgroup element* held [[threadgroup(0)]],
                      uint row [[threadgroup_position_in_grid]],
                      uint index [[thread_position_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float maxima[32];
    threadgroup float sums[32];
    device const element* from = (device const element*)x + size_t(row) * shape.columns + index;
    device element* to = (device element*)y + size_t(row) * shape.columns + index;
    const int batch = LONG_THREADS * LONG_BATCH;
    int columns = int(shape.columns), own = int(index);
    int kept = max(columns - LONG_THREADS * PER_THREAD, 0); // from here on they are in registers
    Statistics all;
    all.most = -INFINITY;
    all.sum = 0.0f;
#if HELD
    int first = min(kept, batch); // from here on they are not in threadgroup memory
    element h[LONG_BATCH];
    fetch_part<LONG_BATCH>(h, from, first - own, true);
    weigh_part<LONG_BATCH>(h, all);
    float base = all.most;
    #pragma unroll
    for (int k = 0; k < LONG_BATCH; ++k) held[k * LONG_THREADS + own] = h[k];
#else
    int first = 0;
#endif
    int start = first;
    for (; start < kept; start += batch) {
        element w[LONG_BATCH];
        fetch_part<LONG_BATCH>(w, from + start, kept - start - own, false);
        weigh_part<LONG_BATCH>(w, all);
    }
    element v[PER_THREAD];
    fetch_part<PER_THREAD>(v, from + kept, columns - kept - own, true);
    weigh_part<PER_THREAD>(v, all);
    float most = simd_max(all.most);
    float sum = simd_sum(all.sum * power(all.most - (most == -INFINITY ? 0.0f : most)));
    if (lane == 0) {
        maxima[simdgroup] = most;
        sums[simdgroup] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bool there = lane < LONG_THREADS / 32;
    float its = there ? maxima[lane] : -INFINITY;
    most = simd_max(its);
    sum = simd_sum(there ? sums[lane] * power(its - most) : 0.0f);
    float share = 1.0f / sum;
    put_part<PER_THREAD>(to + kept, v, power(all.most - most) * share, columns - kept - own);
    // The first batch to be read again, if there is one, is under way while what threadgroup memory holds is written.
    start -= batch;
    int left = start < first ? 0 : kept - start - own;
    element w[LONG_BATCH];
    fetch_part<LONG_BATCH>(w, from + start, left, true);
#if HELD
    float factor = power(base - most) * share;
    #pragma unroll 4
    for (int k = 0; k < LONG_BATCH; ++k) {
        if (k * LONG_THREADS < first - own) put(to + k * LONG_THREADS, held[k * LONG_THREADS + own] * factor);
    }
#endif
    share_part<LONG_BATCH>(to + start, w, most, share, left);
    for (start -= batch; start >= first; start -= batch) { // of these batches every element is there
        element u[LONG_BATCH];
        fetch_part<LONG_BATCH>(u, from + start, batch, true);
        share_part<LONG_BATCH>(to + start, u, most, share, batch);
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
