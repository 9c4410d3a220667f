
#ifndef UNROLL // compiled alone, without passes.metal before it
#include "passes.metal"
#endif

// How the threads of real.metal write bins if they go through threadgroup memory. A row has an odd number of bins, so it begins
// anywhere in a line of a cache. From threadgroup memory each simdgroup writes whole lines. Cells must not be split.
#define CELLS (MEMORY + ROWS)
#define BEGIN_BINS                           \
    uint staged = i / LANES * (LENGTH + 1);  \
    threadgroup_barrier(mem_flags::mem_threadgroup);
#define LOW(own, known) memory[int(staged + (own)) + int(known)]
#define HIGH(own, known) memory[int(staged + LENGTH - (own)) - int(known)]

// Thread i begins at bin i or before it, where a line begins: 16 bins are 128 bytes.
#define END_BINS                                                                                            \
    threadgroup_barrier(mem_flags::mem_threadgroup);                                                        \
    uint begin = group * (ROWS * (LENGTH + 1));                                                             \
    int own = int(i) - int(begin % 16);                                                                     \
    int count = int(min(uint(ROWS), shape.rows - group * ROWS) * (LENGTH + 1));                             \
    device float2* to = dst + size_t(group) * (ROWS * (LENGTH + 1));                                        \
    UNROLL for (int e = 0; e < ROWS * (LENGTH + 1) + 15; e += LANES * ROWS) {                               \
        if (own + e >= 0 && own + e < count) {                                                              \
            to[own + e] = memory[own + e];                                                                  \
        }                                                                                                   \
    }
