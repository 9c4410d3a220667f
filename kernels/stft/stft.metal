#include <metal_stdlib>
using namespace metal;

// frames cuts a signal, which is zero outside of its samples, into windowed frames of n values: frame f begins at sample
// f·hop - n/2. A frame is computed by `apart` threadgroups, one thread a value.

struct Framing {
    uint n;
    uint hop;
    uint samples;
    uint apart;
};

kernel void frames(device float* dst [[buffer(0)]],
                   device const float* src [[buffer(1)]],
                   device const float* window [[buffer(2)]],
                   constant Framing& framing [[buffer(3)]],
                   uint group [[threadgroup_position_in_grid]],
                   uint i [[thread_position_in_threadgroup]],
                   uint width [[threads_per_threadgroup]]) {
    uint frame = group / framing.apart, j = group % framing.apart * width + i;
    if (j >= framing.n) {
        return;
    }
    int at = int(frame * framing.hop + j) - int(framing.n / 2);
    float x = at >= 0 && uint(at) < framing.samples ? src[at] * window[j] : 0.0f;
    dst[size_t(frame) * framing.n + j] = x;
}
