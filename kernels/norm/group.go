package norm

import (
	"fmt"
	"math"
	"slices"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/rowwise"
	"crossover/pool"
)

// GroupParams are what all calls of a plan of group norm have in common.
type GroupParams struct {
	Groups        int       // into which the channels are divided, at least 1
	Weights, Bias []float32 // of the channels, a multiple of Groups; NewGroup copies them
	Batch         int       // inputs of a call, at most 1 Mi; 0 stands for 1
}

// mostBatch bounds the number of inputs, so that the number of channels of all inputs does not overflow.
const mostBatch = 1 << 20

// The axes of group norm.
const (
	batch = iota
	channels
	length
)

// measuredGroups is the number of groups that sweeps measure with, as Wu and He, and the users of 48 channels.
const measuredGroups = 8

// groupsOf returns the number of groups that sweeps measure with for a number of channels.
func groupsOf(channels int) int {
	groups := measuredGroups
	for channels%groups != 0 {
		groups--
	}
	return groups
}

var groupAxes = []kernels.Axis{
	{Name: "batch", Unit: "inputs", Min: 1, Max: 64},
	{Name: "channels", Unit: "channels", Min: 16, Max: 1024, Usual: []int{32, 48, 64, 96, 128, 256, 384, 512},
		Round: func(n int) int { return (n + measuredGroups/2) / measuredGroups * measuredGroups }},
	{Name: "length", Unit: "values", Min: 16, Max: 64 << 10, Usual: []int{64, 256, 512, 1024, 4096}},
}

// Group declares group norm.
var Group = kernels.Declare(kernels.Op[GroupParams]{
	Name:     "group-norm",
	Formula:  "y[n,c,t] = (x[n,c,t] − mean_g)·w[c] / √(var_g + 1e-5) + b[c], g one of 8 groups of channels",
	Source:   "Wu, He, Group Normalization, ECCV 2018; torch.nn.GroupNorm",
	Axes:     groupAxes,
	Features: []surface.Feature{kernels.Power(1, 1, 1), kernels.Power(0, 1, 1)},
	Lines:    []kernels.Line{kernels.Along(groupAxes, "length", kernels.Param{Name: "batch", Value: 1}, kernels.Param{Name: "channels", Value: 48})},
	Draw: func(at []float64) kernels.Shape {
		s := kernels.Spread(groupAxes, at)
		s[channels] = groupAxes[channels].Nearest(s[channels])
		return s
	},
	Params: func(s kernels.Shape) GroupParams {
		p := GroupParams{Groups: groupsOf(s[channels]), Weights: make([]float32, s[channels]), Bias: make([]float32, s[channels]), Batch: s[batch]}
		kernels.Noise(p.Weights, 2)
		kernels.Noise(p.Bias, 3)
		return p
	},
	IO: func(_ GroupParams, s kernels.Shape) []kernels.Tensor {
		dims := []int{s[batch], s[channels], s[length]}
		return []kernels.Tensor{
			{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: dims, InPlaceOf: "x"},
			{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: dims},
		}
	},
	// Seeded noise with a mean of 64 of its standard deviations, so that the accuracy of the variance matters.
	Fill: func(_ GroupParams, _ kernels.Shape, _ kernels.Input, a *kernels.Args) {
		const offset = 64 / 1.7320508 // the standard deviation of [−1, 1) is √⅓
		kernels.Noise(a[1], 1)
		for i := range a[1] {
			a[1][i] += offset
		}
	},
	Reference: func(p GroupParams, s kernels.Shape, a *kernels.Args) []float64 {
		return GroupReference(p, a[1], s[batch])
	},
	Tolerance: func(kernels.Shape) float64 { return standardBound },
	Work: func(s kernels.Shape, variant string) kernels.Work {
		n := float64(s[batch]) * float64(s[channels]) * float64(s[length])
		flops := map[string]float64{"kahan": 14, "welford": 9}[variant]
		return kernels.Work{Bytes: 8 * n, Flops: max(7, flops) * n, Pieces: measuredGroups * float64(s[batch]), Threads: n / 4}
	},
	By: []kernels.Makers[GroupParams]{
		kernels.Within(welfordBound, overGroups("welford", welford)),
		kernels.Within(kahanBound, overGroups("kahan", compensating)),
		kernels.Within(standardBound, overGroups("standard", standard)),
		kernels.Within(welfordBound, groupsOnGPU("welford", byWelford)),
		kernels.Within(kahanBound, groupsOnGPU("kahan", byKahan)),
		kernels.Within(standardBound, groupsOnGPU("standard", byStandard)),
	},
})

// The error bounds of the variants.
const (
	standardBound = 5e-4
	kahanBound    = 2e-4
	welfordBound  = 5e-5
)

// GroupPlan normalises the groups of inputs by the implementation that is fastest at their length. Only one goroutine at a
// time may use a GroupPlan.
type GroupPlan struct {
	// Explain takes the length of a channel.
	*kernels.SizedPlan[GroupParams]

	rows int // channels of all inputs of a call
}

