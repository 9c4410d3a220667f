#include <metal_stdlib>
using namespace metal;

#ifndef WIDTH // compiled alone, without a launch to say how
#define WIDTH 4
#define PER_THREAD 8
#define STATISTICS 3
#define PER_CHANNEL 1
#endif

// Rows of `columns` elements, an element being WIDTH values: four where the rows are whole vectors, else one. A thread
// keeps PER_THREAD elements of a row in registers, `stride` apart. See package rowwise.

#if WIDTH == 4
typedef float4 element;
#else
typedef float element;
#endif

struct Shape {
    uint rows, columns;
};

// The weights and biases are those of the columns or, with PER_CHANNEL, of the channels: a row is a group of `channels`
// channels of `length` elements each, and there are `groups` groups before the channels start again.
struct Norm {
    float epsilon;
    uint groups, channels, length;
};

static inline float total(float v) { return v; }
static inline float total(float4 v) { return (v.x + v.y) + (v.z + v.w); }

// A State is what is known of some values, by STATISTICS:
// 0: x is the sum of squares;
// 1: x is the sum and y the sum of squares;
// 2: so are they, and z and w are what rounding took from them;
// 3: x is the number of values, y their mean, and z the sum of squares of their distances from the mean.
typedef float4 State;

#if STATISTICS == 2
// Knuth's sum: sum + v is the result and the error exactly.
static inline float error_of(float sum, float v, float result) {
    float added = result - sum;
    return (sum - (result - added)) + (v - added);
}
static inline float4 error_of(float4 sum, float4 v, float4 result) {
    float4 added = result - sum;
    return (sum - (result - added)) + (v - added);
}
static inline float of_lanes(float v, thread float& error) { return v; }
static inline float of_lanes(float4 v, thread float& error) {
    float low = v.x + v.y, high = v.z + v.w, sum = low + high;
    error += (error_of(v.x, v.y, low) + error_of(v.z, v.w, high)) + error_of(low, high, sum);
    return sum;
}
#endif

static inline State join(State a, State b) {
#if STATISTICS == 3
    float n = a.x + b.x, share = n > 0.0f ? b.x / n : 0.0f, apart = b.y - a.y;
    return float4(n, a.y + apart * share, a.z + b.z + apart * apart * a.x * share, 0.0f);
#elif STATISTICS == 2
    float sum = a.x + b.x, squares = a.y + b.y;
    return float4(sum, squares, a.z + b.z + error_of(a.x, b.x, sum), a.w + b.w + error_of(a.y, b.y, squares));
#else
    return a + b;
#endif
}

// join_lanes joins the states of a simdgroup. Every lane gets the same bits. The means of the lanes differ little from the first
// one, so the sum of their differences from it rounds little. A single division takes less time than one for each pair of states.
static inline State join_lanes(State s) {
#if STATISTICS == 0
    return float4(simd_sum(s.x), 0.0f, 0.0f, 0.0f);
#elif STATISTICS == 1
    return float4(simd_sum(s.x), simd_sum(s.y), 0.0f, 0.0f);
#elif STATISTICS == 3
    float n = simd_sum(s.x), first = simd_broadcast_first(s.y), apart = simd_sum(s.x * (s.y - first));
    float mean = n > 0.0f ? first + apart / n : 0.0f, d = s.y - mean;
    return float4(n, mean, simd_sum(s.z + s.x * d * d), 0.0f);
#else
    for (uint d = 16; d > 0; d /= 2) s = join(s, simd_shuffle_xor(s, d));
    return simd_broadcast_first(s);
#endif
}

// fetch reads a thread's elements of a row, and returns how many there are. Past its end there are zeros.
static inline uint fetch(thread element* v, device const element* row, uint first, uint stride, uint columns) {
    uint count = 0;
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint j = first + k * stride;
        bool within = j < columns;
        v[k] = within ? row[j] : element(0.0f);
        count += within ? 1 : 0;
    }
    return count;
}

