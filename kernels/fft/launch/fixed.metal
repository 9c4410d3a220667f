
#ifndef UNROLL // compiled alone, without radices.metal before it
#include "radices.metal"
#endif

#ifndef LENGTH // compiled alone, without a launch to say how
#define LENGTH 60
#define PASSES 2
#define SIDE 4
#define THREADS 64
#define MOST_THREADS 64
#define CELLS 512
#define OTHER 0
#define COLUMNS 0
#define WIDTH shape.width
#define IS_FULL 0
#define IN_ROW 0
#define IN_NEXT 60
#define IN_STEP 1
#define OUT_ROW 0
#define OUT_NEXT 61
#define OUT_STEP 1
#define STEPPED 0
#define FINE_BITS 6
#define CONJUGATE_IN 0
#define CONJUGATE_OUT 0
#define REAL 1
#define PAIRS 0
#define HEIGHT 0
#define RADIX0 6
#define ACROSS0 0
#define PADDING0 1
#define NEXT0 71
#define RADIX1 10
#define ACROSS1 0
#define PADDING1 0
#define NEXT1 61
#define TABLE1 0
#endif

// Transforms of one length whose prime factors are 2, 3, 5 and 7, SIDE of them a threadgroup of THREADS threads, as those of
// mixed.metal. What tells lengths apart is known here when the text is compiled: see fixed.go.
//
// A thread computes all of its butterflies of a pass at once and holds their points in registers. So the next pass can
// overwrite what was read after a barrier. With OTHER above 0, the points of every other exchange begin there, and that
// barrier is left out. With REAL, bins are made of pairs of real values, and with PAIRS of a matrix of HEIGHT rows.

struct Fixed {
    uint width;  // transforms side by side
    float scale; // of the results
};

// The number of butterflies of radix r of the tile, the number that a thread computes, whether there is a thread's
// butterfly b, and its transform and its number in the transform.
#define COUNT(r) (LENGTH / (r))
#define EACH(r) ((SIDE * COUNT(r) + THREADS - 1) / THREADS)
#define IS_BUSY(r, b) (((b) + 1) * THREADS <= SIDE * COUNT(r) || i + (b) * THREADS < SIDE * COUNT(r))
#define TRANSFORM_OF(r, across, b) ((across) ? (i + (b) * THREADS) % SIDE : (i + (b) * THREADS) / COUNT(r))
#define BUTTERFLY_OF(r, across, b) ((across) ? (i + (b) * THREADS) / SIDE : (i + (b) * THREADS) % COUNT(r))

// Cells from one point of a transform to the next. Between blocks of d·r points, which a pass leaves at a time, there are as
// many points of padding that threads of a simdgroup access different banks.
#if COLUMNS
#define CELL_STEP SIDE
#else
#define CELL_STEP 1
#endif

// The roots of a pass are loaded long before they are needed.
#define ROOTS(name, r, d, across, table)                               \
    float2 name[EACH(r)];                                              \
    UNROLL for (uint b = 0; b < EACH(r); ++b) {                        \
        name[b] = roots[(table) + BUTTERFLY_OF(r, across, b) % (d)];   \
    }

#define GATHER(r, d, across, padding, next, begin, name)                                                    \
    UNROLL for (uint b = 0; b < EACH(r); ++b) {                                                             \
        if (IS_BUSY(r, b)) {                                                                                \
            uint j = BUTTERFLY_OF(r, across, b);                                                            \
            uint cell = (begin) + TRANSFORM_OF(r, across, b) * (next) + (j + j / (d) * (padding)) * CELL_STEP; \
            UNROLL for (uint q = 0; q < (r); ++q) {                                                         \
                v[b * (r) + q] = memory[cell + q * ((COUNT(r) + COUNT(r) / (d) * (padding)) * CELL_STEP)];  \
            }                                                                                               \
        }                                                                                                   \
    }                                                                                                       \
    UNROLL for (uint b = 0; b < EACH(r); ++b) {                                                             \
        if (IS_BUSY(r, b)) {                                                                                \
            turn<r>(v + b * (r), name[b]);                                                                  \
            dft<r>(v + b * (r));                                                                            \
        }                                                                                                   \
    }

#define SCATTER(r, d, across, padding, next, begin)                                                         \
    UNROLL for (uint b = 0; b < EACH(r); ++b) {                                                             \
        if (IS_BUSY(r, b)) {                                                                                \
            uint j = BUTTERFLY_OF(r, across, b);                                                            \
            uint cell = (begin) + TRANSFORM_OF(r, across, b) * (next) +                                     \
                        (j / (d) * ((d) * (r) + (padding)) + j % (d)) * CELL_STEP;                          \
            UNROLL for (uint q = 0; q < (r); ++q) {                                                         \
                memory[cell + q * ((d) * CELL_STEP)] = v[b * (r) + q];                                      \
            }                                                                                               \
        }                                                                                                   \
    }

