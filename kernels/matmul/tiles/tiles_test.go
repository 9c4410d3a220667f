package tiles

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"crossover/kernels"
)

// reference is C = A·B + beta·C by definition.
func reference(c, a, b []float32, m, k, n int, beta float32) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for l := range k {
				sum += float64(a[i*k+l]) * float64(b[l*n+j])
			}
			out[i*n+j] = sum
			if beta != 0 {
				out[i*n+j] += float64(beta) * float64(c[i*n+j])
			}
		}
	}
	return out
}

func TestMultiply(t *testing.T) {
	for _, shape := range []struct {
		name    string
		m, k, n int
	}{
		{"one element", 1, 1, 1},
		{"row times matrix", 1, 130, 400},
		{"matrix times column", 400, 130, 1},
		{"inside one tile", 7, 5, 3},
		{"exactly narrow", 64, 64, 192},
		{"rows past a narrow part", 65, 65, 190},
		{"barely wide", 65, 257, 193},
		{"several depths", 5, 600, 200},
		{"several tiles side by side", 3, 20, 4100},
	} {
		for _, beta := range []float32{0, 1} {
			a, b, c := make([]float32, shape.m*shape.k), make([]float32, shape.k*shape.n), make([]float32, shape.m*shape.n)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernels.Noise(c, 3)
			if beta == 0 {
				c[0] = float32(math.NaN()) // must not be read
			}
			want := reference(c, a, b, shape.m, shape.k, shape.n, beta)
			parallel := NewParallel()
			for _, engine := range []struct {
				name     string
				multiply func(c, a, b []float32, m, k, n int, beta float32)
			}{{"serial", Multiply}, {"parallel", parallel.Multiply}} {
				t.Run(fmt.Sprintf("%s/beta=%g/%s", shape.name, beta, engine.name), func(t *testing.T) {
					got := append([]float32(nil), c...)
					engine.multiply(got, a, b, shape.m, shape.k, shape.n, beta)
					if e := kernels.RelativeError(got, want); !(e < 1e-6) {
						t.Errorf("relative error %.2g, want below 1e-6", e)
					}
				})
			}
		}
	}
}

// TestSerialStaysSerial holds the premise of the package: no tile is large enough for gonum to start goroutines,
// which it could not do without allocating.
func TestSerialStaysSerial(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	a, b, c := make([]float32, 256*256), make([]float32, 256*256), make([]float32, 256*256)
	parallel := NewParallel()
	for name, multiply := range map[string]func(c, a, b []float32, m, k, n int, beta float32){
		"serial": Multiply, "parallel": parallel.Multiply,
	} {
		for _, n := range []int{narrowColumns, 256} {
			allocations := testing.AllocsPerRun(5, func() { multiply(c, a, b, 256, 256, n, 0) })
			if allocations != 0 {
				t.Errorf("%s: %g allocations a product with %d columns, want 0", name, allocations, n)
			}
		}
	}
}

func TestPanics(t *testing.T) {
	x := make([]float32, 4)
	for _, test := range []struct {
		name    string
		c, a, b []float32
		m, k, n int
		want    string
	}{
		{"no rows", x, x, x, 0, 1, 1, "tiles: dimension below 1"},
		{"short a", x, x[:3], x, 2, 2, 2, "tiles: slice shorter than its matrix"},
		{"short b", x, x, x[:3], 2, 2, 2, "tiles: slice shorter than its matrix"},
		{"short c", x[:3], x, x, 2, 2, 2, "tiles: slice shorter than its matrix"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %v, want %q", got, test.want)
				}
			}()
			Multiply(test.c, test.a, test.b, test.m, test.k, test.n, 0)
		})
	}
}
