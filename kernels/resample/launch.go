package resample

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed resample.metal
var text string

var source = gpu.Source{Name: "resample.metal", Text: text}

// appendOutputs appends a call with one thread for each output.
func appendOutputs(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	const threads = 256
	f := newPolyphase(p)
	// The taps of neighbouring outputs lie side by side: value i·up+r is tap i of row r.
	turned := make([]float32, len(f.rows))
	for r := range f.up {
		for i := range f.taps {
			turned[i*f.up+r] = f.rows[r*f.taps+i]
		}
	}
	n, outputs := s[samples], p.Outputs(s[samples])
	b.Dispatch(b.Kernel(source, "resample"), gpu.Size{X: (outputs + threads - 1) / threads, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		t[0], t[1], b.Constant(gpu.Float, turned), gpu.Values(n, outputs, f.up, f.down, 10*max(f.up, f.down), f.taps))
}
