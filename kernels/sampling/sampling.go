// Package sampling chooses tokens by the logits of a network, which are rows of a matrix with one column for each token of the
// vocabulary.
//
//	greedy: y[i] = the least j for which x[i,j] is greatest
//	top-k:  the k greatest x[i,j], in descending order, of equals the one with the less j first; and one of their j, drawn by
//	        the weights exp((x[i,j] − m)/T), where m is the greatest of them, T the temperature, and u[i] the random number
//
// The drawn token is the first one in that order at which the sum of weights exceeds u times the sum of all k, with u from 0 to
// 1. So a program that gives the same numbers gets the same tokens. Weights of less than e⁻⁸⁷ are 0. Where u times the sum is
// within a rounding error, about 10⁻⁶, of one of the sums, implementations may draw neighbours. All other results are exact.
//
// 0 and −0 are equal. A NaN is greater than every other value. Where the greatest value is a NaN or infinite, it is the one
// that is drawn. Sources: A. Holtzman et al., The Curious Case of Neural Text Degeneration, ICLR 2020 (temperature and top-k);
// torch.argmax and torch.topk, which put NaNs in the same place.
//
// The package makes no random numbers, and has no nucleus (top-p) sampling. The usual steps are NewGreedy or NewTopK, once, and
// Choose or Sample.
package sampling

import (
	"fmt"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

// The axes of the operations. Greedy has the first two.
const (
	rows = iota
	columns
	best
)

var axes = []kernels.Axis{
	{Name: "rows", Unit: "rows", Min: 1, Max: 1024},
	{Name: "columns", Unit: "tokens", Min: 1 << 10, Max: 128 << 10, Usual: []int{1024, 16384, 32000, 32768, 50257, 65536, 128256}},
	{Name: "k", Unit: "tokens", Min: 1, Max: 128, Usual: []int{10, 20, 40, 50, 64, 100}},
}

// greedyAxes begin at the vocabularies of characters and phonemes. A recogniser of speech chooses one of some thirty for each frame.
var greedyAxes = []kernels.Axis{
	{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
	{Name: "columns", Unit: "tokens", Min: 32, Max: 128 << 10, Usual: []int{32, 64, 128, 1024, 16384, 32000, 32768, 50257, 65536, 128256}},
}

// logits writes the logits with which a shape is measured: seeded noise in [−8, 8).
func logits(x []float32) {
	kernels.Noise(x, 1)
	for i := range x {
		x[i] *= 8
	}
}

// GreedyParams are what all calls of a plan of greedy have in common.
type GreedyParams struct {
	Columns int // tokens of the vocabulary, 1 to 256 Mi
}

// mostColumns is the greatest number of tokens of a vocabulary.
const mostColumns = 1 << 28

// Greedy declares the index of the greatest value of each row.
var Greedy = kernels.Declare(kernels.Op[GreedyParams]{
	Name:     "greedy",
	Formula:  "y[i] = min { j : x[i,j] = maxₖ x[i,k] }",
	Source:   "torch.argmax over rows",
	Axes:     greedyAxes,
	Features: []surface.Feature{kernels.Power(1, 1), kernels.Power(1, 0)}, // a row has work of its own
	Lines:    []kernels.Line{kernels.Along(greedyAxes, "columns", kernels.Param{Name: "rows", Value: 1})},
	Params:   func(s kernels.Shape) GreedyParams { return GreedyParams{s[columns]} },
	IO: func(p GreedyParams, s kernels.Shape) []kernels.Tensor {
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Uint32, Dims: []int{s[rows]}},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[rows], p.Columns}},
		}
	},
	Fill: func(_ GreedyParams, _ kernels.Shape, _ kernels.Input, a *kernels.Args) { logits(a[1]) },
	Reference: func(p GreedyParams, s kernels.Shape, a *kernels.Args) (y []float64) {
		for row := range s[rows] {
			y = append(y, float64(GreedyReference(a[1][row*p.Columns:(row+1)*p.Columns])))
		}
		return y
	},
	Tolerance: func(kernels.Shape) float64 { return 0 },
	Judge:     kernels.Exact,
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[rows]) * float64(s[columns])
		return kernels.Work{Bytes: 4 * n, Flops: n, Threads: n / 16, Launches: 2}
	},
	By: []kernels.Makers[GreedyParams]{
		// Each worker's best lies on its own line of the cache, and short rows are divided.
		kernels.Revised(1, kernels.InGo(
			func(p GreedyParams) kernels.Runner { return newGreedyRows(p, nil) },
			func(p GreedyParams, workers *pool.Pool) kernels.Runner { return newGreedyRows(p, workers) }), "go-parallel"),
		kernels.KernelText("", appendGreedy),
	},
})

// besidesGreedy is what a row of greedy takes beside its columns: 20 ns, in which 200 of them are compared.
const besidesGreedy = 200

func newGreedyRows(p GreedyParams, workers *pool.Pool) *rowsInGo {
	return &rowsInGo{input: 1, columns: p.Columns, k: 1, besides: besidesGreedy, workers: workers, scan: greedy, finish: func(a *kernels.Args, row int, found []entry) {
		kernels.Uint32s(a[0])[row] = found[0].index
	}}
}

// GreedyPlan chooses a token for each row by the implementation that is fastest at their number. Only one goroutine at a time
// may use a GreedyPlan.
type GreedyPlan struct {
	// Explain takes a number of rows.
	*kernels.SizedPlan[GreedyParams]

	columns int
}

// NewGreedy returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if p.Columns is out of its
// range.
func NewGreedy(d *dispatch.Dispatcher, p GreedyParams) (*GreedyPlan, error) {
	if p.Columns < 1 || p.Columns > mostColumns {
		return nil, fmt.Errorf("greedy: columns is %d, want 1 to %d", p.Columns, mostColumns)
	}
	return &GreedyPlan{kernels.NewPlan(d, &Greedy, p).Along(rows, kernels.Shape{columns: p.Columns}), p.Columns}, nil
}

// Choose writes the index of the greatest value of each row of x to tokens. x is rows×columns, row-major. Choose allocates
// nothing at a number of rows at which the implementation has run twice. An implementation on a GPU remembers only the last few
// numbers of rows. Choose panics if len(x) is not the number of tokens times the number of columns. It fails if every
// implementation does.
func (p *GreedyPlan) Choose(tokens []uint32, x []float32) error {
	kernels.Made(p.SizedPlan)
	if len(x) != len(tokens)*p.columns {
		panic(fmt.Sprintf("greedy: %d tokens of %d columns got %d values: want %[2]d for each token", len(tokens), p.columns, len(x)))
	}
	return kernels.RunSized(p.SizedPlan, len(tokens), &kernels.Args{kernels.Uint32Words(tokens), x})
}

// GreedyProgram is the [kernels.Program] of greedy.
var GreedyProgram = kernels.NewProgram(NewGreedy, func(p *GreedyPlan, _ kernels.Shape, a *kernels.Args) error {
	return p.Choose(kernels.Uint32s(a[0]), a[1])
})

// GreedyReference returns the index of the greatest value of x, or of the first NaN.
func GreedyReference(x []float32) int {
	at := 0
	for i, v := range x {
		if v != v {
			return i
		}
		if v > x[at] {
			at = i
		}
	}
	return at
}
