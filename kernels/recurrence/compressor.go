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
// output is x[n]·10^((makeup − s[n])/20). A gain below 2⁻¹²⁶, which takes samples of 10³² and more, loses digits or is 0. It is
// measured with a threshold of −20 dB, a ratio of 4, a knee of 6 dB, an attack of 5 ms, a release of 100 ms and a make-up of 6 dB
// at 44.1 kHz, whatever the sample rate of the recording.
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
		kernels.Revised(1, overChannels(1, pace{together: 1, perMicrosecond: 512, least: lanes, rest: pair}, func(p CompressorParams) kernel {
			return newCompressor(p)
		})), // vector code
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

// compressor is a compressor on a processor. Only the follower waits for the sample before. The reductions of a block, and then
// its gains, are vectors of float32.
type compressor struct {
	envelope           // of the reductions
	quiet      float32 // a magnitude that is not lowered, just below those that are; a normal number
	threshold  float32 // decibels
	knee       float32 // decibels
	curve      float32 // (1 − 1/r)/2k
	slope      float32 // 1 − 1/r
	perDecibel float32 // nepers
	makeup     float32 // nepers

	greater  bool                   // whether smoothGo is the follower
	smoother [4][lanes]float64      // attack, release, and what they lack to 1, in all lanes
	curves   [7][eight]float32      // quiet, threshold, half of the knee, curve, slope, perDecibel and makeup, in all lanes
	levels   [turn * widest]float32 // reductions of a block, and then smoothed ones
}

const (
	// eight is the number of samples in a vector.
	eight = 8

	// turn is the number of samples of many channels whose reductions are kept. With more, they would not fit into the nearest
	// cache beside the samples.
	turn = 64

	// decibelsPerNeper is 20·log₁₀ e.
	decibelsPerNeper = 20 * math.Log10E

	// leastKnee is a width in decibels that float32 levels do not resolve. A curve for a far narrower knee would be infinite.
	leastKnee = 1e-20
)

func newCompressor(p CompressorParams) *compressor {
	c := &compressor{
		envelope:  *newEnvelope(stepOf(p.Attack, p.SampleRate), stepOf(p.Release, p.SampleRate)),
		quiet:     float32(math.Pow(10, (p.Threshold-p.Knee/2)/20) * (1 - 1e-5)),
		threshold: float32(p.Threshold), slope: float32(1 - 1/p.Ratio),
		perDecibel: 1 / decibelsPerNeper, makeup: float32(p.Makeup / decibelsPerNeper),
	}
	if p.Knee > leastKnee {
		c.knee, c.curve = float32(p.Knee), float32((1-1/p.Ratio)/(2*p.Knee))
	}
	c.greater = haveSIMD && c.attack >= c.release
	for k, v := range []float64{c.attack, c.release, 1 - c.attack, 1 - c.release} {
		for i := range lanes {
			c.smoother[k][i] = v
		}
	}
	for k, v := range []float32{c.quiet, c.threshold, c.knee / 2, c.curve, c.slope, c.perDecibel, c.makeup} {
		for i := range eight {
			c.curves[k][i] = v
		}
	}
	return c
}

// oneGo is [kernel]'s one, stage by stage.
func (c *compressor) oneGo(state []float64, dst, src []float32) {
	levels := c.levels[:len(src)]
	c.reduce(levels, src)
	if c.greater {
		state[0] = c.smoothGo(state[0], levels)
	} else {
		c.envelope.one(state, levels, levels)
	}
	c.amplify(dst, src, levels)
}

// two is [kernel]'s.
func (c *compressor) two(state []float64, dst0, dst1, src0, src1 []float32) {
	n := len(src0)
	levels0, levels1 := c.levels[:n], c.levels[settleEvery:][:n]
	c.reduce(levels0, src0)
	c.reduce(levels1, src1[:n])
	c.smoothTwo(state, levels0, levels1)
	c.amplify(dst0, src0, levels0)
	c.amplify(dst1, src1[:n], levels1)
}

// reduceGo sets dst[i] to the decibels by which src[i] is to be lowered. A sample below quiet counts as quiet, because the level of
// silence is infinite. An infinite sample counts as NaN: its reduction would make the gains of all later ones NaN in any case.
// Products are rounded as in [tangent].
func (c *compressor) reduceGo(dst, src []float32) {
	dst = dst[:len(src)]
	for i, x := range src {
		x = float32(magnitude(x))
		if x < c.quiet {
			x = c.quiet
		} else if x > math.MaxFloat32 {
			x = float32(math.NaN())
		}
		dst[i] = x
	}
	elementwise.Logs(dst, dst)
	for i, level := range dst {
		dst[i] = c.reduction(level)
	}
}

// reduction returns by how many decibels a level in nepers is to be lowered.
func (c *compressor) reduction(level float32) float32 {
	over := float32(level*decibelsPerNeper) - c.threshold
	switch half := c.knee / 2; {
	case over < -half:
		return 0
	case over <= half:
		return float32(c.curve*(over+half)) * (over + half)
	}
	return c.slope * over
}

// smoothGo replaces reductions by smoothed ones, and returns the value after s. Where the attack is at least as fast as the
// release, the right one of two steps is the one that ends at the greater value. So there is nothing to guess, and a step waits
// for a fused multiplication and a comparison only. s must not be infinite, because not both steps may end at NaN.
func (c *compressor) smoothGo(s float64, levels []float32) float64 {
	keepAttack, keepRelease := 1-c.attack, 1-c.release
	for i, v := range levels {
		a, r := math.FMA(keepAttack, s, c.attack*float64(v)), math.FMA(keepRelease, s, c.release*float64(v))
		if s = r; a > r {
			s = a
		}
		levels[i] = float32(s)
	}
	return s
}

// finite makes infinities NaNs, which a step of a follower makes of them in any case.
func finite(state []float64) {
	for i, v := range state {
		state[i] = v + 0*v
	}
}

// amplifyGo multiplies samples by the gains for smoothed reductions. It changes those.
func (c *compressor) amplifyGo(dst, src, levels []float32) {
	levels, dst = levels[:len(src)], dst[:len(src)]
	for i, s := range levels {
		levels[i] = c.makeup - float32(s*c.perDecibel)
	}
	elementwise.Exps(levels, levels)
	for i, x := range src {
		dst[i] = x * levels[i]
	}
}
