package recurrence

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
	"crossover/kernels/elementwise"
)

// CompressorParams describes a compressor. Times are as in [EnvelopeParams].
type CompressorParams struct {
	Threshold       float64 // decibels of full scale, −120 to 20; full scale is a magnitude of 1
	Ratio           float64 // of decibels above the threshold before and after, from 1 to +Inf; +Inf is a limiter
	Knee            float64 // width in decibels around the threshold, in which the ratio rises from 1; 0 to 120
	Attack, Release float64 // seconds
	Makeup          float64 // decibels by which the output is louder, −120 to 120
	SampleRate      float64 // Hz
}

// Compressor declares a feed-forward compressor. The gain is computed and smoothed in decibels. With the level l = 20·log₁₀|x[n]|,
// the threshold T, the ratio r, the knee k and o = l − T, the level is to be lowered by
//
//	g = 0                               where 2o < −k,
//	    (1 − 1/r)·(o + k/2)² / 2k       where −k ≤ 2o ≤ k,
//	    (1 − 1/r)·o                     where 2o > k.
//
// The follower of [Envelope] smooths g: the attack is for a g above its smoothed value s, the release for one below it. The
// output is x[n]·10^((makeup − s[n])/20). It is measured with a threshold of −20 dB, a ratio of 4, a knee of 6 dB, an attack
// of 5 ms, a release of 100 ms and a make-up of 6 dB at 44.1 kHz, whatever the sample rate of the recording.
//
// Source: D. Giannoulis, M. Massberg, J. D. Reiss, Digital Dynamic Range Compressor Design — A Tutorial and Analysis, JAES
// 60(6), 2012: the gain computer with a soft knee, the smooth branching peak detector behind it.
var Compressor = declare(family[CompressorParams]{
	name:    "compressor",
	formula: "y = x·10^((6 − s)/20), s follows g(20·log₁₀|x|) as envelope does; g: threshold −20 dB, ratio 4, knee 6 dB",
	source:  "Giannoulis, Massberg, Reiss, Digital Dynamic Range Compressor Design, JAES 60(6), 2012",
	winner:  "each sample waits for the one before it",
	params:  CompressorParams{Threshold: -20, Ratio: 4, Knee: 6, Attack: 0.005, Release: 0.1, Makeup: 6, SampleRate: 44100},
	state:   func(CompressorParams) (kernels.Element, int) { return kernels.Float64, 1 },
	reference: func(p CompressorParams, state, y []float64, x []float32) {
		attack, release := stepOf(p.Attack, p.SampleRate), stepOf(p.Release, p.SampleRate)
		for i, v := range x {
			state[0] = followed(state[0], p.reduction(20*math.Log10(math.Abs(float64(v)))), attack, release)
			y[i] = float64(v) * math.Pow(10, (p.Makeup-state[0])/20)
		}
	},
	flops: 50, threads: 1, // a logarithm and an exponential
	by: []kernels.Makers[CompressorParams]{
		overChannels(1, pace{together: 1, perMicrosecond: 256}, func(p CompressorParams) kernel { return newCompressor(p) }),
		kernels.KernelText("", perChannel(compressorSource, 8, func(p CompressorParams) []any {
			c := newCompressor(p)
			return []any{float32(c.attack), float32(c.release), c.quiet, c.threshold, c.knee / 2, c.curve, c.slope, c.perDecibel, c.makeup}
		})),
	},
})

//go:embed compressor.metal
var compressorText string

var compressorSource = gpu.Source{Name: "follower.metal+compressor.metal", Text: followerText + compressorText}

// NewCompressor returns the plan of a compressor on count channels, which are compressed apart from each other. The plan
// chooses by d, which may be nil: see [kernels.NewPlan]. NewCompressor fails if a parameter is out of its range or if count
// is not 1 to 1 Mi.
func NewCompressor(d *dispatch.Dispatcher, p CompressorParams, count int) (*Plan[CompressorParams], error) {
	if err := checkTimes("compressor", p.SampleRate, p.Attack, p.Release); err != nil {
		return nil, err
	}
	for _, v := range []struct {
		name             string
		value, low, high float64
	}{
		{"threshold", p.Threshold, -120, 20}, {"ratio", p.Ratio, 1, math.Inf(1)}, {"knee", p.Knee, 0, 120}, {"make-up", p.Makeup, -120, 120},
	} {
		if !(v.value >= v.low && v.value <= v.high) {
			return nil, fmt.Errorf("compressor: %s %g: want %g to %g", v.name, v.value, v.low, v.high)
		}
	}
	return newPlan(d, &Compressor, p, count)
}

