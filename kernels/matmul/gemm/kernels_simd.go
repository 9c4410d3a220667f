//go:build amd64 || arm64

package gemm

// kernel computes a fixed number of rows of C for each panel of b. The number is the kernel's index in a table.
type kernel func(c *float32, rowC int, a, b *float32, rowB, nextB, terms, panels int, add bool)

// dotKernel computes a fixed number of rows of C in groups of dotColumns columns. The number is its index in a table.
type dotKernel func(c *float32, rowC int, x *float32, rowX int, y *float32, rowY, terms, groups int, add bool)

// thinKernel computes a fixed number of rows of a thin product, which is the kernel's index in a table.
type thinKernel func(c *float32, rowC int, a, b *float32, rowB, terms, panels int, add bool)

// loneKernel computes a row of C in groups of loneColumns columns.
type loneKernel func(c, a, b *float32, nextB, terms, groups int, add bool)

// instructions are the kernels of a set of vector instructions by their number of rows.
type instructions struct {
	tiles []kernel
	thin  []thinKernel
	dots  []dotKernel
	lone  loneKernel
}

// narrow are the kernels of AVX2 and of NEON.
var narrow = &instructions{
	[]kernel{1: multiply1SIMD, 2: multiply2SIMD, 3: multiply3SIMD, 4: multiply4SIMD, 5: multiply5SIMD, 6: multiply6SIMD},
	[]thinKernel{1: thin1SIMD, 2: thin2SIMD, 3: thin3SIMD, 4: thin4SIMD, 5: thin5SIMD, 6: thin6SIMD},
	[]dotKernel{1: dot1SIMD, 2: dot2SIMD, 3: dot3SIMD},
	loneSIMD,
}

var (
	// vectors are the kernels of this processor. It is nil if the processor runs multiplyGo.
	vectors *instructions
	// tileRows is the greatest number of rows of C that a kernel computes. It is a multiple of dotRows, that of a kernel of dot
	// products.
	tileRows, dotRows int
)

func init() { use(fastest()) }

// use chooses the kernels that compute. nil stands for multiplyGo.
func use(kernels *instructions) {
	vectors, tileRows, dotRows = kernels, 6, 3
	if kernels != nil {
		tileRows, dotRows = len(kernels.tiles)-1, len(kernels.dots)-1
	}
}

// multiply is multiplyGo by the fastest instructions of this processor. terms and panels must be at least 1.
func multiply(c []float32, rowC int, a, b []float32, rowB, nextB, rows, terms, panels int, add bool) {
	if vectors == nil {
		multiplyGo(c, rowC, a, b, rowB, nextB, rows, terms, panels, add)
		return
	}
	_, _ = c[(rows-1)*rowC+panels*tileColumns-1], a[rows*terms-1]
	_ = b[(terms-1)*rowB+(panels-1)*nextB+tileColumns-1]
	vectors.tiles[rows](&c[0], 4*rowC, &a[0], &b[0], 4*rowB, 4*nextB, terms, panels, add)
}

// multiplyThin is multiplyThinGo by the fastest instructions of this processor. terms and panels must be at least 1.
func multiplyThin(c []float32, rowC int, a, b []float32, rowB, rows, terms, panels int, add bool) {
	if vectors == nil {
		multiplyThinGo(c, rowC, a, b, rowB, rows, terms, panels, add)
		return
	}
	columns := tileColumns * panels
	_, _, _ = c[(rows-1)*rowC+columns-1], a[rows*terms-1], b[(terms-1)*rowB+columns-1]
	vectors.thin[rows](&c[0], 4*rowC, &a[0], &b[0], 4*rowB, terms, panels, add)
}

// multiplyLone is multiplyGo for a row of C, in groups of four packed panels, by the fastest instructions of this processor. terms and
// groups must be at least 1.
func multiplyLone(c, a, b []float32, terms, groups int, add bool) {
	next := terms * tileColumns
	if vectors == nil {
		multiplyGo(c, 0, a, b, tileColumns, next, 1, terms, groups*loneColumns/tileColumns, add)
		return
	}
	_, _, _ = c[groups*loneColumns-1], a[terms-1], b[groups*loneColumns*terms-1]
	vectors.lone(&c[0], &a[0], &b[0], 4*next, terms, groups, add)
}

// dot is dotGo by the fastest instructions of this processor. terms and groups must be at least 1.
func dot(c []float32, rowC int, x []float32, rowX int, y []float32, rowY, rows, terms, groups int, add bool) {
	if vectors == nil {
		dotGo(c, rowC, x, rowX, y, rowY, rows, terms, groups, add)
		return
	}
	columns := dotColumns * groups
	_, _, _ = c[(rows-1)*rowC+columns-1], x[(rows-1)*rowX+terms-1], y[(columns-1)*rowY+terms-1]
	vectors.dots[rows](&c[0], 4*rowC, &x[0], 4*rowX, &y[0], 4*rowY, terms, groups, add)
}
