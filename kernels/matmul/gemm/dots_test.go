package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// narrowShapes returns random shapes of narrow products and of products that are just not narrow, m, k and n. Some are large
// enough to be divided.
func narrowShapes(count int) [][3]int {
	random := rand.New(rand.NewPCG(5, 6))
	var all [][3]int
	for range count {
		few, many, terms := 1+random.IntN(mostDotColumns+1), 1+random.IntN(300), 1+random.IntN(150)
		if random.IntN(4) == 0 {
			terms = dotDepth - 20 + random.IntN(40)
		}
		if random.IntN(2) == 0 {
			few = 1 + random.IntN(mostDotRows+1)
			all = append(all, [3]int{few, terms, many})
		} else {
			all = append(all, [3]int{many, terms, few})
		}
	}
	return append(all, [][3]int{
		{700, 300, 1}, {700, 300, 3}, {500, 2*dotDepth + 3, 7}, {1, 300, 700}, {5, 300, 701}, {31, 130, 300}, // divided
		{1, 16, 1}, {1, 15, 4}, {4, 16, 4}, {4, 15, 4}, {2, dotDepth, 2}, {3, dotDepth + 1, 3}, {1, 40, 9}, {2, 40, 9}, {2, 40, 1}, {3, dotDepth + 1, 1},
	}...)
}

// TestMultiplyNarrow multiplies narrow matrices in all transposes, as they are and packed. Serial and parallel results have the
// same bits. Each operand ends or begins at memory that nothing may touch.
func TestMultiplyNarrow(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		all := multipliers(t)
		for _, s := range narrowShapes(30) {
			m, k, n := s[0], s[1], s[2]
			a, b, before := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernels.Noise(before, 3)
			plain := reference(nil, a, b, m, k, n, false)
			for how := range 5 { // four transposes, then packed
				alpha, beta := float32(1), float32(how%2) // β of 1, and of 0
				if how == 2 {
					alpha, beta = -0.5, 3
				}
				p := Product{M: m, K: k, N: n, TransposeA: how&1 != 0, TransposeB: how&2 != 0, Alpha: alpha, Beta: beta}
				want := make([]float64, m*n)
				for i := range want {
					want[i] = float64(alpha)*plain[i] + float64(beta)*float64(before[i])
				}
				sourceA, sourceB := a, b
				if p.TransposeA {
					sourceA = turned(a, m, k)
				}
				if p.TransposeB {
					sourceB = turned(b, k, n)
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
					copy(p.A, sourceA)
					copy(p.B, sourceB)
					copy(p.C, before)
					p.Before = p.C
					if how == 4 {
						multiplier.MultiplyPacked(p.C, p.A, Pack(p.B, k, n), m, false)
					} else {
						multiplier.Compute(p)
					}
					if e := kernels.RelativeError(p.C, want); !(e < 1e-6) {
						t.Errorf("%v, way %d, %s: relative error %.2g, want below 1e-6", s, how, name, e)
					}
					if first == nil {
						first = p.C
					}
					if !slices.Equal(p.C, first) {
						t.Errorf("%v, way %d, %s: other bits than before", s, how, name)
					}
				}
			}
		}
	})
}

// TestSpecialsNarrow puts a NaN or an infinity into each place of A, one after the other, and into B. It reaches the elements
// that it reaches by definition.
func TestSpecialsNarrow(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		for _, s := range [][3]int{{1, 37, 9}, {9, 37, 1}, {5, 32, 7}, {6, 19, 4}, {4, 41, 30}} {
			m, k, n := s[0], s[1], s[2]
			multiplier := NewSerial()
			check := func(name string, a, b []float32) {
				t.Helper()
				checkSpecials(t, map[string]*Multiplier{"serial": multiplier}, name, a, b, m, k, n)
				want := reference(nil, a, b, m, k, n, false)
				for way, compute := range map[string]func(c []float32){
					"packed": func(c []float32) { multiplier.MultiplyPacked(c, a, Pack(b, k, n), m, false) },
					"turned": func(c []float32) {
						multiplier.Compute(Product{C: c, A: a, B: turned(b, k, n), M: m, K: k, N: n, TransposeB: true, Alpha: 1})
					},
				} {
					got := make([]float32, m*n)
					compute(got)
					for i, w := range want {
						if g := float64(got[i]); math.IsNaN(g) != math.IsNaN(w) || math.IsInf(g, 0) != math.IsInf(w, 0) || math.IsInf(w, 0) && g != w {
							t.Fatalf("%s, %s: element %d is %g, want %g", name, way, i, g, w)
						}
					}
				}
			}
			for _, special := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
				a, b := make([]float32, m*k), make([]float32, k*n)
				kernels.Noise(a, 1)
				kernels.Noise(b, 2)
				clear(b[:n]) // an infinity times 0 is NaN
				for i := range a {
					was := a[i]
					a[i] = special
					check(fmt.Sprintf("%v, %g at %d of A", s, special, i), a, b)
					a[i] = was
				}
				for i := range b {
					was := b[i]
					b[i] = special
					check(fmt.Sprintf("%v, %g at %d of B", s, special, i), a, b)
					b[i] = was
				}
			}
		}
	})
}

