package sampling

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/elementwise/approx"
	"crossover/pool"
)

// TopKParams are what all calls of a plan of top-k have in common.
type TopKParams struct {
	Columns     int     // tokens of the vocabulary, 1 to 256 Mi
	K           int     // best ones, from 1 to Columns; GPUs take up to 128
	Temperature float32 // by which logits are divided, from 1e-6 to 1e6; 0 stands for 1
}

// TopK declares the k greatest values of each row, and a draw among them.
var TopK = kernels.Declare(kernels.Op[TopKParams]{
	Name:     "top-k",
	Formula:  "the k greatest x[i,j] in order, their j, and one j drawn by u[i] with weights exp((x[i,j] − maxₖ x[i,k])/T)",
	Source:   "Holtzman et al., The Curious Case of Neural Text Degeneration, ICLR 2020; torch.topk",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1, 0), kernels.Power(1, 0, 1)},
	Lines:    []kernels.Line{kernels.Along(axes, "columns", kernels.Param{Name: "rows", Value: 1}, kernels.Param{Name: "k", Value: 50})},
	Params: func(s kernels.Shape) TopKParams {
		return TopKParams{Columns: s[columns], K: min(s[best], s[columns]), Temperature: 0.8}
	},
	IO: func(p TopKParams, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "values", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[rows], p.K}},
			{Name: "indices", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{s[rows], p.K}},
			{Name: "token", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{s[rows]}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows], p.Columns}},
			{Name: "u", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows]}},
		}
	},
	// Seeded numbers u, each in the middle of what the token has that it draws, so that rounding does not draw another one.
	Fill: func(p TopKParams, s kernels.Shape, _ kernels.Input, a *kernels.Args) {
		logits(a[3])
		const margin = 1e-5 // of the sum of all weights
		rng := rand.New(rand.NewPCG(2, uint64(p.K)))
		values := make([]float32, p.K)
		for row := range s[rows] {
			x := a[3][row*p.Columns : (row+1)*p.Columns]
			for j, e := range highest(make([]entry, 0, p.K), x, 0) {
				values[j] = x[e.index]
			}
			sums := cumulative(values, p.Temperature)
			all := sums[p.K-1]
			low, high := 0.0, sums[0]
			if j := draw(sums, rng.Float64()); j > 0 && sums[j]-sums[j-1] > 2*margin*all {
				low, high = sums[j-1], sums[j]
			}
			a[4][row] = float32((low + high) / 2 / all)
		}
	},
	Reference: func(p TopKParams, s kernels.Shape, a *kernels.Args) []float64 {
		var values, indices, tokens []float64
		for row := range s[rows] {
			v, at := TopKReference(a[3][row*p.Columns:(row+1)*p.Columns], p.K)
			for j := range at {
				values, indices = append(values, float64(v[j])), append(indices, float64(at[j]))
			}
			tokens = append(tokens, float64(at[draw(cumulative(v, p.Temperature), float64(a[4][row]))]))
		}
		return slices.Concat(values, indices, tokens)
	},
	Tolerance: func(kernels.Shape) float64 { return 0 },
	Judge:     kernels.Exact,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n, k := float64(s[rows])*float64(s[columns]), float64(s[rows])*float64(s[best])
		return kernels.Work{Bytes: 4*n + 8*k, Flops: n + 30*k, Threads: n / 16, Launches: 2}
	},
	By: []kernels.Makers[TopKParams]{
		// Each worker's best lie on lines of the cache of their own.
		// Rows are divided by what keeping the best takes, too.
		kernels.RevisedAt(4, dividedByBest, kernels.Revised(1, kernels.InGo(
			func(p TopKParams) kernels.Runner { return newTopKRows(p, nil) },
			func(p TopKParams, workers *pool.Pool) kernels.Runner { return newTopKRows(p, workers) }), "go-parallel"), "go-parallel"),
		kernels.KernelText("", appendTopK),
	},
})

// besidesTopK is what a row takes beside its columns, in columns. Of values in no order, each keeps about k·(1 + ln(columns/k)) as the best
// so far. On one core of an H200's host, keeping one took 34 to 40 ns with k of 5 to 50 and 62 ns with k of 100.
// Less is assumed, 29 to 52 ns, because other cores keep one in 18 to 40.
func besidesTopK(columns, k int) int {
	return int(min(mostBesides, float64(k)*(1+math.Log(float64(columns)/float64(k)))*float64(224+2*k)))
}

// mostBesides keeps the product of rows and what they take within an int.
const mostBesides = 1 << 30

// dividedByBest reports whether what besidesTopK says may decide how rows are divided.
func dividedByBest(s kernels.Shape) bool {
	return s[rows] > 1 && s[rows]*(s[columns]+besidesTopK(s[columns], s[best])) >= 2*leastRows
}

func newTopKRows(p TopKParams, workers *pool.Pool) *rowsInGo {
	perTemperature := 1 / p.Temperature
	finish := func(a *kernels.Args, row int, found []entry) {
		x, lo := a[3][row*p.Columns:(row+1)*p.Columns], row*p.K
		values, indices := a[0][lo:lo+p.K], kernels.Uint32s(a[1])[lo:lo+p.K]
		for j, e := range found {
			values[j], indices[j] = x[e.index], e.index
		}
		kernels.Uint32s(a[2])[row] = indices[drawn(values, perTemperature, a[4][row])]
	}
	return &rowsInGo{input: 3, columns: p.Columns, k: p.K, besides: besidesTopK(p.Columns, p.K), workers: workers, scan: highest, finish: finish}
}

