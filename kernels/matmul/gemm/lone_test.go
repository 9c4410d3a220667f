package gemm

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// TestLone multiplies a single row by packed matrices, some so large that they are divided. Serial and parallel results have the same
// bits. The results are those of a tile, but for the order of the sums. C ends at memory that nothing may touch.
func TestLone(t *testing.T) {
	everyKernel(t, func(t *testing.T) {
		all := multipliers(t)
		for _, kn := range [][2]int{{1, 128}, {3, 129}, {40, 143}, {256, 144}, {257, 191}, {300, 192}, {511, 200}, {513, 640}, {700, 1025}, {1024, 2047}} {
			k, n := kn[0], kn[1]
			a, b, before := make([]float32, k), make([]float32, k*n), make([]float32, n)
			kernels.Noise(a, 1)
			kernels.Noise(b, 2)
			kernels.Noise(before, 3)
			lone, part := PackWhole(b, k, n), Pack(b, k, n)
			for _, add := range []bool{false, true} {
				want := reference(before, a, b, 1, k, n, add)
				var first []float32
				for name, multiplier := range all {
					for _, packed := range []*Packed{lone, part} {
						c, _ := kerneltest.Guarded(t, n)
						if copy(c, before); !add {
							c[0] = float32(math.NaN()) // must not be read
						}
						multiplier.MultiplyPacked(c, a, packed, 1, add)
						if e := kernels.RelativeError(c, want); !(e <= 1e-6) {
							t.Errorf("%s, 1×%d by %d×%d, add %v, lone %v: an error of %g", name, k, k, n, add, packed.lone, e)
						}
						switch {
						case !packed.lone:
						case first == nil:
							first = slices.Clone(c)
						case !slices.Equal(first, c):
							t.Errorf("%s, 1×%d by %d×%d, add %v: other bits", name, k, k, n, add)
						}
					}
				}
			}
		}
	})
}

// Only a whole product of one row is lone. Rows of a larger product have the same bits wherever it is divided.
func TestWhatIsLone(t *testing.T) {
	b := make([]float32, 10*200)
	for name, test := range map[string]struct {
		packed *Packed
		rows   int
		want   bool
	}{
		"a row":          {PackWhole(b, 10, 128), 1, true},
		"two rows":       {PackWhole(b, 10, 128), 2, false},
		"few columns":    {PackWhole(b, 10, 127), 1, false},
		"one of several": {Pack(b, 10, 200), 1, false},
		"part of a row":  {PackPart(b, 10, 200), 1, false},
		"unpacked":       {nil, 1, false},
		"a slim product": {PackWhole(b, 100, 12), 1, false},
	} {
		p := product{m: test.rows, packed: test.packed}
		if got := p.isLone(); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// Deep products are those whose dot products go on beyond the depth of others.
func TestDeep(t *testing.T) {
	for _, s := range []struct {
		m, k, n int
		want    bool
	}{{1, 2000, 1, true}, {50, 2000, 1, true}, {1, 2000, 8, true}, {1, 2000, 9, false}, {2, 2000, 8, false}, {1, 1024, 1, false}} {
		p := product{c: make([]float32, s.m*s.n), a: make([]float32, s.m*s.k), b: make([]float32, s.k*s.n), m: s.m, k: s.k, n: s.n, alpha: 1}
		NewSerial().dots(&p)
		if got := min(p.depth, s.k) > dotDepth; got != s.want || Deep(s.m, s.k, s.n) != s.want {
			t.Errorf("%+v: deep %v, and Deep says %v", s, got, Deep(s.m, s.k, s.n))
		}
	}
}

// A single row by more terms than are added up at a time.
func TestDeepDots(t *testing.T) {
	const k, n = singleDepth + 1000, 5
	a, b, c := make([]float32, k), make([]float32, k*n), make([]float32, n)
	kernels.Noise(a, 1)
	kernels.Noise(b, 2)
	want := reference(c, a, b, 1, k, n, false)
	for name, multiplier := range multipliers(t) {
		multiplier.Compute(Product{C: c, A: a, B: b, M: 1, K: k, N: n, Alpha: 1})
		if e := kernels.RelativeError(c, want); !(e <= 1e-5) {
			t.Errorf("%s: an error of %g", name, e)
		}
	}
}

// loneBits is a hash of what the kernels for a single row compute on every processor with vector code.
const loneBits = 0x3bf25c53e19ba507

// TestSameBitsOfLone has products of up to 20 terms.
func TestSameBitsOfLone(t *testing.T) {
	if fastest() == nil {
		t.Skip("this processor has no vector code")
	}
	everyKernel(t, func(t *testing.T) {
		if vectors == nil {
			t.Skip("no vector code")
		}
		const terms, groups = 20, 3
		a, b := make([]float32, terms), make([]float32, terms*groups*loneColumns)
		kernels.Noise(a, 1)
		kernels.Noise(b, 2)
		hash := fnv.New64a()
		c := make([]float32, groups*loneColumns)
		for n := 1; n <= terms; n++ {
			multiplyLone(c, a, b, n, groups, n%3 > 0)
			for _, v := range c {
				hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		if got := hash.Sum64(); got != loneBits {
			t.Errorf("hash %#016x, want %#016x", got, uint64(loneBits))
		}
	})
}

// BenchmarkLone multiplies a row by a packed square matrix, by the kernel for a single row and by tiles. A matrix of zeros that nobody
// has written would be one page of memory.
func BenchmarkLone(b *testing.B) {
	for _, n := range []int{256, 512, 1024, 2048, 3072} {
		x, w, y := make([]float32, n), make([]float32, n*n), make([]float32, n)
		kernels.Noise(x, 1)
		kernels.Noise(w, 2)
		for name, packed := range map[string]*Packed{"lone": PackWhole(w, n, n), "tiles": Pack(w, n, n)} {
			m := NewSerial()
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.SetBytes(int64(4 * n * n))
				for b.Loop() {
					m.MultiplyPacked(y, x, packed, 1, false)
				}
			})
		}
	}
}
