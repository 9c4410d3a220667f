#include <metal_stdlib>
using namespace metal;

#ifndef ROWS // compiled alone, without a launch to say how
#define ROWS 32
#define RANK 16
#define VECTOR_IN 1
#define VECTOR_OUT 1
#define ADD 1
#endif

// y = (x·A)·B, row-major: x is rows×in, y is rows×out. A has RANK columns and B has rows of `stride` values, a multiple of 4:
// the host pads them. B has the scale in it. The macros:
//
//   ROWS        rows of x and y a threadgroup: 4 or 32
//   RANK        columns of A: the rank, rounded up to 4, 8, 16, 32 or 64
//   VECTOR_IN   1: `in` is a multiple of 4; 0: any size
//   VECTOR_OUT  the same of `out`
//   ADD         1: add to what y has; 0: y is not read

#define THREADS 256
#define QUADS (ROWS / 4) // vectors of rows
#define DEPTH (4096 / ROWS) // columns of x that are in threadgroup memory at a time
#define TILES (QUADS * RANK / 4) // of 4×4 values of x·A
#define SLICES (THREADS / TILES) // threads that share a tile, each with its part of the sums
#if TILES < 32
#define PARTS (THREADS / 32) // simdgroups, which add up what their threads have
#else
#define PARTS SLICES
#endif
#define HEIGHT (ROWS < 8 ? ROWS : 8) // rows of y a thread
#define TEAMS (ROWS / HEIGHT)
#define ACROSS (THREADS / TEAMS) // threads of a team, four columns each

struct Shape {
    uint rows, in, out, stride;
    uint rank; // without padding
    uint span; // columns of y a threadgroup: a multiple of 4
};

// read_vector returns four values from p on, zeros for those past the first `there`.
inline float4 read_vector(device const float* p, int there) {
#if VECTOR_IN
    return there > 0 ? *(device const float4*)p : float4(0.0f, 0.0f, 0.0f, 0.0f);
#else
    return float4(there > 0 ? p[0] : 0.0f, there > 1 ? p[1] : 0.0f, there > 2 ? p[2] : 0.0f, there > 3 ? p[3] : 0.0f);
#endif
}

// lora computes ROWS×span values of y. x·A of its rows is computed by every threadgroup of these rows, and stays in
// threadgroup memory.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void lora(device float* y [[buffer(0)]],
                 device const float* x [[buffer(1)]],
                 device const float4* a [[buffer(2)]],
                 device const float* b [[buffer(3)]],
                 constant Shape& shape [[buffer(4)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint index [[thread_index_in_threadgroup]]) {
    threadgroup float4 memory[DEPTH * QUADS]; // columns of x, later parts of x·A
    threadgroup float4 product[RANK * QUADS]; // x·A by columns
    uint rows = shape.rows, in = shape.in, out = shape.out;
    uint first_row = group.x * ROWS;

    // A thread loads 4×4 values of x, and transposes them in its registers.
    uint load_row = first_row + 4 * (index % QUADS), load_column = 4 * (index / QUADS);
    uint tile = index % TILES, slice = index / TILES;
    uint quad = tile / (RANK / 4), four = tile % (RANK / 4);
    float4 sum[4];
    #pragma unroll
    for (uint j = 0; j < 4; ++j) {
        sum[j] = float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    for (uint start = 0; start < in; start += DEPTH) {
        float4 block[4];
        #pragma unroll
        for (uint i = 0; i < 4; ++i) {
            uint row = load_row + i, column = start + load_column;
            block[i] = read_vector(x + size_t(row) * in + column, row < rows ? int(in) - int(column) : 0);
        }
        float4 p = block[0], q = block[1], r = block[2], s = block[3];
        uint to = load_column * QUADS + index % QUADS;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        memory[to] = float4(p.x, q.x, r.x, s.x);
        memory[to + QUADS] = float4(p.y, q.y, r.y, s.y);
        memory[to + 2 * QUADS] = float4(p.z, q.z, r.z, s.z);
        memory[to + 3 * QUADS] = float4(p.w, q.w, r.w, s.w);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        uint last = min(uint(DEPTH), in - start);
        #pragma unroll 4
        for (uint l = slice; l < last; l += SLICES) {
            float4 v = memory[l * QUADS + quad], w = a[size_t(start + l) * (RANK / 4) + four];
            sum[0] = fma(float4(w.x), v, sum[0]);
            sum[1] = fma(float4(w.y), v, sum[1]);
            sum[2] = fma(float4(w.z), v, sum[2]);
            sum[3] = fma(float4(w.w), v, sum[3]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#if TILES < 32
    #pragma unroll
    for (uint j = 0; j < 4; ++j) {
        for (uint d = TILES; d < 32; d *= 2) {
            sum[j].x += simd_shuffle_xor(sum[j].x, d);
            sum[j].y += simd_shuffle_xor(sum[j].y, d);
            sum[j].z += simd_shuffle_xor(sum[j].z, d);
            sum[j].w += simd_shuffle_xor(sum[j].w, d);
        }
        if (index % 32 < TILES) {
            memory[(index / 32 * TILES + tile) * 4 + j] = sum[j];
        }
    }
#else
    #pragma unroll
    for (uint j = 0; j < 4; ++j) {
        memory[index * 4 + j] = sum[j];
    }
#endif
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint v = index; v < 4 * TILES; v += THREADS) {
        float4 total = memory[v];
        for (uint p = 1; p < PARTS; ++p) {
            total = total + memory[p * 4 * TILES + v];
        }
        uint of = v / 4;
        product[(of % (RANK / 4) * 4 + v % 4) * QUADS + of / (RANK / 4)] = total;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    uint team = index / ACROSS;
    uint last_column = min((group.y + 1) * shape.span, out);
    for (uint column = group.y * shape.span + 4 * (index % ACROSS); column < last_column; column += 4 * ACROSS) {
        float4 values[HEIGHT];
        #pragma unroll
        for (uint i = 0; i < HEIGHT; ++i) {
            values[i] = float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        #pragma unroll 4
        for (uint k = 0; k < shape.rank; ++k) {
            float4 w = *(device const float4*)(b + size_t(k) * shape.stride + column);
            #pragma unroll
            for (uint i = 0; i < HEIGHT / 4; ++i) {
                float4 v = product[k * QUADS + team * (HEIGHT / 4) + i];
                values[4 * i] = fma(float4(v.x), w, values[4 * i]);
                values[4 * i + 1] = fma(float4(v.y), w, values[4 * i + 1]);
                values[4 * i + 2] = fma(float4(v.z), w, values[4 * i + 2]);
                values[4 * i + 3] = fma(float4(v.w), w, values[4 * i + 3]);
            }
        }
        #pragma unroll
        for (uint i = 0; i < HEIGHT; ++i) {
            uint row = first_row + team * HEIGHT + i;
            if (row < rows) {
                device float* at = y + size_t(row) * out + column;
                float4 v = values[i];
#if VECTOR_OUT
                *(device float4*)at = ADD ? *(device float4*)at + v : v;
#else
                at[0] = ADD ? at[0] + v.x : v.x;
                if (column + 1 < out) { at[1] = ADD ? at[1] + v.y : v.y; }
                if (column + 2 < out) { at[2] = ADD ? at[2] + v.z : v.z; }
                if (column + 3 < out) { at[3] = ADD ? at[3] + v.w : v.w; }
#endif
            }
        }
    }
}