func TestAllocatesNothingNarrow(t *testing.T) {
	for name, m := range multipliers(t) {
		for _, s := range [][3]int{{600, 300, 3}, {600, 300, 8}, {600, 300, 1}, {3, 300, 601}, {1, 300, 600}} {
			rows, k, n := s[0], s[1], s[2]
			a, b, c := make([]float32, rows*k), make([]float32, k*n), make([]float32, rows*n)
			packed := Pack(b, k, n)
			call := func() {
				m.Multiply(c, a, b, rows, k, n, true)
				m.MultiplyPacked(c, a, packed, rows, false)
				m.Compute(Product{C: c, A: a, B: b, M: rows, K: k, N: n, TransposeB: true, Alpha: 2})
			}
			for range 50 { // until every worker has probably had a part
				call()
			}
			if got := testing.AllocsPerRun(5, call); got != 0 {
				t.Errorf("%v, %s: %g allocations, want 0", s, name, got)
			}
		}
	}
}

// A caller may divide the rows of a product with a packed matrix where twelve begin, and other products if it says so: the bits
// are those of the whole product.
func TestMultiplyParts(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		multiplier := NewSerial()
		for n := 1; n <= 2*tileColumns+4; n++ {
			for _, m := range []int{37, 38, 39, 40, 50} {
				const k = 70
				a, b := make([]float32, m*k), make([]float32, k*n)
				kernels.Noise(a, 1)
				kernels.Noise(b, 2)
				whole, parts := make([]float32, m*n), make([]float32, m*n)
				packed := Pack(b, k, n)
				multiplier.MultiplyPacked(whole, a, packed, m, false)
				for row := 0; row < m; row += 2 * mostTileRows {
					multiplier.MultiplyPacked(parts[row*n:], a[row*k:], packed, min(2*mostTileRows, m-row), false)
				}
				if !slices.Equal(parts, whole) {
					t.Errorf("%d×%d by %d columns, packed: parts have other bits", m, k, n)
				}

				p := Product{C: whole, A: a, B: turned(b, k, n), M: m, K: k, N: n, TransposeB: true, Alpha: 1, Part: true}
				multiplier.Compute(p)
				for row := 0; row < m; row += mostTileRows {
					p.C, p.A, p.M = parts[row*n:], a[row*k:], min(mostTileRows, m-row)
					multiplier.Compute(p)
				}
				if !slices.Equal(parts, whole) {
					t.Errorf("%d×%d by %d columns, transposed: parts have other bits", m, k, n)
				}

				multiplier.MultiplyPacked(whole, a, PackPart(b, k, n), m, false)
				for first := 0; first < n; first += tileColumns {
					count := min(tileColumns, n-first)
					c := make([]float32, m*count)
					multiplier.MultiplyPacked(c, a, PackPart(someColumns(b, k, n, first, count), k, count), m, false)
					if !slices.Equal(c, someColumns(whole, m, n, first, count)) {
						t.Fatalf("%d×%d by %d columns: %d columns from %d on have other bits", m, k, n, count, first)
					}
				}
			}
		}
	})
}

// someColumns returns count columns of a rows×n matrix, from the column first on.
func someColumns(x []float32, rows, n, first, count int) []float32 {
	var some []float32
	for i := range rows {
		some = append(some, x[i*n+first:][:count]...)
	}
	return some
}

// A caller may divide the rows and the columns of a product whose B is not packed.
func TestMultiplyPartsOfFewRows(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		multiplier := NewSerial()
		const m, k = 31, 700
		for _, n := range []int{70, 600, 1100} {
			a, b := make([]float32, m*k), make([]float32, k*n)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			whole, parts := make([]float32, m*n), make([]float32, m*n)
			p := Product{C: whole, A: a, B: b, M: m, K: k, N: n, Alpha: 1, Part: true}
			multiplier.Compute(p)
			for row := 0; row < m; row += mostTileRows {
				p.C, p.A, p.M = parts[row*n:], a[row*k:], min(mostTileRows, m-row)
				multiplier.Compute(p)
			}
			if !slices.Equal(parts, whole) {
				t.Errorf("%d×%d by %d columns: parts have other bits", m, k, n)
			}
			for first := 0; first < n; first += 256 {
				count := min(256, n-first)
				c := make([]float32, m*count)
				multiplier.Compute(Product{C: c, A: a, B: someColumns(b, k, n, first, count), M: m, K: k, N: count, Alpha: 1, Part: true})
				if !slices.Equal(c, someColumns(whole, m, n, first, count)) {
					t.Fatalf("%d×%d by %d columns: %d columns from %d on have other bits", m, k, n, count, first)
				}
			}
		}
	})
}
