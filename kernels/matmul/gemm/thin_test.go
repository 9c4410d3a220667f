package gemm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// thinShapes returns m, k and n of random products that are thin or nearly so. Some are large enough to be divided, and the rows of
// some are 4 KiB apart.
func thinShapes(count int) [][3]int {
	random := rand.New(rand.NewPCG(7, 8))
	var all [][3]int
	for range count {
		n := leastThinColumns - 2 + random.IntN(300)
		if random.IntN(3) == 0 {
			n = 64 * (1 + random.IntN(20))
		}
		all = append(all, [3]int{1 + random.IntN(mostThinRows+1), 1 + random.IntN(90), n})
	}
	return append(all, [3]int{1, 300, 1024}, [3]int{2, 200, 2048}, [3]int{3, 129, 1039}, [3]int{6, 257, 513}, [3]int{1, 1, 64}, [3]int{5, 33, 65})
}

// TestMultiplyThin multiplies thin matrices. Serial and parallel results have the same bits. Each operand ends or begins at memory that
// nothing may touch.
func TestMultiplyThin(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		all := multipliers(t)
		for i, s := range thinShapes(40) {
			m, k, n := s[0], s[1], s[2]
			a, b, before := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernels.Noise(before, 3)
			p := Product{M: m, K: k, N: n, TransposeA: i%2 == 1, Alpha: 1, Beta: float32(i % 3)}
			if i%5 == 0 {
				p.Alpha = -0.5
			}
			want := reference(nil, a, b, m, k, n, false)
			for i := range want {
				want[i] = float64(p.Alpha)*want[i] + float64(p.Beta)*float64(before[i])
			}
			if p.TransposeA {
				a = turned(a, m, k)
			}
			var first []float32
			for name, multiplier := range all {
				endA, beginA := kerneltest.Guarded(t, m*k)
				endB, beginB := kerneltest.Guarded(t, k*n)
				endC, beginC := kerneltest.Guarded(t, m*n)
				p.A, p.B, p.C = endA, endB, endC
				if name == "parallel" {
					p.A, p.B, p.C = beginA, beginB, beginC
				}
				copy(p.A, a)
				copy(p.B, b)
				copy(p.C, before)
				if p.Beta == 0 {
					p.C[m*n-1] = float32(math.NaN()) // must not be read
				}
				p.Before = p.C
				multiplier.Compute(p)
				if e := kernels.RelativeError(p.C, want); !(e < 1e-6) {
					t.Errorf("%v, %s: relative error %.2g, want below 1e-6", s, name, e)
				}
				if first == nil {
					first = p.C
				}
				if !slices.Equal(p.C, first) {
					t.Errorf("%v, %s: other bits than before", s, name)
				}
			}
		}
	})
}

// The bits of a thin product are those of one that is computed in calls of any number of terms.
func TestThinDepths(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		const k, n = 50, 150
		for m := 1; m <= mostThinRows; m++ {
			a, b := make([]float32, m*k), make([]float32, k*n)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			var want []float32
			for _, depth := range []int{k, 1, 7, 8, 32} {
				var w worker
				p := product{c: make([]float32, m*n), a: a, b: b, m: m, k: k, n: n, alpha: 1, depth: depth}
				w.thin(&p, 0, n)
				if want == nil {
					want = p.c
				}
				if !slices.Equal(p.c, want) {
					t.Errorf("%d rows: other bits with a depth of %d", m, depth)
				}
			}
		}
	})
}

// Few rows of B are read at a time if they push each other out of a cache, and more if parts are narrow.
func TestThinDepth(t *testing.T) {
	for _, c := range []struct{ k, n, columns, want int }{
		{64, 1000, 1008, 32}, {512, 1000, 1008, 16}, // B fits into a second-level cache, and does not
		{64, 1024, 1024, 8}, {64, 2048, 2048, 8}, {64, 512, 512, 16}, {64, 256, 256, 32}, {512, 768, 768, 16}, {9, 3072, 3072, 8},
		{4096, 4096, 128, 32}, {64, 1040, 1040, 32},
	} {
		p := product{m: 1, k: c.k, n: c.n, columns: c.columns}
		if got := p.thinDepth(); got != c.want {
			t.Errorf("%d×%d in parts of %d columns: a depth of %d, want %d", c.k, c.n, c.columns, got, c.want)
		}
	}
}
