package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"crossover/kernels"
	"crossover/pool"
)

// reference is C = A·B, or C = A·B + C, by definition.
func reference(c, a, b []float32, m, k, n int, add bool) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				out[i*n+j] += float64(a[i*k+l]) * float64(b[l*n+j])
			}
			if add {
				out[i*n+j] += float64(c[i*n+j])
			}
		}
	}
	return out
}

// multipliers returns one for one core and one for three workers, on every machine.
func multipliers(t *testing.T) map[string]*Multiplier {
	three := pool.New(3)
	t.Cleanup(three.Close)
	return map[string]*Multiplier{"serial": NewSerial(), "parallel": NewParallel(three)}
}

// shapes are m, k and n at the edges of tiles, blocks and the depth.
var shapes = [][3]int{
	{1, 1, 1}, {1, 130, 400}, {400, 130, 1}, {7, 5, 3}, {6, 256, 16}, {5, 257, 15}, {6, 3, 17}, {7, 255, 33}, {64, 64, 192},
	{65, 65, 190}, {119, 300, 31}, {121, 513, 47}, {3, 20, 4100}, {13, 2, 1025}, {2, 600, 200}, {4, 9, 64}, {130, 7, 1040},
	{12, 97, 5}, {3, 500, 530}, {5, 300, 1041}, {14, 130, 1043},
}

// everyKernel runs a test with all kernels that this processor can run, the fastest first.
func everyKernel(t *testing.T, test func(t *testing.T)) {
	t.Run("processor", test)
	for name, use := range others() {
		back := use()
		t.Run(name, test)
		back()
	}
}

func TestMultiply(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		all := multipliers(t)
		for _, s := range shapes {
			m, k, n := s[0], s[1], s[2]
			for _, add := range []bool{false, true} {
				a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
				kernels.Noise(a, 1)
				kernels.Noise(b, 2)
				kernels.Noise(c, 3)
				if !add {
					c[0] = float32(math.NaN()) // must not be read
				}
				want := reference(c, a, b, m, k, n, add)
				for _, packed := range []bool{false, true} {
					var first []float32
					for name, multiplier := range all {
						got := append([]float32(nil), c...)
						if packed {
							multiplier.MultiplyPacked(got, a, Pack(b, k, n), m, add)
						} else {
							multiplier.Multiply(got, a, b, m, k, n, add)
						}
						if e := kernels.RelativeError(got, want); !(e < 1e-6) {
							t.Errorf("%v, add=%t, packed=%t, %s: relative error %.2g, want below 1e-6", s, add, packed, name, e)
						}
						if first == nil {
							first = got
						}
						if !slices.Equal(got, first) {
							t.Errorf("%v, add=%t, packed=%t, %s: other bits than before", s, add, packed, name)
						}
					}
				}
			}
		}
	})
}

// stored is a Computed matrix that is stored all the same. Its columns beyond the last are NaN.
type stored struct {
	b    []float32
	k, n int
	busy [3]atomic.Bool // by worker
}

func (s *stored) Panel(worker int, dst []float32, l, terms, j, columns int) {
	if s.busy[worker].Swap(true) {
		panic("two workers have the same number")
	}
	defer s.busy[worker].Store(false)
	if len(dst) < terms*columns+tileColumns || columns > tileColumns || l+terms > s.k {
		panic("a panel that does not fit")
	}
	for i := range dst[:terms*columns+tileColumns] {
		dst[i] = float32(math.NaN())
		if column := j + i%columns; i < terms*columns && column < s.n {
			dst[i] = s.b[(l+i/columns)*s.n+column]
		}
	}
}

