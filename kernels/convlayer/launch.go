package convlayer

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed convlayer.metal
var text string

// tile says how the kernel text divides the product among threads. The macros of convlayer.metal explain the fields.
type tile struct{ m, n, k, threadM, threadN, stages, slices int }

var (
	large = tile{m: 64, n: 64, k: 16, threadM: 8, threadN: 4, stages: 2, slices: 1}
	small = tile{m: 32, n: 32, k: 32, threadM: 4, threadN: 4, stages: 1, slices: 4}
)

// Weights and biases are padded with zeros to a multiple of every tile.
const (
	unitM = 64
	unitK = 32
)

// choose returns the tile for a layer on a device. The large one needs enough channels and positions, and a tile for each core.
func choose(g geometry, f gpu.Facts) tile {
	if g.out > small.m && g.positions() > small.n && large.count(g)*g.parts() >= f.Cores {
		return large
	}
	return small
}

// count returns how many tiles the outputs of a part have.
func (t tile) count(g geometry) int { return ceilDiv(g.out, t.m) * ceilDiv(g.positions(), t.n) }

func (t tile) threads() int { return t.m / t.threadM * (t.n / t.threadN) * t.slices }

func (t tile) source() gpu.Source {
	src := gpu.Source{Name: "convlayer.metal", Text: text}
	for _, m := range []struct {
		name  string
		value int
	}{
		{"TILE_M", t.m}, {"TILE_N", t.n}, {"TILE_K", t.k}, {"THREAD_M", t.threadM}, {"THREAD_N", t.threadN},
		{"STAGES", t.stages}, {"SLICES", t.slices},
	} {
		src = src.Define(m.name, m.value)
	}
	return src
}

// weightColumns returns the weights as the kernel text reads them. A row has one weight of every channel.
func weightColumns(weights []float32, out, terms int) []float32 {
	width := roundUp(out, unitM)
	columns := make([]float32, roundUp(terms, unitK)*width)
	for o := range out {
		for l, w := range weights[o*terms:][:terms] {
			columns[l*width+o] = w
		}
	}
	return columns
}

// fits reports whether a layer is small enough for a GPU, whose text counts in 32 bits. It refuses larger ones.
func fits(b *gpu.Builder, g geometry) bool {
	most := max(g.in*g.height*g.width, g.terms()+unitK, g.positions()+unitM, g.parts(),
		(g.height+2*g.padding.Height)+g.stride.Height, (g.width+2*g.padding.Width)+g.stride.Width,
		g.kernel.Height*g.dilation.Height, g.kernel.Width*g.dilation.Width)
	if most > math.MaxInt32 || ceilDiv(g.out, small.m) > math.MaxUint16 {
		b.Refuse(fmt.Errorf("convlayer: %d channels of %d×%d values and a kernel of %d×%d are too much for a GPU: %w",
			g.in, g.height, g.width, g.kernel.Height, g.kernel.Width, kernels.ErrRefused))
		return false
	}
	return true
}

// values returns the argument of type Layer of the kernel text, for parts from first on.
func (g *geometry) values(first int) gpu.Argument {
	return gpu.Values(g.parts(), g.groups, first, g.in, g.out, g.height, g.width, g.kernel.Height, g.kernel.Width,
		g.dilation.Height, g.dilation.Width, g.padding.Height, g.padding.Width, g.stride.Height, g.stride.Width, g.outWidth,
		g.positions())
}

// appendLayer appends a layer by our kernel text.
func appendLayer(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	g := p.at(s)
	switch {
	case !fits(b, g):
	case g.slides():
		appendSlide(b, &p, g, t)
	default:
		appendTiles(b, &p, g, choose(g, b.Facts()), t)
	}
}

