#include <metal_stdlib>
using namespace metal;

// How the decibels of a call are made of its greatest power.
struct Levels {
    float least;   // no power is less
    float share;   // the floor as a part of the greatest power
    float ref;     // the power of 0 dB; 0 where that is the greatest power
    uint floored;  // 0 where there is no floor
};

// One thread computes one vector of four. n is the number of vectors; the length is rounded up to it, and what is past the
// length is padding that nobody reads. The search for the greatest power has read the last vectors last, so that they may still be
// in a cache: they come first.
kernel void decibels(device float4* y [[buffer(0)]], device const float4* x [[buffer(1)]],
                     device const float* most [[buffer(2)]], constant Levels& levels [[buffer(3)]],
                     constant uint& n [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    i = n - 1 - i;
    float top = max(levels.least, most[0]), ref = levels.ref > 0.0f ? max(levels.least, levels.ref) : top;
    float floor_power = top < INFINITY ? max(levels.least, top * levels.share) : levels.floored != 0 ? top : levels.least;
    float4 d = precise::log10(max(x[i], float4(floor_power))) * 10.0f - 10.0f * precise::log10(ref);
    y[i] = isnan(most[0]) ? float4(NAN) : d;
}
