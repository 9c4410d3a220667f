package recurrence

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/recurrence/bend"
)

// LadderParams describes a Moog ladder.
type LadderParams struct {
	Cutoff     float64 // Hz, above 0 and below half of the sample rate
	Resonance  float64 // 0 to 1; the filter sounds by itself from about 1
	SampleRate float64 // Hz
}

// Ladder declares the Moog ladder low-pass by Huovilainen's model: four one-pole stages, each with the hyperbolic tangent of a
// transistor pair at its input and in its own feedback, and a feedback from the last stage to the first one that is delayed by
// a sample. With y₀[n] = x[n] − 4r·y₄[n−1] and k = 1 to 4,
//
//	yₖ[n] = yₖ[n−1] + g·(tanh yₖ₋₁[n] − tanh yₖ[n−1]),   g = 1 − exp(−2π·cutoff/R)
//
// at a resonance of r and a sample rate of R. The output is y₄. A signal of magnitude 1 is at the tangent's knee: the model's
// 2·Vₜ is 1. Like the model, it is not tuned exactly at high cutoffs with resonance, because of the delayed sample. A
// program that wants less aliasing runs it at twice the rate. It is measured with a cutoff of 1000 Hz and a resonance of 0.5
// at 44.1 kHz, whatever the sample rate of the recording.
//
// The state is y₁ to y₄. Since the tangent is bounded, so is the output, and an infinity in a channel is as good as a large
// value. A NaN reaches all later outputs of its channel.
//
// Source: A. Huovilainen, Non-linear digital implementation of the Moog ladder filter, Proceedings of DAFx-04, Naples 2004.
var Ladder = declare(family[LadderParams]{
	name:    "moog-ladder",
	formula: "yₖ ← yₖ + g·(tanh yₖ₋₁ − tanh yₖ), k = 1…4, y₀ = x − 2·y₄, g = 1 − exp(−2π·1000/44 100); the output is y₄",
	source:  "A. Huovilainen, Non-linear digital implementation of the Moog ladder filter, DAFx-04, Naples 2004",
	winner:  "each sample waits for the one before it",
	params:  LadderParams{Cutoff: 1000, Resonance: 0.5, SampleRate: 44100},
	state:   func(LadderParams) (kernels.Element, int) { return kernels.Float64, stages },
	reference: func(p LadderParams, state, y []float64, x []float32) {
		for i, v := range x {
			from := math.Tanh(float64(v) - 4*p.Resonance*state[stages-1])
			for k := range state {
				state[k] += p.step() * (from - math.Tanh(state[k]))
				from = math.Tanh(state[k])
			}
			y[i] = state[stages-1]
		}
	},
	flops: 150, threads: 1, // five tangents
	by: []kernels.Makers[LadderParams]{
		kernels.Revised(1, overChannels(stages, pace{together: 8, perMicrosecond: 256, least: 2}, func(p LadderParams) kernel {
			return newLadder(p.step(), 4*p.Resonance)
		})), // Vector code.
		kernels.KernelText("", perChannel(ladderSource, 8, func(p LadderParams) []any {
			return []any{float32(p.step()), float32(4 * p.Resonance)}
		})),
	},
})

// stages is the number of one-pole stages.
const stages = bend.Stages

//go:embed ladder.metal
var ladderText string

var ladderSource = gpu.Source{Name: "ladder.metal", Text: ladderText}

// NewLadder returns the plan of a Moog ladder on count channels. The plan chooses by d, which may be nil: see
// [kernels.NewPlan]. NewLadder fails if a parameter is out of its range or if count is not 1 to 1 Mi.
func NewLadder(d *dispatch.Dispatcher, p LadderParams, count int) (*Plan[LadderParams], error) {
	if !(p.SampleRate > 0 && p.Cutoff > 0 && p.Cutoff < p.SampleRate/2) || math.IsInf(p.SampleRate, 1) {
		return nil, fmt.Errorf("moog-ladder: cutoff %g Hz at a sample rate of %g Hz: want more than 0 and less than half of the rate",
			p.Cutoff, p.SampleRate)
	}
	if !(p.Resonance >= 0 && p.Resonance <= 1) {
		return nil, fmt.Errorf("moog-ladder: resonance %g: want 0 to 1", p.Resonance)
	}
	return newPlan(d, &Ladder, p, count)
}

