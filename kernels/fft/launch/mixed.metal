
#ifndef UNROLL // compiled alone, without radices.metal before it
#include "radices.metal"
#define CELLS 2048
#define THREADS 768
#endif

// Transforms of a length whose prime factors are 2, 3, 5 and 7, `side` of them a threadgroup: rows that lie one after the
// other, columns of a matrix, or its rows, stored as columns. One text does all lengths, with what tells them apart in
// Mixed: see mixed.go.
//
// The passes are Stockham's, as in passes.metal: butterfly j of a pass of radix R, j < count = length / R, takes the
// points j + q·count for q < R. With D the product of the radices of the earlier passes, it turns point q by
// exp(-2·pi·i·q·(j mod D) / (D·R)), transforms the R points and leaves them at (j / D)·D·R + j mod D + q·D. The first
// pass reads from device memory, the last one writes to it, and points go from pass to pass through threadgroup memory.
//
// Where the values are pairs of real ones, the last pass leaves its points in threadgroup memory too, and the bins are made
// of them there: see real.metal for the formula. The mirror images of the points of row k of a matrix are those of row
// -k, so that a threadgroup takes both: `pairs` rows, and after them as many mirrored ones.

struct Mixed {
    uint passes; // 6 at most
    uint side;   // transforms that a threadgroup takes, of `width` side by side, which take `tiles` threadgroups
    uint width;
    uint tiles;
    // Values from such a row of transforms to the next, from one transform to the next, and from one point to the next.
    uint in_row;
    uint in_next;
    uint in_step;
    uint out_row;
    uint out_next;
    uint out_step;
    uint cell_next; // and cells of threadgroup memory from one transform to the next
    uint cell_step; // and from one point to the next
    uint other;     // cells from the points that a pass reads to those that it writes; 0 where it writes over them
    uint table;     // the cell that the roots of the passes begin at
    uint roots;     // how many there are
    float sign;     // of imaginary parts on their way in
    float scale;    // of real parts on their way out
    float imaginary_scale;
    uint stepped; // 0, or by what factor of t·p the exponents grow of the roots that point p of transform t is turned by
    uint fine;    // see factors
    uint real;    // 1 where bins are made of pairs of real values
    uint pairs;   // 0 where transforms are their own mirror images
    uint rows;    // of the matrix, of which row 0 is its own mirror image
    uint bins;    // points of a transform that bins are made of, each with its mirror image
    uint bin_extent; // as extent below, where the bins are made
    uint bin_extent_over;
    // Of each pass:
    uint radix[6];
    uint count[6];
    uint distance[6]; // D
    uint distance_over[6]; // see quotient
    uint extent[6]; // transforms of the tile, or butterflies of a transform: neighbouring threads take neighbours
    uint extent_over[6];
    uint across[6];     // 1 where it is transforms
    uint first_root[6]; // exp(-2·pi·i·k / (D·R)) is root first_root + k
};

// a / b for a·b < 2^31, where over is 2^31 / b rounded up.
inline uint quotient(uint a, uint over) { return mulhi(2 * a, over); }

// bin returns which bin number u of a tile's is, and the transform t and the point m that it is made of.
inline uint bin(constant Mixed& shape, uint first, uint u, thread uint& t, thread uint& m) {
    uint slow = quotient(u, shape.bin_extent_over);
    uint quick = u - slow * shape.bin_extent;
    t = shape.pairs > 0 ? quick : slow;
    m = shape.pairs > 0 ? slow : quick;
    return (shape.pairs > 0 ? first + t : 0) + m * shape.out_step;
}

// A butterfly of radix R, from device or threadgroup memory to the other or the same. Threads that have none take part
// in the barrier, which is needed where a pass writes over what it reads.
#define BUTTERFLY(R)                                                            \
    case R: {                                                                   \
        float2 v[R];                                                            \
        if (busy) {                                                             \
            if (pass == 0) {                                                    \
                UNROLL for (uint q = 0; q < R; ++q) {                           \
                    v[q] = from[at + q * apart];                                \
                    v[q].y = v[q].y * shape.sign;                               \
                }                                                               \
            } else {                                                            \
                UNROLL for (uint q = 0; q < R; ++q) {                           \
                    v[q] = memory[at + q * apart];                              \
                }                                                               \
            }                                                                   \
            if (pass == 0 && shape.stepped > 0) {                               \
                float2 start = product(begins.fine, begins.coarse);             \
                UNROLL for (uint q = 0; q < R; ++q) {                           \
                    v[q] = product(v[q], start);                                \
                }                                                               \
                root = product(turns.fine, turns.coarse);                       \
            }                                                                   \
            if (pass > 0 || shape.stepped > 0) {                                \
                turn<R>(v, root);                                               \
            }                                                                   \
            dft<R>(v);                                                          \
        }                                                                       \
        if (shape.other == 0 && pass > 0 && !leaves) {                          \
            threadgroup_barrier(mem_flags::mem_threadgroup);                    \
        }                                                                       \
        if (busy && leaves) {                                                   \
            UNROLL for (uint q = 0; q < R; ++q) {                               \
                to[place + q * spread] = v[q] * scales;                         \
            }                                                                   \
        } else if (busy) {                                                      \
            UNROLL for (uint q = 0; q < R; ++q) {                               \
                memory[place + q * spread] = v[q];                              \
            }                                                                   \
        }                                                                       \
        break;                                                                  \
    }