func TestMultiplyComputed(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		all := multipliers(t)
		few := [][3]int{{64, 192, 17}, {40, 20, 5}, {64, 600, 34}, {33, 256, 8}, {257, 257, 1}, {20, 1, 2}, {80, 513, 33}, {16, 300, 12},
			{256, 300, 12}, {300, 900, 1}}
		for _, s := range few {
			if !isTurned(s[0], s[2]) {
				t.Errorf("%v is not turned", s)
			}
		}
		for _, s := range slices.Concat(shapes, few) {
			m, k, n := s[0], s[1], s[2]
			a, b, bias := make([]float32, m*k), make([]float32, k*n), make([]float32, m)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernels.Noise(bias, 3)
			filled := make([]float32, m*n)
			for i := range filled {
				filled[i] = bias[i/n]
			}
			want := reference(filled, a, b, m, k, n, true)
			var first []float32
			for name, multiplier := range all {
				around := make([]float32, m*n+64)
				for i := range around {
					around[i] = float32(math.NaN())
				}
				got := around[32:][: m*n : m*n]
				multiplier.MultiplyComputed(got, PackRows(a, m, k, bias), &stored{b: b, k: k, n: n}, n)
				if e := kernels.RelativeError(got, want); !(e < 1e-6) {
					t.Errorf("%v, %s: relative error %.2g, want below 1e-6", s, name, e)
				}
				if first == nil {
					first = got
				}
				if !slices.Equal(got, first) {
					t.Errorf("%v, %s: other bits than before", s, name)
				}
				for i, v := range around {
					if inside := i >= 32 && i < 32+m*n; !inside && v == v {
						t.Fatalf("%v, %s: value %d around C is %g", s, name, i-32, v)
					}
				}
			}
		}
	})
}

// turned returns the transpose of a rows×columns matrix.
func turned(x []float32, rows, columns int) []float32 {
	y := make([]float32, len(x))
	for i := range rows {
		for j := range columns {
			y[j*rows+i] = x[i*columns+j]
		}
	}
	return y
}

// TestCompute has every transpose. The memory around C must stay as it is. What lies behind A and B is NaN and must not be
// multiplied, not even by zeros.
func TestCompute(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	nan := float32(math.NaN())
	everyKernel(t, func(t *testing.T) {
		all := multipliers(t)
		for _, s := range shapes {
			m, k, n := s[0], s[1], s[2]
			a, b, before := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernels.Noise(before, 3)
			plain := reference(nil, a, b, m, k, n, false)
			for _, scale := range []struct {
				alpha, beta float32
				inPlace     bool
			}{{alpha: 1}, {alpha: -0.5, inPlace: true}, {1, 1, true}, {3, 1, false}, {1, -2, true}, {0.25, 7, false}} {
				want := make([]float64, m*n)
				for i := range want {
					want[i] = float64(scale.alpha)*plain[i] + float64(scale.beta)*float64(before[i])
				}
				for turns := range 4 {
					p := Product{M: m, K: k, N: n, A: a, B: b, TransposeA: turns&1 != 0, TransposeB: turns&2 != 0, Alpha: scale.alpha, Beta: scale.beta}
					if p.TransposeA {
						p.A = turned(a, m, k)
					}
					if p.TransposeB {
						p.B = turned(b, k, n)
					}
					p.A, p.B = append(slices.Clone(p.A), nan)[:m*k], append(slices.Clone(p.B), nan)[:k*n]
					var first []float32
					for name, multiplier := range all {
						around := make([]float32, m*n+64)
						for i := range around {
							around[i] = 77
						}
						p.C = around[32:][: m*n : m*n]
						p.C[0], p.Before = nan, nil // must not be read
						switch {
						case scale.beta != 0 && scale.inPlace:
							copy(p.C, before)
							p.Before = p.C
						case scale.beta != 0:
							p.Before = slices.Clone(before)
						case scale.inPlace:
							p.Before = p.C
						}
						multiplier.Compute(p)
						if e := kernels.RelativeError(p.C, want); !(e < 1e-6) {
							t.Errorf("%v, %+v, transposes %d, %s: relative error %.2g, want below 1e-6", s, scale, turns, name, e)
						}
						for i, v := range around {
							if (i < 32 || i >= 32+m*n) && v != 77 {
								t.Fatalf("%v, %+v, transposes %d, %s: value %d around C is %g", s, scale, turns, name, i-32, v)
							}
						}
						if !scale.inPlace && scale.beta != 0 && !slices.Equal(p.Before, before) {
							t.Errorf("%v, %+v, transposes %d, %s: Before has changed", s, scale, turns, name)
						}
						if first == nil {
							first = p.C
						}
						if !slices.Equal(p.C, first) {
							t.Errorf("%v, %+v, transposes %d, %s: other bits than before", s, scale, turns, name)
						}
					}
				}
			}
		}
	})
}

