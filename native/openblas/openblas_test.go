package openblas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// needLibrary skips the test on a machine without OpenBLAS.
func needLibrary(t testing.TB) {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skip(err)
	}
}

func noise(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}

// product is the definition of Gemm in float64.
func product(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int) []float64 {
	out := make([]float64, len(c))
	for i, v := range c {
		out[i] = float64(v)
	}
	for i := range m {
		for j := range n {
			sum := 0.0
			for l := range k {
				x, y := i*lda+l, l*ldb+j
				if transA {
					x = l*lda + i
				}
				if transB {
					y = j*ldb + l
				}
				sum += float64(a[x]) * float64(b[y])
			}
			out[i*ldc+j] = float64(alpha) * sum
			if beta != 0 {
				out[i*ldc+j] += float64(beta) * float64(c[i*ldc+j])
			}
		}
	}
	return out
}

func relativeError(got []float32, want []float64) float64 {
	var diff, norm float64
	for i, w := range want {
		d := float64(got[i]) - w
		diff += d * d
		norm += w * w
	}
	return math.Sqrt(diff / norm)
}

// withoutSmallProducts makes a test compute as on a processor for which the library has no code for small products.
func withoutSmallProducts(t *testing.T) {
	lib, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	before := lib.small
	lib.small = false
	t.Cleanup(func() { lib.small = before })
}

func TestGemm(t *testing.T) {
	needLibrary(t)
	checkGemm(t)
	t.Run("no small products", func(t *testing.T) {
		withoutSmallProducts(t)
		checkGemm(t)
	})
}

func checkGemm(t *testing.T) {
	shapes := []struct {
		name        string
		m, n, k     int
		padding     int // how much longer the leading dimensions are than the rows
		alpha, beta float32
	}{
		{"one element", 1, 1, 1, 0, 1, 0},
		{"row vector", 1, 33, 17, 0, 1, 0},
		{"column vector", 33, 1, 17, 0, 1, 0},
		{"rectangular", 13, 7, 29, 0, 1, 0},
		{"padded and scaled", 13, 7, 29, 3, 0.5, 2},
		{"larger than the library's blocks", 150, 141, 203, 5, 1, 1},
		{"one long row", 1, 1100, 1000, 0, 1, 0},
		{"one long row, padded and scaled", 1, 1100, 1000, 3, 0.5, 2},
		{"few rows, padded and scaled", vectorRows, 700, 500, 3, 0.5, 2},
		{"more rows", vectorRows + 1, 700, 500, 0, 1, 0},
		{"one long column", 1100, 1, 1000, 0, 1, 0},
		{"one long column, padded and scaled", 1100, 1, 1000, 3, 0.5, 2},
		{"one column, scaled", 37, 1, 5, 0, 0.5, 2},
	}
	for _, s := range shapes {
		for _, trans := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			for _, threads := range []int{1, 2} {
				name := fmt.Sprintf("%s/transA=%t,transB=%t,threads=%d", s.name, trans[0], trans[1], threads)
				t.Run(name, func(t *testing.T) {
					rng := rand.New(rand.NewPCG(1, 2))
					rowsA, lda := s.m, s.k+s.padding
					if trans[0] {
						rowsA, lda = s.k, s.m+s.padding
					}
					rowsB, ldb := s.k, s.n+s.padding
					if trans[1] {
						rowsB, ldb = s.n, s.k+s.padding
					}
					ldc := s.n + s.padding
					a, b, c := noise(rng, rowsA*lda), noise(rng, rowsB*ldb), noise(rng, s.m*ldc)
					want := product(trans[0], trans[1], s.m, s.n, s.k, s.alpha, a, lda, b, ldb, s.beta, c, ldc)
					Gemm(threads, trans[0], trans[1], s.m, s.n, s.k, s.alpha, a, lda, b, ldb, s.beta, c, ldc)
					if e := relativeError(c, want); !(e < 2e-6) {
						t.Errorf("relative error %.2g, want below 2e-6", e)
					}
					for i := range c { // Gemm must not write the padding
						if i%ldc >= s.n && float64(c[i]) != want[i] {
							t.Fatalf("wrote c[%d], outside the matrix", i)
						}
					}
				})
			}
		}
	}
}

