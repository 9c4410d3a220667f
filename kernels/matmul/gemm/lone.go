package gemm

const (
	// loneColumns is the number of columns of C in a group that a kernel for a single row computes.
	loneColumns = 4 * tileColumns
	// leastLoneColumns is the least number of columns of a packed B that such a kernel meets. On one core of an EPYC of family 25,
	// model 1, matrices that fit into a cache took 0.78 to 1.03 of the time of tiles, and 3072×3072 took 0.6.
	leastLoneColumns = 2 * loneColumns
)

// Lone reports whether a product with m×n sums is a single row by a B that [PackWhole] has packed.
func Lone(m, n int) bool { return m == 1 && n >= leastLoneColumns }

// isLone reports whether the product is a single row, and not one of several. It mostly waits for B. Kernels then read four panels at a
// time. The shape of all of C decides, so a division changes no bits.
func (p *product) isLone() bool { return p.m == 1 && p.packed != nil && p.packed.lone }

// lone computes columns j to lastJ−1 of a single row. j is a multiple of tileColumns.
func (w *worker) lone(p *product, j, lastJ int) {
	groups := (lastJ - j) / loneColumns
	rest := j + groups*loneColumns
	for l := 0; l < p.k; l += p.depth {
		terms, add := min(p.depth, p.k-l), p.add || l > 0
		a, b := w.rows(p, l, terms, 0, 1), p.packed.panels(l, terms, 0)
		if groups > 0 {
			multiplyLone(p.c[j:], a, b[j*terms:], terms, groups, add)
		}
		if rest < lastJ { // the last group has earlier columns too, which are not kept
			first := roundUp(lastJ, tileColumns) - loneColumns
			multiplyLone(w.edge[:], a, b[first*terms:], terms, 1, false)
			put(p.c[rest:lastJ], w.edge[rest-first:], add)
		}
	}
}
