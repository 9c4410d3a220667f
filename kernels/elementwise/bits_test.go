//go:build amd64 || arm64

package elementwise

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"
)

// sameBits are hashes of the results of each operation's vector code on every processor. They were computed with AVX2.
var sameBits = map[string]uint64{
	"scale":     0x77b4da0a9f3d44f8,
	"gain":      0x32828147affda66a,
	"abs":       0xee7cdc041326ae08,
	"soft-clip": 0xc75ca4628963589b,
	"exp":       0x3701c7634b7a69d0,
	"log":       0x064a8e6febaef41c,
	"log1p":     0x01924ea8eb436074,
	"pow":       0x30c777c9ba06a1c0,
	"gelu":      0x954ac7ac319c1252,
	"gelu-tanh": 0xade1bca0867fa1ee,
	"power":     0x09842b142890e287,
	"magnitude": 0x4c3694e899478aa0,
}

// TestSameBits has values of every exponent, infinities and NaNs among them, in slices of all lengths to 40. NEON computes what
// AVX2 does, in the same order.
func TestSameBits(t *testing.T) {
	if !haveSIMD {
		t.Skip("this processor has no vector code")
	}
	x := make([]float32, 1<<16)
	for i := range x {
		x[i] = math.Float32frombits(uint32(i)<<16 | uint32(i)*40503&0xffff)
	}
	for operation, vector := range vectors {
		width := 1
		if operation == "power" || operation == "magnitude" {
			width = 2
		}
		hash := fnv.New64a()
		var y [40]float32
		for i, n := 0, 0; i+width*len(y) <= len(x); i, n = i+width*n, n%len(y)+1 {
			if n > 0 {
				vector(&y[0], &x[i], n, 1.7, -0.3)
			}
			for _, v := range y[:n] {
				bits := math.Float32bits(v)
				if v != v {
					bits = 0x7fc00000 // NaNs are all the same
				}
				hash.Write(binary.LittleEndian.AppendUint32(nil, bits))
			}
		}
		if got := hash.Sum64(); got != sameBits[operation] {
			t.Errorf("%s: hash %#016x, want %#016x", operation, got, sameBits[operation])
		}
	}
}
