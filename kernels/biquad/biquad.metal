#include <metal_stdlib>
using namespace metal;

// A section filters rows of samples, one row a channel, each from a state of its own:
//
//     y = b0·x + s1,   s1 <- c1·x - a1·s1 + s2,   s2 <- c2·x - a2·s1
//
// A row is vectors of four samples; where n is no multiple of four, what lies past it is padding that nobody reads.
// Two ways to be parallel are here: over channels, and over time by a scan.

struct Section {
    float b0, c1, c2, a1, a2;
};

struct Shape {
    uint channels;
    uint n;        // samples a channel
    uint vectors;  // a channel
};

static inline float sample(Section f, thread float2& s, float x) {
    float y = f.b0 * x + s.x;
    float next = (f.c1 * x + s.y) - f.a1 * s.x;
    s.y = f.c2 * x - f.a2 * s.x;
    s.x = next;
    return y;
}

static inline float4 samples(Section f, thread float2& s, float4 x) {
    float4 y;
    y.x = sample(f, s, x.x);
    y.y = sample(f, s, x.y);
    y.z = sample(f, s, x.z);
    y.w = sample(f, s, x.w);
    return y;
}

// The first `count` samples of a vector, which is the last one of a row.
static inline float4 someSamples(Section f, thread float2& s, float4 x, uint count) {
    float4 y = float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (count > 0) { y.x = sample(f, s, x.x); }
    if (count > 1) { y.y = sample(f, s, x.y); }
    if (count > 2) { y.z = sample(f, s, x.z); }
    if (count > 3) { y.w = sample(f, s, x.w); }
    return y;
}

// A state that has decayed to nothing ends in zeros: the next call may run on a processor that denormals slow down.
static inline float2 settled(float2 s) {
    bool silent = fabs(s.x) < 1e-30f && fabs(s.y) < 1e-30f;
    return silent ? float2(0.0f, 0.0f) : s;
}

