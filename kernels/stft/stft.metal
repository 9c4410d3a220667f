#include <metal_stdlib>
using namespace metal;

// frames cuts a signal into windowed frames of n values: frame f begins at sample f·hop - lead. Outside of its samples the
// signal is zero, or reflected where `reflected` is 1. A frame is computed by `apart` threadgroups, one thread a value.

struct Framing {
    uint n;
    uint hop;
    uint lead;
    uint reflected;
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
    int at = int(frame * framing.hop + j) - int(framing.lead);
    uint place = uint(at < 0 ? -at : at);
    bool inside = at >= 0 && place < framing.samples;
    if (!inside && framing.reflected == 1 && framing.samples > 0) {
        uint period = max(2 * (framing.samples - 1), 1u);
        place %= period;
        place = place < framing.samples ? place : period - place;
        inside = true;
    }
    dst[size_t(frame) * framing.n + j] = inside ? src[place] * window[j] : 0.0f;
}
