
#ifndef UNROLL // compiled alone, without butterflies.metal before it
#include "butterflies.metal"
#endif

#ifndef LENGTH // compiled alone, without a launch to say how
#define LENGTH 1024
#define POINTS 16
#define LANES 64
#define PASSES 3
#define RADIX0 8
#define RADIX1 16
#define RADIX2 8
#define TABLE1 0
#define TABLE2 8
#define SHIFT0 5
#define SHIFT1 7
#define SLICES 1
#define SPLIT 1
#define BANKS 32
#define SPREAD 1
#define PITCH 1024
#define MEMORY 2048
#define LEAN 0
#endif

#ifndef FREE // set where nobody reads the memory of the exchanges any more when a transform begins
#define FREE 0
#endif

// The passes of a Stockham transform in registers and threadgroup memory, which the texts that begin with this one share.
//
// LENGTH points are transformed by LANES = LENGTH / POINTS threads, POINTS points each, in PASSES passes of the radices
// RADIX0, RADIX1 … whose product is LENGTH. Butterfly j of a pass of radix R, j < LENGTH / R, takes the points
// j + q·LENGTH/R for q < R. With D the product of the radices of the earlier passes, it turns point q by
// exp(-2·pi·i·q·(j mod D) / (D·R)), transforms the R points and leaves them at (j / D)·D·R + j mod D + q·D. So each thread
// loads points that are LANES apart, and the last pass leaves them as far apart again: only between the passes do points
// change threads, through threadgroup memory. All of these numbers are powers of two.

// a times exp(-2·pi·i · e/32), e < 32.
inline float2 turned32(float2 a, uint e) {
    const float cosines[9] = {1.0f, 0.980785280403230449f, 0.923879532511286756f, 0.831469612302545237f,
                              0.707106781186547524f, 0.555570233019602225f, 0.382683432365089772f,
                              0.195090322016128268f, 0.0f};
    uint rest = e % 8;
    float2 b = rest == 0 ? a : product(a, float2(cosines[rest], -cosines[8 - rest]));
    if (e / 8 % 2 == 1) {
        b = quarter(b);
    }
    return e / 16 == 1 ? float2(-b.x, -b.y) : b;
}

template <uint S>
inline void dft32(thread float2* v) {
    UNROLL
    for (uint q = 0; q < 8; ++q) {
        dft4<8 * S>(v + q * S);
    }
    UNROLL
    for (uint k = 1; k < 4; ++k) {
        UNROLL
        for (uint q = 1; q < 8; ++q) {
            v[(q + 8 * k) * S] = turned32(v[(q + 8 * k) * S], q * k);
        }
    }
    UNROLL
    for (uint k = 0; k < 4; ++k) {
        dft8<S>(v + 8 * k * S);
    }
    float2 ordered[32];
    UNROLL
    for (uint k = 0; k < 32; ++k) {
        ordered[k % 8 * 4 + k / 8] = v[k * S];
    }
    UNROLL
    for (uint k = 0; k < 32; ++k) {
        v[k * S] = ordered[k];
    }
}

template <uint R, uint S>
inline void dft(thread float2* v) {
    if (R == 2) {
        dft2<S>(v);
    } else if (R == 4) {
        dft4<S>(v);
    } else if (R == 8) {
        dft8<S>(v);
    } else if (R == 16) {
        dft16<S>(v);
    } else {
        dft32<S>(v);
    }
}

// turn multiplies the points of the butterfly by exp(-2·pi·i·q·k / (D·R)), q < R, k < D. The table holds a row of D roots
// for q = 1, and where R is 32 one more for each q = 2, 4, 8 …; the others are multiplied together.
template <uint R, uint S, uint D>
inline void turn(thread float2* v, uint k, device const float2* table) {
    float2 w[R];
    w[1] = table[k];
    UNROLL
    for (uint q = 2; q < R; ++q) {
        uint high = q >= 16 ? 16 : q >= 8 ? 8 : q >= 4 ? 4 : 2;
        if (q > high) {
            w[q] = product(w[high], w[q - high]);
        } else if (R == 32) {
            w[q] = table[(q >= 16 ? 4 : q >= 8 ? 3 : q >= 4 ? 2 : 1) * D + k];
        } else {
            w[q] = product(w[q / 2], w[q / 2]);
        }
    }
    UNROLL
    for (uint q = 1; q < R; ++q) {
        v[q * S] = product(v[q * S], w[q]);
    }
}

