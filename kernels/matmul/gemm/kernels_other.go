//go:build !amd64 && !arm64

package gemm

// tileRows is the greatest number of rows of C that multiplyGo gets at a time.
var tileRows = 6

func multiply(c []float32, rowC int, a, b []float32, rowB, rows, terms int, add bool) {
	multiplyGo(c, rowC, a, b, rowB, rows, terms, add)
}