// step returns g.
func (p LadderParams) step() float64 { return -math.Expm1(-2 * math.Pi * p.Cutoff / p.SampleRate) }

// ladder is a ladder on a processor.
type ladder struct {
	step, feedback float64
	gains          [2][lanes]float64 // the two in all lanes
}

func newLadder(step, feedback float64) *ladder {
	l := &ladder{step: step, feedback: feedback}
	for i := range lanes {
		l.gains[0][i], l.gains[1][i] = step, feedback
	}
	return l
}

func (l *ladder) one(state []float64, dst, src []float32) {
	step, feedback := l.step, l.feedback
	y, dst := (*[stages]float64)(state), dst[:len(src)]
	y1, y2, y3, y4 := y[0], y[1], y[2], y[3]
	t1, t2, t3, t4 := tangent(y1), tangent(y2), tangent(y3), tangent(y4)
	for i, x := range src {
		t := tangent(float64(x) - float64(feedback*y4))
		y1 += float64(step * (t - t1))
		t1 = tangent(y1)
		y2 += float64(step * (t1 - t2))
		t2 = tangent(y2)
		y3 += float64(step * (t2 - t3))
		t3 = tangent(y3)
		y4 += float64(step * (t3 - t4))
		t4 = tangent(y4)
		dst[i] = float32(y4)
	}
	*y = [stages]float64{y1, y2, y3, y4}
}

// two is one for two channels. Each tangent waits for the one before it, so a core computes those of another channel
// meanwhile. The state is written once: a state in memory may share a cache line with that of another core's channels.
func (l *ladder) two(state []float64, dst0, dst1, src0, src1 []float32) {
	step, feedback := l.step, l.feedback
	y := [2 * stages]float64(state)
	dst0, dst1, src1 = dst0[:len(src0)], dst1[:len(src0)], src1[:len(src0)]
	var t [2 * stages]float64
	for k := range y {
		t[k] = tangent(y[k])
	}
	for i, x := range src0 {
		t0, t1 := tangent(float64(x)-float64(feedback*y[3])), tangent(float64(src1[i])-float64(feedback*y[7]))
		for k := range stages {
			y[k] += float64(step * (t0 - t[k]))
			y[stages+k] += float64(step * (t1 - t[stages+k]))
			t0, t1 = tangent(y[k]), tangent(y[stages+k])
			t[k], t[stages+k] = t0, t1
		}
		dst0[i], dst1[i] = float32(y[3]), float32(y[7])
	}
	copy(state, y[:])
}

// tangent returns the hyperbolic tangent of x with a relative error of at most 3.1e-8, and NaN for NaN. It is a quotient of
// polynomials, whose two halves a core computes at the same time: a ladder waits for five tangents a sample. By way of an
// exponential, as in package approx, a ladder took 2.8 times as long on an EPYC 9004 (go test -bench Ladder). Each product is
// rounded by a conversion, because some compilers would fuse it with a sum, which vector code does not.
func tangent(x float64) float64 {
	if x > bend.Most {
		x = bend.Most
	}
	if x < -bend.Most {
		x = -bend.Most
	}
	u := x * x
	v := u * u
	p := (bend.P0 + float64(bend.P1*u)) + float64(v*((bend.P2+float64(bend.P3*u))+float64(v*bend.P4)))
	q := (1 + float64(bend.Q1*u)) + float64(v*((bend.Q2+float64(bend.Q3*u))+float64(v*bend.Q4)))
	return x * p / q
}
