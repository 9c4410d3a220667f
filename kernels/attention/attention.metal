#include <metal_stdlib>
using namespace metal;

#ifndef ROWS // compiled alone, without a launch to say how
#define ROWS 64
#define WIDTH 128
#define VECTOR 1
#define CAUSAL 1
#endif

// y = softmax(q·kᵀ/√width)·v of each head, row-major: q and y are heads×steps×width, k and v are heads×room×width, of which the
// first keys rows of a head count. The macros:
//
//   ROWS    queries a threadgroup: 16 or 64
//   WIDTH   the width, rounded up to 64, 128 or 256
//   VECTOR  1: the width is a multiple of 4; 0: any
//   CAUSAL  1: query i sees the keys up to i + keys − steps; 0: all
//
// A threadgroup walks along the keys in tiles of KEYS. A thread has the scores of eight queries with four keys of the tile in
// registers, and eight rows of y by WIDTH/16 columns. The sixteen threads with the same queries are half a simdgroup.

#define KEYS 64
#define THREADS (ROWS * 2)
#define CHUNK 16 // columns of q and k, or rows of v, in threadgroup memory at a time
#define QUADS (ROWS / 4) // vectors of queries
#define COLUMNS (WIDTH / 64) // vectors of y a thread and query
#define STAGED (CHUNK * (QUADS + KEYS / 4))
#if CHUNK * WIDTH / 4 > STAGED
#define MEMORY (CHUNK * WIDTH / 4)
#else
#define MEMORY STAGED
#endif

// Vectors of a row of threadgroup memory stand at their index, its low bits turned over, so that those that eight threads
// write at once lie in different banks.
#define TWIST(column) ((column) / 4 * 2 % QUADS) // of q and k
#define TWIST_WEIGHT(key) ((key) / 4 % (QUADS < 8 ? QUADS : 8))

struct Shape {
    uint heads, width, steps, room;
    uint grows; // 1: the number of keys is present[0], and k and v have room for more; 0: it is the room
    float scale;
};

struct Room {
    uint heads, width, room;
};

// append_row writes the row of each head behind those that there are: the last of present[0] rows.
kernel void append_row(device float* all [[buffer(0)]],
                       device const float* row [[buffer(1)]],
                       device const uint* present [[buffer(2)]],
                       constant Room& shape [[buffer(3)]],
                       uint index [[thread_position_in_grid]]) {
    if (index < shape.heads * shape.width) {
        size_t at = size_t(index / shape.width) * shape.room + (present[0] - 1);
        all[at * shape.width + index % shape.width] = row[index];
    }
}

// read_vector returns four values from p on, zeros for those past the first `there`.
inline float4 read_vector(device const float* p, int there) {
#if VECTOR
    return there > 0 ? *(device const float4*)p : float4(0.0f, 0.0f, 0.0f, 0.0f);
#else
    return float4(there > 0 ? p[0] : 0.0f, there > 1 ? p[1] : 0.0f, there > 2 ? p[2] : 0.0f, there > 3 ? p[3] : 0.0f);
#endif
}

// weight is e^d of a distance to the greatest score of a query. Below −87 it would be a denormal, of which some devices make
// 0 and others do not: it is 0. A NaN stays one. The exponential is computed before the choice: as a branch of it, it would be a
// jump for each value.
inline float weight(float d) {
    float w = precise::exp(d);
    return d < -87.0f ? 0.0f : w;
}
inline float4 weight(float4 d) { return float4(weight(d.x), weight(d.y), weight(d.z), weight(d.w)); }

inline float4 largest(float4 a, float4 b) { return float4(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w)); }

inline float4 shuffled(float4 v, uint by) {
    return float4(simd_shuffle_xor(v.x, by), simd_shuffle_xor(v.y, by), simd_shuffle_xor(v.z, by), simd_shuffle_xor(v.w, by));
}

