// Package openblas multiplies matrices by the OpenBLAS library. The library is found and loaded at run time, without cgo.
//
// The package has the product that Crossover's operations need. It is not a general binding. A program that links this
// package also runs without OpenBLAS, because the first call loads the library. [Probe] then says what is missing. The usual
// steps are
//
//  1. call [Probe], and compute without OpenBLAS if it fails;
//  2. call [Gemm] with 1 thread or with [Threads].
//
// The library is libopenblas.so.0 (Linux) or libopenblas.dylib (macOS) in the loader's path or in Homebrew's folders. If
// CROSSOVER_LIBOPENBLAS is set, the package loads the file that it names and tries no other. The package makes OpenBLAS's
// threads sleep soon after a call, unless OPENBLAS_THREAD_TIMEOUT is set. On Linux it also keeps them off the processor of
// their caller. An OpenBLAS that is older than the processor may choose code for a much older one. The package then tells it which
// code to choose, unless OPENBLAS_CORETYPE does.
//
// OpenBLAS: https://github.com/OpenMathLib/OpenBLAS. The routines' definitions: Dongarra et al., "An extended set of
// FORTRAN basic linear algebra subprograms", ACM Transactions on Mathematical Software 14 (1988), 1–17, and "A set of
// level 3 basic linear algebra subprograms", the same 16 (1990), 1–17.
package openblas

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"crossover/pool/affinity"
)

// Revision counts the changes after which products take other times.
const Revision = 1 // few rows are multiplied as vectors

// Environment is the variable that holds the path of the library to load in place of the system's.
const Environment = "CROSSOVER_LIBOPENBLAS"

// library is a loaded OpenBLAS.
type library struct {
	handle     uintptr // of the loaded library
	sgemm      uintptr // C function sgemm_
	sgemv      uintptr // C function sgemv_
	setThreads uintptr // C function openblas_set_num_threads
	version    string
	core       string // the processor core whose code it chose: "SkylakeX"
	small      bool   // whether sgemm_ has other code for small products
	threads    int    // at first: one for each processor that the process may use, or OPENBLAS_NUM_THREADS

	// helpers are the numbers of the library's own threads. These threads keep off one processor, clear: that of the last
	// caller that asked for more than one thread. See package affinity.
	helpers []int
	clear   atomic.Int64

	// OpenBLAS has one number of threads for the process. Setting it takes a lock inside the library and, the first time,
	// starts the library's threads. So it is set only when it changes, and current remembers it. Calls with the current
	// number share mu. A call with another number runs alone, so that no product loses threads half-way.
	mu      sync.RWMutex
	current int
}

var loaded = sync.OnceValues(load)

// Probe returns nil if OpenBLAS can be used, and otherwise an error of one line that says what is missing and which packages
// have it. The first call loads the library. Later calls take a few nanoseconds.
func Probe() error {
	_, err := loaded()
	return err
}

// Version returns the name and version of the library, and the processor core for which it chose its code, as in "OpenBLAS
// 0.3.21 SkylakeX". It returns "" if Probe fails.
func Version() string {
	lib, err := loaded()
	if err != nil {
		return ""
	}
	return lib.version
}

// Threads returns the greatest number of threads of Gemm: one for each processor that the process may use, or fewer
// if OPENBLAS_NUM_THREADS says so. It returns 0 if Probe fails.
func Threads() int {
	lib, err := loaded()
	if err != nil {
		return 0
	}
	return lib.threads
}

// version returns the name and number of a configuration such as "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH SkylakeX
// MAX_THREADS=64", followed by the core.
func version(config, core string) string {
	words := strings.Fields(config)
	return strings.Join(append(words[:min(2, len(words)):min(2, len(words))], core), " ")
}

// arguments holds the arguments of one call. Fortran takes every argument by reference, so a call needs an address for each
// number. The struct is on the heap and pooled. It also keeps a, b and c on the heap and reachable while C runs. For sgemv,
// b and c are the vectors x and y.
//
// The integers are eight bytes wide. A library built with four-byte integers reads the low half, which comes first on
// the little-endian machines that Crossover runs on. A library built with INTERFACE64 reads all eight bytes.
type arguments struct {
	transA, transB byte
	m, n, k        int64
	lda, ldb, ldc  int64
	one            int64 // distance between the elements of x and y
	alpha, beta    float32
	a, b, c        []float32

	gemm [13]uintptr // addresses of the fields above in the order of sgemm_'s arguments; a call sets a, b and c
	gemv [11]uintptr // the same for sgemv_
}

var pool = sync.Pool{New: func() any { return newArguments() }}