// TestGemmReadsAColumn multiplies by a column that lies in a matrix, so that its values are apart.
func TestGemmReadsAColumn(t *testing.T) {
	needLibrary(t)
	withoutSmallProducts(t)
	rng := rand.New(rand.NewPCG(5, 6))
	const m, k, ldb = 37, 19, 4
	a, b, c := noise(rng, m*k), noise(rng, k*ldb), make([]float32, m)
	want := product(false, false, m, 1, k, 1, a, k, b, ldb, 0, c, 1)
	Gemm(1, false, false, m, 1, k, 1, a, k, b, ldb, 0, c, 1)
	if e := relativeError(c, want); !(e < 2e-6) {
		t.Errorf("relative error %.2g, want below 2e-6", e)
	}
}

func TestGemmIgnoresCWhenBetaIsZero(t *testing.T) {
	needLibrary(t)
	check := func() {
		c := []float32{float32(math.NaN())}
		Gemm(1, false, false, 1, 1, 1, 1, []float32{2}, 1, []float32{3}, 1, 0, c, 1)
		if c[0] != 6 {
			t.Errorf("2·3 = %g over a NaN", c[0])
		}
	}
	check()
	withoutSmallProducts(t)
	check()
}

func TestGemmEmpty(t *testing.T) {
	needLibrary(t)
	Gemm(1, false, false, 0, 4, 4, 1, nil, 4, make([]float32, 16), 4, 0, nil, 4)
	check := func() {
		c := []float32{1, 2, 3, 4}
		Gemm(1, false, false, 2, 2, 0, 1, nil, 1, nil, 2, 0, c, 2)
		if !slices.Equal(c, make([]float32, 4)) {
			t.Errorf("a product over no terms is %v, want zeros", c)
		}
	}
	check()
	withoutSmallProducts(t)
	check()
}

// TestGemmConcurrent runs callers with one and with two threads at once, so that the number of threads changes all the time.
func TestGemmConcurrent(t *testing.T) {
	needLibrary(t)
	const n = 160 // large enough for OpenBLAS to use its threads
	rng := rand.New(rand.NewPCG(3, 4))
	a, b := noise(rng, n*n), noise(rng, n*n)
	want := product(false, false, n, n, n, 1, a, n, b, n, 0, make([]float32, n*n), n)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			c := make([]float32, n*n)
			for range 8 {
				clear(c)
				Gemm(1+worker%2, false, false, n, n, n, 1, a, n, b, n, 0, c, n)
				if e := relativeError(c, want); !(e < 2e-6) {
					t.Errorf("worker %d: relative error %.2g", worker, e)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestPanics(t *testing.T) {
	needLibrary(t)
	x := make([]float32, 12)
	for _, test := range []struct {
		name string
		call func()
		want string
	}{
		{"negative", func() { Gemm(1, false, false, -1, 1, 1, 1, x, 1, x, 1, 0, x, 1) }, "negative dimension"},
		{"short a", func() { Gemm(1, false, false, 4, 3, 4, 1, x, 4, x, 3, 0, x, 3) }, "slice a is too short"},
		{"short a transposed", func() { Gemm(1, true, false, 1, 1, 4, 1, x, 4, x, 1, 0, x, 1) }, "slice a is too short"},
		{"short b", func() { Gemm(1, false, false, 3, 4, 4, 1, x, 4, x, 4, 0, x, 4) }, "slice b is too short"},
		{"short c", func() { Gemm(1, false, false, 4, 4, 3, 1, x, 3, x, 4, 0, x, 4) }, "slice c is too short"},
		{"lda", func() { Gemm(1, false, false, 3, 4, 4, 1, x, 3, x, 4, 0, x, 4) }, "dimension of a is shorter"},
		{"ldb", func() { Gemm(1, false, true, 3, 3, 4, 1, x, 4, x, 3, 0, x, 3) }, "dimension of b is shorter"},
		{"ldc", func() { Gemm(1, false, false, 3, 4, 3, 1, x, 3, x, 4, 0, x, 3) }, "dimension of c is shorter"},
		{"beyond 32 bits", func() { Gemm(1, false, false, 1, 1, 1<<31, 1, x, 1<<31, x, 1, 0, x, 1) }, "above 2147483647"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				message, _ := recover().(string)
				if !strings.HasPrefix(message, "openblas: ") || !strings.Contains(message, test.want) {
					t.Errorf("panic %q, want one about %q", message, test.want)
				}
			}()
			test.call()
		})
	}
}

// raceDetector reports whether the tests run under -race. The race detector makes sync.Pool drop objects at random, also in
// package purego. So every call into C may allocate.
func raceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func TestCallsAllocateNothing(t *testing.T) {
	needLibrary(t)
	if raceDetector() {
		t.Skip("sync.Pool drops objects at random under the race detector")
	}
	const n = 32
	a, b, c, y := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n), make([]float32, 1100)
	for _, threads := range []int{1, Threads()} {
		allocations := testing.AllocsPerRun(100, func() {
			Gemm(threads, false, false, n, n, n, 1, a, n, b, n, 0, c, n)
		})
		if allocations != 0 {
			t.Errorf("Gemm, %d threads: %g allocations a call, want 0", threads, allocations)
		}
		long := make([]float32, 1100*1000)
		allocations = testing.AllocsPerRun(100, func() { Gemm(threads, false, true, 1, 1100, 1000, 1, long, 1000, long, 1000, 0, y, 1100) })
		if allocations != 0 {
			t.Errorf("Gemm of a row, %d threads: %g allocations a call, want 0", threads, allocations)
		}
	}
}

