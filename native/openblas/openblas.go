// Package openblas multiplies matrices with the OpenBLAS library, found and loaded at run time, without cgo.
//
// It holds the two routines that Crossover's operations need, sgemm and sgemv, and it is no general binding. Nothing
// happens until the first call: a program that links this package runs where OpenBLAS is absent, and [Probe] says
// there what is missing. The usual steps are
//
//  1. [Probe], and go elsewhere if it fails;
//  2. [Gemm] or [Gemv] with 1 thread or with [Threads].
//
// The library is libopenblas.so.0 (Linux) or libopenblas.dylib (macOS) in the loader's path or in Homebrew's folders.
// CROSSOVER_LIBOPENBLAS=/path names another file, and no other is then tried. Its threads are told to sleep soon after
// a call, unless OPENBLAS_THREAD_TIMEOUT says otherwise, and on Linux to keep off the processor of their caller.
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

// Environment is the variable that holds the path of the library to load in place of the system's.
const Environment = "CROSSOVER_LIBOPENBLAS"

// library is a loaded OpenBLAS.
type library struct {
	sgemm      uintptr // C function sgemm_
	sgemv      uintptr // C function sgemv_
	setThreads uintptr // C function openblas_set_num_threads
	version    string
	threads    int // at load: every processor that the process may use, or OPENBLAS_NUM_THREADS

	// helpers are the library's own threads, by their numbers in the system. They keep off one processor: that of the
	// last caller that asked for more than one thread. See package affinity.
	helpers []int
	clear   atomic.Int64

	// The number of threads is global in OpenBLAS. Changing it takes a lock inside the library and, the first time,
	// starts the library's threads. So the number is remembered and set only when it changes. Calls with the number
	// that is set share mu. A call that changes the number runs alone, so that no product loses threads half-way.
	mu      sync.RWMutex
	current int
}

var loaded = sync.OnceValues(load)

// Probe returns nil where OpenBLAS can be used, else one line that names what is missing and the packages that bring
// it. The first call loads the library; later ones cost a few nanoseconds.
func Probe() error {
	_, err := loaded()
	return err
}

// Version returns the library's name and version and the processor core whose code it chose, as in
// "OpenBLAS 0.3.21 SkylakeX"; "" where Probe fails.
func Version() string {
	lib, err := loaded()
	if err != nil {
		return ""
	}
	return lib.version
}

// Threads returns the greatest number of threads that Gemm and Gemv run on: what OpenBLAS starts with, which is every
// processor that the process may use unless OPENBLAS_NUM_THREADS says less. It is 0 where Probe fails.
func Threads() int {
	lib, err := loaded()
	if err != nil {
		return 0
	}
	return lib.threads
}

// version shortens a configuration such as "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH SkylakeX MAX_THREADS=64" to its
// name and number, followed by the core.
func version(config, core string) string {
	words := strings.Fields(config)
	return strings.Join(append(words[:min(2, len(words)):min(2, len(words))], core), " ")
}

// arguments holds the arguments of one call. Fortran takes every argument by reference, so a call needs an address for
// each number. The struct lives on the heap and is pooled, which also keeps a, b and c on the heap and reachable while
// C runs. For sgemv, b and c are the vectors x and y.
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

	gemm [13]uintptr // addresses of the above in the order that sgemm_ takes them; its a, b and c are set at a call
	gemv [11]uintptr // the same for sgemv_
}

var pool = sync.Pool{New: func() any { return newArguments() }}

// Gemm computes C = alpha·op(A)·op(B) + beta·C for row-major matrices, where op(X) is X or, with trans, its transpose.
// op(A) is m×k, op(B) is k×n, C is m×n. The leading dimension of a matrix is the distance between the starts of its
// rows, at least the length of a row: A is m×k with lda ≥ k, or k×m with lda ≥ m under transA; likewise B. C is not
// read when beta is 0. C must not overlap A or B.
//
// It runs on min(threads, Threads()) threads, at least 1. It may be called from several goroutines at once; calls with
// different numbers of threads then wait for each other, because OpenBLAS has a single number for the process. It
// allocates nothing once warm.
//
// It panics on negative dimensions or dimensions above 2³¹−1, on leading dimensions or slices that are too short (C
// never sees a pointer to less than it will touch), and where Probe fails.
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

	g := pool.Get().(*arguments)
	// sgemm_ is column-major, and a row-major matrix read by columns is its transpose. Because Cᵀ = op(B)ᵀ·op(A)ᵀ, the
	// operands trade places and nothing else changes.
	g.transA, g.transB = fortranTrans(transB), fortranTrans(transA)
	g.m, g.n, g.k = int64(n), int64(m), int64(k)
	g.lda, g.ldb, g.ldc = int64(ldb), int64(lda), int64(ldc)
	g.alpha, g.beta = alpha, beta
	g.a, g.b, g.c = b, a, c
	lib.call(callGemm, g, threads)
}

// Gemv computes y = alpha·op(A)·x + beta·y for a row-major A of m rows and n columns, where op(A) is A or, with
// transA, its transpose. x has n elements and y has m; under transA x has m and y has n. y is not read when beta is 0,
// and must not overlap A or x. OpenBLAS is several times faster here than in Gemm with a single row.
//
// Threads, concurrent use, allocation and panics are as for Gemm.
func Gemv(threads int, transA bool, m, n int, alpha float32, a []float32, lda int, x []float32, beta float32,
	y []float32) {
	lib, err := loaded()
	if err != nil {
		panic(err.Error())
	}
	if m < 0 || n < 0 {
		panic("openblas: negative dimension")
	}
	checkMatrix("a", m, n, len(a), lda)
	lenX, lenY := n, m
	if transA {
		lenX, lenY = m, n
	}
	if len(x) < lenX {
		panic("openblas: slice x is too short")
	}
	if len(y) < lenY {
		panic("openblas: slice y is too short")
	}
	if lenY == 0 {
		return
	}
	if beta == 0 {
		clear(y[:lenY]) // scaling y by 0 would keep its NaNs
	}
	if lenX == 0 { // sgemv_ then leaves y as it is, where the definition wants beta·y
		for i := range y[:lenY] {
			y[i] *= beta
		}
		return
	}

	g := pool.Get().(*arguments)
	g.transA = fortranTrans(!transA) // A read by columns is Aᵀ, n×m
	g.m, g.n, g.lda = int64(n), int64(m), int64(lda)
	g.alpha, g.beta = alpha, beta
	g.a, g.b, g.c = a, x, y
	lib.call(callGemv, g, threads)
}

// call runs one routine on a number of threads and gives g back.
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
