// Package attention computes scaled dot-product attention of several heads:
//
//	y[h,i] = Σ_j w[h,i,j]·v[h,j],   w[h,i,·] = softmax over j of (q[h,i]·k[h,j])/√width
//
// q and y are heads×steps×width, k and v are heads×keys×width, all row-major in float32. The heads of several sequences are
// one after the other, so a batch is more heads. With Causal in [Params], query i sees the keys up to i + keys − steps alone:
// the last query sees all keys. So steps are the new ones, and keys all so far, for a cache that grows.
//
// No implementation but the reference holds all scores of a head. Keys come in tiles, and a row's sum and output are scaled
// when a tile has a greater score than those before.
//
// The package has no dropout, no other mask, no projections and no groups of queries that share keys. The usual steps are New
// with [Params], and Attend.
//
// Sources: A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, section 3.2; M. Milakov, N. Gimelshein, Online
// normalizer calculation for softmax, arXiv 1805.02867; T. Dao et al., FlashAttention, NeurIPS 2022.
package attention

import (
	"fmt"
	"math"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/matmul/gemm"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Heads  int  // at least 1
	Width  int  // of a query, a key and a value, at least 1
	Causal bool // whether a query sees no later keys
}

func (p Params) check() error {
	if p.Heads < 1 || p.Width < 1 {
		return fmt.Errorf("attention: heads=%d, width=%d: want at least 1 of each", p.Heads, p.Width)
	}
	if p.Width > math.MaxInt/p.Heads {
		return fmt.Errorf("attention: heads=%d, width=%d: want a product of at most %d", p.Heads, p.Width, math.MaxInt)
	}
	return nil
}

// visible returns how many keys a query sees.
func (p Params) visible(query, steps, keys int) int {
	if p.Causal {
		return query + 1 + keys - steps
	}
	return keys
}

// The axes of the operation. steps is the number of queries of a head.
const (
	heads = iota
	width
	steps
	keys
)

var axes = []kernels.Axis{
	{Name: "heads", Unit: "heads", Min: 1, Max: 128, Usual: []int{4, 8, 12, 16, 32, 64}},
	{Name: "width", Unit: "columns", Min: 16, Max: 256, Usual: []int{32, 64, 80, 96, 128}},
	{Name: "steps", Unit: "rows", Min: 1, Max: 4096},
	{Name: "keys", Unit: "rows", Min: 1, Max: 4096},
}

// draw returns a shape. Half of the shapes have as many queries as keys, as when a sequence attends to itself. The others have
// at least as many keys as queries.
func draw(at []float64) kernels.Shape {
	s := kernels.Spread(axes, at)
	if s[keys] < s[steps] {
		s[keys] = s[steps]
	}
	return s
}

// measured are the heads and the width of the case.
const measuredHeads, measuredWidth = 16, 64

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:    "attention",
	Formula: "y[h,i,c] = Σⱼ w[h,i,j]·v[h,j,c], w[h,i,j] = exp(s[j] − m) / Σₗ exp(s[l] − m), s[j] = Σ_c q[h,i,c]·k[h,j,c] / √width, m = max s",
	Source:  "Vaswani et al., NeurIPS 2017, section 3.2",
	Axes:    axes,
	// The products, the scores, and the keys and values.
	Features: []surface.Feature{kernels.Power(1, 1, 1, 1), kernels.Power(1, 0, 1, 1), kernels.Power(1, 1, 0, 1)},
	Draw:     draw,
	Lines: []kernels.Line{{
		Name:  "self",
		Fixed: []kernels.Param{{Name: "heads", Value: measuredHeads}, {Name: "width", Value: measuredWidth}},
		Axis:  kernels.Axis{Name: "steps", Unit: "rows", Min: 16, Max: 2048},
		At: func(n int) kernels.Shape {
			return kernels.Shape{heads: measuredHeads, width: measuredWidth, steps: n, keys: n}
		},
	}},
	Params: func(s kernels.Shape) Params { return Params{Heads: s[heads], Width: s[width]} },
	Check:  Params.check,
	IO: func(p Params, s kernels.Shape) []kernels.Tensor {
		queries, others := []int{p.Heads, s[steps], p.Width}, []int{p.Heads, s[keys], p.Width}
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: queries},
			{Name: "q", Role: kernels.In, Type: kernels.Float32, Dims: queries},
			{Name: "k", Role: kernels.In, Type: kernels.Float32, Dims: others},
			{Name: "v", Role: kernels.In, Type: kernels.Float32, Dims: others},
		}
	},
	// Seeded noise, q in [−4, 4), so that some weights are much greater than others.
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		for i := range 3 {
			kernels.Noise(a[i+1], uint64(i+1))
		}
		for i := range a[1] {
			a[1][i] *= 4
		}
	},
	Reference: func(p Params, s kernels.Shape, a *kernels.Args) []float64 {
		return Reference(p, a[1], a[2], a[3], s[steps], s[keys])
	},
	Tolerance: func(kernels.Shape) float64 { return 5e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		const flops = 25 // for each score besides the products: see package softmax
		h, w, n, m := float64(s[heads]), float64(s[width]), float64(s[steps]), float64(s[keys])
		return kernels.Work{
			Bytes:   4 * h * w * (2*n + 2*m),
			Flops:   h * n * m * (4*w + flops),
			Pieces:  h * math.Ceil(n/unit),
			Threads: h * n * 2, // see attention.metal
			Kind:    kernels.Product,
		}
	},
	Judged:  func(p Params, s kernels.Shape) (line, size int) { return 0, p.edge(s[steps], s[keys]) },
	Growing: &kernels.Growing[Params]{Axis: keys, Append: appendGrowing},
	By: []kernels.Makers[Params]{
		// Products with the values of a few queries are thin.
		kernels.RevisedAt(4, thin, kernels.RevisedAt(6, thin, kernels.Revised(3, kernels.OverRows(inGo)), "go-parallel"), "go"),
		byOpenBLAS(),
		kernels.Framework("", kernels.OnOneCore(byAccelerate)),
		kernels.KernelText("", appendHeads),
	},
})