// reduction returns by how many decibels a level is to be lowered.
func (p CompressorParams) reduction(level float64) float64 {
	over, slope := level-p.Threshold, 1-1/p.Ratio
	switch {
	case 2*over < -p.Knee:
		return 0
	case 2*over <= p.Knee && p.Knee > 0:
		return slope * (over + p.Knee/2) * (over + p.Knee/2) / (2 * p.Knee)
	}
	return slope * over
}

// compressor is a compressor on a processor. The logarithms and exponentials of a block are vectors of float32: they do not
// wait for each other, as the samples of the follower do.
type compressor struct {
	follower
	quiet      float32 // a magnitude that is not lowered, just below those that are
	threshold  float32 // decibels
	knee       float32 // decibels
	curve      float32 // (1 − 1/r)/2k
	slope      float32 // 1 − 1/r
	perDecibel float32 // nepers
	makeup     float32 // nepers

	levels [pair][settleEvery]float32 // of a block, and then its gains
}

// decibelsPerNeper is 20·log₁₀ e.
const decibelsPerNeper = 20 * math.Log10E

func newCompressor(p CompressorParams) *compressor {
	c := &compressor{
		follower:  follower{stepOf(p.Attack, p.SampleRate), stepOf(p.Release, p.SampleRate)},
		quiet:     float32(math.Pow(10, (p.Threshold-p.Knee/2)/20) * (1 - 1e-5)),
		threshold: float32(p.Threshold), knee: float32(p.Knee), slope: float32(1 - 1/p.Ratio),
		perDecibel: 1 / decibelsPerNeper, makeup: float32(p.Makeup / decibelsPerNeper),
	}
	if p.Knee > 0 {
		c.curve = float32((1 - 1/p.Ratio) / (2 * p.Knee))
	}
	return c
}

func (c *compressor) one(state []float64, dst, src []float32) {
	levels, s := c.measure(0, src), state[0]
	for i, level := range levels {
		d := float64(c.reduction(level)) - s
		s += c.coefficient(d) * d
		levels[i] = c.makeup - float32(s)*c.perDecibel
	}
	state[0] = s
	apply(dst, src, levels)
}

func (c *compressor) two(state []float64, dst0, dst1, src0, src1 []float32) {
	levels0, levels1 := c.measure(0, src0), c.measure(1, src1)
	levels1 = levels1[:len(levels0)]
	s0, s1 := state[0], state[1]
	for i, level := range levels0 {
		d0, d1 := float64(c.reduction(level))-s0, float64(c.reduction(levels1[i]))-s1
		s0 += c.coefficient(d0) * d0
		s1 += c.coefficient(d1) * d1
		levels0[i], levels1[i] = c.makeup-float32(s0)*c.perDecibel, c.makeup-float32(s1)*c.perDecibel
	}
	state[0], state[1] = s0, s1
	apply(dst0, src0, levels0)
	apply(dst1, src1, levels1)
}

// measure returns the levels of samples in nepers. A sample below quiet counts as quiet, because the level of silence is infinite.
func (c *compressor) measure(lane int, src []float32) []float32 {
	levels, quiet := c.levels[lane][:len(src)], c.quiet
	for i, x := range src {
		x = float32(magnitude(x))
		if x < quiet {
			x = quiet
		}
		levels[i] = x
	}
	elementwise.Logs(levels, levels)
	return levels
}

// reduction returns by how many decibels a level in nepers is to be lowered.
func (c *compressor) reduction(level float32) float32 {
	over := level*decibelsPerNeper - c.threshold
	switch {
	case 2*over < -c.knee:
		return 0
	case 2*over <= c.knee:
		return c.curve * (over + c.knee/2) * (over + c.knee/2)
	}
	return c.slope * over
}

// apply multiplies samples by the exponentials of gains in nepers.
func apply(dst, src, gains []float32) {
	elementwise.Exps(gains, gains)
	dst, gains = dst[:len(src)], gains[:len(src)]
	for i, x := range src {
		dst[i] = x * gains[i]
	}
}
