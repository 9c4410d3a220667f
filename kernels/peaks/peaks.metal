#include <metal_stdlib>
using namespace metal;

// Peaks in two launches: candidates, a bit each, which frames are by their windows, and the choice of one thread among them.

struct Windows {
    int n, pre_max, post_max, pre_avg, post_avg;
    float delta;
};

// audible_at returns a value, or 0 if it counts as 0: no sum or mean of such values is a denormal.
static inline float audible_at(device const float* x, int j) {
    float v = x[j];
    return v < 0x1p-60f && v > -0x1p-60f ? 0.0f : v;
}

// candidates writes a word for each 32 frames, and one thread looks at a frame. Sums are made in the order of frames, as on the
// processor: they must agree to the last bit.
kernel void candidates(device uint* masks [[buffer(0)]],
                       device const float* x [[buffer(1)]],
                       constant Windows& w [[buffer(2)]],
                       uint i [[thread_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
    int n = int(i);
    uint found = 0;
    if (n < w.n) {
        float v = audible_at(x, n), sum = 0.0f;
        bool greatest = true;
        for (int j = max(0, n - w.pre_max); j < min(n + w.post_max, w.n) && greatest; ++j) greatest = audible_at(x, j) <= v;
        if (greatest) {
            int lo = max(0, n - w.pre_avg), hi = min(n + w.post_avg, w.n);
            for (int j = lo; j < hi; ++j) sum += audible_at(x, j);
            float mean = precise::divide(sum, float(hi - lo));
            found = v >= mean + w.delta ? 1 : 0;
        }
    }
    uint mask = simd_sum(found << lane);
    if (lane == 0) masks[i / 32] = mask;
}

struct Choice {
    uint words, apart, most; // of masks; frames from one peak to the next at least; places for peaks
};

// choose has one thread go from candidate to candidate. The others bring it masks and, in the end, fill the places behind the
// last peak.
kernel void choose(device uint* indices [[buffer(0)]],
                   device uint* count [[buffer(1)]],
                   device const uint* masks [[buffer(2)]],
                   constant Choice& c [[buffer(3)]],
                   uint index [[thread_index_in_threadgroup]]) {
    threadgroup uint some[256];
    threadgroup uint all;
    uint found = 0, next = 0;
    for (uint first = 0; first < c.words; first += 256) {
        if (first + index < c.words) some[index] = masks[first + index];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (index == 0) {
            for (uint k = 0; k < min(256u, c.words - first); ++k) {
                uint begin = (first + k) * 32, mask = some[k];
                while (mask != 0) {
                    uint n = begin + ctz(mask);
                    mask &= mask - 1;
                    if (n < next) continue;
                    indices[found++] = n;
                    next = n + c.apart;
                }
            }
            all = found;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (index == 0) count[0] = found;
    for (uint k = all + index; k < c.most; k += 256) indices[k] = 0xffffffff;
}