// gather returns the state of a thread's elements, of which the first `count` are there.
static inline State gather(thread const element* v, uint count) {
#if STATISTICS == 3
    element sum = element(0.0f), squares = element(0.0f);
    for (uint k = 0; k < PER_THREAD; ++k) sum += v[k];
    float n = float(count * WIDTH), mean = count > 0 ? total(sum) / n : 0.0f;
    for (uint k = 0; k < PER_THREAD; ++k) {
        element d = k < count ? v[k] - mean : element(0.0f);
        squares += d * d;
    }
    return float4(n, mean, total(squares), 0.0f);
#elif STATISTICS == 2
    element sum = element(0.0f), squares = element(0.0f), error = element(0.0f), of_squares = element(0.0f);
    for (uint k = 0; k < PER_THREAD; ++k) {
        element square = v[k] * v[k], next = sum + v[k], next_square = squares + square;
        error += error_of(sum, v[k], next);
        of_squares += error_of(squares, square, next_square);
        sum = next;
        squares = next_square;
    }
    float z = total(error), w = total(of_squares), x = of_lanes(sum, z), y = of_lanes(squares, w);
    return float4(x, y, z, w);
#else
    element sum = element(0.0f), squares = element(0.0f);
    for (uint k = 0; k < PER_THREAD; ++k) {
        sum += v[k];
        squares += v[k] * v[k];
    }
    return float4(STATISTICS == 1 ? total(sum) : total(squares), total(squares), 0.0f, 0.0f);
#endif
}

// mean_of returns the mean that is taken away, and factor_of what the rest is multiplied by. A variance below 0 is a
// rounding error; a NaN stays one.
static inline float mean_of(State s, float n) {
#if STATISTICS == 0
    return 0.0f;
#elif STATISTICS == 3
    return s.y;
#else
    return (s.x + s.z) / n;
#endif
}
static inline float factor_of(State s, float n, float epsilon) {
#if STATISTICS == 0
    float variance = s.x / n;
#elif STATISTICS == 3
    float variance = s.z / n;
#else
    float mean = (s.x + s.z) / n, variance = fma(-mean, mean, (s.y + s.w) / n);
#endif
    return precise::rsqrt((variance < 0.0f ? 0.0f : variance) + epsilon);
}

// store writes a thread's elements of a row, normalised.
static inline void store(device element* y, thread const element* v, State s, device const float* weights,
                         device const float* bias, Norm norm, uint row, uint first, uint stride, uint columns) {
    float n = float(columns * WIDTH), mean = mean_of(s, n), factor = factor_of(s, n, norm.epsilon);
    for (uint k = 0; k < PER_THREAD; ++k) {
        uint j = first + k * stride;
        if (j >= columns) break;
#if PER_CHANNEL
        uint channel = row % norm.groups * norm.channels + j / norm.length;
        y[j] = (v[k] - mean) * (factor * weights[channel]) + bias[channel];
#elif STATISTICS == 0
        y[j] = (v[k] - mean) * factor * ((device const element*)weights)[j];
#else
        y[j] = (v[k] - mean) * factor * ((device const element*)weights)[j] + ((device const element*)bias)[j];
#endif
    }
}

// simdgroup_rows: one simdgroup a row, so that there is no barrier. columns <= 32·PER_THREAD.
kernel void simdgroup_rows(device float* y [[buffer(0)]],
                           device const float* x [[buffer(1)]],
                           constant Shape& shape [[buffer(2)]],
                           device const float* weights [[buffer(3)]],
                           device const float* bias [[buffer(4)]],
                           constant Norm& norm [[buffer(5)]],
                           uint group [[threadgroup_position_in_grid]],
                           uint width [[threads_per_threadgroup]],
                           uint lane [[thread_index_in_simdgroup]],
                           uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint row = group * (width / 32) + simdgroup;
    if (row >= shape.rows) return;
    element v[PER_THREAD];
    uint count = fetch(v, (device const element*)x + size_t(row) * shape.columns, lane, 32, shape.columns);
    State s = join_lanes(gather(v, count));
    store((device element*)y + size_t(row) * shape.columns, v, s, weights, bias, norm, row, lane, 32, shape.columns);
}

