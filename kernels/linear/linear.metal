#include <metal_stdlib>
using namespace metal;

#ifndef ROWS // compiled alone, without a launch to say how
#define ROWS 1
#define OUTPUTS 2
#define TEAMS 4
#define SPLIT 2
#define UNROLL 4
#define VECTOR 1
#endif

// y = x·Wᵀ + b, row-major: x is rows×in, W is out×in, y is rows×out. The macros:
//
//   ROWS, OUTPUTS  what a simdgroup computes: so many outputs of so many rows
//   TEAMS          simdgroups of a threadgroup side by side, each with outputs of its own
//   SPLIT          simdgroups that share outputs, each with its part of the sums over `in`
//   UNROLL         steps along `in` whose loads are in flight together
//   VECTOR         1: `in` is a multiple of 4; 0: any size

#if VECTOR
#define WIDTH 4
#else
#define WIDTH 1
#endif
#define VALUES (ROWS * TEAMS * OUTPUTS) // of y a threadgroup

struct Shape {
    uint rows, in, out;
};

// few_rows reads W once for ROWS rows of x and multiplies as the values arrive. It is made for so few rows that W is
// what takes the time.
[[max_total_threads_per_threadgroup(32 * TEAMS * SPLIT)]]
kernel void few_rows(device float* y [[buffer(0)]],
                     device const float* x [[buffer(1)]],
                     device const float* weights [[buffer(2)]],
                     device const float* bias [[buffer(3)]],
                     constant Shape& shape [[buffer(4)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint index [[thread_index_in_threadgroup]]) {
    threadgroup float parts[SPLIT * VALUES];
    uint rows = shape.rows, in = shape.in, out = shape.out;
    uint lane = index % 32, team = index / 32 % TEAMS, part = index / (32 * TEAMS);
    uint first_row = group.y * ROWS, first_output = (group.x * TEAMS + team) * OUTPUTS;

    // Rows and outputs past the last are the last: what is computed of them is not written.
    uint start = (part * 32 + lane) * WIDTH;
    device const float* input[ROWS];
    device const float* weight[OUTPUTS];
    #pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        input[r] = x + size_t(min(first_row + r, rows - 1)) * in;
    }
    #pragma unroll
    for (uint o = 0; o < OUTPUTS; ++o) {
        weight[o] = weights + size_t(min(first_output + o, out - 1)) * in;
    }
    float sum[ROWS][OUTPUTS];
    #pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        #pragma unroll
        for (uint o = 0; o < OUTPUTS; ++o) {
            sum[r][o] = 0.0f;
        }
    }
    #pragma unroll UNROLL
    for (uint i = start; i < in; i += 32 * SPLIT * WIDTH) {
#if VECTOR
        float4 w[OUTPUTS];
        #pragma unroll
        for (uint o = 0; o < OUTPUTS; ++o) {
            w[o] = *(device const float4*)(weight[o] + i);
        }
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            float4 v = *(device const float4*)(input[r] + i);
            #pragma unroll
            for (uint o = 0; o < OUTPUTS; ++o) {
                sum[r][o] = fma(v.w, w[o].w, fma(v.z, w[o].z, fma(v.y, w[o].y, fma(v.x, w[o].x, sum[r][o]))));
            }
        }
#else
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            #pragma unroll
            for (uint o = 0; o < OUTPUTS; ++o) {
                sum[r][o] = fma(input[r][i], weight[o][i], sum[r][o]);
            }
        }
#endif
    }
    #pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        #pragma unroll
        for (uint o = 0; o < OUTPUTS; ++o) {
            float total = simd_sum(sum[r][o]);
            if (lane == 0) {
                parts[part * VALUES + (r * TEAMS + team) * OUTPUTS + o] = total;
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint v = index; v < VALUES; v += 32 * TEAMS * SPLIT) {
        uint row = first_row + v / (TEAMS * OUTPUTS), output = group.x * TEAMS * OUTPUTS + v % (TEAMS * OUTPUTS);
        if (row < rows && output < out) {
            float total = bias[output];
            for (uint p = 0; p < SPLIT; ++p) {
                total += parts[p * VALUES + v];
            }
            y[size_t(row) * out + output] = total;
        }
    }
}

// fill writes the bias into every row of y, for a library that adds its product to it. A threadgroup writes a part of
// one row.
kernel void fill(device float* y [[buffer(0)]],
                 device const float* bias [[buffer(1)]],
                 constant uint& out [[buffer(2)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint2 lane [[thread_position_in_threadgroup]],
                 uint2 width [[threads_per_threadgroup]]) {
    uint output = group.y * width.x + lane.x;
    if (output < out) {
        y[size_t(group.x) * out + output] = bias[output];
    }
}
