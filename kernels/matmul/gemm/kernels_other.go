//go:build !amd64

package gemm

// tileRows is how many rows of C a kernel computes at most.
var tileRows = 6

func multiply(c []float32, rowC int, a, b []float32, rowB, rows, terms int, add bool) {
	multiplyGo(c, rowC, a, b, rowB, rows, terms, add)
}
