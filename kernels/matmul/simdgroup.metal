#include <metal_stdlib>
using namespace metal;

#ifndef EDGE // compiled alone, without a launch to say how
#define TRANSPOSED_A 1
#define TRANSPOSED 1
#define BIAS 1
#define SCALED 2
#define EDGE 2
#endif

// C = A·B as matmul.metal computes it, by the matrix instructions that Apple's GPUs have and no other. It is for Metal
// alone, and has run on the emulator but never on a Mac yet.
//
// Four simdgroups compute a tile of 64×64 values of C, each a quarter of it in 4×4 matrices of 8×8. The macros
// TRANSPOSED_A, TRANSPOSED, BIAS, SCALED and EDGE are those of matmul.metal.

#define TILE 64
#define TILE_K 32
#define THREADS 128

// Rows in threadgroup memory, four values longer than they need to be, so that the rows of a matrix lie in different
// banks. The tile of C takes the place of the tiles of A and B when they are used up.
#define ROW_A (TILE_K + 4)
#define ROW_C (TILE + 4)
#if TRANSPOSED_A
#define AREA_A (TILE_K * ROW_C)
#else
#define AREA_A (TILE * ROW_A)
#endif
#if TRANSPOSED
#define MEMORY (AREA_A + TILE * ROW_A)
#else
#define MEMORY (AREA_A + TILE_K * ROW_C)
#endif

struct Shape {
    uint m, n, k;
    uint depth; // terms that a threadgroup adds up: all of k
    float alpha, beta;
};

// read_vector returns four values from p on, zeros for those past the first `there`.
inline float4 read_vector(device const float* p, int there) {
#if EDGE == 2
    return float4(there > 0 ? p[0] : 0.0f, there > 1 ? p[1] : 0.0f, there > 2 ? p[2] : 0.0f, there > 3 ? p[3] : 0.0f);
#else
    return EDGE == 0 || there > 0 ? *(device const float4*)p : float4(0.0f, 0.0f, 0.0f, 0.0f);
#endif
}

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void matmul(device float* c [[buffer(0)]],
                   device const float* a [[buffer(1)]],
                   device const float* b [[buffer(2)]],
                   device const float* bias [[buffer(3)]],
                   device const float* before [[buffer(4)]],
                   constant Shape& shape [[buffer(5)]],
                   uint group [[threadgroup_position_in_grid]],
                   uint index [[thread_index_in_threadgroup]],
                   uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float memory[MEMORY];
    uint m = shape.m, n = shape.n, k = shape.k;
    uint tiles_n = (n + TILE - 1) / TILE;
    uint first_row = group / tiles_n * TILE, first_column = group % tiles_n * TILE;
    uint simd_row = simd / 2 * (TILE / 2), simd_column = simd % 2 * (TILE / 2);

    simdgroup_float8x8 sum[4][4];
    #pragma unroll
    for (uint i = 0; i < 4; ++i) {
        #pragma unroll
        for (uint j = 0; j < 4; ++j) {
            sum[i][j] = make_filled_simdgroup_matrix<float, 8>(0.0f);
        }
    }
    for (uint l = 0; l < k; l += TILE_K) {
        for (uint v = index; v < TILE * TILE_K / 4; v += THREADS) {
#if !TRANSPOSED_A || TRANSPOSED
            uint i = v / (TILE_K / 4), j = v % (TILE_K / 4) * 4; // of a vector along k
#endif
#if TRANSPOSED_A || !TRANSPOSED
            uint term = v / (TILE / 4), across = v % (TILE / 4) * 4; // of a vector across k
#endif
#if TRANSPOSED_A
            uint row = l + term, column = first_row + across;
            float4 x = read_vector(a + size_t(row) * m + column, row < k ? int(m) - int(column) : 0);
            uint to = term * ROW_C + across;
#else
            uint row = first_row + i, column = l + j;
            float4 x = read_vector(a + size_t(row) * k + column, row < m ? int(k) - int(column) : 0);
            uint to = i * ROW_A + j;
#endif
            memory[to] = x.x;
            memory[to + 1] = x.y;
            memory[to + 2] = x.z;
            memory[to + 3] = x.w;
#if TRANSPOSED
            row = first_column + i;
            column = l + j;
            x = read_vector(b + size_t(row) * k + column, row < n ? int(k) - int(column) : 0);
            to = AREA_A + i * ROW_A + j;
#else
            row = l + term;
            column = first_column + across;
            x = read_vector(b + size_t(row) * n + column, row < k ? int(n) - int(column) : 0);
            to = AREA_A + term * ROW_C + across;
#endif
            memory[to] = x.x;
            memory[to + 1] = x.y;
            memory[to + 2] = x.z;
            memory[to + 3] = x.w;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint t = 0; t < TILE_K; t += 8) {
            simdgroup_float8x8 x[4], y[4];
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
#if TRANSPOSED_A
                simdgroup_load(x[i], &memory[t * ROW_C + simd_row + 8 * i], ROW_C, ulong2(0, 0), true);
#else
                simdgroup_load(x[i], &memory[(simd_row + 8 * i) * ROW_A + t], ROW_A);
#endif
            }
            #pragma unroll
            for (uint j = 0; j < 4; ++j) {
#if TRANSPOSED
                simdgroup_load(y[j], &memory[AREA_A + (simd_column + 8 * j) * ROW_A + t], ROW_A, ulong2(0, 0), true);
#else
                simdgroup_load(y[j], &memory[AREA_A + t * ROW_C + simd_column + 8 * j], ROW_C);
#endif
            }
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
                #pragma unroll
                for (uint j = 0; j < 4; ++j) {
                    simdgroup_multiply_accumulate(sum[i][j], x[i], y[j], sum[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    #pragma unroll
    for (uint i = 0; i < 4; ++i) {
        #pragma unroll
        for (uint j = 0; j < 4; ++j) {
            simdgroup_store(sum[i][j], &memory[(simd_row + 8 * i) * ROW_C + simd_column + 8 * j], ROW_C);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint v = index; v < TILE * TILE; v += THREADS) {
        uint row = first_row + v / TILE, column = first_column + v % TILE;
        if (EDGE == 0 || (row < m && column < n)) {
            float value = memory[v / TILE * ROW_C + v % TILE];
            size_t at = size_t(row) * n + column;
#if SCALED == 2
            value = fma(shape.alpha, value, shape.beta * before[at]);
#elif SCALED == 1
            value = shape.alpha * value;
#endif
            c[at] = BIAS ? value + bias[column] : value;
        }
    }
}
