#include <metal_stdlib>
using namespace metal;

// What lies around the transforms of rows. One thread a value or a vector.

struct Shape {
    uint n;       // samples in a row
    uint points;  // values, or vectors, in a padded row
    uint values;  // that the kernel writes
};

// pad copies rows and fills the rest of the padded ones with zeros.
kernel void pad(device float4* y [[buffer(0)]],
                device const float* x [[buffer(1)]],
                constant Shape& shape [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    if (i >= shape.values) return;
    uint j = i % shape.points * 4;
    device const float* row = x + size_t(i / shape.points) * shape.n;
    y[i] = float4(j < shape.n ? row[j] : 0.0f, j + 1 < shape.n ? row[j + 1] : 0.0f, j + 2 < shape.n ? row[j + 2] : 0.0f,
                  j + 3 < shape.n ? row[j + 3] : 0.0f);
}

// powers makes each value of a spectrum its power, times a gain.
kernel void powers(device float2* x [[buffer(0)]],
                   constant uint& values [[buffer(1)]],
                   constant float& gain [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= values) return;
    float2 v = x[i];
    x[i] = float2((v.x * v.x + v.y * v.y) * gain, 0.0f);
}

// crop copies the first n lags of each padded row.
kernel void crop(device float* y [[buffer(0)]],
                 device const float* x [[buffer(1)]],
                 constant Shape& shape [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    if (i < shape.values) y[i] = x[size_t(i / shape.n) * shape.points + i % shape.n];
}
