// Package norm shifts and scales values to a mean of 0 and a variance of 1, and then multiplies them by weights and adds
// biases. ε is 10⁻⁵, and the variance is that of the values themselves, with the divisor n.
//
//	layer-norm: y[i,j] = (x[i,j] − mean_i) / √(var_i + ε) · w[j] + b[j],         over each row i
//	group-norm: y[n,c,t] = (x[n,c,t] − mean_g) / √(var_g + ε) · w[c] + b[c],     over the channels of each group g
//
// Sources: J. Ba, J. Kiros, G. Hinton, Layer Normalization, 2016; Y. Wu, K. He, Group Normalization, ECCV 2018. PyTorch has
// them as torch.nn.LayerNorm and torch.nn.GroupNorm, with the same layouts.
//
// Group norm has three variants, which differ in how they find mean and variance:
//
//   - standard adds up the values and their squares, in one pass. The variance is the mean square minus the squared mean;
//   - kahan does so with compensated sums (W. Kahan, Further remarks on reducing truncation errors, CACM 8, 1965);
//   - welford joins means and squared distances from them (B. Welford, Technometrics 4, 1962; of many values at once: T. Chan,
//     G. Golub, R. LeVeque, The American Statistician 37, 1983).
//
// The error of the first two grows with the square of mean ÷ standard deviation. Their bounds, 5·10⁻⁴, 2·10⁻⁴ and 5·10⁻⁵,
// hold for groups whose mean is at most 64 standard deviations, and sweeps measure such groups. The plan's SetMaxError says
// which error a program accepts. Layer norm is by Welford, and by the definition where Apple's vDSP computes it.
//
// The package keeps no running statistics. The usual steps are NewLayer or NewGroup, once, and Apply.
package norm

import (
	_ "embed"
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/rowwise"
)

const epsilon = 1e-5

// AboutAMicrosecond is how many values of rows a core normalises in that time.
const AboutAMicrosecond = 4096

// LayerParams are what all calls of a plan of layer norm have in common.
type LayerParams struct {
	Weights, Bias []float32 // of the columns, as many of each; NewLayer copies them
}

const (
	rows, columns = 0, 1 // axes of layer norm
)

var layerAxes = []kernels.Axis{
	{Name: "rows", Unit: "rows", Min: 1, Max: 8192},
	{Name: "columns", Unit: "columns", Min: 32, Max: 128 << 10, Usual: []int{64, 128, 256, 512, 768, 1024, 2048, 4096, 32000, 50257}},
}

// Layer declares layer norm.
var Layer = kernels.Declare(kernels.Op[LayerParams]{
	Name:     "layer-norm",
	Formula:  "y[i,j] = (x[i,j] − meanₖ x[i,k])·w[j] / √(varₖ x[i,k] + 1e-5) + b[j]",
	Source:   "Ba, Kiros, Hinton, Layer Normalization, 2016; torch.nn.LayerNorm",
	Axes:     layerAxes,
	Features: []surface.Feature{kernels.Power(1, 1)},
	Lines:    []kernels.Line{kernels.Along(layerAxes, "rows", kernels.Param{Name: "columns", Value: 1024})},
	Params: func(s kernels.Shape) LayerParams {
		p := LayerParams{make([]float32, s[columns]), make([]float32, s[columns])}
		kernels.Noise(p.Weights, 2)
		kernels.Noise(p.Bias, 3)
		return p
	},
	IO:        kernels.RowIO[LayerParams],
	Reference: func(p LayerParams, _ kernels.Shape, a *kernels.Args) []float64 { return LayerReference(p, a[1]) },
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		n := float64(s[rows]) * float64(s[columns])
		return kernels.Work{Bytes: 8*n + 8*float64(s[columns]), Flops: 8 * n, Pieces: float64(s[rows]), Threads: n / 4}
	},
	By: []kernels.Makers[LayerParams]{
		kernels.RevisedAt(4, fewInRow, kernels.Revised(1, kernels.OverRows(newLayer)), "go-parallel"),
		kernels.Framework("", kernels.OnOneCore(newFrameworkLayer)),
		kernels.RevisedAt(1, longChunks, kernels.KernelText("", appendLayer)),
	},
})

// longChunks reports whether a GPU cuts rows into chunks that are longer than usual.
func longChunks(s kernels.Shape) bool { return rowwise.LongChunks(s[rows], s[columns]) }