// turned_dft transforms v[q·S]·w^q, q < R, in order. `powers` are w, w^2, w^4 …, as many as R has factors of 2. The transforms E
// of the even points and O of the odd ones are joined by
//
//   X[k] = E[k] + w·exp(-2·pi·i·k/R)·O[k],   X[k + R/2] = 2·E[k] - X[k],   k < R/2,
//
// which takes six instructions where a product, a sum and a difference take eight. But one half of them waits for the other half.

template <uint R, uint S>
inline void join(thread float2* v, float2 w) {
    float2 factors[R], joined[R];
    UNROLL
    for (uint k = 0; k < R / 2; ++k) {
        factors[k] = R >= 4 && k >= R / 4 ? quarter(factors[k % (R >= 4 ? R / 4 : 1)]) : turned32(w, k * (32 / R));
        float2 f = factors[k], even = v[2 * k * S], odd = v[(2 * k + 1) * S];
        joined[k] = float2(fma(f.x, odd.x, fma(-f.y, odd.y, even.x)), fma(f.x, odd.y, fma(f.y, odd.x, even.y)));
        joined[k + R / 2] = float2(fma(2.0f, even.x, -joined[k].x), fma(2.0f, even.y, -joined[k].y));
    }
    UNROLL
    for (uint k = 0; k < R; ++k) {
        v[k * S] = joined[k];
    }
}

template <uint S>
inline void turned_dft2(thread float2* v, thread const float2* powers) {
    join<2, S>(v, powers[0]);
}

template <uint S>
inline void turned_dft4(thread float2* v, thread const float2* powers) {
    turned_dft2<2 * S>(v, powers + 1);
    turned_dft2<2 * S>(v + S, powers + 1);
    join<4, S>(v, powers[0]);
}

template <uint S>
inline void turned_dft8(thread float2* v, thread const float2* powers) {
    turned_dft4<2 * S>(v, powers + 1);
    turned_dft4<2 * S>(v + S, powers + 1);
    join<8, S>(v, powers[0]);
}

template <uint S>
inline void turned_dft16(thread float2* v, thread const float2* powers) {
    turned_dft8<2 * S>(v, powers + 1);
    turned_dft8<2 * S>(v + S, powers + 1);
    join<16, S>(v, powers[0]);
}

// turned is turn and dft, with LEAN and R up to 16. It squares the root for q = 1.
template <uint R, uint S, uint D>
inline void turned(thread float2* v, uint k, device const float2* table) {
    float2 powers[4];
    powers[0] = table[k];
    UNROLL
    for (uint s = 1; s < 4; ++s) {
        powers[s] = product(powers[s - 1], powers[s - 1]);
    }
    if (R == 2) {
        turned_dft2<S>(v, powers);
    } else if (R == 4) {
        turned_dft4<S>(v, powers);
    } else if (R == 8) {
        turned_dft8<S>(v, powers);
    } else {
        turned_dft16<S>(v, powers);
    }
}

// pass computes a thread's butterflies j[0], j[1] … of a pass.
template <uint R, uint D>
inline void pass(thread float2* v, thread const uint* j, device const float2* table) {
    UNROLL
    for (uint b = 0; b < POINTS / R; ++b) {
        if (LEAN && D > 1 && R <= 16) {
            turned<R, POINTS / R, D>(v + b, j[b] % D, table);
            continue;
        }
        if (D > 1) {
            turn<R, POINTS / R, D>(v + b, j[b] % D, table);
        }
        dft<R, POINTS / R>(v + b);
    }
}

