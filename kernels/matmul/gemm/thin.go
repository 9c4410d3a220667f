package gemm

import "math/bits"

// A product is thin if its C has few rows and B lies as it is. It mostly waits for B, so B is not packed, and kernels multiply long
// pieces of its rows. They add one term after the other to what C holds. So the bits do not depend on how many rows of B a call of a
// kernel takes, which is chosen by what is fast.
const (
	mostThinRows     = 6
	leastThinColumns = 4 * tileColumns // fewer leave a kernel waiting for the sum before
)

// Thin reports whether a product with m×n sums is thin if B is not packed, nor stored as its transpose.
func Thin(m, n int) bool { return m <= mostThinRows && n >= leastThinColumns }

// isThin reports whether the product is thin. The shape of all of C decides, so a division changes no bits.
func (p *product) isThin() bool { return Thin(p.m, p.n) && p.unpacked() && !p.part && p.x == nil }

// thinDepth is how many rows of B a kernel reads at a time. More rows mean that C is read and written less often. But a processor
// notices only a few rows that are read from their beginning to their end, and fetches ahead. What it fetches is pushed out of the
// first-level cache, which has at least eight lines for an address modulo 4 KiB, if rows of B lie a multiple of 4 KiB apart.
//
// One row, on a core of an EPYC of family 26: 1024×1024 took 44, 51 and 59 µs with a depth of 8, 16 and 32, and 2048×1679 took 258, 249
// and 190. On one of family 25, model 1, kernels for single panels took 3.6 ms with 32 and 2.1 with 16 for the latter. Narrow parts have
// nothing to be fetched ahead: on 16 cores of a Xeon of family 6, model 207, parts of 64 columns of 1024×1024 took 112, 70 and 24 µs.
func (p *product) thinDepth() int {
	const narrow, secondLevel = 8 * tileColumns, 1 << 18 // values
	depth := 32
	if p.columns <= narrow {
		return depth
	}
	if p.k >= secondLevel/p.n {
		depth = 16
	}
	if lines := uint(p.n / tileColumns); p.n%tileColumns == 0 {
		depth = min(depth, 8*64>>min(bits.TrailingZeros(lines), 6))
	}
	return depth
}

// thin computes columns j to lastJ−1 of a thin product.
func (w *worker) thin(p *product, j, lastJ int) {
	whole := (lastJ - j) / tileColumns * tileColumns
	for l := 0; l < p.k; l += p.depth {
		terms, add := min(p.depth, p.k-l), p.add || l > 0
		a := w.rows(p, l, terms, 0, p.m)
		b, c := p.b[l*p.n:], p.c[j:]
		if whole > 0 {
			multiplyThin(c, p.n, a, b[j:], p.n, p.m, terms, whole/tileColumns, add)
		}
		if j+whole == lastJ {
			continue
		}
		// C ends within a panel. So the last panel begins earlier, and only its last columns are kept.
		first := lastJ - tileColumns
		keep := tileColumns - (lastJ - j - whole)
		for r := range p.m {
			copy(w.edge[r*tileColumns:][keep:tileColumns], p.c[r*p.n+first+keep:])
		}
		multiplyThin(w.edge[:], tileColumns, a, b[first:], p.n, p.m, terms, 1, add)
		for r := range p.m {
			copy(p.c[r*p.n+first+keep:][:tileColumns-keep], w.edge[r*tileColumns:][keep:])
		}
	}
}

// multiplyThinGo adds to element i, j of rows rows of C, which are rowC values apart, a[rows·l+i]·b[rowB·l+j] for each l in turn, or
// to 0 if add is not set. C has tileColumns columns for each panel.
func multiplyThinGo(c []float32, rowC int, a, b []float32, rowB, rows, terms, panels int, add bool) {
	columns := panels * tileColumns
	for i := range rows {
		c := c[i*rowC:][:columns]
		if !add {
			clear(c)
		}
		for l := range terms {
			v := a[l*rows+i]
			for j, x := range b[l*rowB:][:columns] {
				c[j] += v * x
			}
		}
	}
}
