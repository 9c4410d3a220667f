//go:build !amd64

package gemm

func multiply(c []float32, rowC int, a, b []float32, rowB, rows, terms int, add bool) {
	multiplyGo(c, rowC, a, b, rowB, rows, terms, add)
}
