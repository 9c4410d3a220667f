#include <metal_stdlib>
using namespace metal;

struct Filter {
    float blend, feed_forward, feedback;
    uint delay;
    uint n;      // samples a channel
    uint shift;  // n mod delay: place p of the delay line before the call is place p - shift of the one after it
};

// One thread for each place in the delay line of a channel, which computes the samples that are a delay apart.
kernel void comb(device float* y [[buffer(0)]],
                 device float* after [[buffer(1)]],
                 device const float* x [[buffer(2)]],
                 device const float* before [[buffer(3)]],
                 constant Filter& f [[buffer(4)]],
                 uint2 at [[thread_position_in_grid]]) {
    if (at.x >= f.delay) {
        return;
    }
    device const float* from = x + size_t(at.y) * f.n;
    device float* to = y + size_t(at.y) * f.n;
    size_t line = size_t(at.y) * f.delay;
    float w = before[line + at.x];
    for (uint t = at.x; t < f.n; t += f.delay) {
        float v = from[t] + f.feedback * w;
        to[t] = f.blend * v + f.feed_forward * w;
        // A processor, which may go on from here, computes slowly with denormals.
        w = fabs(v) < 1e-30f ? 0.0f : v;
    }
    after[line + (at.x < f.shift ? at.x + f.delay - f.shift : at.x - f.shift)] = w;
}
