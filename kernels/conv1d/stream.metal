#include <metal_stdlib>
using namespace metal;

// A block of a convolution in a stream, by uniform partitions. Other kernels compute the transforms. The state is rows of sums,
// which are spectra of output blocks to come, and behind them the samples of the last block.

struct Window {
    uint block;  // samples
    uint length; // of the window, at most three blocks
    uint sums;    // words of the state before the last block
};

// The window of the last block and this one, which the state keeps for the next call, with zeros up to its length.
kernel void window(device float* w [[buffer(0)]],
                   device float* after [[buffer(1)]],
                   device const float* x [[buffer(2)]],
                   device const float* before [[buffer(3)]],
                   constant Window& p [[buffer(4)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= p.block) {
        return;
    }
    w[i] = before[p.sums + i];
    w[p.block + i] = x[i];
    after[p.sums + i] = x[i];
    if (2 * p.block + i < p.length) {
        w[2 * p.block + i] = 0.0f;
    }
}

struct Spread {
    uint bins;
    uint row;   // bins, and what pads them to the next row
    uint parts; // partitions of the filter
};

// The sum of each row and the product of the window's spectrum with a partition: the first one is due, and the others move up.
kernel void spread(device float2* due [[buffer(0)]],
                   device float2* after [[buffer(1)]],
                   device const float2* before [[buffer(2)]],
                   device const float2* spectrum [[buffer(3)]],
                   device const float2* filter [[buffer(4)]],
                   constant Spread& p [[buffer(5)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= p.parts * p.row) {
        return;
    }
    uint bin = i % p.row;
    float2 sum = float2(0.0f, 0.0f);
    if (i < (p.parts - 1) * p.row) {
        sum = before[i];
    }
    if (bin < p.bins) {
        float2 x = spectrum[bin], h = filter[i];
        sum.x = fma(x.x, h.x, fma(-x.y, h.y, sum.x));
        sum.y = fma(x.x, h.y, fma(x.y, h.x, sum.y));
    }
    if (i >= p.row) {
        after[i - p.row] = sum;
    } else if (bin < p.bins) {
        due[bin] = sum;
    }
}

// The second block of a window: the first one has no outputs, because the filter reaches past its beginning.
kernel void latest(device float* y [[buffer(0)]],
                   device const float* w [[buffer(1)]],
                   constant uint& block [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
    if (i < block) {
        y[i] = w[block + i];
    }
}
