
#ifndef WIDTH // compiled alone, without rows.metal before it
#include "rows.metal"
#define WIDTH 8
#define CHANNELS 32
#endif

// One thread a channel, one simdgroup a threadgroup. Neighbouring threads read samples that are a whole row apart, so
// the simdgroup moves tiles of CHANNELS rows by WIDTH vectors through threadgroup memory: the rows of a tile are read and
// written in one piece each, and the tile after the one at work is on its way already. An even WIDTH and one vector
// between rows keep a column's vectors in different banks. With fewer CHANNELS than threads, the others move vectors alone.
#define MOVES (CHANNELS * WIDTH / 32) // vectors that a thread moves

[[max_total_threads_per_threadgroup(32)]]
kernel void channels(device float4* y [[buffer(0)]],
                     device const float4* x [[buffer(1)]],
                     device State* after [[buffer(2)]],
                     device const State* before [[buffer(3)]],
                     constant Filter& filter [[buffer(4)]],
                     constant Shape& shape [[buffer(5)]],
                     uint group [[threadgroup_position_in_grid]],
                     uint lane [[thread_position_in_threadgroup]]) {
    threadgroup float4 tile[CHANNELS * (WIDTH + 1)];
    Filter f = filter;
    uint vectors = shape.vectors;
    uint first = group * CHANNELS;
    uint channel = first + lane;
    // Threads past the last channel filter zeros, and keep nothing.
    MEMORY s = begun(f, before + min(channel, shape.channels - 1) * STATES);

    float4 ahead[MOVES];
    for (uint k = 0; k < MOVES; ++k) {
        uint row = first + (k * 32 + lane) / WIDTH;
        uint column = (k * 32 + lane) % WIDTH;
        bool inside = row < shape.channels && column < vectors;
        ahead[k] = inside ? load(x, shape, row, column) : float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    for (uint start = 0; start < vectors; start += WIDTH) {
        for (uint k = 0; k < MOVES; ++k) {
            uint i = k * 32 + lane;
            tile[i / WIDTH * (WIDTH + 1) + i % WIDTH] = ahead[k];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < MOVES; ++k) {
            uint row = first + (k * 32 + lane) / WIDTH;
            uint column = start + WIDTH + (k * 32 + lane) % WIDTH;
            if (row < shape.channels && column < vectors) {
                ahead[k] = load(x, shape, row, column);
            }
        }
        uint own = lane * (WIDTH + 1);
        if (lane >= CHANNELS) {
            // has no channel
        } else if (4 * (start + WIDTH) <= shape.n) {
            // All of the row first, so that no sample waits for threadgroup memory.
            float4 row[WIDTH];
            for (uint k = 0; k < WIDTH; ++k) {
                row[k] = tile[own + k];
            }
            for (uint k = 0; k < WIDTH; ++k) {
                tile[own + k] = samples(f, s, row[k]);
            }
        } else {
            for (uint k = 0; start + k < vectors; ++k) {
                tile[own + k] = someSamples(f, s, tile[own + k], min(4u, shape.n - 4 * (start + k)));
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Each thread reads what it will overwrite next, so no barrier follows.
        for (uint k = 0; k < MOVES; ++k) {
            uint i = k * 32 + lane;
            uint row = first + i / WIDTH;
            uint column = start + i % WIDTH;
            if (row < shape.channels && column < vectors) {
                store(y, shape, row, column, tile[i / WIDTH * (WIDTH + 1) + i % WIDTH]);
            }
        }
    }
    if (lane < CHANNELS && channel < shape.channels) {
        keep(f, s, after + channel * STATES);
    }
}