// One thread a channel, one simdgroup a threadgroup. Neighbouring threads read samples that are a whole row apart, so
// the simdgroup moves tiles of 32 rows by WIDTH vectors through threadgroup memory: the rows of a tile are read and
// written in one piece each, and the tile after the one at work is on its way already. An even WIDTH and one vector
// between rows keep a column's vectors in different banks.
[[max_total_threads_per_threadgroup(32)]]
kernel void channels(device float4* y [[buffer(0)]],
                     device const float4* x [[buffer(1)]],
                     device float2* after [[buffer(2)]],
                     device const float2* before [[buffer(3)]],
                     constant Section& section [[buffer(4)]],
                     constant Shape& shape [[buffer(5)]],
                     uint group [[threadgroup_position_in_grid]],
                     uint lane [[thread_position_in_threadgroup]]) {
    threadgroup float4 tile[32 * (WIDTH + 1)];
    Section f = section;
    uint vectors = shape.vectors;
    uint first = group * 32;
    uint channel = first + lane;
    float2 s = channel < shape.channels ? before[channel] : float2(0.0f, 0.0f);

    float4 ahead[WIDTH];
    for (uint k = 0; k < WIDTH; ++k) {
        uint row = first + (k * 32 + lane) / WIDTH;
        uint column = (k * 32 + lane) % WIDTH;
        bool inside = row < shape.channels && column < vectors;
        ahead[k] = inside ? x[row * vectors + column] : float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    for (uint start = 0; start < vectors; start += WIDTH) {
        for (uint k = 0; k < WIDTH; ++k) {
            uint i = k * 32 + lane;
            tile[i / WIDTH * (WIDTH + 1) + i % WIDTH] = ahead[k];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < WIDTH; ++k) {
            uint row = first + (k * 32 + lane) / WIDTH;
            uint column = start + WIDTH + (k * 32 + lane) % WIDTH;
            if (row < shape.channels && column < vectors) {
                ahead[k] = x[row * vectors + column];
            }
        }
        uint own = lane * (WIDTH + 1);
        if (4 * (start + WIDTH) <= shape.n) {
            for (uint k = 0; k < WIDTH; ++k) {
                tile[own + k] = samples(f, s, tile[own + k]);
            }
        } else {
            for (uint k = 0; start + k < vectors; ++k) {
                tile[own + k] = someSamples(f, s, tile[own + k], min(4u, shape.n - 4 * (start + k)));
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Each thread reads what it will overwrite next, so no barrier follows.
        for (uint k = 0; k < WIDTH; ++k) {
            uint i = k * 32 + lane;
            uint row = first + i / WIDTH;
            uint column = start + i % WIDTH;
            if (row < shape.channels && column < vectors) {
                y[row * vectors + column] = tile[i / WIDTH * (WIDTH + 1) + i % WIDTH];
            }
        }
    }
    if (channel < shape.channels) {
        after[channel] = settled(s);
    }
}

// The scan. A chunk of CHUNK vectors takes the state s at its beginning to P·s + z at its end, where P is the section's
// state matrix to the power of the chunk's samples and z is what the chunk leaves behind from silence. Every thread
// finds the z of one chunk, a scan over the threads composes them, and every thread then filters its chunk from the
// state that it knows at last. The chunks of a threadgroup's threads, one after the other, are a tile.
//
// A row of few tiles, or of one among many rows, is walked by one threadgroup from tile to tile. Else each tile has a
// threadgroup of its own, and two kernels before that one find the state at each tile's beginning.
//
// `powers` holds P to the powers 1, 2, 4, 8, 16, 32 and then 0 to 31, each as (m11, m12, m21, m22).

#define TILE (THREADS * CHUNK)
#define SIMDGROUPS (THREADS / 32)

static inline float2 times(float4 m, float2 s) {
    return float2(m.x * s.x + m.y * s.y, m.z * s.x + m.w * s.y);
}

// What the chunks of the lanes up to this one leave behind, from silence before the first one.
static inline float2 composed(float2 z, device const float4* powers, uint lane) {
    for (uint k = 0; k < 5; ++k) {
        uint distance = 1u << k;
        float2 earlier = float2(simd_shuffle_up(z.x, distance), simd_shuffle_up(z.y, distance));
        if (lane >= distance) {
            z = z + times(powers[k], earlier);
        }
    }
    return z;
}

// The state at the beginning of a lane's chunk, from the one at the simdgroup's and from what composed returned.
static inline float2 atChunk(float2 s, float2 z, device const float4* powers, uint lane) {
    float2 earlier = float2(simd_shuffle_up(z.x, 1), simd_shuffle_up(z.y, 1));
    s = times(powers[6 + lane], s);
    return lane > 0 ? s + earlier : s;
}

// The state at the end of each tile from silence: left[row·tiles + tile].
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void ends(device float2* left [[buffer(0)]],
                 device const float4* x [[buffer(1)]],
                 device const float4* powers [[buffer(2)]],
                 constant Section& section [[buffer(3)]],
                 constant Shape& shape [[buffer(4)]],
                 constant uint& tiles [[buffer(5)]],
                 uint group [[threadgroup_position_in_grid]],
                 uint id [[thread_position_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float2 last[SIMDGROUPS];
    Section f = section;
    uint row = group / tiles * shape.vectors;
    uint first = group % tiles * TILE + id * CHUNK;
    float2 z = float2(0.0f, 0.0f);
    for (uint k = 0; k < CHUNK; ++k) {
        if (first + k < shape.vectors) {
            samples(f, z, x[row + first + k]);
        }
    }
    z = composed(z, powers, lane);
    if (lane == 31) {
        last[simdgroup] = z;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (id == 0) {
        float2 s = last[0];
        for (uint i = 1; i < SIMDGROUPS; ++i) {
            s = times(powers[5], s) + last[i];
        }
        left[group] = s;
    }
}

// The state at the beginning of each tile: at[row·tiles + tile]. One threadgroup a row; a tile is a thread's chunk, so
// that `powers` are those of the matrix to the power of a tile's samples.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void chain(device float2* at [[buffer(0)]],
                  device const float2* left [[buffer(1)]],
                  device const float2* before [[buffer(2)]],
                  device const float4* powers [[buffer(3)]],
                  constant uint& tiles [[buffer(4)]],
                  uint row [[threadgroup_position_in_grid]],
                  uint id [[thread_position_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float2 last[SIMDGROUPS];
    float2 s = before[row];
    for (uint start = 0; start < tiles; start += THREADS) {
        uint tile = start + id;
        float2 z = tile < tiles ? left[row * tiles + tile] : float2(0.0f, 0.0f);
        z = composed(z, powers, lane);
        if (lane == 31) {
            last[simdgroup] = z;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float2 mine = s;
        for (uint i = 0; i < SIMDGROUPS; ++i) {
            if (i == simdgroup) {
                mine = s;
            }
            s = times(powers[5], s) + last[i];
        }
        mine = atChunk(mine, z, powers, lane);
        if (tile < tiles) {
            at[row * tiles + tile] = mine;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

// The output, and each row's state after it. A row has `groups` threadgroups of `walk` tiles each, and at[group] is the
// state at the beginning of the first of them. Tiles go through threadgroup memory, so that device memory is read and
// written in one piece; an odd CHUNK keeps the chunks of neighbouring threads in different banks.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void scan(device float4* y [[buffer(0)]],
                 device const float4* x [[buffer(1)]],
                 device float2* after [[buffer(2)]],
                 device const float2* at [[buffer(3)]],
                 device const float4* powers [[buffer(4)]],
                 constant Section& section [[buffer(5)]],
                 constant Shape& shape [[buffer(6)]],
                 constant uint& groups [[buffer(7)]],
                 constant uint& walk [[buffer(8)]],
                 uint group [[threadgroup_position_in_grid]],
                 uint id [[thread_position_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float4 tile[TILE];
    threadgroup float2 last[SIMDGROUPS];
    Section f = section;
    uint vectors = shape.vectors;
    uint row = group / groups;
    uint start = group % groups * walk * TILE;
    uint end = min(start + walk * TILE, vectors);
    float2 s = at[group];

    float4 ahead[CHUNK];
    for (uint k = 0; k < CHUNK; ++k) {
        uint i = start + k * THREADS + id;
        ahead[k] = i < end ? x[row * vectors + i] : float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    for (; start < end; start += TILE) {
        for (uint k = 0; k < CHUNK; ++k) {
            tile[k * THREADS + id] = ahead[k];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < CHUNK; ++k) {
            uint i = start + TILE + k * THREADS + id;
            if (i < end) {
                ahead[k] = x[row * vectors + i];
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
            last[simdgroup] = z;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float2 mine = s;
        for (uint i = 0; i < SIMDGROUPS; ++i) {
            if (i == simdgroup) {
                mine = s;
            }
            s = times(powers[5], s) + last[i];
        }
        mine = atChunk(mine, z, powers, lane);

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
            after[row] = settled(mine);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Each thread reads what it will overwrite next, so no barrier follows.
        for (uint k = 0; k < CHUNK; ++k) {
            uint i = start + k * THREADS + id;
            if (i < end) {
                y[row * vectors + i] = tile[k * THREADS + id];
            }
        }
    }
}