func thin(s kernels.Shape) bool { return gemm.Thin(s[steps], s[width]) }

// edge returns the number of steps at which the case has as many products.
func (p Params) edge(steps, keys int) int {
	share := float64(p.Heads) * float64(p.Width) / (measuredHeads * measuredWidth)
	return max(1, int(math.Round(math.Sqrt(share*float64(steps)*float64(keys)))))
}

// Plan computes attention by the implementation that is fastest at the numbers of queries and keys. Only one goroutine at a
// time may use a Plan.
type Plan struct {
	plan   *kernels.Plan[Params]
	params Params
}

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is below 1
// or heads×width overflows. What was measured has no mask. A causal plan chooses by it too.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &Plan{kernels.NewPlan(d, &Op, p), p}, nil
}

// Attend computes dst, heads×steps×width, from q, which has the same dimensions, and from k and v, heads×keys×width. The
// numbers of steps and keys decide on the implementation. dst must not overlap the others.
//
// A score of −Inf has the weight 0. So has a score that is more than 87 below the greatest of its query. A query whose scores
// are all −Inf has an output of NaN, and so has one with a score that is NaN or +Inf. A weight of 0 does not hide a value: 0
// times a NaN or an infinity is NaN. Keys and values that a causal plan hides from a query do not count, whatever they are. A
// hidden value that is no finite number may change the last bits.
//
// Attend allocates nothing at a shape at which the implementation has run twice. An implementation on a GPU remembers only the
// last few shapes. Attend panics if a length does not fit, if there are queries and no keys, and if a causal plan has more
// queries than keys. It fails only if every implementation fails.
func (p *Plan) Attend(dst, q, k, v []float32) error {
	kernels.Made(p.plan)
	of := p.params.Heads * p.params.Width
	n, m := len(q)/of, len(k)/of
	if len(q) != n*of || len(dst) != len(q) || len(k) != m*of || len(v) != len(k) {
		panic(fmt.Sprintf("attention: %d heads of width %d got dst of %d, q of %d, k of %d and v of %d values",
			p.params.Heads, p.params.Width, len(dst), len(q), len(k), len(v)))
	}
	if n == 0 {
		return nil
	}
	if m == 0 || p.params.Causal && m < n {
		panic(fmt.Sprintf("attention: %d queries got %d keys", n, m))
	}
	return p.plan.Run(p.shape(n, m), kernels.Args{dst, q, k, v})
}

func (p *Plan) shape(n, m int) kernels.Shape {
	return kernels.Shape{heads: p.params.Heads, width: p.params.Width, steps: n, keys: m}
}

// Explain says which implementation computes a call with the given numbers of queries and keys, and why. It assumes the
// placement of the last call.
func (p *Plan) Explain(steps, keys int) dispatch.Explanation {
	return p.plan.Explain(p.shape(steps, keys))
}

// SetMaxError sets the greatest error that calls accept: see [kernels.Plan.SetMaxError].
func (p *Plan) SetMaxError(most float64) error { return p.plan.SetMaxError(most) }

// Close releases what the implementations hold, such as GPU memory. The garbage collector does the same for a dropped plan.
func (p *Plan) Close() { p.plan.Close() }

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error { return p.Attend(a[0], a[1], a[2], a[3]) })

// Reference returns the attention of queries to keys in float64, by the definition. q is heads×steps×width, and so is the
// result. k and v are heads×keys×width.
func Reference(p Params, q, k, v []float32, steps, keys int) []float64 {
	y := make([]float64, len(q))
	weights := make([]float64, keys)
	scale := 1 / math.Sqrt(float64(p.Width))
	for row := range p.Heads * steps {
		head, query := row/steps, row%steps
		from := q[row*p.Width : (row+1)*p.Width]
		visible := p.visible(query, steps, keys)
		shift := math.Inf(-1)
		for j := range visible {
			weights[j] = 0
			for c, x := range k[(head*keys+j)*p.Width:][:p.Width] {
				weights[j] += float64(from[c]) * float64(x)
			}
			weights[j] *= scale
			shift = math.Max(shift, weights[j])
		}
		var sum float64
		for j := range visible {
			weights[j] = math.Exp(weights[j] - shift)
			sum += weights[j]
		}
		out := y[row*p.Width : (row+1)*p.Width]
		for j := range visible {
			for c, x := range v[(head*keys+j)*p.Width:][:p.Width] {
				out[c] += weights[j] / sum * float64(x)
			}
		}
	}
	return y
}
