
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#define ROWS 2
#define SHUFFLED 0
#define FRAMES 1
#define ALIGNED 0
#define REFLECTED 1
#define COSINES 2
#define WEIGHT0 0.34f
#define WEIGHT1 1.0f
#define WEIGHT2 0.64f
#endif

// Rows of 2·LENGTH real values, ROWS of them a threadgroup, as LENGTH complex ones: even values are taken as real parts
// and odd values as imaginary parts, and the two interleaved spectra are told apart by their symmetry,
//
//   X[k] = (Z[k] + conj(Z[LENGTH-k])) / 2 + (Z[k] - conj(Z[LENGTH-k])) · halves[k],
//   halves[k] = -i/2 · exp(-2·pi·i·k / (2·LENGTH)).
//
// With FRAMES, row r is the samples of a signal from r·hop - lead on, times a window. Outside of its samples the signal is
// zero, or reflected with REFLECTED. With ALIGNED, hop and lead are even.

struct Rows {
    uint rows;
    uint hop;
    uint lead;
    uint samples;
};

// Bins k and LENGTH - k, of the values at k and at LENGTH - k.
inline void bins(float2 z, float2 mirrored, float2 half_root, thread float2& low, thread float2& high) {
    float2 sum = float2(z.x + mirrored.x, z.y - mirrored.y) * 0.5f;
    float2 turned = product(float2(z.x - mirrored.x, z.y + mirrored.y), half_root);
    low = sum + turned;
    high = float2(sum.x - turned.x, turned.y - sum.y);
}

// halves[j + q·LENGTH/LAST_RADIX], of which the table has only those for q = 0 and, where LAST_RADIX is 32, for q = 1.
#define HALF_ROOT(j, q) \
    turned32(halves[(j) + ((q) - (q) * 16 / LAST_RADIX * LAST_RADIX / 16) * (LENGTH / LAST_RADIX)], (q) * 16 / LAST_RADIX)

// Half of the window's cosine, at sample 2·(lane + m·LANES) where half_root is halves[2·lane], and at the one after it
// where it is the next.
inline float half_cosine(float2 half_root, uint m) {
    return -turned32(half_root, m * (32 / POINTS)).y;
}

#if FRAMES
// The window, by half of its cosine.
inline float weight(float half_cosine) {
#if COSINES == 0
    return WEIGHT0;
#elif COSINES == 1
    return WEIGHT0 - WEIGHT1 * half_cosine;
#else
    return WEIGHT0 + half_cosine * (WEIGHT2 * half_cosine - WEIGHT1);
#endif
}

inline float sample_at(device const float* src, int at, uint samples) {
#if REFLECTED
    uint period = max(2 * samples, 3u) - 2;
    uint place = uint(at < 0 ? -at : at) % period;
    return samples > 0 ? src[place < samples ? place : period - place] : 0.0f;
#else
    return at >= 0 && uint(at) < samples ? src[at] : 0.0f;
#endif
}
#endif

// The number of butterflies of the last pass that a thread computes. Where it is one, SHUFFLED, the mirror images of the
// thread's points are those of another thread of the simdgroup. Where it is more, each butterfly has its mirror image in
// the same thread: butterfly D - j is that of butterfly j, D = LENGTH / LAST_RADIX, and 0 and D/2, their own, go to
// thread 0.
#define LAST_COUNT (POINTS / LAST_RADIX)

// A thread writes its bins to memory, unless staged.metal comes before this text. Bins own + known and LENGTH - own - known go to LOW
// and HIGH. The compiler knows `known`.
#ifndef LOW
#define CELLS MEMORY
#define BEGIN_BINS                                             \
    if (row >= shape.rows) {                                   \
        return;                                                \
    }                                                          \
    device float2* to = dst + size_t(row) * (LENGTH + 1);
#define LOW(own, known) to[(own) + (known)]
#define HIGH(own, known) to[LENGTH - (own) - (known)]
#define END_BINS
#endif

