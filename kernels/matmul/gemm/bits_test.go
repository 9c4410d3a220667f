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
			narrow[rows](&c[0], 4*16, &a[0], &b[0], 4*16, n, n%3 > 0)
			for _, v := range c {
				hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		if got := hash.Sum64(); got != sameBits[rows] {
			t.Errorf("%d rows: hash %#016x, want %#016x", rows, got, sameBits[rows])
		}
	}
}
