package beats

import (
	_ "embed"
	"fmt"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed beats.metal
var text string

// appendBeats appends a kernel of one thread.
func appendBeats(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	n := s[frames]
	if n > mostFrames {
		b.Refuse(fmt.Errorf("beats: %d frames (want at most %d): %w", n, mostFrames, kernels.ErrRefused))
		return
	}
	weights, keep := p.weights(), 0
	if p.KeepWeak {
		keep = 1
	}
	source := gpu.Source{Name: "beats.metal", Text: text}.Define("PERIOD", p.period()).Define("NEAREST", p.nearest()).
		Define("WEIGHTS", len(weights)).Define("TRIM_SHIFT", p.trimShift()).Define("KEEP_WEAK", keep)
	// Of 64 bits.
	integers := func() *gpu.Buffer { return b.Scratch(gpu.Uint, 2*n) }
	b.Dispatch(b.Kernel(source, "beats"), gpu.Size{X: 1, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1},
		t[indices], t[count], t[strengths].As(gpu.Uint), b.ConstantUints(weights), b.ConstantUints(p.losses()),
		b.Scratch(gpu.Int, n), integers(), integers(), integers(), b.Scratch(gpu.Int, n), gpu.Values(n, p.most(n)))
}