// fewInRow reports whether rows are divided by their number, not by their values alone.
func fewInRow(s kernels.Shape) bool { return kernels.FewInRow(s[rows], s[columns], AboutAMicrosecond) }

// LayerPlan normalises rows by the implementation that is fastest at their number: see [kernels.RowPlan]. Apply computes
// rows. A row with a NaN or an infinity becomes NaN. A row of equal values becomes the biases. Squares of magnitudes above
// 10¹⁶ may overflow.
type LayerPlan = kernels.RowPlan[LayerParams]

// NewLayer returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. NewLayer copies the weights and
// biases. It fails if there are no weights, or another number of biases.
func NewLayer(d *dispatch.Dispatcher, p LayerParams) (*LayerPlan, error) {
	if len(p.Bias) != len(p.Weights) {
		return nil, fmt.Errorf("layer-norm: %d biases, want as many as weights, %d", len(p.Bias), len(p.Weights))
	}
	p.Weights, p.Bias = slices.Clone(p.Weights), slices.Clone(p.Bias)
	return kernels.NewRowPlan(d, &Layer, p, len(p.Weights))
}

// LayerProgram is the [kernels.Program] of layer norm.
var LayerProgram = kernels.RowProgram(NewLayer)

func newLayer(p LayerParams, _ int) (kernels.Loop, error) {
	l := fastest()
	return kernels.RowLoop(len(p.Weights), AboutAMicrosecond, func(dst, src []float32) {
		mean, variance := welford(&l, src)
		l.perColumn(dst, src, p.Weights, p.Bias, float32(mean), factor(variance))
	}), nil
}

// factor returns what values are multiplied by to have the variance 1.
func factor(variance float64) float32 { return float32(1 / math.Sqrt(variance+epsilon)) }

//go:embed norm.metal
var text string

var source = gpu.Source{Name: "norm.metal", Text: text}

// The values of the macro STATISTICS.
const (
	byMeanSquare = iota // as RMS norm, which takes no mean away
	byStandard
	byKahan
	byWelford
)

func appendLayer(b *gpu.Builder, p LayerParams, s kernels.Shape, t []*gpu.Buffer) {
	appendRows(b, byWelford, s[rows], s[columns], t, p.Weights, p.Bias)
}

// NewRMS returns the RMS norm of rows in Go, which package rmsnorm declares. It keeps the weights.
func NewRMS(weights []float32) kernels.Loop {
	l := fastest()
	return kernels.RowLoop(len(weights), AboutAMicrosecond, func(dst, src []float32) {
		var squares float64
		for lo := 0; lo < len(src); lo += block {
			_, q := l.sums(src[lo:min(lo+block, len(src))], 0)
			squares += q
		}
		l.scaled(dst, src, weights, factor(squares/float64(len(src))))
	})
}

// AppendRMS appends the RMS norm of rows, which package rmsnorm declares. t holds y and x.
func AppendRMS(b *gpu.Builder, weights []float32, rows, columns int, t []*gpu.Buffer) {
	appendRows(b, byMeanSquare, rows, columns, t, weights, nil)
}

// appendRows appends the norm of rows with weights of the columns.
func appendRows(b *gpu.Builder, statistics, rows, columns int, t []*gpu.Buffer, weights, bias []float32) {
	w := b.Constant(gpu.Float, weights)
	biases := w // RMS norm has none and reads none
	if bias != nil {
		biases = b.Constant(gpu.Float, bias)
	}
	rowwise.Append(b, source.Define("STATISTICS", statistics).Define("PER_CHANNEL", 0), rows, columns, rowwise.Width(columns),
		gpu.Float4, t[0], t[1], w, biases, gpu.Values(float32(epsilon), 0, 0, 0))
}

// LayerReference returns layer norm in float64. x is rows×columns, row-major.
func LayerReference(p LayerParams, x []float32) []float64 {
	n := len(p.Weights)
	y := make([]float64, len(x))
	for lo := 0; lo < len(x); lo += n {
		mean, variance := exactly(x[lo : lo+n])
		for j, v := range x[lo : lo+n] {
			y[lo+j] = (float64(v)-mean)/math.Sqrt(variance+epsilon)*float64(p.Weights[j]) + float64(p.Bias[j])
		}
	}
	return y
}

// exactly returns mean and variance in float64, by the definition.
func exactly(x []float32) (mean, variance float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(x))
}
