#include <metal_stdlib>
using namespace metal;

#ifndef TILE_M // compiled alone, without a launch to say how
#define TILE_M 64
#define TILE_N 64
#define TILE_K 32
#define THREAD_M 8
#define THREAD_N 8
#define LANES_M 4
#define STAGES 2
#define SLICES 2
#define ALONG 4
#define TRANSPOSED_A 1
#define TRANSPOSED 1
#define BIAS 1
#define SCALED 2
#define EDGE 2
#endif

// C = A·B, row-major: A is m×k, B is k×n, C is m×n. With TRANSPOSED, B is stored as n×k and C = A·Bᵀ. With TRANSPOSED_A, A
// is stored as k×m and stands for Aᵀ.
//
// A threadgroup computes TILE_M×TILE_N values of C. It walks along k in steps of TILE_K: its threads bring TILE_K
// columns of A and rows of B into threadgroup memory, and each multiplies what concerns its own THREAD_M×THREAD_N
// values of C, which stay in registers. The macros:
//
//   TILE_M, TILE_N      multiples of 32, and of what a simdgroup computes, SIMD_M×SIMD_N
//   TILE_K              a multiple of 4·SLICES·ALONG
//   THREAD_M, THREAD_N  4, 8 or 16: vectors of C, a simdgroup's width apart
//   LANES_M             rows of threads in a simdgroup, 4 or 8
//   STAGES              2: a tile is stored while the one before it is read; 1: half the threadgroup memory
//   SLICES              teams of threads that share a tile of C, each with its part of every TILE_K terms
//   ALONG               threads of eight that read along a matrix row that they transpose: 1, 2, 4 or 8
//   TRANSPOSED_A, TRANSPOSED, BIAS  0 or 1
//   SCALED              0: C = A·B; 1: C = alpha·A·B; 2: C = alpha·A·B + beta·before; only 0 with BIAS
//   EDGE                0: m, n and k are multiples of the tile; 1: rows of all matrices, as they are stored, are multiples
//                       of 4; 2: any size

#define LANES_N (32 / LANES_M)
#define SIMD_M (LANES_M * THREAD_M)
#define SIMD_N (LANES_N * THREAD_N)
#define SIMDS_N (TILE_N / SIMD_N)
#define TEAM (TILE_M / SIMD_M * SIMDS_N * 32)
#define THREADS (TEAM * SLICES)

// A stage of threadgroup memory is TILE_K rows, each of TILE_M values of A, transposed, and TILE_N values of B.
#define ROW ((TILE_M + TILE_N) / 4)
#define STAGE (TILE_K * ROW)

// A thread loads blocks of 4×4 values, which it can transpose in its registers and store as whole vectors.
#define BLOCKS_A (TILE_M * TILE_K / 16)
#define BLOCKS (BLOCKS_A + TILE_N * TILE_K / 16)
#define LOADS ((BLOCKS + THREADS - 1) / THREADS)

#if SLICES > 1 && TILE_M * TILE_N / 4 > STAGES * STAGE
#define MEMORY (TILE_M * TILE_N / 4)
#else
#define MEMORY (STAGES * STAGE)
#endif

// The vectors of row k of a stage that were transposed stand at their index, its low bits turned over by TWIST: the
// eight vectors that eight threads write at once then lie in different banks.
#define TWIST(k) (8 / ALONG * ((k) / 4 % ALONG))
#if TRANSPOSED
#define TWIST_B(k) TWIST(k)
#else
#define TWIST_B(k) 0
#endif
#if TRANSPOSED_A
#define TWIST_A(k) 0
#else
#define TWIST_A(k) TWIST(k)
#endif
#define TERMS (TILE_K / SLICES)

// The place of vector i of a thread whose first one is at, both in a row whose vectors a twist has turned over.
#define TWISTED(at, i, lanes, values, twist) \
    (values == 4 ? at ^ (twist) : (at ^ (twist) % lanes) + (i ^ (twist) / lanes) * lanes)