// TestSpecials puts a NaN or an infinity into A or B. A row or a column of C then has the values of the definition, and the
// rest of C is as before.
func TestSpecials(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		all := multipliers(t)
		random := rand.New(rand.NewPCG(1, 2))
		for _, s := range shapes {
			m, k, n := s[0], s[1], s[2]
			a, b := make([]float32, m*k), make([]float32, k*n)
			for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				kernels.Noise(a, 1)
				for i := range a {
					a[i] *= float32(random.IntN(2)) // zeros too: a NaN or an infinity times 0 is NaN
				}
				kernels.Noise(b, 2)
				b[random.IntN(len(b))] = float32(special)
				checkSpecials(t, all, fmt.Sprintf("%v, %g in B", s, special), a, b, m, k, n)
				kernels.Noise(b, 2)
				clear(b[:n])
				a[random.IntN(len(a))] = float32(special)
				checkSpecials(t, all, fmt.Sprintf("%v, %g in A", s, special), a, b, m, k, n)
			}
		}
	})
}

func checkSpecials(t *testing.T, all map[string]*Multiplier, name string, a, b []float32, m, k, n int) {
	t.Helper()
	want := reference(nil, a, b, m, k, n, false)
	for how, multiplier := range all {
		got := make([]float32, m*n)
		multiplier.Multiply(got, a, b, m, k, n, false)
		for i, w := range want {
			g := float64(got[i])
			same := math.IsNaN(g) == math.IsNaN(w) && math.IsInf(g, 1) == math.IsInf(w, 1) && math.IsInf(g, -1) == math.IsInf(w, -1)
			if !same {
				t.Errorf("%s, %s: element %d is %g, want %g", name, how, i, g, w)
				return
			}
		}
	}
}

// TestStaysInside multiplies matrices that end where their slices do, and checks the memory around C.
func TestStaysInside(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		for _, s := range shapes {
			m, k, n := s[0], s[1], s[2]
			around := make([]float32, m*n+64)
			for i := range around {
				around[i] = 77
			}
			c := around[32:][: m*n : m*n]
			NewSerial().Multiply(c, make([]float32, m*k), make([]float32, k*n), m, k, n, false)
			for i, v := range around {
				if inside := i >= 32 && i < 32+m*n; inside != (v == 0) {
					t.Fatalf("%v: value %d around C is %g", s, i-32, v)
				}
			}
		}
	})
}

