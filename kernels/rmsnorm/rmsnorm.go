// Package rmsnorm scales each row of a matrix to a root mean square of 1, and then each column by a weight:
//
//	y[i,j] = x[i,j] · w[j] / √(mean_j x[i,j]² + ε),   ε = 10⁻⁵
//
// Source: B. Zhang, R. Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019; PyTorch has it as
// torch.nn.RMSNorm. One processor core computes a row of any length. The kernel text is that of package norm. The usual
// steps are New with the weights, once, and Apply.
package rmsnorm

import (
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/norm"
	"crossover/kernels/rowwise"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Weights []float32 // of the columns, at least one; New copies them
}

const (
	rows, columns = 0, 1 // axes
	epsilon       = 1e-5
)

var axes = []kernels.Axis{
	{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
	{Name: "columns", Unit: "columns", Min: 32, Max: 128 << 10, Usual: []int{64, 128, 256, 512, 768, 1024, 2048, 4096, 32000, 50257}},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "rms-norm",
	Formula:  "y[i,j] = x[i,j]·w[j] / √(meanₖ x[i,k]² + 1e-5)",
	Source:   "Zhang, Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Lines:    []kernels.Line{kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 1024})},
	Params: func(s kernels.Shape) Params {
		p := Params{make([]float32, s[columns])}
		kernels.Noise(p.Weights, 2)
		return p
	},
	IO:        kernels.RowIO[Params],
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(p.Weights, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[rows]) * float64(s[columns])
		return kernels.Work{Bytes: 8*n + 4*float64(s[columns]), Flops: 4 * n, Pieces: float64(s[rows]), Threads: n / 4}
	},
	By: []kernels.Makers[Params]{
		kernels.RevisedAt(4, fewInRow, kernels.Revised(1, kernels.OverRows(newLoop)), "go-parallel"),
		kernels.Framework("", kernels.OnOneCore(newFrameworkLoop)),
		kernels.RevisedAt(1, longChunks, kernels.KernelText("", appendRows)),
	},
})

// longChunks reports whether a GPU cuts rows into chunks that are longer than usual.
func longChunks(s kernels.Shape) bool { return rowwise.LongChunks(s[rows], s[columns]) }

// fewInRow reports whether rows are divided by their number, not by their values alone.
func fewInRow(s kernels.Shape) bool {
	return kernels.FewInRow(s[rows], s[columns], norm.AboutAMicrosecond)
}

// Plan normalises rows by the implementation that is fastest at their number: see [kernels.RowPlan]. Apply computes rows. A
// row with a NaN becomes NaN. Squares of magnitudes above 10¹⁶ may overflow.
type Plan = kernels.RowPlan[Params]

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. New copies the weights. It fails if
// there are no weights.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	p.Weights = slices.Clone(p.Weights)
	return kernels.NewRowPlan(d, &Op, p, len(p.Weights))
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.RowProgram(New)

func newLoop(p Params, _ int) (kernels.Loop, error) { return norm.NewRMS(p.Weights), nil }

func newFrameworkLoop(p Params, _ int) (kernels.Loop, error) {
	return norm.NewFrameworkRMS(p.Weights), nil
}

func appendRows(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
	norm.AppendRMS(b, p.Weights, s[rows], s[columns], t)
}

// Reference returns the rows of x, normalised and weighted by w, in float64. x is rows×len(w), row-major.
func Reference(w, x []float32) (y []float64) {
	for row := range slices.Chunk(x, len(w)) {
		var sum float64
		for _, v := range row {
			sum += float64(v) * float64(v)
		}
		for j, v := range row {
			y = append(y, float64(v)*float64(w[j])/math.Sqrt(sum/float64(len(w))+epsilon))
		}
	}
	return y
}