func TestVersion(t *testing.T) {
	needLibrary(t)
	if v := Version(); !strings.HasPrefix(v, "OpenBLAS ") {
		t.Errorf("version %q, want one that starts with OpenBLAS", v)
	}
	if n := Threads(); n < 1 {
		t.Errorf("%d threads, want at least 1", n)
	}
	for _, test := range []struct{ config, core, want string }{
		{"OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH SkylakeX MAX_THREADS=64", "SkylakeX", "OpenBLAS 0.3.21 SkylakeX"},
		{"OpenBLAS", "Zen", "OpenBLAS Zen"},
		{"", "", ""},
	} {
		if got := version(test.config, test.core); got != test.want {
			t.Errorf("version(%q, %q) = %q, want %q", test.config, test.core, got, test.want)
		}
	}
}

// TestLoadFailures checks what a user reads when CROSSOVER_LIBOPENBLAS names the wrong file.
func TestLoadFailures(t *testing.T) {
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte("not a library\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(t.TempDir(), "half.so")
	if runtime.GOOS == "linux" {
		// The first half of the test's own program stands for an incomplete download of a library.
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(half, whole[:len(whole)/2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := map[string]string{"linux": "libc.so.6", "darwin": "/usr/lib/libSystem.B.dylib"}[runtime.GOOS]
	for _, test := range []struct{ name, path, want string }{
		{"absent", filepath.Join(t.TempDir(), "libopenblas.so"), "cannot load"},
		{"text", text, "cannot load"},
		{"cut off", half, "cannot load"},
		{"library without the symbols", other, other + " is not OpenBLAS: it has no sgemm_"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.path == "" {
				t.Skip("no library that is known to be on " + runtime.GOOS)
			}
			t.Setenv(Environment, test.path)
			lib, err := load()
			if err == nil || lib != nil {
				t.Fatalf("load() = %v, %v, want an error", lib, err)
			}
			message := err.Error()
			if strings.Contains(message, "\n") {
				t.Errorf("more than one line: %q", message)
			}
			for _, want := range []string{"openblas: ", test.want, test.path, "libopenblas0-pthread", "Homebrew"} {
				if !strings.Contains(message, want) {
					t.Errorf("%q does not say %q", message, want)
				}
			}
		})
	}
}

// BenchmarkGemm measures the cost of a call. At n=1 all of it is the way into C and back.
func BenchmarkGemm(b *testing.B) {
	needLibrary(b)
	for _, n := range []int{1, 16, 64, 256} {
		for _, threads := range []int{1, Threads()} {
			b.Run(fmt.Sprintf("threads=%d/n=%d", threads, n), func(b *testing.B) {
				x, y, z := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
				for b.Loop() {
					Gemm(threads, false, false, n, n, n, 1, x, n, y, n, 0, z, n)
				}
			})
		}
	}
}

// OpenBLAS's threads poll for work after a call, by default for tens of milliseconds. They must stop soon, because they take
// a core from what runs next.
func TestThreadsSleepSoonAfterACall(t *testing.T) {
	needLibrary(t)
	if Threads() < 2 || os.Getenv(patienceVariable) != "" {
		t.Skip("one thread only, or somebody else's patience")
	}
	const n = 256
	x, y := make([]float32, n*n), make([]float32, n*n)
	Gemm(Threads(), false, false, n, n, n, 1, x, n, x, n, 0, y, n)
	const pause = 40 * time.Millisecond
	least := pause
	for range 5 {
		before := processorTime(t)
		time.Sleep(pause)
		least = min(least, processorTime(t)-before)
		Gemm(Threads(), false, false, n, n, n, 1, x, n, x, n, 0, y, n)
	}
	if least > pause/2 {
		t.Errorf("the process used %v of processor time in a pause of %v after a call", least, pause)
	}
}
