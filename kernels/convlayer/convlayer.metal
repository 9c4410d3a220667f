#include <metal_stdlib>
using namespace metal;

#ifndef TILE_M // compiled alone, without a launch to say how
#define TILE_M 32
#define TILE_N 32
#define TILE_K 32
#define THREAD_M 4
#define THREAD_N 4
#define STAGES 1
#define SLICES 4
#endif

// A part of a convolutional layer, which is a group of channels of one input, is the product of the group's weights, out×terms,
// and the unrolled matrix, terms×positions. A threadgroup computes TILE_M channels at TILE_N positions. It walks along the terms in steps of TILE_K: its threads bring so many columns
// of the weights and so many rows of the unrolled matrix into threadgroup memory, the latter straight from x. Each thread
// multiplies what concerns its own THREAD_M×THREAD_N outputs, which stay in registers. The macros:
//
//   TILE_M, TILE_N      multiples of THREAD_M and THREAD_N
//   TILE_K              a multiple of SLICES and of STEP
//   THREAD_M, THREAD_N  multiples of 4
//   STAGES              2: a tile is stored while the one before it is read; 1: half the threadgroup memory
//   SLICES              teams of threads that share outputs, each with its part of every TILE_K terms
//
// A vector of four positions holds those that are TILE_N / 4 apart, so that neighbouring threads read and write neighbouring
// values.

#define VECTORS_M (TILE_M / 4)
#define VECTORS_N (TILE_N / 4)
#define ACROSS (TILE_N / THREAD_N) // threads of a team side by side
#define DOWN (TILE_M / THREAD_M)
#define TEAM (ACROSS * DOWN)
#define THREADS (TEAM * SLICES)
#define TERMS (TILE_K / SLICES)
#define STEP (THREADS / VECTORS_N) // rows of the unrolled matrix that the threads load at a time
#define LOADS (TILE_K / STEP)
#define LOADS_M (TILE_K * VECTORS_M / THREADS)
#define ROW (VECTORS_M + VECTORS_N) // of threadgroup memory: a term
#define STAGE (TILE_K * ROW)

#if SLICES > 1 && TILE_M * TILE_N / 4 > STAGES * STAGE
#define MEMORY (TILE_M * TILE_N / 4)
#else
#define MEMORY (STAGES * STAGE)
#endif

struct Layer {
    uint parts, groups; // all parts, and those of one input
    uint first;         // part of a launch
    uint in, out;       // channels of a part
    uint height, width; // of x
    uint kernel_height, kernel_width;
    uint dilation_height, dilation_width;
    int padding_height, padding_width;
    uint stride_height, stride_width;
    uint out_width, positions; // of y
};

// Weights says how many values the weights of a group take.
struct Weights {
    uint rows, columns;
};

// Place is a row of the unrolled matrix: a weight's place in the kernel, in rows and columns of x.
struct Place {
    uint channel, row, column;
};

inline Place place_of(uint term, constant Layer& layer) {
    Place p;
    p.channel = term / (layer.kernel_width * layer.kernel_height);
    p.row = term / layer.kernel_width % layer.kernel_height * layer.dilation_height;
    p.column = term % layer.kernel_width * layer.dilation_width;
    return p;
}

// moved is the place that lies as many terms behind p as `by` lies behind the first one.
inline Place moved(Place p, Place by, constant Layer& layer) {
    p.column += by.column;
    p.row += by.row;
    p.channel += by.channel;
    if (p.column >= layer.kernel_width * layer.dilation_width) {
        p.column -= layer.kernel_width * layer.dilation_width;
        p.row += layer.dilation_height;
    }
    if (p.row >= layer.kernel_height * layer.dilation_height) {
        p.row -= layer.kernel_height * layer.dilation_height;
        ++p.channel;
    }
    return p;
}

// x_of is what a part reads, and y_of what it writes.
inline device const float* x_of(device const float* x, uint part, constant Layer& layer) {
    return x + size_t(part) * layer.in * layer.height * layer.width;
}

inline device float* y_of(device float* y, uint part, constant Layer& layer) {
    return y + size_t(part) * layer.out * layer.positions;
}

// value is what the weight at p multiplies, with the kernel's corner at row, column of the part's x. It is 0 outside of x, and for
// channels behind the last.
inline float value(device const float* x, Place p, int row, int column, constant Layer& layer) {
    row += int(p.row);
    column += int(p.column);
    bool inside = p.channel < layer.in && uint(row) < layer.height && uint(column) < layer.width;
    return inside ? x[(p.channel * layer.height + uint(row)) * layer.width + uint(column)] : 0.0f;
}

