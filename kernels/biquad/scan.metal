
#ifndef COMPOSED // compiled alone, without compose.metal before it
#include "compose.metal"
#define THREADS 256
#define CHUNK 6
#endif

// The scan. Every thread finds what one chunk, of CHUNK vectors, leaves behind from silence. A scan over the threads composes
// that, and every thread then filters its chunk from the state that it knows at last. The chunks of a threadgroup's threads, one
// after the other, are a tile.
//
// A row of few tiles, or one among many rows, is walked by one threadgroup from tile to tile. Else several threadgroups
// walk parts of the row, after a kernel that finds what each part leaves behind.

#define TILE (THREADS * CHUNK)
#define SIMDGROUPS (THREADS / 32)

// What a row has: `groups` threadgroups, which walk `tiles` tiles each, one after the other.
struct Walk {
    uint groups;
    uint tiles;
};

// The state at the end of each part of a row from silence: left[row·groups + part]. The last part's is not asked for.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void ends(device float2* left [[buffer(0)]],
                 device const float4* x [[buffer(1)]],
                 device const float4* powers [[buffer(2)]],
                 constant Filter& section [[buffer(3)]],
                 constant Shape& shape [[buffer(4)]],
                 constant Walk& walk [[buffer(5)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint id [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float2 last[SIMDGROUPS];
    Filter f = section;
    uint first = group.x * walk.tiles * TILE + id * CHUNK;
    float2 s = float2(0.0f, 0.0f);
    for (uint tile = 0; tile < walk.tiles; ++tile) {
        float2 z = float2(0.0f, 0.0f);
        for (uint k = 0; k < CHUNK; ++k) {
            samples(f, z, load(x, shape, group.y, first + tile * TILE + k));
        }
        z = composed(z, powers, lane);
        if (lane == 31) {
            last[simdgroup] = z;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < SIMDGROUPS; ++i) {
            s = times(powers[5], s) + last[i];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (id == 0) {
        left[group.y * walk.groups + group.x] = s;
    }
}

// The output, and each row's state after it. Tiles go through threadgroup memory, so that device memory is read and
// written in one piece; an odd CHUNK keeps the chunks of neighbouring threads in different banks. Where a row has more
// than one threadgroup, and then at most THREADS, each finds the state at the beginning of its part from what the
// parts before it leave behind; partPowers are the powers of the state matrix to a part's samples.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void scan(device float4* y [[buffer(0)]],
                 device const float4* x [[buffer(1)]],
                 device State* after [[buffer(2)]],
                 device const State* before [[buffer(3)]],
                 device const float2* left [[buffer(4)]],
                 device const float4* powers [[buffer(5)]],
                 device const float4* partPowers [[buffer(6)]],
                 constant Filter& section [[buffer(7)]],
                 constant Shape& shape [[buffer(8)]],
                 constant Walk& walk [[buffer(9)]],
                 uint group [[threadgroup_position_in_grid]],
                 uint id [[thread_position_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float4 tile[TILE];
    threadgroup float2 lasts[SIMDGROUPS];
    threadgroup float2 entry[1];
    Filter f = section;
    uint vectors = shape.vectors;
    uint simdgroup = id / 32, row = group / walk.groups, part = group % walk.groups;
    uint start = part * walk.tiles * TILE;
    uint end = min(start + walk.tiles * TILE, vectors);
    float2 s = begun(f, before + row);

    float4 ahead[CHUNK];
    for (uint k = 0; k < CHUNK; ++k) {
        uint i = start + k * THREADS + id;
        ahead[k] = i < end ? load(x, shape, row, i) : float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    if (walk.groups > 1) {
        // Thread i has what part i leaves behind; composed, the state at its beginning.
        float2 z = composed(id < part ? left[row * walk.groups + id] : float2(0.0f, 0.0f), partPowers, lane);
        if (lane == 31) {
            lasts[simdgroup] = z;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < simdgroup; ++i) {
            s = times(partPowers[5], s) + lasts[i];
        }
        s = atChunk(s, z, partPowers[6 + lane], lane);
        if (id == part) {
            entry[0] = s;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        s = entry[0];
    }
    for (; start < end; start += TILE) {
        for (uint k = 0; k < CHUNK; ++k) {
            tile[k * THREADS + id] = ahead[k];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < CHUNK; ++k) {
            uint i = start + TILE + k * THREADS + id;
            if (i < end) {
                ahead[k] = load(x, shape, row, i);
            }
        }
        float4 chunk[CHUNK];
        float2 z = float2(0.0f, 0.0f);
        for (uint k = 0; k < CHUNK; ++k) {
            chunk[k] = tile[id * CHUNK + k];
            samples(f, z, chunk[k]);
        }
        z = composed(z, powers, lane);
        if (lane == 31) {
            lasts[simdgroup] = z;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float2 mine = s;
        for (uint i = 0; i < SIMDGROUPS; ++i) {
            if (i == simdgroup) {
                mine = s;
            }
            s = times(powers[5], s) + lasts[i];
        }
        mine = atChunk(mine, z, powers[6 + lane], lane);

        uint first = start + id * CHUNK;
        if (4 * (first + CHUNK) <= shape.n) {
            for (uint k = 0; k < CHUNK; ++k) {
                tile[id * CHUNK + k] = samples(f, mine, chunk[k]);
            }
        } else {
            for (uint k = 0; k < CHUNK; ++k) {
                uint past = min(4 * (first + k), shape.n);
                tile[id * CHUNK + k] = someSamples(f, mine, chunk[k], min(4u, shape.n - past));
            }
        }
        if (first < vectors && first + CHUNK >= vectors) {
            keep(f, mine, after + row);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Each thread reads what it will overwrite next, so no barrier follows.
        for (uint k = 0; k < CHUNK; ++k) {
            uint i = start + k * THREADS + id;
            if (i < end) {
                store(y, shape, row, i, tile[k * THREADS + id]);
            }
        }
    }
}
