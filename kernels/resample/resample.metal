#include <metal_stdlib>
using namespace metal;

struct Ratio {
    uint n;        // samples
    uint outputs;
    uint up, down; // in lowest terms
    uint half_length; // of the filter, at up times the rate
    uint taps;     // of an output
};

// One thread for each output m = q·up + r, whose taps are row r of the filter. Neighbouring threads have neighbouring rows, so
// value i·up + r is tap i of row r.
kernel void resample(device float* y [[buffer(0)]],
                     device const float* x [[buffer(1)]],
                     device const float* rows [[buffer(2)]],
                     constant Ratio& p [[buffer(3)]],
                     uint m [[thread_position_in_grid]]) {
    if (m >= p.outputs) {
        return;
    }
    uint r = m % p.up;
    int last = (int)(m / p.up * p.down + (r * p.down + p.half_length) / p.up); // sample that a tap meets
    int first = last + 1 - (int)p.taps;
    device const float* row = rows + r;
    // Two sums do not wait for each other.
    float sum = 0.0f, other = 0.0f;
    if (first >= 0 && (uint)last < p.n) {
        for (uint i = 0; i < p.taps; i += 2) {
            sum = fma(row[i * p.up], x[(uint)first + i], sum);
            other = fma(row[(i + 1) * p.up], x[(uint)first + i + 1], other);
        }
    } else {
        for (uint i = 0; i < p.taps; ++i) {
            int k = first + (int)i;
            if (k >= 0 && (uint)k < p.n) {
                sum = fma(row[i * p.up], x[k], sum);
            }
        }
    }
    y[m] = sum + other;
}