// appendTiles appends a layer in given tiles. A launch has a limited number of parts.
func appendTiles(b *gpu.Builder, p *Params, g geometry, by tile, t []*gpu.Buffer) {
	weights, biases := b.Constant(gpu.Float4, p.columns), b.Constant(gpu.Float4, p.biases)
	for first := 0; first < g.parts(); first += math.MaxUint16 {
		b.Dispatch(b.Kernel(by.source(), "convolve"),
			gpu.Size{X: ceilDiv(g.positions(), by.n), Y: ceilDiv(g.out, by.m), Z: min(g.parts()-first, math.MaxUint16)},
			gpu.Size{X: by.threads(), Y: 1, Z: 1}, t[0].As(gpu.Float), t[1].As(gpu.Float), weights, biases, g.values(first),
			gpu.Values(roundUp(g.terms(), unitK), roundUp(g.out, unitM)))
	}
}

// appendSlide appends a layer whose groups have one output each.
func appendSlide(b *gpu.Builder, p *Params, g geometry, t []*gpu.Buffer) {
	b.Dispatch(b.Kernel(small.source(), "slide"), gpu.Size{X: ceilDiv(g.positions(), threads), Y: min(g.parts(), math.MaxUint16), Z: 1},
		gpu.Size{X: threads, Y: 1, Z: 1}, t[0].As(gpu.Float), t[1].As(gpu.Float), b.Constant(gpu.Float, p.Weights),
		b.Constant(gpu.Float, p.Bias), g.values(0))
}

// threads is the number of threads of a threadgroup that computes each value by a thread of its own.
const threads = 256

// newVendor returns a function that appends a layer by a vendor's library, which multiplies by the whole unrolled matrix of one
// part after the other.
func newVendor(_ *gpu.Device, library gpu.GEMM, _ Params) (kernels.Append[Params], error) {
	return func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		g := p.at(s)
		if !fits(b, g) || tooLarge(b, g) || tooMany(b, g) {
			return
		}
		unrolled, weights, bias := b.Scratch(gpu.Float, g.terms()*g.positions()), b.Constant(gpu.Float, p.Weights), b.Constant(gpu.Float, p.Bias)
		for part := range g.parts() {
			b.Dispatch(b.Kernel(small.source(), "unroll"),
				gpu.Size{X: ceilDiv(g.positions(), threads), Y: min(max(g.terms(), g.out), math.MaxUint16), Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
				t[0].As(gpu.Float), t[1].As(gpu.Float), unrolled, bias, g.values(part))
			b.Encode(func() (gpu.External, error) {
				return library.NewProduct(gpu.Product{
					C: behind(t[0].Region(), part*g.out*g.positions()), A: behind(weights.Region(), part%g.groups*g.out*g.terms()),
					B: unrolled.Region(), M: g.out, N: g.positions(), K: g.terms(), Alpha: 1, Beta: 1,
				})
			})
		}
	}, nil
}

// behind returns a region from its value n on.
func behind(r gpu.Region, n int) gpu.Region {
	r.Offset += 4 * n
	r.Bytes -= 4 * n
	return r
}

const (
	// mostUnrolled is the number of values of the unrolled matrix, 1 GiB, that a call may take on a device.
	mostUnrolled = 1 << 28
	// mostProducts is the number of products of a call. The launches of more take longer than the products.
	mostProducts = 256
)

// tooLarge reports whether the unrolled matrix takes too much memory, and then refuses the layer.
func tooLarge(b *gpu.Builder, g geometry) bool {
	if g.terms() <= mostUnrolled/g.positions() {
		return false
	}
	b.Refuse(fmt.Errorf("convlayer: an unrolled matrix of %d×%d values is too large (want at most %d): %w", g.terms(), g.positions(),
		mostUnrolled, kernels.ErrRefused))
	return true
}

// tooMany reports whether a call has too many products, and then refuses the layer.
func tooMany(b *gpu.Builder, g geometry) bool {
	if g.parts() <= mostProducts {
		return false
	}
	b.Refuse(fmt.Errorf("convlayer: %d groups of %d inputs are too many products (want at most %d): %w", g.groups, g.batch, mostProducts,
		kernels.ErrRefused))
	return true
}