#define LEAVE(r, d, across)                                                                                 \
    UNROLL for (uint b = 0; b < EACH(r); ++b) {                                                             \
        uint t = TRANSFORM_OF(r, across, b);                                                                \
        if (IS_BUSY(r, b) && (IS_FULL || first + t < width)) {                                              \
            device float2* place = to + (first + t) * OUT_NEXT + BUTTERFLY_OF(r, across, b) * OUT_STEP;     \
            UNROLL for (uint q = 0; q < (r); ++q) {                                                         \
                place[q * ((d) * OUT_STEP)] = v[b * (r) + q] * scales;                                      \
            }                                                                                               \
        }                                                                                                   \
    }

// The points of a pass go to the next one: nobody writes before everybody has read what was there, and nobody reads before
// everybody has written.
#define WRITTEN threadgroup_barrier(mem_flags::mem_threadgroup);
#if OTHER > 0
#define READ
#else
#define READ threadgroup_barrier(mem_flags::mem_threadgroup);
#endif

#define DISTANCE1 (RADIX0)
#define DISTANCE2 (RADIX0 * RADIX1)
#define DISTANCE3 (RADIX0 * RADIX1 * RADIX2)
#if PASSES == 1
#define LAST_NEXT NEXT0
#define LAST_BEGIN 0
#elif PASSES == 2
#define LAST_NEXT NEXT1
#define LAST_BEGIN OTHER
#elif PASSES == 3
#define LAST_NEXT NEXT2
#define LAST_BEGIN 0
#else
#define LAST_NEXT NEXT3
#define LAST_BEGIN OTHER
#endif

#if PAIRS > 0
#define TOGETHER PAIRS
#define BIN_COUNT LENGTH
#else
#define TOGETHER SIDE
#define BIN_COUNT (LENGTH / 2 + 1)
#endif
#define BINS_EACH ((TOGETHER * BIN_COUNT + THREADS - 1) / THREADS)

// The transform and the point that bin number b of a thread is made of, and the bin's number.
#define BIN_TRANSFORM(b) (PAIRS > 0 ? (i + (b) * THREADS) % TOGETHER : (i + (b) * THREADS) / BIN_COUNT)
#define BIN_POINT(b) (PAIRS > 0 ? (i + (b) * THREADS) / TOGETHER : (i + (b) * THREADS) % BIN_COUNT)
#define BIN(b) ((PAIRS > 0 ? first + BIN_TRANSFORM(b) : 0) + BIN_POINT(b) * OUT_STEP)