struct Shape {
    uint m, n, k;
    uint depth; // terms that one threadgroup adds up: a multiple of TILE_K
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

// write_vector writes the first `there` of four values.
inline void write_vector(device float* p, float4 v, int there) {
#if EDGE == 2
    if (there > 0) { p[0] = v.x; }
    if (there > 1) { p[1] = v.y; }
    if (there > 2) { p[2] = v.z; }
    if (there > 3) { p[3] = v.w; }
#else
    if (EDGE == 0 || there > 0) {
        *(device float4*)p = v;
    }
#endif
}

// scaled returns what becomes of a sum. before points at as many values as write_vector writes.
inline float4 scaled(float4 sum, device const float* before, int there, float alpha, float beta) {
#if SCALED == 2
    return fma(float4(alpha), sum, float4(beta) * read_vector(before, there));
#elif SCALED == 1
    return float4(alpha) * sum;
#else
    return sum;
#endif
}

inline float4 add_product(float4 sum, float a, float4 b) { return fma(float4(a), b, sum); }

// matmul adds up depth terms of C from term group.y·depth on; each group.y writes a matrix of its own. The bias, one
// value a column, is read with BIAS only, and added to the first matrix. before is read with SCALED 2 only. Where there is
// more than one group.y, add_parts does the scaling.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void matmul(device float* c [[buffer(0)]],
                   device const float* a [[buffer(1)]],
                   device const float* b [[buffer(2)]],
                   device const float* bias [[buffer(3)]],
                   device const float* before [[buffer(4)]],
                   constant Shape& shape [[buffer(5)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint index [[thread_index_in_threadgroup]]) {
    threadgroup float4 memory[MEMORY];
    uint m = shape.m, n = shape.n, k = shape.k;
    uint first_k = group.y * shape.depth;
    uint last_k = min(first_k + shape.depth, k);

    uint tiles_n = (n + TILE_N - 1) / TILE_N;
    uint first_row = group.x / tiles_n * TILE_M, first_column = group.x % tiles_n * TILE_N;

    // The blocks that this thread loads: the corner of the next one, the distance to its next row and to its successor,
    // the place of its first vector in a stage, and how many rows and columns of the matrix there are from its corner.
    device const float* corner[LOADS];
    uint stride[LOADS], step[LOADS], place[LOADS];
    int rows[LOADS], columns[LOADS];
    bool turned[LOADS]; // whether rows of the matrix become columns of the stage
    #pragma unroll
    for (uint l = 0; l < LOADS; ++l) {
        uint block = index + l * THREADS;
        bool of_a = block < BLOCKS_A;
        block -= of_a ? 0 : BLOCKS_A;
        turned[l] = of_a ? !TRANSPOSED_A : TRANSPOSED;
        uint row, column, length; // of the matrix
        if (turned[l]) {
            // Of eight threads in a row, ALONG read on along a matrix row and the others below them.
            uint along = block / 8 % (TILE_K / 4 / ALONG) * ALONG + block % ALONG;
            uint across = block / (2 * TILE_K / ALONG) * (8 / ALONG) + block % 8 / ALONG;
            row = (of_a ? first_row : first_column) + 4 * across;
            column = first_k + 4 * along;
            length = k;
            step[l] = TILE_K;
            place[l] = 4 * along * ROW + (across ^ TWIST(4 * along)) + (of_a ? 0 : TILE_M / 4);
            rows[l] = int(of_a ? m : n) - int(row);
            columns[l] = int(last_k) - int(column);
        } else {
            uint vectors = of_a ? TILE_M / 4 : TILE_N / 4;
            uint along = block % vectors, across = block / vectors;
            row = first_k + 4 * across;
            column = (of_a ? first_row : first_column) + 4 * along;
            length = of_a ? m : n;
            step[l] = TILE_K * length;
            place[l] = 4 * across * ROW + along + (of_a ? 0 : TILE_M / 4);
            rows[l] = int(last_k) - int(row);
            columns[l] = int(length) - int(column);
        }
        stride[l] = length;
        corner[l] = (of_a ? a : b) + size_t(row) * length + column;
    }

    // The thread's place in the tile. Two neighbours in a simdgroup share a vector of B, every second one of A, so that
    // a vector is read once for the threads that want it.
    uint lane = index % 32, simd = index % TEAM / 32, slice = index / TEAM;
    uint lane_m = lane % 2 + lane / (2 * LANES_N) * 2, lane_n = lane / 2 % LANES_N;
    int at_m = simd / SIMDS_N * (SIMD_M / 4) + lane_m;
    int at_n = simd % SIMDS_N * (SIMD_N / 4) + lane_n;

    float4 sum[THREAD_M][THREAD_N / 4];
    #pragma unroll
    for (uint i = 0; i < THREAD_M; ++i) {
        #pragma unroll
        for (uint j = 0; j < THREAD_N / 4; ++j) {
            sum[i][j] = float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }

    // Tile t travels from device memory to registers while tile t−1 is multiplied, and from there to threadgroup memory.
    float4 block[LOADS][4];
    uint tiles = (last_k - first_k + TILE_K - 1) / TILE_K;
    for (uint t = 0; t <= tiles; ++t) {
        if (t < tiles) {
            #pragma unroll
            for (uint l = 0; l < LOADS; ++l) {
                if (BLOCKS % THREADS == 0 || index + l * THREADS < BLOCKS) {
                    #pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        block[l][i] = read_vector(corner[l] + size_t(stride[l]) * i, i < rows[l] ? columns[l] : 0);
                    }
                    corner[l] += step[l];
                    rows[l] -= turned[l] ? 0 : TILE_K;
                    columns[l] -= turned[l] ? TILE_K : 0;
                }
            }
        }
        if (t > 0) {
            int from = (t - 1) % STAGES * STAGE + slice * TERMS * ROW;
            #pragma unroll
            for (int l = 0; l < TERMS; ++l) {
                float4 x[THREAD_M / 4], y[THREAD_N / 4];
                #pragma unroll
                for (int i = 0; i < THREAD_M / 4; ++i) {
                    x[i] = memory[from + l * ROW + TWISTED(at_m, i, LANES_M, THREAD_M, TWIST_A(l))];
                }
                #pragma unroll
                for (int j = 0; j < THREAD_N / 4; ++j) {
                    y[j] = memory[from + l * ROW + TILE_M / 4 + TWISTED(at_n, j, LANES_N, THREAD_N, TWIST_B(l))];
                }
                #pragma unroll
                for (uint i = 0; i < THREAD_M / 4; ++i) {
                    #pragma unroll
                    for (uint j = 0; j < THREAD_N / 4; ++j) {
                        sum[4 * i][j] = add_product(sum[4 * i][j], x[i].x, y[j]);
                        sum[4 * i + 1][j] = add_product(sum[4 * i + 1][j], x[i].y, y[j]);
                        sum[4 * i + 2][j] = add_product(sum[4 * i + 2][j], x[i].z, y[j]);
                        sum[4 * i + 3][j] = add_product(sum[4 * i + 3][j], x[i].w, y[j]);
                    }
                }
            }
        }
        if (t < tiles) {
            if (STAGES == 1) {
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            #pragma unroll
            for (uint l = 0; l < LOADS; ++l) {
                if (BLOCKS % THREADS == 0 || index + l * THREADS < BLOCKS) {
                    float4 p = block[l][0], q = block[l][1], r = block[l][2], s = block[l][3];
                    uint to = t % STAGES * STAGE + place[l];
                    memory[to] = turned[l] ? float4(p.x, q.x, r.x, s.x) : p;
                    memory[to + ROW] = turned[l] ? float4(p.y, q.y, r.y, s.y) : q;
                    memory[to + 2 * ROW] = turned[l] ? float4(p.z, q.z, r.z, s.z) : r;
                    memory[to + 3 * ROW] = turned[l] ? float4(p.w, q.w, r.w, s.w) : s;
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }

    // The first team adds up what the others have, one after the other.
    for (uint s = 1; s < SLICES; ++s) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        #pragma unroll
        for (uint i = 0; i < THREAD_M; ++i) {
            #pragma unroll
            for (uint j = 0; j < THREAD_N / 4; ++j) {
                if (slice == s) {
                    memory[(i * (THREAD_N / 4) + j) * TEAM + index % TEAM] = sum[i][j];
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        #pragma unroll
        for (uint i = 0; i < THREAD_M; ++i) {
            #pragma unroll
            for (uint j = 0; j < THREAD_N / 4; ++j) {
                if (slice == 0) {
                    sum[i][j] = sum[i][j] + memory[(i * (THREAD_N / 4) + j) * TEAM + index];
                }
            }
        }
    }
    if (slice > 0) {
        return;
    }

    #pragma unroll
    for (uint j = 0; j < THREAD_N / 4; ++j) {
        uint column = first_column + 4 * (at_n + j * LANES_N);
        int there = int(n) - int(column);
        float4 shift = BIAS && group.y == 0 ? read_vector(bias + column, there) : float4(0.0f, 0.0f, 0.0f, 0.0f);
        #pragma unroll
        for (uint i = 0; i < THREAD_M; ++i) {
            uint row = first_row + 4 * (at_m + i / 4 * LANES_M) + i % 4;
            if (EDGE == 0 || row < m) {
                float4 value = sum[i][j] + shift;
                if (SCALED > 0 && shape.depth >= k) {
                    value = scaled(value, before + size_t(row) * n + column, there, shape.alpha, shape.beta);
                }
                write_vector(c + (size_t(group.y) * m + row) * n + column, value, there);
            }
        }
    }
}

struct Parts {
    uint count, size; // of matrices, and of values in each of them
    float alpha, beta;
};

// add_parts adds up the matrices that matmul wrote into C, and scales the sums. A thread adds up a vector, or with EDGE 2
// one value.
kernel void add_parts(device float* c [[buffer(0)]],
                      device const float* parts [[buffer(1)]],
                      device const float* before [[buffer(2)]],
                      constant Parts& shape [[buffer(3)]],
                      uint index [[thread_position_in_grid]]) {
    uint size = shape.size;
#if EDGE == 2
    if (index < size) {
        float sum = parts[index];
        for (uint p = 1; p < shape.count; ++p) {
            sum += parts[size_t(p) * size + index];
        }
        c[index] = scaled(float4(sum), before + index, 1, shape.alpha, shape.beta).x;
    }
#else
    uint first = 4 * index;
    if (first < size) {
        float4 sum = *(device const float4*)(parts + first);
        for (uint p = 1; p < shape.count; ++p) {
            sum = sum + *(device const float4*)(parts + size_t(p) * size + first);
        }
        *(device float4*)(c + first) = scaled(sum, before + first, 4, shape.alpha, shape.beta);
    }
#endif
}
