package recurrence

import (
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

func TestEnvelope(t *testing.T)         { testOp(t, Envelope) }
func TestEnvelopeBarriers(t *testing.T) { testBarriers(t, &Envelope) }

func TestEnvelopeBlocks(t *testing.T) {
	for _, p := range []EnvelopeParams{{0.005, 0.1, 44100}, {0, 0, 48000}, {0.5, 0.001, 48000}, {1000, 1000, 192000}, {0, 1000, 192000}} {
		testBlocks(t, &Envelope, p, 2e-6)
	}
}

func TestEnvelopePlan(t *testing.T) {
	p := EnvelopeParams{Attack: 0.005, Release: 0.1, SampleRate: 44100}
	testPlan(t, &Envelope, NewEnvelope, p)
	testSilence(t, &Envelope, EnvelopeParams{0, 0.052, 1000}, 1e-20)
	nan := math.NaN()
	refused(t, NewEnvelope, "sample rate", EnvelopeParams{1, 1, 0}, EnvelopeParams{1, 1, nan}, EnvelopeParams{1, 1, math.Inf(1)})
	refused(t, NewEnvelope, "want both from 0 to 1000", EnvelopeParams{-1, 1, 48000}, EnvelopeParams{1, nan, 48000}, EnvelopeParams{1001, 1, 48000})
}

func TestEnvelopeVectors(t *testing.T) {
	for _, p := range []EnvelopeParams{{0.005, 0.1, 44100}, {0.1, 0, 44100}} {
		testVectors(t, &Envelope, p, func(p EnvelopeParams) kernel { return newEnvelope(p.coefficients()) })
	}
	testApart(t, &Envelope, Envelope.Params(kernels.Shape{}))
}

// Within its time, the follower has come within 1/e of a new level.
func TestEnvelopeTimes(t *testing.T) {
	const rate = 8000
	x := make([]float32, 3*rate)
	for i := range rate {
		x[i] = -1
	}
	y := outputs(t, NewEnvelope, EnvelopeParams{Attack: 0.01, Release: 0.25, SampleRate: rate}, x...)
	for at, want := range map[int]float64{80 - 1: 1 - 1/math.E, rate - 1: 1, rate + 2000 - 1: 1 / math.E} {
		if math.Abs(float64(y[at])-want) > 1e-5 {
			t.Errorf("after %d samples the envelope is %g, want %g", at+1, y[at], want)
		}
	}
}

// A constant level with a slow follower: float32 alone would stop below it.
func TestSlowEnvelope(t *testing.T) {
	p := EnvelopeParams{Attack: 20, Release: 20, SampleRate: 48000}
	x := make([]float32, 20000)
	for i := range x {
		x[i] = 0.7
	}
	for name, plan := range kerneltest.Plans(t, &Envelope, p) {
		state, next, y := kernels.Float64Words([]float64{0.69999}), kernels.Float64Words([]float64{0}), make([]float32, len(x))
		if err := plan.Run(kernels.Shape{1, len(x)}, kernels.Args{y, next, x, state}); err != nil {
			t.Fatal(err)
		}
		level := float64(float32(0.7))
		want := level - (level-0.69999)*math.Exp(-20000/(20*48000.0))
		if got := kernels.Float64s(next)[0]; math.Abs(got-want) > 1e-10 {
			t.Errorf("%s: the envelope ends at %.12f, want %.12f", name, got, want)
		}
	}
}

func BenchmarkEnvelope(b *testing.B) { benchmark(b, &Envelope) }