// The exchange between two passes, in threadgroup memory that a kernel declares as `threadgroup CELL memory[MEMORY]`. A
// transform begins at `tile`, and its places are SPREAD cells apart. With SPLIT, real parts go first and imaginary parts
// after them, in half of the memory. With SLICES above 1 the points go in so many parts, in as much less memory.

// Skewing the places lets the threads of a simdgroup meet different banks. It moves bits of a place into its last ones, by
// exclusive or. With LEAN, it leaves room behind each stretch of places instead. Both treat the bits of a sum one by one. SPOT is the
// cell of the place of which `own`, skewed, depends on the thread and `known` is what the compiler knows, with other bits: most of it
// becomes part of an instruction. With LEAN all of it does, because it is added as a signed number.
#if LEAN
#define SKEWED(p, shift, d) ((p) + ((p) >> (shift)) * (d))
#define SPOT(tile, own, known, shift, d) (int((tile) + SPREAD * (own)) + int(SPREAD * SKEWED(known, shift, d)))
#else
#define SKEWED(p, shift, d) ((p) ^ (((p) >> (shift) & (BANKS / (d) - 1)) * (d)))
#define SPOT(tile, own, known, shift, d) \
    ((tile) + SPREAD * (((own) ^ SKEWED(known, shift, d) % BANKS) + SKEWED(known, shift, d) / BANKS * BANKS))
#endif

#if SPLIT
#define CELL float
#else
#define CELL float2
#endif

// Where butterfly j of a pass of radix r leaves its first point.
#define PLACE(j, r, d) ((j) / (d) * ((d) * (r)) + (j) % (d))

#define SCATTER(part, r, d, shift, slice)                                                                      \
    {                                                                                                          \
        uint own = PLACE(lane, r, d);                                                                          \
        uint cell = SKEWED(own % (LENGTH / SLICES), shift, d);                                                 \
        UNROLL for (uint b = 0; b < POINTS / (r); ++b) {                                                       \
            UNROLL for (uint q = 0; q < (r); ++q) {                                                            \
                uint known = PLACE(b * LANES, r, d) + q * (d);                                                 \
                if (SLICES == 1 || (own + known) / (LENGTH / SLICES) == (slice)) {                             \
                    memory[SPOT(tile, cell, known % (LENGTH / SLICES), shift, d)] =              \
                        v[b + q * (POINTS / (r))] part;                                                        \
                }                                                                                              \
            }                                                                                                  \
        }                                                                                                      \
    }

// The points of a thread for any pass but the last one.
#define GATHER(d, shift, slice)                                                                                \
    {                                                                                                          \
        uint cell = SKEWED(lane, shift, d);                                                                    \
        UNROLL for (uint m = 0; m < POINTS / SLICES; ++m) {                                                    \
            taken[m + (slice) * (POINTS / SLICES)] = memory[SPOT(tile, cell, m * LANES, shift, d)]; \
        }                                                                                                      \
    }

// The points of a thread for the last pass, whose butterflies are those that the kernel lists in `last`. They may be of
// another transform, which begins at last_tile.
#define GATHER_LAST(d, shift, slice)                                                                           \
    UNROLL for (uint b = 0; b < POINTS / LAST_RADIX; ++b) {                                                    \
        uint cell = SKEWED(last[b], shift, d);                                                                 \
        UNROLL for (uint q = 0; q < LAST_RADIX / SLICES; ++q) {                                                \
            taken[b + q * (POINTS / LAST_RADIX) + (slice) * (POINTS / SLICES)] =                               \
                memory[SPOT(last_tile, cell, q * (LENGTH / LAST_RADIX), shift, d)];              \
        }                                                                                                      \
    }

