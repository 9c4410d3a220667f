#include <metal_stdlib>
using namespace metal;

#ifndef WIDTH // compiled alone, without a launch to say how
#define WIDTH 4
#endif

// An element is WIDTH values: four where the rows are whole vectors, else one.
#if WIDTH == 4
typedef float4 element;
#else
typedef float element;
#endif

struct Shape {
    uint elements, columns; // in all rows of y, and in one
};

// glu: a thread computes an element of y from that element of the row's first half and that of its second half.
kernel void glu(device float* y [[buffer(0)]], device const float* x [[buffer(1)]], constant Shape& shape [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    if (i >= shape.elements) return;
    device const element* from = (device const element*)x + i + size_t(i / shape.columns) * shape.columns;
    ((device element*)y)[i] = from[0] / (1.0f + precise::exp(-from[shape.columns]));
}