[[max_total_threads_per_threadgroup(LANES * ROWS)]]
kernel void real_rows(device float2* dst [[buffer(0)]],
                      device const float* src [[buffer(1)]],
                      device const float2* roots [[buffer(2)]],
                      device const float2* halves [[buffer(3)]],
                      constant Rows& shape [[buffer(4)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint i [[thread_position_in_threadgroup]],
                      uint simd_lane [[thread_index_in_simdgroup]]) {
    threadgroup CELL memory[CELLS];
    const uint apart = LENGTH / LAST_RADIX;
    uint lane = i % LANES;
    uint tile = i / LANES * PITCH, last_tile = tile;
    uint row = group * ROWS + i / LANES;
    uint last[LAST_COUNT];
#if SHUFFLED
    last[0] = lane;
#else
    UNROLL
    for (uint b = 0; b < LAST_COUNT / 2; ++b) {
        last[b] = lane + b * LANES;
        last[b + LAST_COUNT / 2] = last[b] == 0 ? apart / 2 : apart - last[b];
    }
#endif

    // Threads past the last row compute it too, since they have to take part in the barriers.
    uint loaded = min(row, shape.rows - 1);
    float2 v[POINTS];
#if FRAMES
    int first = int(loaded * shape.hop) - int(shape.lead);
    bool inside = first >= 0 && uint(first) + 2 * LENGTH <= shape.samples;
    float2 even = halves[2 * lane], odd = halves[2 * lane + 1];
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        int at = first + int(2 * lane) + int(2 * m * LANES);
        float2 x;
        if (inside) {
#if ALIGNED
            x = *(device const float2*)(src + at);
#else
            x = float2(src[at], src[at + 1]);
#endif
        } else {
            x = float2(sample_at(src, at, shape.samples), sample_at(src, at + 1, shape.samples));
        }
        v[m] = x * float2(weight(half_cosine(even, m)), weight(half_cosine(odd, m)));
    }
#else
    device const float2* from = (device const float2*)src + size_t(loaded) * LENGTH + lane;
    UNROLL
    for (uint m = 0; m < POINTS; ++m) {
        v[m] = from[m * LANES];
    }
#endif
    TRANSFORM
#if SHUFFLED
    // Point lane + q·LANES has its mirror image in thread LANES - lane, at place LAST_RADIX - 1 - q; those of thread 0 are
    // its own.
    float2 mirrored[LAST_RADIX / 2];
    UNROLL
    for (uint q = 0; q < LAST_RADIX / 2; ++q) {
        mirrored[q] = simd_shuffle(v[LAST_RADIX - 1 - q], simd_lane - lane + (LANES - lane) % LANES);
    }
#endif
    BEGIN_BINS
    float2 low, high;
#if SHUFFLED
    UNROLL
    for (uint q = 0; q < LAST_RADIX / 2; ++q) {
        float2 own = v[(LAST_RADIX - q) % LAST_RADIX];
        bins(v[q], lane == 0 ? own : mirrored[q], HALF_ROOT(lane, q), low, high);
        if (lane + q * apart == 0) {
            low = float2(v[0].x + v[0].y, 0.0f);
            high = float2(v[0].x - v[0].y, 0.0f);
        }
        LOW(lane, q * apart) = low;
        HIGH(lane, q * apart) = high;
    }
    if (lane == 0) {
        LOW(0, LENGTH / 2) = float2(v[LAST_RADIX / 2].x, -v[LAST_RADIX / 2].y);
    }
#else
    UNROLL
    for (uint b = 0; b < LAST_COUNT / 2; ++b) {
        uint c = b + LAST_COUNT / 2;
        if (last[b] != 0) {
            UNROLL
            for (uint q = 0; q < LAST_RADIX; ++q) {
                bins(v[b + q * LAST_COUNT], v[c + (LAST_RADIX - 1 - q) * LAST_COUNT], HALF_ROOT(last[b], q), low, high);
                LOW(last[b], q * apart) = low;
                HIGH(last[b], q * apart) = high;
            }
            continue;
        }
        LOW(0, 0) = float2(v[b].x + v[b].y, 0.0f);
        HIGH(0, 0) = float2(v[b].x - v[b].y, 0.0f);
        UNROLL
        for (uint q = 1; q <= LAST_RADIX / 2; ++q) {
            bins(v[b + q * LAST_COUNT], v[b + (LAST_RADIX - q) * LAST_COUNT], HALF_ROOT(0, q), low, high);
            LOW(0, q * apart) = low;
            HIGH(0, q * apart) = high;
        }
        UNROLL
        for (uint q = 0; q < LAST_RADIX / 2; ++q) {
            bins(v[c + q * LAST_COUNT], v[c + (LAST_RADIX - 1 - q) * LAST_COUNT], HALF_ROOT(apart / 2, q), low, high);
            LOW(0, apart / 2 + q * apart) = low;
            HIGH(0, apart / 2 + q * apart) = high;
        }
    }
#endif
    END_BINS
}
