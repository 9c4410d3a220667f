package peaks

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed peaks.metal
var text string

var source = gpu.Source{Name: "peaks.metal", Text: text}

const threads = 256 // in a threadgroup

// appendPeaks appends a kernel that finds candidates and one that chooses among them.
func appendPeaks(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[frames]
	if n > math.MaxInt32/2 {
		b.Refuse(fmt.Errorf("peaks: %d frames are too many for a GPU: %w", n, kernels.ErrRefused))
		return
	}
	groups := (n + threads - 1) / threads
	masks := b.Scratch(gpu.Uint, groups*threads/32)
	b.Dispatch(b.Kernel(source, "candidates"), gpu.Size{X: groups, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		masks, t[values], gpu.Values(n, p.PreMax, p.PostMax, p.PreAvg, p.PostAvg, p.Delta))
	b.Dispatch(b.Kernel(source, "choose"), gpu.Size{X: 1, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		t[indices], t[count], masks, gpu.Values(groups*threads/32, p.Wait+1, p.most(n)))
}