// shift_of is what scores are taken against: the greatest of them, or 0 where all are −∞, because −∞ − −∞ is NaN.
inline float shift_of(float most) { return most == -INFINITY ? 0.0f : most; }
inline float4 shift_of(float4 most) { return float4(shift_of(most.x), shift_of(most.y), shift_of(most.z), shift_of(most.w)); }

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void attention(device float* y [[buffer(0)]],
                      device const float* q [[buffer(1)]],
                      device const float* k [[buffer(2)]],
                      device const float* v [[buffer(3)]],
                      device const uint* present [[buffer(4)]],
                      constant Shape& shape [[buffer(5)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint groups [[threadgroups_per_grid]],
                      uint index [[thread_index_in_threadgroup]]) {
    threadgroup float4 memory[MEMORY]; // columns of q and k, or rows of v
    threadgroup float4 weights[KEYS * QUADS]; // of a tile, by keys
    uint width = shape.width, steps = shape.steps, room = shape.room, keys = shape.grows == 1 ? present[0] : room;
    // The last queries come first: a causal mask makes them take longest.
    uint head = group % shape.heads, first_row = (groups / shape.heads - 1 - group / shape.heads) * ROWS;
    device const float* queries = q + size_t(head) * steps * width;
    device const float* all_keys = k + size_t(head) * room * width;
    device const float* values = v + size_t(head) * room * width;
    uint at_row = index / 16, at_column = index % 16;

    // The first key that the first query of the threadgroup, and that all of its queries, do not see.
    uint seen = keys, last = keys;
#if CAUSAL
    seen = first_row + 1 + keys - steps;
    last = min(keys, seen + ROWS - 1);
#endif

    float4 most[2], sum[2], out[8][COLUMNS];
    #pragma unroll
    for (uint h = 0; h < 2; ++h) {
        most[h] = float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
        sum[h] = float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    #pragma unroll
    for (uint i = 0; i < 8; ++i) {
        #pragma unroll
        for (uint c = 0; c < COLUMNS; ++c) {
            out[i][c] = float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }

    for (uint first_key = 0; first_key < last; first_key += KEYS) {
        float4 score[4][2]; // four keys by eight queries
        #pragma unroll
        for (uint j = 0; j < 4; ++j) {
            score[j][0] = float4(0.0f, 0.0f, 0.0f, 0.0f);
            score[j][1] = float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        for (uint start = 0; start < width; start += CHUNK) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            // A thread loads blocks of 4×4 values, and transposes them in its registers.
            for (uint b = index; b < ROWS + KEYS; b += THREADS) {
                bool of_q = b < ROWS;
                uint along = b % 4, across = (of_q ? b : b - ROWS) / 4;
                uint row = (of_q ? first_row : first_key) + 4 * across, count = of_q ? steps : keys;
                uint column = start + 4 * along;
                device const float* corner = (of_q ? queries : all_keys) + size_t(row) * width + column;
                float4 block[4];
                #pragma unroll
                for (uint i = 0; i < 4; ++i) {
                    block[i] = read_vector(corner + size_t(width) * i, row + i < count ? int(width) - int(column) : 0);
                }
                float4 m = block[0], n = block[1], o = block[2], p = block[3];
                uint stride = of_q ? QUADS : KEYS / 4;
                uint to = (of_q ? 0 : CHUNK * QUADS) + 4 * along * stride + (across ^ TWIST(4 * along));
                memory[to] = float4(m.x, n.x, o.x, p.x);
                memory[to + stride] = float4(m.y, n.y, o.y, p.y);
                memory[to + 2 * stride] = float4(m.z, n.z, o.z, p.z);
                memory[to + 3 * stride] = float4(m.w, n.w, o.w, p.w);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            #pragma unroll
            for (uint l = 0; l < CHUNK; ++l) {
                float4 x = memory[l * QUADS + ((2 * at_row) ^ TWIST(l))], z = memory[l * QUADS + ((2 * at_row + 1) ^ TWIST(l))];
                float4 w = memory[CHUNK * QUADS + l * (KEYS / 4) + (at_column ^ TWIST(l))];
                score[0][0] = fma(float4(w.x), x, score[0][0]);
                score[0][1] = fma(float4(w.x), z, score[0][1]);
                score[1][0] = fma(float4(w.y), x, score[1][0]);
                score[1][1] = fma(float4(w.y), z, score[1][1]);
                score[2][0] = fma(float4(w.z), x, score[2][0]);
                score[2][1] = fma(float4(w.z), z, score[2][1]);
                score[3][0] = fma(float4(w.w), x, score[3][0]);
                score[3][1] = fma(float4(w.w), z, score[3][1]);
            }
        }

        // Keys that a query does not see have the score −∞.
        bool hidden = first_key + KEYS > min(seen, keys);
        #pragma unroll
        for (uint j = 0; j < 4; ++j) {
            #pragma unroll
            for (uint h = 0; h < 2; ++h) {
                float4 s = score[j][h] * shape.scale;
                if (hidden) {
                    uint key = first_key + 4 * at_column + j;
#if CAUSAL
                    uint limit = seen + 8 * at_row + 4 * h; // of the first of four queries
                    s.x = key < min(limit, keys) ? s.x : -INFINITY;
                    s.y = key < min(limit + 1, keys) ? s.y : -INFINITY;
                    s.z = key < min(limit + 2, keys) ? s.z : -INFINITY;
                    s.w = key < min(limit + 3, keys) ? s.w : -INFINITY;
#else
                    s = key < keys ? s : float4(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
#endif
                }
                score[j][h] = s;
            }
        }
        float4 factor[2];
        #pragma unroll
        for (uint h = 0; h < 2; ++h) {
            float4 top = largest(largest(score[0][h], score[1][h]), largest(score[2][h], score[3][h]));
            #pragma unroll
            for (uint by = 1; by < 16; by *= 2) {
                top = largest(top, shuffled(top, by));
            }
            top = largest(top, most[h]);
            float4 shift = shift_of(top);
            factor[h] = weight(most[h] - shift);
            most[h] = top;
            sum[h] = sum[h] * factor[h];
            #pragma unroll
            for (uint j = 0; j < 4; ++j) {
                float4 w = weight(score[j][h] - shift);
                sum[h] = sum[h] + w;
                uint key = 4 * at_column + j;
                weights[key * QUADS + ((2 * at_row + h) ^ TWIST_WEIGHT(key))] = w;
            }
        }
        #pragma unroll
        for (uint c = 0; c < COLUMNS; ++c) {
            #pragma unroll
            for (uint h = 0; h < 2; ++h) {
                out[4 * h][c] = out[4 * h][c] * factor[h].x;
                out[4 * h + 1][c] = out[4 * h + 1][c] * factor[h].y;
                out[4 * h + 2][c] = out[4 * h + 2][c] * factor[h].z;
                out[4 * h + 3][c] = out[4 * h + 3][c] * factor[h].w;
            }
        }

        for (uint start = 0; start < KEYS; start += CHUNK) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            for (uint b = index; b < CHUNK * WIDTH / 4; b += THREADS) {
                uint key = first_key + start + b / (WIDTH / 4), column = b % (WIDTH / 4) * 4;
                memory[b] = read_vector(values + size_t(key) * width + column, key < keys ? int(width) - int(column) : 0);
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            #pragma unroll 4
            for (uint l = 0; l < CHUNK; ++l) {
                uint key = start + l;
                float4 x = weights[key * QUADS + ((2 * at_row) ^ TWIST_WEIGHT(key))];
                float4 z = weights[key * QUADS + ((2 * at_row + 1) ^ TWIST_WEIGHT(key))];
                #pragma unroll
                for (uint c = 0; c < COLUMNS; ++c) {
                    float4 w = memory[l * (WIDTH / 4) + c * 16 + at_column];
#if CAUSAL
                    if (hidden) { // a weight of 0 would not hide a NaN or an infinity
                        int blind = int(first_key + key) - int(seen + 8 * at_row); // the last query that does not see the key
                        out[0][c] = blind < 0 ? fma(float4(x.x), w, out[0][c]) : out[0][c];
                        out[1][c] = blind < 1 ? fma(float4(x.y), w, out[1][c]) : out[1][c];
                        out[2][c] = blind < 2 ? fma(float4(x.z), w, out[2][c]) : out[2][c];
                        out[3][c] = blind < 3 ? fma(float4(x.w), w, out[3][c]) : out[3][c];
                        out[4][c] = blind < 4 ? fma(float4(z.x), w, out[4][c]) : out[4][c];
                        out[5][c] = blind < 5 ? fma(float4(z.y), w, out[5][c]) : out[5][c];
                        out[6][c] = blind < 6 ? fma(float4(z.z), w, out[6][c]) : out[6][c];
                        out[7][c] = blind < 7 ? fma(float4(z.w), w, out[7][c]) : out[7][c];
                        continue;
                    }
#endif
                    out[0][c] = fma(float4(x.x), w, out[0][c]);
                    out[1][c] = fma(float4(x.y), w, out[1][c]);
                    out[2][c] = fma(float4(x.z), w, out[2][c]);
                    out[3][c] = fma(float4(x.w), w, out[3][c]);
                    out[4][c] = fma(float4(z.x), w, out[4][c]);
                    out[5][c] = fma(float4(z.y), w, out[5][c]);
                    out[6][c] = fma(float4(z.z), w, out[6][c]);
                    out[7][c] = fma(float4(z.w), w, out[7][c]);
                }
            }
        }
    }

    #pragma unroll
    for (uint h = 0; h < 2; ++h) {
        #pragma unroll
        for (uint by = 1; by < 16; by *= 2) {
            sum[h] = sum[h] + shuffled(sum[h], by);
        }
    }
    float total[8] = {sum[0].x, sum[0].y, sum[0].z, sum[0].w, sum[1].x, sum[1].y, sum[1].z, sum[1].w};
    #pragma unroll
    for (uint i = 0; i < 8; ++i) {
        uint row = first_row + 8 * at_row + i;
        if (row < steps) {
            #pragma unroll
            for (uint c = 0; c < COLUMNS; ++c) {
                uint column = 64 * c + 4 * at_column;
                device float* at = y + (size_t(head) * steps + row) * width + column;
                float4 value = out[i][c] * (1.0f / total[i]);
#if VECTOR
                if (column < width) { *(device float4*)at = value; }
#else
                if (column < width) { at[0] = value.x; }
                if (column + 1 < width) { at[1] = value.y; }
                if (column + 2 < width) { at[2] = value.z; }
                if (column + 3 < width) { at[3] = value.w; }
#endif
            }
        }
    }
}