func TestAllocatesNothing(t *testing.T) {
	a, b, c := make([]float32, 300*300), make([]float32, 300*300), make([]float32, 300*300)
	packed, rowsOfA, computed := Pack(b, 300, 300), PackRows(a, 300, 300, make([]float32, 300)), &stored{b: b, k: 300, n: 300}
	for name, m := range multipliers(t) {
		for range 50 { // until every worker has probably had a part
			m.Multiply(c, a, b, 300, 300, 300, false)
			m.MultiplyComputed(c, rowsOfA, computed, 300)
		}
		if got := testing.AllocsPerRun(5, func() { m.MultiplyComputed(c, rowsOfA, computed, 300) }); got != 0 {
			t.Errorf("%s: %g allocations a product with a computed matrix, want 0", name, got)
		}
		for _, rows := range []int{1, 6, 300} {
			if got := testing.AllocsPerRun(5, func() { m.Multiply(c, a, b, rows, 300, 300, false) }); got != 0 {
				t.Errorf("%s: %g allocations a product with %d rows, want 0", name, got, rows)
			}
			general := Product{C: c, A: a, B: b, M: rows, K: 300, N: 300, TransposeA: true, TransposeB: true, Alpha: 2, Beta: 2, Before: c}
			if got := testing.AllocsPerRun(5, func() { m.Compute(general) }); got != 0 {
				t.Errorf("%s: %g allocations a general product with %d rows, want 0", name, got, rows)
			}
			if got := testing.AllocsPerRun(5, func() { m.MultiplyPacked(c, a, packed, rows, true) }); got != 0 {
				t.Errorf("%s: %g allocations a packed product with %d rows, want 0", name, got, rows)
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
		{"no rows", x, x, x, 0, 1, 1, "gemm: 0×1 by 1×1: want dimensions of at least 1"},
		{"short a", x, x[:3], x, 2, 2, 2, "gemm: A has 3 values, want at least 2×2"},
		{"short b", x, x, x[:3], 2, 2, 2, "gemm: B has 3 values, want at least 2×2"},
		{"short c", x[:3], x, x, 2, 2, 2, "gemm: C has 3 values, want at least 2×2"},
		{"products that overflow to 0", x, x, x, 1 << 32, 1 << 32, 1 << 32, "gemm: A has 4 values, want at least 4294967296×4294967296"},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %v, want %q", got, test.want)
				}
			}()
			NewSerial().Multiply(test.c, test.a, test.b, test.m, test.k, test.n, false)
		})
	}
	for _, test := range []struct {
		name, want string
		call       func()
	}{
		{"short before", "gemm: Before has 0 values, want at least 2×2", func() {
			NewSerial().Compute(Product{C: x, A: x, B: x, M: 2, K: 2, N: 2, Alpha: 1, Beta: 1})
		}},
		{"packing no rows", "gemm: 0×1 by 1×1: want dimensions of at least 1", func() { PackRows(x, 0, 1, nil) }},
		{"packing short rows", "gemm: A has 4 values, want at least 2×3", func() { PackRows(x, 2, 3, x[:2]) }},
		{"no columns", "gemm: 2×2 by 2×0: want dimensions of at least 1", func() { NewSerial().MultiplyComputed(x, PackRows(x, 2, 2, x[:2]), &stored{}, 0) }},
		{"short c", "gemm: C has 3 values, want at least 2×2", func() { NewSerial().MultiplyComputed(x[:3], PackRows(x, 2, 2, x[:2]), &stored{}, 2) }},
		{"long bias", "gemm: 4 biases, want one for each of 2 rows", func() { PackRows(x, 2, 2, x) }},
		{"short rows apart", "gemm: B has 4 values, want at least 1·3 + 2", func() { new(Slider).Add(x, 2, 2, x[:2], 1, x, 3) }},
		{"rows too far apart to multiply", "gemm: B has 4 values, want at least 2·4611686018427387904 + 1", func() { new(Slider).Add(x, 1, 1, x[:3], 1, x, 1<<62) }},
		{"and once more around", "gemm: B has 4 values, want at least 4·4611686018427387904 + 1", func() { new(Slider).Add(x, 1, 1, make([]float32, 5), 1, x, 1<<62) }},
		{"no values of a", fmt.Sprintf("gemm: 0 values of A in 1 rows and rows of B 1 apart: want whole rows, 1 to %d, and at least 0 apart", SliderRows()), func() { new(Slider).Add(x, 1, 1, nil, 1, x, 1) }},
		{"rows of C too far apart to multiply", "gemm: C has 4 values, want at least 2·4611686018427387904 + 1", func() { new(Slider).Add(x, 1<<62, 1, x[:3], 3, x, 1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %v, want %q", got, test.want)
				}
			}()
			test.call()
		})
	}
}

// Two workers cut C where that costs least. A short product has a part for each of them, and a shorter one is not divided.
func TestDivide(t *testing.T) {
	for _, test := range []struct{ m, k, n, down, across int }{
		{64, 64, 32, 1, 1},    // 128 Ki multiplications
		{8, 600, 160, 1, 2},   // a few rows
		{294, 25, 671, 4, 1},  // no row ends within a line that the other worker writes
		{1000, 100, 48, 4, 1}, // a column of tiles for each worker would pack all of A twice
	} {
		p := product{workers: make([]worker, 2), m: test.m, k: test.k, n: test.n, alpha: 1}
		p.divide()
		if down := ceilDiv(p.m, p.rows); down != test.down || p.across != test.across {
			t.Errorf("%d×%d by %d: %d×%d parts, want %d×%d", test.m, test.k, test.n, down, p.across, test.down, test.across)
		}
	}
}