// Gemm computes C = alpha·op(A)·op(B) + beta·C for row-major matrices. op(X) is X, or the transpose of X if transX is set.
// op(A) is m×k, op(B) is k×n, C is m×n. The leading dimension of a matrix is the number of values from the start of one row
// to the start of the next, which is at least the length of a row. So A is m×k with lda ≥ k, or k×m with lda ≥ m if transA
// is set. Likewise for B. C is not read if beta is 0. C must not overlap A or B.
//
// A product of few rows is one matrix-vector product for each row where the library is faster so, and so is a product of one
// column.
//
// Gemm runs on min(threads, Threads()) threads, at least 1. Several goroutines may call Gemm at once. Calls with different
// numbers of threads wait for each other, because OpenBLAS has one number for the process. Gemm allocates nothing once warm.
//
// Gemm panics if a dimension is negative or above 2³¹−1, if a leading dimension or a slice is too short, and if Probe fails.
func Gemm(threads int, transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) {
	lib, err := loaded()
	if err != nil {
		panic(err.Error())
	}
	if m < 0 || n < 0 || k < 0 {
		panic("openblas: negative dimension")
	}
	if transA {
		checkMatrix("a", k, m, len(a), lda)
	} else {
		checkMatrix("a", m, k, len(a), lda)
	}
	if transB {
		checkMatrix("b", n, k, len(b), ldb)
	} else {
		checkMatrix("b", k, n, len(b), ldb)
	}
	checkMatrix("c", m, n, len(c), ldc)
	if m == 0 || n == 0 {
		return
	}

	if k > 0 && !(lib.small && smallProduct(transA, transB, m, n, k)) {
		switch {
		case m <= vectorRows && (!transA || m == 1 && lda == 1):
			for r := range m {
				lib.gemv(threads, !transB, b, ldb, n, k, alpha, a[r*lda:], beta, c[r*ldc:][:n])
			}
			return
		case n == 1 && ldc == 1 && (transB || ldb == 1):
			lib.gemv(threads, transA, a, lda, m, k, alpha, b, beta, c[:m])
			return
		}
	}
	g := pool.Get().(*arguments)
	// sgemm_ is column-major. A row-major matrix read by columns is its transpose. Because Cᵀ = op(B)ᵀ·op(A)ᵀ, the operands
	// change places, and nothing else changes.
	g.transA, g.transB = fortranTrans(transB), fortranTrans(transA)
	g.m, g.n, g.k = int64(n), int64(m), int64(k)
	g.lda, g.ldb, g.ldc = int64(ldb), int64(lda), int64(ldc)
	g.alpha, g.beta = alpha, beta
	g.a, g.b, g.c = b, a, c
	lib.call(callGemm, g, threads)
}

// vectorRows is the number of rows up to which matrix-vector products are faster than one matrix product, which packs all of B
// first. On an EPYC of family 25 with OpenBLAS 0.3.21, products of 1024 to 3072 terms and columns took, on one thread and on two,
// 0.08 to 0.33 of the time for one row, 0.16 to 0.71 for two and three, 0.26 to 1.04 for four, and up to 1.5 times as long for
// eight.
const vectorRows = 4

// smallProduct reports whether sgemm_ packs nothing, where it has code for small products. Such products took 0.2 to 0.6 of the
// time of matrix-vector products for two to four rows. The limits are those of sgemm_small_kernel_permit_skylakex.c in OpenBLAS,
// where the operands have changed places.
func smallProduct(transA, transB bool, m, n, k int) bool {
	if float64(m)*float64(n)*float64(k) > 100*100*100 {
		return false
	}
	return !transB || !transA && m*n <= 1200 && k >= 32
}

// hasSmallProducts reports whether the library has code for small products on a processor core.
func hasSmallProducts(core string) bool {
	switch core {
	case "SkylakeX", "Cooperlake", "SapphireRapids":
		return true
	}
	return false
}

// gemv computes y = alpha·op(A)·x + beta·y for a row-major matrix A. op(A) is rows×columns, and has columns. A is its transpose if
// transA is set.
func (lib *library) gemv(threads int, transA bool, a []float32, lda, rows, columns int, alpha float32, x []float32, beta float32,
	y []float32) {
	if beta == 0 {
		clear(y) // scaling y by 0 would keep its NaNs
	}
	g := pool.Get().(*arguments)
	g.transA = fortranTrans(!transA) // A read by columns is its transpose
	g.m, g.n, g.lda = int64(columns), int64(rows), int64(lda)
	if transA {
		g.m, g.n = g.n, g.m
	}
	g.alpha, g.beta = alpha, beta
	g.a, g.b, g.c = a, x, y
	lib.call(callGemv, g, threads)
}

// call runs one routine on a number of threads, and returns g to the pool.
func (lib *library) call(routine func(*library, *arguments), g *arguments, threads int) {
	threads = max(1, min(threads, lib.threads))
	if threads > 1 && len(lib.helpers) > 0 {
		if here := int64(affinity.Current()); lib.clear.Swap(here) != here {
			affinity.KeepOff(int(here), lib.helpers)
		}
	}
	lib.mu.RLock()
	if lib.current == threads {
		routine(lib, g)
		lib.mu.RUnlock()
	} else {
		lib.mu.RUnlock()
		lib.mu.Lock()
		if lib.current != threads {
			setThreads(lib, threads)
			lib.current = threads
		}
		routine(lib, g)
		lib.mu.Unlock()
	}
	g.a, g.b, g.c = nil, nil, nil
	pool.Put(g)
}

func fortranTrans(trans bool) byte {
	if trans {
		return 'T'
	}
	return 'N'
}

// checkMatrix panics unless rows×columns values with leading dimension ld fit into length values.
func checkMatrix(name string, rows, columns, length, ld int) {
	if rows > math.MaxInt32 || columns > math.MaxInt32 || ld > math.MaxInt32 {
		panic("openblas: dimension above 2147483647 in " + name)
	}
	if ld < max(1, columns) {
		panic("openblas: leading dimension of " + name + " is shorter than a row")
	}
	if rows > 0 && columns > 0 && length < (rows-1)*ld+columns {
		panic("openblas: slice " + name + " is too short")
	}
}
