package recurrence

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/gpu"
	"crossover/kernels"
)

// EnvelopeParams describes an envelope follower. Times are the seconds in which the follower comes within 1/e of a new level,
// from 0 to 1000. A time of 0 follows at once.
type EnvelopeParams struct {
	Attack, Release float64 // seconds
	SampleRate      float64 // Hz
}

// Envelope declares the envelope follower: a one-pole low-pass of the magnitude, with a coefficient for rising levels and
// another one for falling levels,
//
//	e[n] = e[n−1] + c·(|x[n]| − e[n−1])
//
// where c is 1 − exp(−1/(attack·R)) if |x[n]| > e[n−1] and 1 − exp(−1/(release·R)) otherwise, at a sample rate of R. The
// output is e. It is measured with an attack of 5 ms and a release of 100 ms at 44.1 kHz, whatever the sample rate of the
// recording.
//
// Source: D. Giannoulis, M. Massberg, J. D. Reiss, Digital Dynamic Range Compressor Design — A Tutorial and Analysis, JAES
// 60(6), 2012, section 2.3: the smooth branching peak detector.
var Envelope = declare(family[EnvelopeParams]{
	name:    "envelope",
	formula: "e ← e + c·(|x| − e), c = 1 − exp(−1/(t·R)); t: attack 5 ms where |x| > e, release 100 ms elsewhere, R = 44 100 Hz",
	source:  "Giannoulis, Massberg, Reiss, Digital Dynamic Range Compressor Design, JAES 60(6), 2012, smooth branching peak detector",
	winner:  "each sample waits for the one before it",
	params:  EnvelopeParams{Attack: 0.005, Release: 0.1, SampleRate: 44100},
	state:   func(EnvelopeParams) (kernels.Element, int) { return kernels.Float64, 1 },
	reference: func(p EnvelopeParams, state, y []float64, x []float32) {
		attack, release := p.coefficients()
		for i, v := range x {
			state[0] = followed(state[0], math.Abs(float64(v)), attack, release)
			y[i] = state[0]
		}
	},
	flops: 5, threads: 1,
	by: []kernels.Makers[EnvelopeParams]{
		kernels.RevisedAt(4, inVectors, kernels.Revised(1, overChannels(1, pace{together: lanes, perMicrosecond: 2560, least: lanes}, func(p EnvelopeParams) kernel {
			return newEnvelope(p.coefficients())
		})), "go-parallel"),
		kernels.KernelText("", perChannel(envelopeSource, 16, func(p EnvelopeParams) []any {
			attack, release := p.coefficients()
			return []any{float32(attack), float32(release)}
		})),
	},
})

// inVectors reports whether channels are not divided into pairs any more, on however many cores. Two cores took as long for two pairs
// as one for the four together, and twice as long if the input is noise, because Go's code branches where a level rises or falls.
func inVectors(s kernels.Shape) bool { return s[channels] >= lanes }

// envelope is an envelope follower on a processor.
type envelope struct {
	follower
	coefficients [2][lanes]float64 // of the attack and of the release, in all lanes
}

func newEnvelope(attack, release float64) *envelope {
	e := &envelope{follower: newFollower(attack, release)}
	for i := range lanes {
		e.coefficients[0][i], e.coefficients[1][i] = attack, release
	}
	return e
}

//go:embed envelope.metal
var envelopeText string

var envelopeSource = gpu.Source{Name: "follower.metal+envelope.metal", Text: followerText + envelopeText}

// NewEnvelope returns the plan of an envelope follower on count channels. The plan chooses by d, which may be nil: see
// [kernels.NewPlan]. NewEnvelope fails if a parameter is out of its range or if count is not 1 to 1 Mi.
func NewEnvelope(d *dispatch.Dispatcher, p EnvelopeParams, count int) (*Plan[EnvelopeParams], error) {
	if err := checkTimes("envelope", p.SampleRate, p.Attack, p.Release); err != nil {
		return nil, err
	}
	return newPlan(d, &Envelope, p, count)
}

// longestTime is the longest time of a follower in seconds. From there on, two float32 could not hold its steps.
const longestTime = 1000

func checkTimes(name string, rate, attack, release float64) error {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return fmt.Errorf("%s: sample rate %g Hz: want a positive number", name, rate)
	}
	for _, t := range []float64{attack, release} {
		if !(t >= 0 && t <= longestTime) {
			return fmt.Errorf("%s: attack %g s and release %g s: want both from 0 to %d", name, attack, release, longestTime)
		}
	}
	return nil
}

func (p EnvelopeParams) coefficients() (attack, release float64) {
	return stepOf(p.Attack, p.SampleRate), stepOf(p.Release, p.SampleRate)
}

// stepOf returns the coefficient of a time.
func stepOf(seconds, rate float64) float64 { return -math.Expm1(-1 / (seconds * rate)) }

// followed returns the level after e when it follows v.
func followed(e, v, attack, release float64) float64 {
	if v > e {
		return e + attack*(v-e)
	}
	return e + release*(v-e)
}