// Nobody writes before everybody has read what was there, and nobody reads before everybody has written. If the memory is free,
// the first part has nothing to wait for.
#define PART(free, part, scatter, gather, r, d, shift)            \
    {                                                             \
        CELL taken[POINTS];                                       \
        UNROLL for (uint slice = 0; slice < SLICES; ++slice) {    \
            if (!(free) || slice > 0) {                           \
                threadgroup_barrier(mem_flags::mem_threadgroup);  \
            }                                                     \
            scatter(part, r, d, shift, slice)                     \
            threadgroup_barrier(mem_flags::mem_threadgroup);      \
            gather(d, shift, slice)                               \
        }                                                         \
        UNROLL for (uint m = 0; m < POINTS; ++m) {                \
            v[m] part = taken[m];                                 \
        }                                                         \
    }

#if SPLIT
#define EXCHANGE(free, scatter, gather, r, d, shift)  \
    PART(free, .x, scatter, gather, r, d, shift)      \
    PART(0, .y, scatter, gather, r, d, shift)
#else
#define EXCHANGE(free, scatter, gather, r, d, shift) PART(free, , scatter, gather, r, d, shift)
#endif

// TRANSFORM transforms the points v[POINTS] of a thread, where v[m] is point lane + m·LANES, to points
// last[b] + q·LENGTH/LAST_RADIX, which are then in v[b + q·POINTS/LAST_RADIX]. `roots` are the tables of the passes.

#define DISTANCE1 RADIX0
#define DISTANCE2 (RADIX0 * RADIX1)
#define DISTANCE3 (RADIX0 * RADIX1 * RADIX2)

// After FIRST_PASS, v[b] is the sum of the points of butterfly b.
#define FIRST_PASS(r) pass<r, 1>(v, last, roots);
#define NEXT_PASS(r, d, table)                                      \
    {                                                               \
        uint j[POINTS / r];                                         \
        UNROLL for (uint b = 0; b < POINTS / r; ++b) {              \
            j[b] = lane + b * LANES;                                \
        }                                                           \
        pass<r, d>(v, j, roots + table);                            \
    }
#define LAST_PASS(r, d, table) pass<r, d>(v, last, roots + table);

// first_scatter leaves the points of the first pass. It is SCATTER if butterfly b of a thread is butterfly lane + b·LANES.
#if PASSES == 1
#define LAST_RADIX RADIX0
#define LATER_PASSES(first_scatter)
#elif PASSES == 2
#define LAST_RADIX RADIX1
#define LATER_PASSES(first_scatter)                               \
    EXCHANGE(FREE, first_scatter, GATHER_LAST, RADIX0, 1, SHIFT0) \
    LAST_PASS(RADIX1, DISTANCE1, TABLE1)
#elif PASSES == 3
#define LAST_RADIX RADIX2
#define LATER_PASSES(first_scatter)                              \
    EXCHANGE(FREE, first_scatter, GATHER, RADIX0, 1, SHIFT0)     \
    NEXT_PASS(RADIX1, DISTANCE1, TABLE1)                         \
    EXCHANGE(0, SCATTER, GATHER_LAST, RADIX1, DISTANCE1, SHIFT1) \
    LAST_PASS(RADIX2, DISTANCE2, TABLE2)
#else
#define LAST_RADIX RADIX3
#define LATER_PASSES(first_scatter)                              \
    EXCHANGE(FREE, first_scatter, GATHER, RADIX0, 1, SHIFT0)     \
    NEXT_PASS(RADIX1, DISTANCE1, TABLE1)                         \
    EXCHANGE(0, SCATTER, GATHER, RADIX1, DISTANCE1, SHIFT1)      \
    NEXT_PASS(RADIX2, DISTANCE2, TABLE2)                         \
    EXCHANGE(0, SCATTER, GATHER_LAST, RADIX2, DISTANCE2, SHIFT2) \
    LAST_PASS(RADIX3, DISTANCE3, TABLE3)
#endif
#define TRANSFORM FIRST_PASS(RADIX0) LATER_PASSES(SCATTER)
