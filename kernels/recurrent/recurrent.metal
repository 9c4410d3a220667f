#include <metal_stdlib>
using namespace metal;

#ifndef ROWS // compiled alone, without a launch to say how
#define ROWS 2
#define SUMS 4
#define WIDTH 4
#define TURNS 2
#endif

// A step of a recurrent layer. A simdgroup computes one hidden unit of ROWS sequences. Its lanes divide the sums of the
// product of the weights and the state. Each unit of a sequence has four slots, and each slot has a lane. The slots of an
// LSTM are the gates i, f, g and o. Those of a GRU are r, z, the part of n that is a product with the state, and the part
// of n that is a product with x. Each simdgroup of a threadgroup has a unit of its own. The macros:
//
//   ROWS   sequences of a simdgroup: 1, 2, 4 or 8
//   SUMS   slots that have a product with the state: 4 for an LSTM, 3 for a GRU
//   WIDTH  4: the number of units is a multiple of 4; 1: any number
//   TURNS  loads of a lane along a row of weights that are in flight together: 1, 2 or 4

#define SLOTS 4
#define VALUES (ROWS * SLOTS)

struct Shape {
    uint rows, units;
    uint last; // whether this is the last step
};

#if WIDTH == 4
typedef float4 element;
#else
typedef float element;
#endif

static inline float plus_product(float sum, float p, float q) { return fma(p, q, sum); }
static inline float plus_product(float sum, float4 p, float4 q) {
    return fma(p.w, q.w, fma(p.z, q.z, fma(p.y, q.y, fma(p.x, q.x, sum))));
}

// product returns the sum of the lane's slot, and of its row, over all units of the state before. Rows past the last are
// the last.
static inline float product(device const float* state, device const float* weights, Shape shape, uint first, uint unit, uint lane) {
    float sum[VALUES];
    #pragma unroll
    for (uint v = 0; v < VALUES; ++v) {
        sum[v] = 0.0f;
    }
    uint units = shape.units;
    for (uint begin = lane * WIDTH; begin < units; begin += TURNS * 32 * WIDTH) {
        element w[TURNS][SUMS], h[TURNS][ROWS];
        #pragma unroll
        for (uint turn = 0; turn < TURNS; ++turn) {
            uint i = begin + turn * 32 * WIDTH;
            bool there = i < units;
            #pragma unroll
            for (uint s = 0; s < SUMS; ++s) {
                w[turn][s] = there ? *(device const element*)(weights + size_t(s * units + unit) * units + i) : element(0.0f);
            }
            #pragma unroll
            for (uint r = 0; r < ROWS; ++r) {
                h[turn][r] = there ? *(device const element*)(state + size_t(min(first + r, shape.rows - 1)) * units + i) : element(0.0f);
            }
        }
        #pragma unroll
        for (uint turn = 0; turn < TURNS; ++turn) {
            #pragma unroll
            for (uint r = 0; r < ROWS; ++r) {
                #pragma unroll
                for (uint s = 0; s < SUMS; ++s) {
                    sum[r * SLOTS + s] = plus_product(sum[r * SLOTS + s], h[turn][r], w[turn][s]);
                }
            }
        }
    }

    // Two lanes that differ in one bit exchange halves of their sums, and each adds up the half that has its own bit. So
    // lane l ends up with sum l % VALUES, after far fewer exchanges than one reduction a sum would take.
    #pragma unroll
    for (uint span = VALUES / 2; span > 0; span /= 2) {
        bool upper = (lane & span) != 0;
        #pragma unroll
        for (uint v = 0; v < span; ++v) {
            float keep = upper ? sum[v + span] : sum[v], give = upper ? sum[v] : sum[v + span];
            sum[v] = keep + simd_shuffle_xor(give, span);
        }
    }
    float total = sum[0];
    #pragma unroll
    for (uint apart = VALUES; apart < 32; apart *= 2) {
        total += simd_shuffle_xor(total, apart);
    }
    return total;
}

static inline float logistic(float x) { return 1.0f / (1.0f + precise::exp(-x)); }

// lstm_step computes the state h, in y, and the state c, in after, from those before. gates has the products with x.
kernel void lstm_step(device float* y [[buffer(0)]],
                      device float* last_state [[buffer(1)]],
                      device float* after [[buffer(2)]],
                      device const float* before [[buffer(3)]],
                      device const float* state [[buffer(4)]],
                      device const float* gates [[buffer(5)]],
                      device const float* weights [[buffer(6)]],
                      device const float* bias [[buffer(7)]],
                      constant Shape& shape [[buffer(8)]],
                      uint2 group [[threadgroup_position_in_grid]],
                      uint2 width [[threads_per_threadgroup]],
                      uint index [[thread_index_in_threadgroup]]) {
    uint lane = index % 32, slot = lane % SLOTS, first = group.x * ROWS;
    uint mine = group.y * (width.x / 32) + index / 32, unit = min(mine, shape.units - 1);
    uint row = min(first + lane % VALUES / SLOTS, shape.rows - 1);
    size_t at = size_t(row) * shape.units + unit;
    // One lane of the four writes. No other reads what it replaces.
    bool writes = slot == 0 && lane < VALUES && first + lane / SLOTS < shape.rows && mine < shape.units;
    float c = writes ? before[at] : 0.0f;
    float v = gates[size_t(row * SLOTS + slot) * shape.units + unit] + bias[slot * shape.units + unit];
    v += product(state, weights, shape, first, unit, lane);
    v = slot == 2 ? precise::tanh(v) : logistic(v);
    uint own = lane - slot;
    c = simd_shuffle(v, own + 1) * c + simd_shuffle(v, own) * simd_shuffle(v, own + 2);
    float h = simd_shuffle(v, own + 3) * precise::tanh(c);
    if (writes) {
        after[at] = c;
        y[at] = h;
        if (shape.last != 0) {
            last_state[at] = h;
        }
    }
}

// gru_step computes the state h, in y, from the one before. gates has the products with x.
kernel void gru_step(device float* y [[buffer(0)]],
                     device float* last_state [[buffer(1)]],
                     device const float* state [[buffer(2)]],
                     device const float* gates [[buffer(3)]],
                     device const float* weights [[buffer(4)]],
                     device const float* bias [[buffer(5)]],
                     constant Shape& shape [[buffer(6)]],
                     uint2 group [[threadgroup_position_in_grid]],
                     uint2 width [[threads_per_threadgroup]],
                     uint index [[thread_index_in_threadgroup]]) {
    uint lane = index % 32, slot = lane % SLOTS, first = group.x * ROWS;
    uint mine = group.y * (width.x / 32) + index / 32, unit = min(mine, shape.units - 1);
    uint row = min(first + lane % VALUES / SLOTS, shape.rows - 1);
    size_t at = size_t(row) * shape.units + unit;
    float h = state[at];
    float v = bias[slot * shape.units + unit];
    if (slot != 2) {
        v += gates[size_t(row * 3 + min(slot, 2u)) * shape.units + unit];
    }
    v += product(state, weights, shape, first, unit, lane);
    v = slot < 2 ? logistic(v) : v;
    uint own = lane - slot;
    float r = simd_shuffle(v, own), z = simd_shuffle(v, own + 1);
    float fresh = precise::tanh(simd_shuffle(v, own + 3) + r * simd_shuffle(v, own + 2));
    h = (1.0f - z) * fresh + z * h;
    if (slot == 0 && lane < VALUES && first + lane / SLOTS < shape.rows && mine < shape.units) {
        y[at] = h;
        if (shape.last != 0) {
            last_state[at] = h;
        }
    }
}
