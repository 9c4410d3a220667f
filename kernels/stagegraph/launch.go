package stagegraph

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed stagegraph.metal
var text string

const (
	chunk     = 16 // samples for each lane
	mostParts = 32 // greatest number of simdgroups in a threadgroup of the mix
)

// appendStage appends a kernel for the nodes and a kernel for the mix.
func appendStage(b *gpu.Builder, p Stage, s kernels.Shape, t []*gpu.Buffer) {
	nodes, ok := p.(lowpasses)
	if !ok {
		b.Refuse(fmt.Errorf("stagegraph: nodes that are Go code have no kernel: %w", kernels.ErrRefused))
		return
	}
	count, n := s[width], s[block]
	parts := 1
	for parts < mostParts && parts < count {
		parts *= 2
	}
	passes := 0
	var words []uint32
	for _, node := range nodes {
		passes = max(passes, node.passes)
		words = append(words, node.words()...)
	}
	source := gpu.Source{Name: "stagegraph.metal", Text: text}.
		Define("CHUNK", chunk).Define("PASSES", passes).Define("PARTS", parts)
	rows := b.Scratch(gpu.Float, count*n)
	b.Dispatch(b.Kernel(source, "lowpasses"), gpu.Size{X: count, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1},
		rows, t[1], b.ConstantUints(words), gpu.Values(n))
	b.Dispatch(b.Kernel(source, "mixdown"), gpu.Size{X: (n-1)/32 + 1, Y: 1, Z: 1}, gpu.Size{X: 32 * parts, Y: 1, Z: 1},
		t[0], rows, gpu.Values(count), gpu.Values(n))
}

// words returns the words of a Node in stagegraph.metal.
func (l lowpass) words() []uint32 {
	words := []uint32{math.Float32bits(l.gain), uint32(l.passes)}
	for k := range 5 {
		power := math.Pow(1-float64(l.gain), float64(int(chunk)<<k))
		words = append(words, math.Float32bits(float32(power)))
	}
	return words
}
