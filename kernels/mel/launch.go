package mel

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed mel.metal
var text string

// leastSimdgroups and groupsPerCore were measured on an H200, in resident memory.
const (
	lanes           = 32 // of a simdgroup, which sums one band fewer
	leastSimdgroups = 8  // in a threadgroup, to have enough threads for copying frames
	mostSimdgroups  = 32
	groupsPerCore   = 2 // at least; otherwise threadgroups take fewer frames
)

// appendBands appends our own kernel. It reads the filterbank as a table of segments.
func appendBands(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	together, copied := framesTogether(s[frames], p.bins(), b.Facts())
	runs := ceil(p.Bands, lanes-1)
	threads := lanes * min(max(runs, leastSimdgroups), mostSimdgroups)
	source := gpu.Source{Name: "mel.metal", Text: text}.Define("FRAMES", together).Define("BINS", p.bins()).
		Define("COPIED", copied).Define("THREADS", threads)
	b.Dispatch(b.Kernel(source, "mel"),
		gpu.Size{X: ceil(s[frames], together), Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		t[0], t[1], b.ConstantUints(segments(p)), gpu.Values(s[frames], p.Bands, ceil(p.Bands, runs)))
}

// framesTogether returns how many of count frames a threadgroup takes: four, or fewer if four do not fit into threadgroup
// memory or would leave cores without work. copied says whether they fit into threadgroup memory.
func framesTogether(count, bins int, f gpu.Facts) (together int, copied bool) {
	together = 4
	bytes := 4 * (bins - 1)
	for together > 1 && (together*bytes > f.ThreadgroupBytes || count < together*groupsPerCore*f.Cores) {
		together /= 2
	}
	return together, together*bytes <= f.ThreadgroupBytes
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }

// newVendor returns a function that appends the product of the frames and the whole filterbank, by the matrix multiplication
// of the GPU's vendor.
func newVendor(_ *gpu.Device, library gpu.GEMM, p Params) (kernels.Append[Params], error) {
	bank := Filterbank(p)
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		weights := b.Constant(gpu.Float, bank)
		b.Encode(func() (gpu.External, error) {
			return library.NewProduct(gpu.Product{
				C: t[0].Region(), A: t[1].Region(), B: weights.Region(),
				M: s[frames], N: p.Bands, K: p.bins(), TransposeB: true, Alpha: 1,
			})
		})
	}, nil
}