// threadgroup_rows: one threadgroup a row. columns <= threads·PER_THREAD.
[[max_total_threads_per_threadgroup(1024)]]
kernel void threadgroup_rows(device float* y [[buffer(0)]],
                             device const float* x [[buffer(1)]],
                             constant Shape& shape [[buffer(2)]],
                             device const float* weights [[buffer(3)]],
                             device const float* bias [[buffer(4)]],
                             constant Norm& norm [[buffer(5)]],
                             uint row [[threadgroup_position_in_grid]],
                             uint index [[thread_position_in_threadgroup]],
                             uint width [[threads_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float4 states[32];
    element v[PER_THREAD];
    uint count = fetch(v, (device const element*)x + size_t(row) * shape.columns, index, width, shape.columns);
    State s = join_lanes(gather(v, count));
    if (lane == 0) states[simdgroup] = s;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s = join_lanes(lane < width / 32 ? states[lane] : float4(0.0f));
    store((device element*)y + size_t(row) * shape.columns, v, s, weights, bias, norm, row, index, width, shape.columns);
}

// chunk_statistics: threadgroup (i, c) takes chunk c, threads·PER_THREAD elements, of row i, and leaves the chunk's state,
// rows×chunks.
[[max_total_threads_per_threadgroup(1024)]]
kernel void chunk_statistics(device float4* statistics [[buffer(0)]],
                             device const float* x [[buffer(1)]],
                             constant Shape& shape [[buffer(2)]],
                             uint2 group [[threadgroup_position_in_grid]],
                             uint2 groups [[threadgroups_per_grid]],
                             uint index [[thread_index_in_threadgroup]],
                             uint2 threads [[threads_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float4 states[32];
    uint row = group.x, chunk = group.y, width = threads.x;
    element v[PER_THREAD];
    uint count = fetch(v, (device const element*)x + size_t(row) * shape.columns, chunk * PER_THREAD * width + index, width,
                       shape.columns);
    State s = join_lanes(gather(v, count));
    if (lane == 0) states[simdgroup] = s;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s = join_lanes(lane < width / 32 ? states[lane] : float4(0.0f));
    if (index == 0) statistics[size_t(row) * groups.y + chunk] = s;
}

// chunk_values: the same grid, in reverse order: the chunks that were read last may still be in a cache. Up to 32 states of a row are
// joined by every simdgroup for itself, without a barrier. The simdgroups of a threadgroup share more states, which they would
// otherwise read once each.
[[max_total_threads_per_threadgroup(1024)]]
kernel void chunk_values(device float* y [[buffer(0)]],
                         device const float* x [[buffer(1)]],
                         device const float4* statistics [[buffer(2)]],
                         constant Shape& shape [[buffer(3)]],
                         device const float* weights [[buffer(4)]],
                         device const float* bias [[buffer(5)]],
                         constant Norm& norm [[buffer(6)]],
                         uint2 group [[threadgroup_position_in_grid]],
                         uint2 groups [[threadgroups_per_grid]],
                         uint index [[thread_index_in_threadgroup]],
                         uint2 threads [[threads_per_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float4 states[32];
    uint row = groups.x - 1 - group.x, chunks = groups.y, width = threads.x;
    uint first = (chunks - 1 - group.y) * PER_THREAD * width + index;
    element v[PER_THREAD];
    fetch(v, (device const element*)x + size_t(row) * shape.columns, first, width, shape.columns);
    State s = float4(0.0f);
    uint share = chunks <= 32 ? lane : index;
    for (uint c = share; c < chunks; c += width) s = join(s, statistics[size_t(row) * chunks + c]);
    s = join_lanes(s);
    if (chunks > 32) {
        if (lane == 0) states[simdgroup] = s;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s = join_lanes(lane < width / 32 ? states[lane] : float4(0.0f));
    }
    store((device element*)y + size_t(row) * shape.columns, v, s, weights, bias, norm, row, first, width, shape.columns);
}
