#include <metal_stdlib>
using namespace metal;

struct Table {
    float value[1024];
};

kernel void add(device float* y [[buffer(0)]],
                device const float* x [[buffer(1)]],
                constant uint& n [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = x[i] + TERM;
    }
}

kernel void multiply(device float* y [[buffer(0)]],
                     device const float* a [[buffer(1)]],
                     device const float* b [[buffer(2)]],
                     constant uint& n [[buffer(3)]],
                     uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = a[i] * b[i];
    }
}

kernel void table(device float* y [[buffer(0)]],
                  constant Table& t [[buffer(1)]],
                  constant uint& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < n) {
        y[i] = t.value[i];
    }
}