inline float4 add_product(float4 sum, float a, float4 b) { return fma(float4(a), b, sum); }

// convolve computes a tile of y. For each group, weights has a row for each term, with a column for each channel. The numbers of
// rows and columns are those of whole tiles, and so is that of the biases of a group.
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void convolve(device float* y [[buffer(0)]],
                     device const float* x [[buffer(1)]],
                     device const float4* weights [[buffer(2)]],
                     device const float4* bias [[buffer(3)]],
                     constant Layer& layer [[buffer(4)]],
                     constant Weights& size [[buffer(5)]],
                     uint3 group [[threadgroup_position_in_grid]],
                     uint index [[thread_index_in_threadgroup]]) {
    threadgroup float4 memory[MEMORY];
    uint first_channel = group.y * TILE_M, first_position = group.x * TILE_N;
    uint part = layer.first + group.z, vectors = size.columns / 4;
    x = x_of(x, part, layer);
    y = y_of(y, part, layer);
    weights += size_t(part % layer.groups) * size.rows * vectors;
    bias += size_t(part % layer.groups) * vectors;

    // The vector of positions that this thread loads: the corners of the kernel there.
    uint mine = index % VECTORS_N;
    int row[4], column[4];
    #pragma unroll
    for (uint i = 0; i < 4; ++i) {
        uint position = min(first_position + mine + i * VECTORS_N, layer.positions - 1);
        row[i] = int(position / layer.out_width * layer.stride_height) - layer.padding_height;
        column[i] = int(position % layer.out_width * layer.stride_width) - layer.padding_width;
    }
    Place place = place_of(index / VECTORS_N, layer), jump = place_of(STEP, layer);
    device const float4* weight = weights + size_t(index / VECTORS_M) * vectors + first_channel / 4 + index % VECTORS_M;
    uint weight_step = THREADS / VECTORS_M * vectors;

    int at_n = index % ACROSS, at_m = index % TEAM / ACROSS;
    uint slice = index / TEAM;
    float4 sum[THREAD_M][THREAD_N / 4];
    #pragma unroll
    for (uint i = 0; i < THREAD_M; ++i) {
        #pragma unroll
        for (uint j = 0; j < THREAD_N / 4; ++j) {
            sum[i][j] = float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }

    // Tile t travels from device memory to registers while tile t−1 is multiplied, and from there to threadgroup memory.
    float4 unrolled[LOADS], loaded[LOADS_M];
    uint tiles = (layer.in * layer.kernel_height * layer.kernel_width + TILE_K - 1) / TILE_K;
    for (uint t = 0; t <= tiles; ++t) {
        if (t < tiles) {
            #pragma unroll
            for (uint l = 0; l < LOADS_M; ++l) {
                loaded[l] = *weight;
                weight += weight_step;
            }
            #pragma unroll
            for (uint l = 0; l < LOADS; ++l) {
                unrolled[l] = float4(value(x, place, row[0], column[0], layer), value(x, place, row[1], column[1], layer),
                                     value(x, place, row[2], column[2], layer), value(x, place, row[3], column[3], layer));
                place = moved(place, jump, layer);
            }
        }
        if (t > 0) {
            int from = (t - 1) % STAGES * STAGE + slice * TERMS * ROW;
            #pragma unroll
            for (int l = 0; l < TERMS; ++l) {
                float4 a[THREAD_M / 4], b[THREAD_N / 4];
                #pragma unroll
                for (int i = 0; i < THREAD_M / 4; ++i) {
                    a[i] = memory[from + l * ROW + at_m + i * DOWN];
                }
                #pragma unroll
                for (int j = 0; j < THREAD_N / 4; ++j) {
                    b[j] = memory[from + l * ROW + VECTORS_M + at_n + j * ACROSS];
                }
                #pragma unroll
                for (uint i = 0; i < THREAD_M / 4; ++i) {
                    #pragma unroll
                    for (uint j = 0; j < THREAD_N / 4; ++j) {
                        sum[4 * i][j] = add_product(sum[4 * i][j], a[i].x, b[j]);
                        sum[4 * i + 1][j] = add_product(sum[4 * i + 1][j], a[i].y, b[j]);
                        sum[4 * i + 2][j] = add_product(sum[4 * i + 2][j], a[i].z, b[j]);
                        sum[4 * i + 3][j] = add_product(sum[4 * i + 3][j], a[i].w, b[j]);
                    }
                }
            }
        }
        if (t < tiles) {
            if (STAGES == 1) {
                threadgroup_barrier(mem_flags::mem_threadgroup);
            }
            uint to = t % STAGES * STAGE;
            #pragma unroll
            for (uint l = 0; l < LOADS_M; ++l) {
                memory[to + (index / VECTORS_M + l * (THREADS / VECTORS_M)) * ROW + index % VECTORS_M] = loaded[l];
            }
            #pragma unroll
            for (uint l = 0; l < LOADS; ++l) {
                memory[to + (index / VECTORS_N + l * STEP) * ROW + VECTORS_M + mine] = unrolled[l];
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
    for (uint i = 0; i < THREAD_M / 4; ++i) {
        uint channel = first_channel + 4 * (at_m + i * DOWN);
        float4 shift = bias[channel / 4];
        #pragma unroll
        for (uint r = 0; r < 4; ++r) {
            if (channel + r < layer.out) {
                float b = r == 0 ? shift.x : r == 1 ? shift.y : r == 2 ? shift.z : shift.w;
                device float* to = y + size_t(channel + r) * layer.positions;
                #pragma unroll
                for (uint j = 0; j < THREAD_N / 4; ++j) {
                    float4 v = sum[4 * i + r][j];
                    uint position = first_position + at_n + j * ACROSS;
                    if (position < layer.positions) { to[position] = v.x + b; }
                    if (position + VECTORS_N < layer.positions) { to[position + VECTORS_N] = v.y + b; }
                    if (position + 2 * VECTORS_N < layer.positions) { to[position + 2 * VECTORS_N] = v.z + b; }
                    if (position + 3 * VECTORS_N < layer.positions) { to[position + 3 * VECTORS_N] = v.w + b; }
                }
            }
        }
    }
}

// slide computes y if each group has one output: a sum for each thread. A row of threadgroups computes a part. weights has a row
// for each group.
kernel void slide(device float* y [[buffer(0)]],
                  device const float* x [[buffer(1)]],
                  device const float* weights [[buffer(2)]],
                  device const float* bias [[buffer(3)]],
                  constant Layer& layer [[buffer(4)]],
                  uint2 group [[threadgroup_position_in_grid]],
                  uint2 groups [[threadgroups_per_grid]],
                  uint2 lane [[thread_position_in_threadgroup]],
                  uint2 width [[threads_per_threadgroup]]) {
    uint position = group.x * width.x + lane.x;
    if (position >= layer.positions) {
        return;
    }
    int row = int(position / layer.out_width * layer.stride_height) - layer.padding_height;
    int column = int(position % layer.out_width * layer.stride_width) - layer.padding_width;
    Place next = place_of(1, layer);
    uint terms = layer.in * layer.kernel_height * layer.kernel_width;
    for (uint part = layer.first + group.y; part < layer.parts; part += groups.y) {
        device const float* from = x_of(x, part, layer);
        device const float* weight = weights + size_t(part % layer.groups) * terms;
        Place place = place_of(0, layer);
        float sum = 0.0f;
        for (uint l = 0; l < terms; ++l) {
            sum = fma(weight[l], value(from, place, row, column, layer), sum);
            place = moved(place, next, layer);
        }
        y_of(y, part, layer)[position] = sum + bias[part % layer.groups];
    }
}

// unroll writes the unrolled matrix of a part, and the biases into y, for a library that adds its product to them. A row of
// threadgroups writes a row of the matrix, and then a row of y.
kernel void unroll(device float* y [[buffer(0)]],
                   device const float* x [[buffer(1)]],
                   device float* unrolled [[buffer(2)]],
                   device const float* bias [[buffer(3)]],
                   constant Layer& layer [[buffer(4)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint2 groups [[threadgroups_per_grid]],
                   uint2 lane [[thread_position_in_threadgroup]],
                   uint2 width [[threads_per_threadgroup]]) {
    uint position = group.x * width.x + lane.x;
    if (position >= layer.positions) {
        return;
    }
    x = x_of(x, layer.first, layer);
    y = y_of(y, layer.first, layer);
    bias += layer.first % layer.groups * layer.out;
    int row = int(position / layer.out_width * layer.stride_height) - layer.padding_height;
    int column = int(position % layer.out_width * layer.stride_width) - layer.padding_width;
    uint terms = layer.in * layer.kernel_height * layer.kernel_width;
    for (uint l = group.y; l < terms; l += groups.y) {
        unrolled[size_t(l) * layer.positions + position] = value(x, place_of(l, layer), row, column, layer);
    }
    for (uint o = group.y; o < layer.out; o += groups.y) {
        y[size_t(o) * layer.positions + position] = bias[o];
    }
}
