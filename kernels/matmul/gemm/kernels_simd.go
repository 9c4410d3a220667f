//go:build amd64 || arm64

package gemm

// kernel computes a fixed number of rows of C. The number is the kernel's index in a table.
type kernel func(c *float32, rowC int, a, b *float32, rowB, terms int, add bool)

// narrow are the kernels of AVX2 and of NEON.
var narrow = []kernel{
	1: multiply1SIMD, 2: multiply2SIMD, 3: multiply3SIMD, 4: multiply4SIMD, 5: multiply5SIMD, 6: multiply6SIMD,
}

var (
	// vectors are the kernels of this processor by their number of rows. It is nil if the processor runs multiplyGo.
	vectors []kernel
	// tileRows is the greatest number of rows of C that a kernel computes.
	tileRows int
)

func init() { use(fastest()) }

// use chooses the kernels that compute. nil stands for multiplyGo.
func use(kernels []kernel) {
	vectors, tileRows = kernels, 6
	if kernels != nil {
		tileRows = len(kernels) - 1
	}
}

// multiply is multiplyGo by the fastest instructions of this processor. terms must be at least 1.
func multiply(c []float32, rowC int, a, b []float32, rowB, rows, terms int, add bool) {
	if vectors == nil {
		multiplyGo(c, rowC, a, b, rowB, rows, terms, add)
		return
	}
	_, _, _ = c[(rows-1)*rowC+tileColumns-1], a[rows*terms-1], b[(terms-1)*rowB+tileColumns-1]
	vectors[rows](&c[0], 4*rowC, &a[0], &b[0], 4*rowB, terms, add)
}
