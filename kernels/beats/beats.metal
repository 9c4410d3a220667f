#include <metal_stdlib>
using namespace metal;

#ifndef PERIOD // compiled alone, without a launch to say how
#define PERIOD 22
#define NEAREST 11
#define WEIGHTS 4
#define TRIM_SHIFT 22
#define KEEP_WEAK 0
#endif

// Beats by one thread: a probe of how long a GPU takes for a chain. All arithmetic is in integers, as on the processor. The
// constants are those of beats.go.

#define STRENGTH_SHIFT 4 // of the 24 bits of a float, so that 20 are left
#define SPREAD_BITS 8

typedef long word64;

struct Shape {
    uint n, most; // frames; places for beats
};

// exponent_of returns that of a float's bits, which is the same for the least normal numbers and for denormals.
static inline uint exponent_of(uint bits) { return max(1u, bits >> 23 & 0xff); }

static inline int quantised(uint bits, uint top) {
    uint exponent = exponent_of(bits), fraction = bits & 0x7fffff, shift = top - exponent + STRENGTH_SHIFT;
    if ((bits >> 23 & 0xff) != 0) fraction |= 0x800000;
    int q = shift < 32 ? int(fraction >> shift) : 0;
    return bits >> 31 != 0 ? -q : q;
}

// root_of returns the root of v, rounded down, bit by bit. v is below 2^62.
static inline word64 root_of(word64 v) {
    word64 root = 0;
    for (word64 bit = word64(1) << 30; bit > 0; bit /= 2) {
        if ((root + bit) * (root + bit) <= v) root += bit;
    }
    return root;
}

static inline bool is_peak(device const word64* sums, int i, int n) {
    return i > 0 && sums[i] > sums[i - 1] && (i == n - 1 || sums[i] >= sums[i + 1]);
}

// selected returns value k of x in ascending order, and moves all less ones before it.
static inline word64 selected(device word64* x, int count, int k) {
    int lo = 0, hi = count - 1;
    while (lo < hi) {
        word64 pivot = x[(lo + hi) / 2];
        int i = lo, j = hi;
        while (i <= j) {
            while (x[i] < pivot) ++i;
            while (x[j] > pivot) --j;
            if (i <= j) {
                word64 v = x[i];
                x[i++] = x[j];
                x[j--] = v;
            }
        }
        if (k <= j) {
            hi = j;
        } else if (k >= i) {
            lo = i;
        } else {
            break;
        }
    }
    return x[k];
}

static inline word64 trimmed(device const word64* local, device const uint* beats, int k, int found) {
    return k < 0 || k >= found ? 0 : local[beats[k]] >> TRIM_SHIFT;
}

static inline bool is_weak(word64 local, word64 places, word64 squares) {
#if KEEP_WEAK
    return local <= 0;
#else
    word64 l = local >> TRIM_SHIFT;
    return l <= 0 || 16 * l * l * places <= squares;
#endif
}

// track writes the beats and returns their number.
static inline int track(device uint* beats, device const uint* x, device const uint* weights, device const uint* losses,
                        device int* q, device word64* local, device word64* sums, device word64* peaks, device int* links, int n) {
    uint most = 0;
    for (int i = 0; i < n; ++i) most = max(most, x[i] & 0x7fffffff);
    if (most < 0x800000 || most >= 0x7f800000) return 0;
    uint top = exponent_of(most);
    word64 mean = 0, spread = 0;
    for (int i = 0; i < n; ++i) {
        q[i] = quantised(x[i], top);
        mean += q[i];
    }
    mean /= n;
    for (int i = 0; i < n; ++i) spread += (q[i] - mean) * (q[i] - mean);
    if (n > 1) spread = root_of(spread / (n - 1) << 2 * SPREAD_BITS);

    word64 greatest = 0;
    for (int i = 0; i < n; ++i) {
        word64 sum = 0;
        for (int j = max(1, i - WEIGHTS + 1); j < min(n, i + WEIGHTS); ++j) sum += word64(weights[abs(i - j)]) * q[j];
        local[i] = sum;
        greatest = i == 0 || sum > greatest ? sum : greatest;
    }
    bool begun = false;
    for (int i = 0; i < n; ++i) {
        word64 best = 0;
        int link = -1;
        for (int t = NEAREST; t <= min(i, 2 * PERIOD); ++t) {
            word64 score = sums[i - t] - (word64(losses[t]) * spread >> SPREAD_BITS);
            if (link < 0 || score > best) {
                best = score;
                link = i - t;
            }
        }
        sums[i] = local[i] + best;
        begun = begun || 100 * local[i] >= greatest;
        links[i] = begun ? link : -1;
    }

    int count = 0, last = n - 1;
    for (int i = 0; i < n; ++i) {
        if (is_peak(sums, i, n)) peaks[count++] = sums[i];
    }
    if (count > 0) {
        word64 upper = selected(peaks, count, count / 2), lower = upper;
        if (count % 2 == 0) {
            lower = peaks[0];
            for (int i = 1; i < count / 2; ++i) lower = peaks[i] > lower ? peaks[i] : lower;
        }
        while (last >= 0 && !(is_peak(sums, last, n) && 4 * sums[last] >= lower + upper)) --last;
        if (last < 0) last = n - 1;
    }

    int found = 0;
    for (int i = last; i >= 0; i = links[i]) ++found;
    int k = found;
    for (int i = last; i >= 0; i = links[i]) beats[--k] = uint(i);
    word64 squares = 0, places = min(found + 2, n);
    for (int p = 0; p < int(places); ++p) {
        word64 d = trimmed(local, beats, p - 1, found) + 2 * trimmed(local, beats, p, found) + trimmed(local, beats, p + 1, found);
        squares += d * d;
    }
    int first = 0, end = n, kept = 0;
    while (first < n && is_weak(local[first], places, squares)) ++first;
    while (end > first && is_weak(local[end - 1], places, squares)) --end;
    for (int b = 0; b < found; ++b) {
        uint i = beats[b];
        if (int(i) >= first && int(i) < end) beats[kept++] = i;
    }
    return kept;
}

kernel void beats(device uint* indices [[buffer(0)]],
                  device uint* count [[buffer(1)]],
                  device const uint* x [[buffer(2)]],
                  device const uint* weights [[buffer(3)]],
                  device const uint* losses [[buffer(4)]],
                  device int* q [[buffer(5)]],
                  device uint* local [[buffer(6)]],
                  device uint* sums [[buffer(7)]],
                  device uint* peaks [[buffer(8)]],
                  device int* links [[buffer(9)]],
                  constant Shape& shape [[buffer(10)]],
                  uint i [[thread_position_in_grid]]) {
    if (i > 0) return;
    int found = track(indices, x, weights, losses, q, (device word64*)local, (device word64*)sums, (device word64*)peaks, links,
                      int(shape.n));
    count[0] = uint(found);
    for (uint k = uint(found); k < shape.most; ++k) indices[k] = 0xffffffff;
}
