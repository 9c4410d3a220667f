
#ifndef COMPOSED // compiled alone, without compose.metal before it
#include "compose.metal"
#define CHUNK 4
#define RESIDENT 640
#endif

// Rows that a simdgroup holds, CHUNK vectors a thread. A threadgroup is one simdgroup, so that it waits for nobody, and walks from
// row to row: the row after the one at work is on its way already. A row goes through threadgroup memory as in scan. With an even
// CHUNK, a cell stays free after eight vectors, which keeps the chunks of neighbouring threads in different banks.
#if CHUNK % 2 == 0
#define CELL(i) ((i) + (i) / 8)
#else
#define CELL(i) (i)
#endif

// What a lane has of a row.
static inline void fetch(thread float4* part, thread float2& s, device const float4* x, device const State* before, Filter f,
                         Shape shape, uint row, uint lane) {
    for (uint k = 0; k < CHUNK; ++k) {
        uint i = k * 32 + lane;
        part[k] = i < shape.vectors ? load(x, shape, row, i) : float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    s = begun(f, before + row);
}

// RESIDENT instead of the number of threads leaves a thread about 100 registers of an NVIDIA GPU.
[[max_total_threads_per_threadgroup(RESIDENT)]]
kernel void short_rows(device float4* y [[buffer(0)]],
                       device const float4* x [[buffer(1)]],
                       device State* after [[buffer(2)]],
                       device const State* before [[buffer(3)]],
                       device const float4* powers [[buffer(4)]],
                       constant Filter& section [[buffer(5)]],
                       constant Shape& shape [[buffer(6)]],
                       uint group [[threadgroup_position_in_grid]],
                       uint groups [[threadgroups_per_grid]],
                       uint lane [[thread_position_in_threadgroup]]) {
    threadgroup float4 tile[CELL(32 * CHUNK)];
    Filter f = section;
    uint first = lane * CHUNK;
    // In registers, since every row needs them.
    float4 doubled[5], own = powers[6 + lane];
    for (uint k = 0; k < 5; ++k) {
        doubled[k] = powers[k];
    }
    float4 ahead[CHUNK];
    float2 next;
    fetch(ahead, next, x, before, f, shape, group, lane);
    for (uint row = group; row < shape.channels; row += groups) {
        float2 s = next;
        for (uint k = 0; k < CHUNK; ++k) {
            tile[CELL(k * 32 + lane)] = ahead[k];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (row + groups < shape.channels) {
            fetch(ahead, next, x, before, f, shape, row + groups, lane);
        }
        float4 chunk[CHUNK];
        float2 z = float2(0.0f, 0.0f);
        for (uint k = 0; k < CHUNK; ++k) {
            chunk[k] = tile[CELL(first + k)];
            samples(f, z, chunk[k]);
        }
        s = atChunk(s, composed(z, (thread const float4*)doubled, lane), own, lane);
        if (4 * (first + CHUNK) <= shape.n) {
            for (uint k = 0; k < CHUNK; ++k) {
                tile[CELL(first + k)] = samples(f, s, chunk[k]);
            }
        } else {
            for (uint k = 0; k < CHUNK; ++k) {
                uint past = min(4 * (first + k), shape.n);
                tile[CELL(first + k)] = someSamples(f, s, chunk[k], min(4u, shape.n - past));
            }
        }
        if (first < shape.vectors && first + CHUNK >= shape.vectors) {
            keep(f, s, after + row);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Each thread reads what it will overwrite next, so no barrier follows.
        for (uint k = 0; k < CHUNK; ++k) {
            uint i = k * 32 + lane;
            if (i < shape.vectors) {
                store(y, shape, row, i, tile[CELL(i)]);
            }
        }
    }
}
