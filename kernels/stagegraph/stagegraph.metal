#include <metal_stdlib>
using namespace metal;

#ifndef CHUNK // compiled alone, without a launch to say how
#define CHUNK 16
#define PASSES 4
#define PARTS 4
#endif

// A level of independent nodes and the mix below it: two kernels, the second one after the first.

// s <- s + gain·(x - s), `passes` times over the block. powers[k] is (1 - gain) to the power of CHUNK·2^k.
struct Node {
    float gain;
    uint passes;
    float powers[5];
};

// One simdgroup a node, CHUNK samples a lane. A lane's samples take the state s before them to (1-gain)^CHUNK·s + z, so
// a scan over the lanes composes what they leave behind, and each lane then runs its samples from the state that it
// knows at last. All of PASSES passes are done with a part of the block before the next part is read. Samples lie in
// threadgroup memory with a gap after each lane's, which keeps the lanes in different banks.
[[max_total_threads_per_threadgroup(32)]]
kernel void lowpasses(device float* y [[buffer(0)]],
                      device const float* x [[buffer(1)]],
                      device const Node* nodes [[buffer(2)]],
                      constant uint& n [[buffer(3)]],
                      uint node [[threadgroup_position_in_grid]],
                      uint lane [[thread_position_in_threadgroup]]) {
    threadgroup float samples[32 * (CHUNK + 1)];
    float gain = nodes[node].gain;
    float powers[5];
    for (uint k = 0; k < 5; ++k) {
        powers[k] = nodes[node].powers[k];
    }
    float state[PASSES];
    for (uint pass = 0; pass < PASSES; ++pass) {
        state[pass] = 0.0f;
    }
    uint row = node * n;
    for (uint start = 0; start < n; start += 32 * CHUNK) {
        for (uint i = lane; i < 32 * CHUNK; i += 32) {
            samples[i + i / CHUNK] = start + i < n ? x[row + start + i] : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float own[CHUNK];
        for (uint i = 0; i < CHUNK; ++i) {
            own[i] = samples[lane * (CHUNK + 1) + i];
        }
        for (uint pass = 0; pass < PASSES; ++pass) {
            if (pass >= nodes[node].passes) {
                break;
            }
            float z = lane == 0 ? state[pass] : 0.0f;
            for (uint i = 0; i < CHUNK; ++i) {
                z += gain * (own[i] - z);
            }
            for (uint k = 0; k < 5; ++k) {
                uint distance = 1u << k;
                float earlier = simd_shuffle_up(z, distance);
                if (lane >= distance) {
                    z += powers[k] * earlier;
                }
            }
            float before = simd_shuffle_up(z, 1);
            float s = lane == 0 ? state[pass] : before;
            state[pass] = simd_broadcast(z, 31);
            for (uint i = 0; i < CHUNK; ++i) {
                s += gain * (own[i] - s);
                own[i] = s;
            }
        }
        for (uint i = 0; i < CHUNK; ++i) {
            samples[lane * (CHUNK + 1) + i] = own[i];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Each lane reads what it will overwrite next, so no barrier follows.
        for (uint i = lane; i < 32 * CHUNK; i += 32) {
            if (start + i < n) {
                y[row + start + i] = samples[i + i / CHUNK];
            }
        }
    }
}

// The sum over the nodes' rows. A threadgroup adds up 32 samples; its PARTS simdgroups share out the rows and their
// sums are added in order, so that a block always gives the same bits.
[[max_total_threads_per_threadgroup(32 * PARTS)]]
kernel void mixdown(device float* y [[buffer(0)]],
                    device const float* rows [[buffer(1)]],
                    constant uint& count [[buffer(2)]],
                    constant uint& n [[buffer(3)]],
                    uint group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    threadgroup float sums[PARTS * 32];
    uint i = group * 32 + lane;
    float sum = 0.0f;
    if (i < n) {
        for (uint row = simdgroup; row < count; row += PARTS) {
            sum += rows[row * n + i];
        }
    }
    sums[simdgroup * 32 + lane] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0 && i < n) {
        for (uint part = 1; part < PARTS; ++part) {
            sum += sums[part * 32 + lane];
        }
        y[i] = sum;
    }
}