[[max_total_threads_per_threadgroup(MOST_THREADS)]]
kernel void fixed_length(device float2* dst [[buffer(0)]],
                         device const float2* src [[buffer(1)]],
                         device const float2* roots [[buffer(2)]],
                         device const float2* step_roots [[buffer(3)]],
                         constant Fixed& shape [[buffer(4)]],
                         uint group [[threadgroup_position_in_grid]],
                         uint i [[thread_position_in_threadgroup]]) {
    threadgroup float2 memory[CELLS];
    uint width = WIDTH;
    uint row = IN_ROW > 0 ? group / ((WIDTH + TOGETHER - 1) / TOGETHER) : 0;
    uint first = (IN_ROW > 0 ? group % ((WIDTH + TOGETHER - 1) / TOGETHER) : group) * TOGETHER;
    device const float2* from = src + size_t(row) * IN_ROW;
    device float2* to = dst + size_t(row) * OUT_ROW;
#if !REAL
    const float2 scales = float2(shape.scale, CONJUGATE_OUT ? -shape.scale : shape.scale);
#endif

    float2 loaded[EACH(RADIX0) * RADIX0];
#if STEPPED > 0
    Factors begins[EACH(RADIX0)], turns[EACH(RADIX0)]; // the roots of the first point, and from one point to the next
#endif
    UNROLL
    for (uint b = 0; b < EACH(RADIX0); ++b) {
        if (IS_BUSY(RADIX0, b)) {
            uint t = TRANSFORM_OF(RADIX0, ACROSS0, b), j = BUTTERFLY_OF(RADIX0, ACROSS0, b);
#if PAIRS > 0
            uint own = min(first + (t < TOGETHER ? t : t - TOGETHER), width - 1);
            own = t >= TOGETHER && own > 0 ? HEIGHT - own : own;
#else
            // What the last threadgroup has too much is computed too, but not stored.
            uint own = IS_FULL ? first + t : min(first + t, width - 1);
#endif
            UNROLL for (uint q = 0; q < RADIX0; ++q) {
                loaded[b * RADIX0 + q] = from[own * IN_NEXT + (j + q * COUNT(RADIX0)) * IN_STEP];
            }
#if STEPPED > 0
            begins[b] = factors(step_roots, own * j * STEPPED, FINE_BITS);
            turns[b] = factors(step_roots, own * COUNT(RADIX0) * STEPPED, FINE_BITS);
#endif
        }
    }
#if PASSES > 1
    ROOTS(roots1, RADIX1, DISTANCE1, ACROSS1, TABLE1)
#endif
#if PASSES > 2
    ROOTS(roots2, RADIX2, DISTANCE2, ACROSS2, TABLE2)
#endif
#if PASSES > 3
    ROOTS(roots3, RADIX3, DISTANCE3, ACROSS3, TABLE3)
#endif

    {
        thread float2* v = loaded;
        UNROLL
        for (uint b = 0; b < EACH(RADIX0); ++b) {
            if (IS_BUSY(RADIX0, b)) {
#if CONJUGATE_IN
                UNROLL for (uint q = 0; q < RADIX0; ++q) {
                    v[b * RADIX0 + q].y = -v[b * RADIX0 + q].y;
                }
#endif
#if STEPPED > 0
                float2 start = product(begins[b].fine, begins[b].coarse);
                UNROLL for (uint q = 0; q < RADIX0; ++q) {
                    v[b * RADIX0 + q] = product(v[b * RADIX0 + q], start);
                }
                turn<RADIX0>(v + b * RADIX0, product(turns[b].fine, turns[b].coarse));
#endif
                dft<RADIX0>(v + b * RADIX0);
            }
        }
#if PASSES > 1 || REAL
        SCATTER(RADIX0, 1, ACROSS0, PADDING0, NEXT0, 0)
#else
        LEAVE(RADIX0, 1, ACROSS0)
#endif
    }
#if REAL
    Factors bin_roots[BINS_EACH];
    UNROLL
    for (uint b = 0; b < BINS_EACH; ++b) {
        if (i + b * THREADS < TOGETHER * BIN_COUNT) {
            bin_roots[b] = factors(step_roots, BIN(b), FINE_BITS);
        }
    }
#endif
#if PASSES > 1
    {
        float2 v[EACH(RADIX1) * RADIX1];
        WRITTEN
        GATHER(RADIX1, DISTANCE1, ACROSS1, PADDING0, NEXT0, 0, roots1)
#if PASSES > 2 || REAL
        READ
        SCATTER(RADIX1, DISTANCE1, ACROSS1, PADDING1, NEXT1, OTHER)
#else
        LEAVE(RADIX1, DISTANCE1, ACROSS1)
#endif
    }
#endif
#if PASSES > 2
    {
        float2 v[EACH(RADIX2) * RADIX2];
        WRITTEN
        GATHER(RADIX2, DISTANCE2, ACROSS2, PADDING1, NEXT1, OTHER, roots2)
#if PASSES > 3 || REAL
        READ
        SCATTER(RADIX2, DISTANCE2, ACROSS2, PADDING2, NEXT2, 0)
#else
        LEAVE(RADIX2, DISTANCE2, ACROSS2)
#endif
    }
#endif
#if PASSES > 3
    {
        float2 v[EACH(RADIX3) * RADIX3];
        WRITTEN
        GATHER(RADIX3, DISTANCE3, ACROSS3, PADDING2, NEXT2, 0, roots3)
#if REAL
        READ
        SCATTER(RADIX3, DISTANCE3, ACROSS3, PADDING3, NEXT3, OTHER)
#else
        LEAVE(RADIX3, DISTANCE3, ACROSS3)
#endif
    }
#endif

#if REAL
    WRITTEN
    const uint all = LENGTH * OUT_STEP;
    UNROLL
    for (uint b = 0; b < BINS_EACH; ++b) {
        uint t = BIN_TRANSFORM(b), m = BIN_POINT(b), p = BIN(b);
        uint k = PAIRS > 0 ? first + t : 0;
        // There may be none, or another thread has its mirror image.
        if (i + b * THREADS < TOGETHER * BIN_COUNT && first + t < width &&
            !((k == 0 || 2 * k == HEIGHT) && 2 * p > all)) {
            device float2* row_bins = to + (first + t) * OUT_NEXT;
            float2 z = memory[LAST_BEGIN + t * LAST_NEXT + m];
            if (p == 0) {
                row_bins[0] = float2(z.x + z.y, 0.0f);
                row_bins[all] = float2(z.x - z.y, 0.0f);
            } else {
                float2 mirror_image = memory[LAST_BEGIN + (t + PAIRS) * LAST_NEXT + (k == 0 ? LENGTH - m : LENGTH - 1 - m)];
                float2 sum = float2(z.x + mirror_image.x, z.y - mirror_image.y) * 0.5f;
                float2 difference = float2(z.x - mirror_image.x, z.y + mirror_image.y) * 0.5f;
                float2 turned = quarter(product(difference, product(bin_roots[b].fine, bin_roots[b].coarse)));
                row_bins[p] = sum + turned;
                row_bins[all - p] = float2(sum.x - turned.x, turned.y - sum.y);
            }
        }
    }
#endif
}
