// Package softmax turns each row of a matrix into a probability distribution:
//
//	y[j] = e^(x[j] − m) / Σ_k e^(x[k] − m),   m = max_k x[k]
//
// Subtracting the row's maximum changes nothing in exact arithmetic. It keeps every exponential at most 1, so no finite
// input overflows. Source: P. Blanchard, D. Higham, N. Higham, Accurately computing the log-sum-exp and softmax functions,
// IMA J. Numer. Anal. 41 (2021), pages 2311–2330.
//
// The package does not take a mask, a temperature or a stride. On the processor, one worker computes a row of any length.
// The usual steps are New with the number of columns, once, and Apply.
package softmax

import (
	"math"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/kernels/rowwise"
)

// Params are what all calls of a plan have in common.
type Params struct {
	Columns int // values in a row, at least 1
}

// The axes of the operation.
const (
	rows = iota
	columns
)

var axes = []kernels.Axis{
	{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
	{Name: "columns", Unit: "columns", Min: 32, Max: 128 << 10, Usual: []int{64, 128, 256, 512, 768, 1024, 2048, 4096, 32000, 50257}},
}

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Params]{
	Name:     "softmax",
	Formula:  "y[i,j] = exp(x[i,j] − m[i]) / Σₖ exp(x[i,k] − m[i]), m[i] = maxₖ x[i,k]",
	Source:   "Blanchard, Higham, Higham, IMA J. Numer. Anal. 41 (2021), 2311–2330",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Lines:    []kernels.Line{kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 1024})},
	Params:   func(s kernels.Shape) Params { return Params{Columns: s[columns]} },
	IO:       kernels.RowIO[Params],
	// Seeded noise in [−8, 8), a usual range of a network's logits.
	Fill: func(_ Params, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		kernels.Noise(a[1], 1)
		for i := range a[1] {
			a[1][i] *= 8
		}
	},
	Reference: func(p Params, _ kernels.Shape, a *kernels.Args) []float64 { return Reference(a[1], p.Columns) },
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		const flops = 25 // per value: an exponential, a maximum, a sum, a division
		n := float64(s[rows]) * float64(s[columns])
		return kernels.Work{Bytes: 8 * n, Flops: flops * n, Pieces: float64(s[rows]), Threads: n / 4}
	},
	By: []kernels.Makers[Params]{
		kernels.RevisedAt(3, fewInRow, kernels.OverRows(newLoop), "go-parallel"),
		kernels.Framework("", kernels.OnOneCore(newFrameworkLoop)),
		kernels.RevisedAt(1, longChunks, kernels.KernelText("", appendRows)),
	},
})

// longChunks reports whether a GPU cuts rows into chunks that are longer than usual. On GPUs with some numbers of cores, another kernel
// computes some of these: see long.
func longChunks(s kernels.Shape) bool { return rowwise.LongChunks(s[rows], s[columns]) }

// fewInRow reports whether rows are divided by their number, not by their values alone.
func fewInRow(s kernels.Shape) bool { return kernels.FewInRow(s[rows], s[columns], leastChunk) }

// newLoop returns the softmax of rows in Go.
func newLoop(p Params, _ int) (kernels.Loop, error) {
	loops := fastest()
	return kernels.RowLoop(p.Columns, leastChunk, loops.row), nil
}

// newFrameworkLoop returns the softmax of rows by Apple's framework.
func newFrameworkLoop(p Params, _ int) (kernels.Loop, error) {
	return kernels.RowLoop(p.Columns, leastChunk, frameworkRow), nil
}

// leastChunk is the least number of values in a chunk, about a microsecond of one core with AVX2. A call of at most one
// chunk, or of one row, is computed by the caller, without waking a helper.
const leastChunk = 2048

// Plan computes the softmax of rows by the implementation that is fastest at their number. An entry of −Inf becomes 0. An
// entry that is more than 87 below the maximum of its row becomes 0, or with Apple's framework perhaps a denormal. A row
// with a NaN or a +Inf, or of nothing but −Inf, becomes NaN. On a GPU, a denormal result may be 0.
type Plan = kernels.RowPlan[Params]

// New returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. It fails if p.Columns is below 1.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	return kernels.NewRowPlan(d, &Op, p, p.Columns)
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.RowProgram(New)

// Reference returns the softmax of each row of x, which is rows×columns and row-major, in float64.
func Reference(x []float32, columns int) []float64 {
	y := make([]float64, len(x))
	for lo := 0; lo < len(x); lo += columns {
		row := x[lo : lo+columns]
		shift := math.Inf(-1)
		for _, v := range row {
			shift = math.Max(shift, float64(v))
		}
		var sum float64
		for j, v := range row {
			y[lo+j] = math.Exp(float64(v) - shift)
			sum += y[lo+j]
		}
		for j := range row {
			y[lo+j] /= sum
		}
	}
	return y
}
