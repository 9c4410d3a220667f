package matmul

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// plainLimit is the number of multiplications up to which Reference uses the plain loop. So many take a few milliseconds.
const plainLimit = 128 * 128 * 128

// Reference returns A·B in float64. A is m×k, B is k×n, the result is m×n, all row-major. Reference computes small products
// by a plain loop, and large ones by gonum's float64 gemm, because the loop would take a minute at an edge of 2048. The
// tests compare the two. gonum skips products with 0, even of a NaN or an infinity. So if a matrix has one, the loop
// computes the product at every size.
func Reference(a, b []float32, m, k, n int) []float64 {
	if m*k*n <= plainLimit || !finite(a) || !finite(b) {
		return plainReference(a, b, m, k, n)
	}
	return gonumReference(a, b, m, k, n)
}

func finite(x []float32) bool {
	for _, v := range x {
		if v-v != 0 {
			return false
		}
	}
	return true
}

func plainReference(a, b []float32, m, k, n int) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				c[i*n+j] += float64(a[i*k+l]) * float64(b[l*n+j])
			}
		}
	}
	return c
}

func gonumReference(a, b []float32, m, k, n int) []float64 {
	c := make([]float64, m*n)
	gonum.Implementation{}.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, widen(a), k, widen(b), n, 0, c, n)
	return c
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