// TopKPlan finds the best tokens of rows, and draws one of them, by the implementation that is fastest at their number. Only
// one goroutine at a time may use a TopKPlan.
type TopKPlan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[TopKParams]

	columns, k int
}

// NewTopK returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if a parameter is outside of its
// range.
func NewTopK(d *dispatch.Dispatcher, p TopKParams) (*TopKPlan, error) {
	if p.Temperature == 0 {
		p.Temperature = 1
	}
	switch {
	case p.Columns > mostColumns:
		return nil, fmt.Errorf("top-k: columns is %d (want 1 to %d)", p.Columns, mostColumns)
	case p.Columns < 1 || p.K < 1 || p.K > p.Columns:
		return nil, fmt.Errorf("top-k: the best %d of %d tokens (want from 1 to all of them)", p.K, p.Columns)
	case !(p.Temperature >= 1e-6 && p.Temperature <= 1e6):
		return nil, fmt.Errorf("top-k: the temperature is %g (want 1e-6 to 1e6, or 0 for 1)", p.Temperature)
	}
	plan := kernels.NewPlan(d, &TopK, p)
	return &TopKPlan{plan.Along(rows, kernels.Shape{columns: p.Columns, best: p.K}), p.Columns, p.K}, nil
}

// Sample finds the k best tokens of each row of x, which is rows×columns and row-major. It writes their values and indices to
// values and indices, both rows×k, in descending order, and the one of them that the number in uniforms draws to tokens. There
// are as many uniforms as tokens, from 0 to 1; less, or a NaN, draws the best token, and more the last one with a weight.
//
// Sample allocates nothing at a number of rows at which the implementation has run twice. An implementation on a GPU remembers
// only the last few numbers of rows. Sample panics if the lengths do not fit. It fails if every implementation does.
func (p *TopKPlan) Sample(values []float32, indices, tokens []uint32, x, uniforms []float32) error {
	kernels.Made(p.SizedPlan)
	n := len(tokens)
	if len(values) != n*p.k || len(indices) != n*p.k || len(x) != n*p.columns || len(uniforms) != n {
		panic(fmt.Sprintf("top-k: %d tokens, the best %d of %d, got %d values, %d indices, %d logits and %d uniforms: want %[2]d, %[2]d, %[3]d and 1 for each token",
			n, p.k, p.columns, len(values), len(indices), len(x), len(uniforms)))
	}
	return kernels.RunSized(p.SizedPlan, n, &kernels.Args{values, kernels.Uint32Words(indices), kernels.Uint32Words(tokens), x, uniforms})
}

// TopKProgram is the [kernels.Program] of top-k.
var TopKProgram = kernels.NewProgram(NewTopK, func(p *TopKPlan, _ kernels.Shape, a *kernels.Args) error {
	return p.Sample(a[0], kernels.Uint32s(a[1]), kernels.Uint32s(a[2]), a[3], a[4])
})

// negligible is the distance to the best logit, in temperatures, beyond which the weight of a token is 0.
const negligible = -87

// drawn returns the place of the value that u draws. The values are in descending order.
func drawn(values []float32, perTemperature, u float32) int {
	most := values[0]
	if most-most != 0 {
		return 0
	}
	weight := func(v float32) float64 { return float64(approx.Exp((v - most) * perTemperature)) }
	var total float64
	positive := 0
	for _, v := range values {
		if !((v-most)*perTemperature >= negligible) {
			break
		}
		total += weight(v)
		positive++
	}
	target, sum := total*clamped(float64(u)), 0.0
	for j, v := range values[:positive] {
		if sum += weight(v); sum > target {
			return j
		}
	}
	return positive - 1
}

// clamped returns u in [0, 1], 0 for a NaN.
func clamped(u float64) float64 {
	if u > 0 {
		return min(u, 1)
	}
	return 0
}

// TopKReference returns the k greatest values of x in order, and their indices.
func TopKReference(x []float32, k int) (values []float32, indices []int) {
	indices = make([]int, len(x))
	for i := range indices {
		indices[i] = i
	}
	slices.SortStableFunc(indices, func(i, j int) int {
		a, b := x[i], x[j]
		switch {
		case a != a || b != b: // cmp.Compare puts a NaN in front of all others
			return cmp.Compare(a, b)
		}
		return cmp.Compare(b, a)
	})
	indices = indices[:k]
	for _, i := range indices {
		values = append(values, x[i])
	}
	return values, indices
}

// cumulative returns the sums of weights up to each value, in float64. Values in descending order have weights by their
// distance to the first one. If that is no finite number, only the first has a weight.
func cumulative(values []float32, temperature float32) []float64 {
	sums := []float64{1}
	for j, v := range values[1:] {
		weight, distance := 0.0, (v-values[0])*(1/temperature) // in float32, as in all implementations
		if values[0]-values[0] == 0 && distance >= negligible {
			weight = math.Exp(float64(distance))
		}
		sums = append(sums, sums[j]+weight)
	}
	return sums
}

// draw returns the place that u draws by sums of weights.
func draw(sums []float64, u float64) int {
	last := len(sums) - 1
	target := clamped(u) * sums[last]
	for last > 0 && sums[last] == sums[last-1] {
		last--
	}
	j := 0
	for j < last && sums[j] <= target {
		j++
	}
	return j
}