// NewGroup returns a plan that chooses by d, which may be nil: see [kernels.NewPlan]. Without a call of SetMaxError it chooses
// among all variants. What was measured and predicted with 8 groups decides, whatever the number of groups. NewGroup copies the
// weights and biases. It fails if there are no weights, another number of biases, a number of groups that does not divide that
// of the channels, or a batch that is negative or above 1 Mi.
func NewGroup(d *dispatch.Dispatcher, p GroupParams) (*GroupPlan, error) {
	n := len(p.Weights)
	switch {
	case n == 0 || len(p.Bias) != n:
		return nil, fmt.Errorf("group-norm: %d weights and %d biases (want one of each for each channel)", n, len(p.Bias))
	case p.Groups < 1 || n%p.Groups != 0:
		return nil, fmt.Errorf("group-norm: %d groups of %d channels (want a divisor)", p.Groups, n)
	case p.Batch < 0 || p.Batch > mostBatch:
		return nil, fmt.Errorf("group-norm: a batch of %d inputs (want 0 to %d)", p.Batch, mostBatch)
	}
	p.Batch = max(1, p.Batch)
	p.Weights, p.Bias = slices.Clone(p.Weights), slices.Clone(p.Bias)
	return &GroupPlan{kernels.NewPlan(d, &Group, p).Along(length, kernels.Shape{batch: p.Batch, channels: n}), p.Batch * n}, nil
}

// Apply computes dst from src. Both are batch×channels×length, row-major. dst may be src itself and must not overlap it
// otherwise. A group with a NaN or an infinity becomes NaN. A group of equal values becomes the biases, up to 300 times the
// rounding error of their mean. Squares of magnitudes above 10¹⁶ may overflow. Apply allocates nothing at a length at which
// the implementation has run twice. An implementation on a GPU remembers only the last few lengths. Apply panics if the
// lengths differ or are not a multiple of batch×channels. It fails if every implementation does.
func (p *GroupPlan) Apply(dst, src []float32) error {
	kernels.Made(p.SizedPlan)
	if len(dst) != len(src) || len(src)%p.rows != 0 {
		panic(fmt.Sprintf("group-norm: %d channels got src of %d and dst of %d values: want equal lengths, a multiple of %[1]d", p.rows, len(src), len(dst)))
	}
	return kernels.RunSized(p.SizedPlan, len(src)/p.rows, &kernels.Args{dst, src})
}

// GroupProgram is the [kernels.Program] of group norm.
var GroupProgram = kernels.NewProgram(NewGroup, func(plan *GroupPlan, _ kernels.Shape, a *kernels.Args) error {
	return plan.Apply(a[0], a[1])
})

// overGroups returns a variant of group norm in Go, one group at a time.
func overGroups(variant string, of statistics) kernels.Makers[GroupParams] {
	few := func(s kernels.Shape) bool {
		return kernels.FewInRow(s[batch]*measuredGroups, s[channels]/measuredGroups*s[length], AboutAMicrosecond)
	}
	loops := kernels.LoopNamed("go/"+variant, "go-parallel/"+variant, func(p GroupParams, _ int) (kernels.Loop, error) {
		l, perGroup := fastest(), len(p.Weights)/p.Groups
		return kernels.Loop{
			Rows: func(s *kernels.Shape) int { return s[batch] * p.Groups },
			Grain: func(s *kernels.Shape, rows int, p *pool.Pool) int {
				return p.Grain(rows, kernels.RowsPerMicrosecond(perGroup*s[length], AboutAMicrosecond), 1)
			},
			Do: func(_ int, s *kernels.Shape, a *kernels.Args, lo, hi int) {
				n := s[length]
				for g := lo; g < hi; g++ {
					at, channel := g*perGroup*n, g%p.Groups*perGroup
					mean, variance := of(&l, a[1][at:at+perGroup*n])
					m, f := float32(mean), factor(variance)
					for c := channel; c < channel+perGroup; c++ {
						l.perChannel(a[0][at:at+n], a[1][at:at+n], m, f*p.Weights[c], p.Bias[c])
						at += n
					}
				}
			},
		}, nil
	})
	return kernels.RevisedAt(4, few, kernels.Revised(1, loops), "go-parallel/"+variant)
}

// groupsOnGPU returns a variant of group norm on a GPU. The states of long groups are read once for a threadgroup. Of many long groups
// there are fewer states.
func groupsOnGPU(variant string, statistics int) kernels.Makers[GroupParams] {
	long := func(s kernels.Shape) bool { return s[channels]/groupsOf(s[channels])*s[length] > 32*4096 }
	many := func(s kernels.Shape) bool {
		groups := groupsOf(s[channels])
		return rowwise.LongChunks(s[batch]*groups, s[channels]/groups*s[length])
	}
	return kernels.RevisedAt(2, many, kernels.RevisedAt(1, long, kernels.KernelText(variant, appendGroups(statistics))))
}

// appendGroups returns a function that appends group norm with the given statistics. A group is a row.
func appendGroups(statistics int) kernels.Append[GroupParams] {
	return func(b *gpu.Builder, p GroupParams, s kernels.Shape, t []*gpu.Buffer) {
		perGroup, width := s[channels]/p.Groups, rowwise.Width(s[length]) // no element has values of two channels
		rowwise.Append(b, source.Define("STATISTICS", statistics).Define("PER_CHANNEL", 1), s[batch]*p.Groups, perGroup*s[length], width,
			gpu.Float4, t[0], t[1], b.Constant(gpu.Float, p.Weights), b.Constant(gpu.Float, p.Bias),
			gpu.Values(float32(epsilon), p.Groups, perGroup, s[length]/width))
	}
}

// GroupReference returns group norm in float64. x is inputs×channels×length, row-major.
func GroupReference(p GroupParams, x []float32, inputs int) []float64 {
	n := len(x) / (inputs * p.Groups) // values in a group
	length := len(x) / (inputs * len(p.Weights))
	y := make([]float64, len(x))
	for lo := 0; lo < len(x); lo += n {
		mean, variance := exactly(x[lo : lo+n])
		for i := lo; i < lo+n; i++ {
			c := i / length % len(p.Weights)
			y[i] = (float64(x[i])-mean)/math.Sqrt(variance+epsilon)*float64(p.Weights[c]) + float64(p.Bias[c])
		}
	}
	return y
}
