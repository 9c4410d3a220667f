package accelerate

import (
	"sync"
	"unsafe"
)

// product holds the arguments of sgemm_. Fortran takes all of them by address.
type product struct {
	transA, transB byte
	m, n, k        int32
	lda, ldb, ldc  int32
	alpha, beta    float32
}

var products = sync.Pool{New: func() any { return new(product) }}

// Gemm computes C = alpha·op(A)·op(B) + beta·C for row-major matrices without gaps. op(X) is X, or the transpose of X if
// transX is set. op(A) is m×k, op(B) is k×n, C is m×n. C is not read if beta is 0. Accelerate chooses the number of threads.
// Gemm panics if a slice is too short or a dimension is 0.
//
// Reference: https://developer.apple.com/documentation/accelerate/blas
func Gemm(transA, transB bool, m, n, k int, alpha float32, a, b []float32, beta float32, c []float32) {
	GemmInto(transA, transB, m, n, k, alpha, a, b, beta, c, n)
}

// GemmInto is [Gemm] with gaps between the rows of C, whose starts are ldc values apart. It also panics if ldc is below n.
func GemmInto(transA, transB bool, m, n, k int, alpha float32, a, b []float32, beta float32, c []float32, ldc int) {
	if m == 0 || n == 0 || k == 0 {
		panic("accelerate: a matrix without elements")
	}
	if len(a) < m*k || len(b) < k*n || ldc < n || len(c) < (m-1)*ldc+n {
		panic("accelerate: a matrix is too short")
	}
	// sgemm_ is column-major. A row-major matrix read by columns is its transpose, so this computes Cᵀ = op(B)ᵀ·op(A)ᵀ.
	p := products.Get().(*product)
	*p = product{
		transA: fortran(transB), transB: fortran(transA),
		m: int32(n), n: int32(m), k: int32(k),
		lda: int32(columns(transB, k, n)), ldb: int32(columns(transA, m, k)), ldc: int32(ldc),
		alpha: alpha, beta: beta,
	}
	g := begin()
	for i, at := range [...]unsafe.Pointer{
		unsafe.Pointer(&p.transA), unsafe.Pointer(&p.transB), unsafe.Pointer(&p.m), unsafe.Pointer(&p.n), unsafe.Pointer(&p.k),
		unsafe.Pointer(&p.alpha), unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(&p.lda), unsafe.Pointer(unsafe.SliceData(a)),
		unsafe.Pointer(&p.ldb), unsafe.Pointer(&p.beta), unsafe.Pointer(unsafe.SliceData(c)), unsafe.Pointer(&p.ldc),
	} {
		g.words[i] = uintptr(at)
	}
	g.count = 13
	g.keep[0], g.keep[1], g.keep[2], g.keep[3] = unsafe.Pointer(p), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(unsafe.SliceData(c))
	g.run(must().sgemm)
	products.Put(p)
}

func fortran(trans bool) byte {
	if trans {
		return 'T'
	}
	return 'N'
}

// columns returns the length of a row in memory, for a matrix X whose op(X) is rows×columns.
func columns(trans bool, rows, columns int) int {
	if trans {
		return rows
	}
	return columns
}
