//go:build amd64 || arm64

package gemm

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"crossover/kernels"
)

// sameBits are hashes of the results of the narrow kernels by their rows. They were computed with AVX2.
var sameBits = [7]uint64{
	1: 0xbd0a34461cb0b84a,
	2: 0x34890cca01f38753,
	3: 0xe7bf7cca12f92c81,
	4: 0xe82b2f5124cf9b33,
	5: 0xf03eb11ec0e88e1c,
	6: 0x6979f3c8593f4bb2,
}

// TestSameBits has products of up to 40 terms. NEON computes what AVX2 does, in the same order.
func TestSameBits(t *testing.T) {
	if fastest() == nil {
		t.Skip("this processor has no vector code")
	}
	const terms = 40
	a, b := make([]float32, 6*terms), make([]float32, 16*terms)
	kernels.Noise(a, 1)
	kernels.Noise(b, 2)
	for rows := 1; rows <= 6; rows++ {
		hash := fnv.New64a()
		c := make([]float32, rows*16)
		for n := 1; n <= terms; n++ {
			narrow.tiles[rows](&c[0], 4*16, &a[0], &b[0], 4*16, 0, n, 1, n%3 > 0)
			for _, v := range c {
				hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		if got := hash.Sum64(); got != sameBits[rows] {
			t.Errorf("%d rows: hash %#016x, want %#016x", rows, got, sameBits[rows])
		}
	}
}

// sameDotBits are hashes of the results of the narrow kernels of dot products by their rows. They were computed with AVX2.
var sameDotBits = [4]uint64{
	1: 0x0546ec72f35d9eab,
	2: 0x5d595646a6c27831,
	3: 0x3331a58043dcca19,
}

// TestSameBitsOfDots is TestSameBits for dot products.
func TestSameBitsOfDots(t *testing.T) {
	if fastest() == nil {
		t.Skip("this processor has no vector code")
	}
	const terms, groups = 40, 2
	x, y := make([]float32, 3*terms), make([]float32, groups*dotColumns*terms)
	kernels.Noise(x, 1)
	kernels.Noise(y, 2)
	for rows := 1; rows <= 3; rows++ {
		hash := fnv.New64a()
		c := make([]float32, rows*groups*dotColumns)
		for n := 1; n <= terms; n++ {
			narrow.dots[rows](&c[0], 4*groups*dotColumns, &x[0], 4*terms, &y[0], 4*terms, n, groups, n%3 > 0)
			for _, v := range c {
				hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		if got := hash.Sum64(); got != sameDotBits[rows] {
			t.Errorf("%d rows: hash %#016x, want %#016x", rows, got, sameDotBits[rows])
		}
	}
}

// thinBits is a hash of what the kernels for thin products compute, one term after the other, on every processor with vector code.
const thinBits = 0x21c4fd30e37f0491

// TestSameBitsOfThin has products of up to 20 terms.
func TestSameBitsOfThin(t *testing.T) {
	if fastest() == nil {
		t.Skip("this processor has no vector code")
	}
	everyKernel(t, func(t *testing.T) {
		if vectors == nil {
			t.Skip("no vector code")
		}
		const terms, panels = 20, 7
		a, b := make([]float32, mostThinRows*terms), make([]float32, terms*panels*tileColumns)
		kernels.Noise(a, 1)
		kernels.Noise(b, 2)
		hash := fnv.New64a()
		for rows := 1; rows <= mostThinRows; rows++ {
			c := make([]float32, rows*panels*tileColumns)
			for n := 1; n <= terms; n++ {
				multiplyThin(c, panels*tileColumns, a, b, panels*tileColumns, rows, n, panels, n%3 > 0)
				for _, v := range c {
					hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
				}
			}
		}
		if got := hash.Sum64(); got != thinBits {
			t.Errorf("hash %#016x, want %#016x", got, uint64(thinBits))
		}
	})
}
