#include <metal_stdlib>
using namespace metal;

#ifndef THREADS // compiled alone, without a launch to say how
#define THREADS 64
#define OUTPUTS 3
#define SHARES 2
#define RUN 64
#endif

// Full convolution y[i] = sum over k of h[k]·x[i-k] by the definition. Samples lie in vectors of four; what lies past the
// end of x or h counts as 0, whatever the padding of its last vector holds.

// The vector i of a sequence of n samples, zeros outside of it.
static inline float4 padded(device const float4* x, int i, uint n) {
    if (i < 0 || 4 * (uint)i >= n) {
        return float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    float4 v = x[i];
    uint left = n - 4 * (uint)i;
    if (left < 4) {
        v.w = 0.0f;
        v.z = left > 2 ? v.z : 0.0f;
        v.y = left > 1 ? v.y : 0.0f;
    }
    return v;
}

struct Direct {
    uint n;        // samples of x, at least as many as taps
    uint taps;     // of h
    uint vectors;  // of a row of y
    uint runs;     // of taps, that one threadgroup sums up
};

// The output i as far as the taps from first to last−1 make it, with no other products. Sums run over as many taps as the
// kernel's. A NaN ends a sum, so that data full of them cost little.
static inline float alone(device const float4* x, device const float4* h, uint n, uint i, uint first, uint last) {
    device const float* samples = (device const float*)x;
    device const float* taps = (device const float*)h;
    last = min(last, i + 1);
    float total = 0.0f;
    for (uint begin = max(first, i < n ? 0u : i - n + 1); begin < last && !isnan(total); begin += 4 * RUN) {
        float sum = 0.0f;
        for (uint k = begin; k < min(begin + 4 * RUN, last) && !isnan(sum); ++k) {
            sum = fma(taps[k], samples[i - k], sum);
        }
        total += sum;
    }
    return total;
}

// The vectors of x that a thread's outputs meet with four taps.
#define RING (OUTPUTS + 1)
#define TILE (THREADS * OUTPUTS)

// A threadgroup computes TILE vectors of y, a thread OUTPUTS of them, which stand side by side. It takes the taps run by
// run, RUN vectors at a time, and has a run's taps and the samples that they meet in threadgroup memory. With four taps,
// a thread's outputs meet RING vectors of samples, and with the four taps before them all but the first of these again:
// so a ring of registers takes one vector of samples and one of taps for 16·OUTPUTS products. An odd OUTPUTS keeps
// neighbouring threads in different banks.
//
// The sum over many taps is taken run by run too, since the square root of the number of products that one accumulator
// sums up bounds the growth of its rounding error.
//
// What lies past the end of the taps counts as 0, and 0 times a NaN or an infinity is a NaN: so an output that is not
// finite is summed up again, over what it is made of alone. Outputs that are finite cost one comparison each.
//
// SHARES times THREADS threads share out a run's taps between them, of which RUN holds a multiple of SHARES·RING vectors.
// Threadgroups in y take p.runs runs of taps each, and write a row of y of their own.
[[max_total_threads_per_threadgroup(THREADS * SHARES)]]
kernel void direct(device float4* y [[buffer(0)]],
                   device const float4* x [[buffer(1)]],
                   device const float4* h [[buffer(2)]],
                   constant Direct& p [[buffer(3)]],
                   uint2 group [[threadgroup_position_in_grid]],
                   uint id [[thread_index_in_threadgroup]]) {
    threadgroup float4 signal[TILE + RUN];
    threadgroup float4 filter[RUN];
    int own = id % THREADS * OUTPUTS;
    uint share = id / THREADS;
    int first = (int)(group.x * TILE);
    uint tapVectors = (p.taps + 3) / 4;
    uint from = group.y * p.runs * RUN;
    uint to = min(from + p.runs * RUN, tapVectors);

    float4 total[OUTPUTS];
    for (uint c = 0; c < OUTPUTS; ++c) {
        total[c] = float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    for (uint run = from; run < to; run += RUN) {
        // Whole turns of each share's ring; taps past the end are 0.
        uint turns = (min((uint)RUN, to - run) - 1) / (SHARES * RING) + 1;
        uint length = turns * RING * SHARES;
        // The tile's first outputs meet the run's last taps in this vector of x and the next one.
        int base = first - (int)(run + length);
        if (4 * base >= (int)p.n) {
            continue;  // these taps meet nothing but what is past the end
        }
        if (base + (int)(length + TILE) <= 0) {
            break;  // nor do these and later ones what is not before the beginning
        }
        for (uint i = id; i < TILE + length; i += THREADS * SHARES) {
            signal[i] = padded(x, base + (int)i, p.n);
        }
        for (uint i = id; i < length; i += THREADS * SHARES) {
            filter[i] = padded(h, (int)(run + length - 1 - i), p.taps);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        float4 sum[OUTPUTS];
        for (uint c = 0; c < OUTPUTS; ++c) {
            sum[c] = float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
        float4 ring[RING];
        int k = share * turns * RING;
        for (uint c = 0; c < OUTPUTS; ++c) {
            ring[c] = signal[own + k + c];
        }
        #pragma unroll 2
        for (int end = k + int(turns) * RING; k < end; k += RING) {
            #pragma unroll
            for (int turn = 0; turn < RING; ++turn) {
                ring[(turn + OUTPUTS) % RING] = signal[own + k + turn + OUTPUTS];
                float4 taps = filter[k + turn];
                #pragma unroll
                for (uint c = 0; c < OUTPUTS; ++c) {
                    float4 a = ring[(turn + c) % RING];
                    float4 b = ring[(turn + c + 1) % RING];
                    float4 s = sum[c];
                    s = fma(float4(taps.x), b, s);
                    s = fma(float4(taps.y), float4(a.w, b.x, b.y, b.z), s);
                    s = fma(float4(taps.z), float4(a.z, a.w, b.x, b.y), s);
                    s = fma(float4(taps.w), float4(a.y, a.z, a.w, b.x), s);
                    sum[c] = s;
                }
            }
        }
        for (uint c = 0; c < OUTPUTS; ++c) {
            total[c] = total[c] + sum[c];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint other = 1; other < SHARES; ++other) {
        if (share == other) {
            for (uint c = 0; c < OUTPUTS; ++c) {
                signal[own + c] = total[c];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (share == 0) {
            for (uint c = 0; c < OUTPUTS; ++c) {
                total[c] = total[c] + signal[own + c];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint c = 0; c < OUTPUTS; ++c) {
        uint i = (uint)first + own + c;
        if (share == 0 && i < p.vectors) {
            float4 v = total[c];
            uint end = min(4 * to, p.taps);
            if (!isfinite(v.x)) v.x = alone(x, h, p.n, 4 * i, 4 * from, end);
            if (!isfinite(v.y)) v.y = alone(x, h, p.n, 4 * i + 1, 4 * from, end);
            if (!isfinite(v.z)) v.z = alone(x, h, p.n, 4 * i + 2, 4 * from, end);
            if (!isfinite(v.w)) v.w = alone(x, h, p.n, 4 * i + 3, 4 * from, end);
            y[group.y * p.vectors + i] = v;
        }
    }
}

// y = the sum of the rows, of `vectors` each.
kernel void sum(device float4* y [[buffer(0)]],
                device const float4* rows [[buffer(1)]],
                constant uint& count [[buffer(2)]],
                constant uint& vectors [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i < vectors) {
        float4 total = rows[i];
        for (uint row = 1; row < count; ++row) {
            total = total + rows[row * vectors + i];
        }
        y[i] = total;
    }
}
