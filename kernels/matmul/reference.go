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

// ScaledReference returns α·op(A)·op(B) + β·before in float64, with the transposes and factors of p. op(A) is m×k, op(B) is k×n,
// and before and the result are m×n, all row-major. before is read if β is not 0, and may be nil otherwise.
func ScaledReference(p Params, a, b, before []float32, m, k, n int) []float64 {
	if p.TransposeA {
		a = transpose(a, k, m)
	}
	if p.TransposeB {
		b = transpose(b, n, k)
	}
	c := Reference(a, b, m, k, n)
	for i := range c {
		c[i] *= float64(p.Alpha)
		if p.Beta != 0 {
			c[i] += float64(p.Beta) * float64(before[i])
		}
	}
	return c
}

// transpose returns the columns×rows transpose of a rows×columns matrix.
func transpose(x []float32, rows, columns int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range columns {
			y[j*rows+i] = x[i*columns+j]
		}
	}
	return y
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
