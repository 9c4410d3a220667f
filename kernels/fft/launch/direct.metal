#include <metal_stdlib>
using namespace metal;

// Transforms by their definition, for lengths that are too short to be divided: one thread a value. roots[i] is
// exp(-2*pi*i*i/n) for i < n.

kernel void direct(device float2* dst [[buffer(0)]],
                   device const float2* src [[buffer(1)]],
                   device const float2* roots [[buffer(2)]],
                   constant uint& n [[buffer(3)]],
                   constant uint& values [[buffer(4)]],
                   constant float& scale [[buffer(5)]],
                   constant float& direction [[buffer(6)]],
                   uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint k = i % n;
    device const float2* row = src + (i - k);
    float2 sum = float2(0.0f, 0.0f);
    for (uint j = 0; j < n; ++j) {
        float2 x = row[j];
        float2 w = roots[j * k % n];
        w.y = w.y * direction;
        sum = sum + float2(x.x * w.x - x.y * w.y, x.x * w.y + x.y * w.x);
    }
    dst[i] = sum * scale;
}

// direct_inverse makes real values of the bins 0 to n/2. Each other bin is the conjugate of one of them.
kernel void direct_inverse(device float* dst [[buffer(0)]],
                           device const float2* src [[buffer(1)]],
                           device const float2* roots [[buffer(2)]],
                           constant uint& n [[buffer(3)]],
                           constant uint& values [[buffer(4)]],
                           constant float& scale [[buffer(5)]],
                           uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint bins = n / 2 + 1, j = i % n;
    device const float2* row = src + i / n * bins;
    float sum = row[0].x;
    for (uint k = 1; 2 * k < n; ++k) {
        float2 w = roots[j * k % n];
        sum += 2.0f * (row[k].x * w.x + row[k].y * w.y);
    }
    if (n % 2 == 0) {
        sum += j % 2 == 0 ? row[bins - 1].x : -row[bins - 1].x;
    }
    dst[i] = sum * scale;
}

kernel void direct_real(device float2* dst [[buffer(0)]],
                        device const float* src [[buffer(1)]],
                        device const float2* roots [[buffer(2)]],
                        constant uint& n [[buffer(3)]],
                        constant uint& values [[buffer(4)]],
                        uint i [[thread_position_in_grid]]) {
    if (i >= values) {
        return;
    }
    uint bins = n / 2 + 1;
    uint k = i % bins;
    device const float* row = src + i / bins * n;
    float2 sum = float2(0.0f, 0.0f);
    for (uint j = 0; j < n; ++j) {
        sum = sum + roots[j * k % n] * row[j];
    }
    // What is real of a real row is so exactly.
    if (2 * k % n == 0) {
        sum.y = 0.0f;
    }
    dst[i] = sum;
}