[[max_total_threads_per_threadgroup(THREADS)]]
kernel void mixed(device float2* dst [[buffer(0)]],
                  device const float2* src [[buffer(1)]],
                  device const float2* roots [[buffer(2)]],
                  device const float2* step_roots [[buffer(3)]],
                  constant Mixed& shape [[buffer(4)]],
                  uint group [[threadgroup_position_in_grid]],
                  uint i [[thread_position_in_threadgroup]],
                  uint threads [[threads_per_threadgroup]]) {
    threadgroup float2 memory[CELLS];
    uint row = group < shape.tiles ? 0 : group / shape.tiles;
    uint together = shape.pairs > 0 ? shape.pairs : shape.side;
    uint first = (group - row * shape.tiles) * together;
    uint present = min(together, shape.width - first); // the last tile may not be full
    device const float2* from = src + size_t(row) * shape.in_row;
    device float2* to = dst + size_t(row) * shape.out_row;

    // What is needed later is loaded before the first points are waited for.
    float2 ahead = roots[min(i, max(shape.roots, 1u) - 1)];
    uint bins = shape.real == 1 ? together * shape.bins : 0, bin_transform, bin_point;
    uint own_bin = bin(shape, first, i, bin_transform, bin_point);
    Factors bin_root;
    if (i < bins) {
        bin_root = factors(step_roots, own_bin, shape.fine);
    }

    float2 scales = float2(shape.scale, shape.imaginary_scale);
    uint read = shape.other, write = 0;
    for (uint pass = 0; pass < shape.passes; ++pass) {
        bool last = pass + 1 == shape.passes, leaves = last && shape.real == 0;
        uint count = shape.count[pass], distance = shape.distance[pass];
        for (uint begin = 0; begin < count * shape.side; begin += threads) {
            uint slow = quotient(begin + i, shape.extent_over[pass]);
            uint quick = begin + i - slow * shape.extent[pass];
            uint t = shape.across[pass] == 1 ? quick : slow;
            uint j = shape.across[pass] == 1 ? slow : quick;
            bool mirrored = t >= together;
            uint own = first + t - (mirrored ? together : 0);
            bool busy = t < shape.side && own < first + present && j < count;
            if (mirrored && own > 0) {
                own = shape.rows - own;
            }

            uint at, apart, place, spread;
            float2 root = float2(1.0f, 0.0f);
            Factors begins, turns; // the roots of point j and, from point to point, of what it is turned by
            uint block = quotient(j, shape.distance_over[pass]);
            uint k = j - block * distance;
            if (pass == 0) {
                at = own * shape.in_next + j * shape.in_step;
                apart = count * shape.in_step;
                if (busy && shape.stepped > 0) {
                    begins = factors(step_roots, own * j * shape.stepped, shape.fine);
                    turns = factors(step_roots, own * count * shape.stepped, shape.fine);
                }
            } else {
                at = read + t * shape.cell_next + j * shape.cell_step;
                apart = count * shape.cell_step;
                if (busy) {
                    root = memory[shape.table + shape.first_root[pass] + k];
                }
            }
            k += block * distance * shape.radix[pass];
            if (leaves) {
                place = own * shape.out_next + k * shape.out_step;
                spread = distance * shape.out_step;
            } else {
                place = write + t * shape.cell_next + k * shape.cell_step;
                spread = distance * shape.cell_step;
            }
            switch (shape.radix[pass]) {
                BUTTERFLY(2)
                BUTTERFLY(3)
                BUTTERFLY(4)
                BUTTERFLY(5)
                BUTTERFLY(6)
                BUTTERFLY(7)
                BUTTERFLY(8)
                BUTTERFLY(9)
                BUTTERFLY(10)
            }
        }
        if (pass == 0) {
            for (uint k = i; k < shape.roots; k += threads) {
                memory[shape.table + k] = k == i ? ahead : roots[k];
            }
        }
        if (!leaves) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        read = write;
        write = shape.other - write;
    }

    uint length = shape.count[0] * shape.radix[0], all = length * shape.out_step;
    for (uint u = i; u < bins; u += threads) {
        uint p = own_bin, t = bin_transform, m = bin_point;
        Factors root = bin_root;
        own_bin = bin(shape, first, u + threads, bin_transform, bin_point);
        if (u + threads < bins) {
            bin_root = factors(step_roots, own_bin, shape.fine);
        }
        uint k = shape.pairs > 0 ? first + t : 0;
        if (t >= present || ((k == 0 || 2 * k == shape.rows) && 2 * p > all)) {
            continue; // there is none, or another thread has its mirror image
        }
        device float2* row_bins = to + (first + t) * shape.out_next;
        float2 z = memory[read + t * shape.cell_next + m];
        if (p == 0) {
            row_bins[0] = float2(z.x + z.y, 0.0f);
            row_bins[all] = float2(z.x - z.y, 0.0f);
            continue;
        }
        m = k == 0 ? length - m : length - 1 - m;
        float2 mirror_image = memory[read + (t + shape.pairs) * shape.cell_next + m];
        float2 sum = float2(z.x + mirror_image.x, z.y - mirror_image.y) * 0.5f;
        float2 difference = float2(z.x - mirror_image.x, z.y + mirror_image.y) * 0.5f;
        float2 turned = quarter(product(difference, product(root.fine, root.coarse)));
        row_bins[p] = sum + turned;
        row_bins[all - p] = float2(sum.x - turned.x, turned.y - sum.y);
    }
}
