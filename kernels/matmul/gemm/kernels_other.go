//go:build !amd64 && !arm64

package gemm

// tileRows is the greatest number of rows of C that multiplyGo gets at a time. It is a multiple of dotRows, that of dotGo.
var tileRows, dotRows = 6, 3

func multiply(c []float32, rowC int, a, b []float32, rowB, nextB, rows, terms, panels int, add bool) {
	multiplyGo(c, rowC, a, b, rowB, nextB, rows, terms, panels, add)
}

func multiplyThin(c []float32, rowC int, a, b []float32, rowB, rows, terms, panels int, add bool) {
	multiplyThinGo(c, rowC, a, b, rowB, rows, terms, panels, add)
}

func multiplyLone(c, a, b []float32, terms, groups int, add bool) {
	multiplyGo(c, 0, a, b, tileColumns, terms*tileColumns, 1, terms, groups*loneColumns/tileColumns, add)
}

func dot(c []float32, rowC int, x []float32, rowX int, y []float32, rowY, rows, terms, groups int, add bool) {
	dotGo(c, rowC, x, rowX, y, rowY, rows, terms, groups, add)
}
