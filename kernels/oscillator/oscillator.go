// Package oscillator renders a bank of synthesiser voices, mixed to one channel of float32 audio.
//
// A voice is the sum of a sine and a detuned sawtooth, under a linear attack-decay-sustain-release envelope. At n samples
// after Reset, with sample rate R, V voices, and for voice v frequency f, detune d in cents and envelope e,
//
//	y[n] = 1/V · Σᵥ eᵥ(n/R) · ½·(sin(2π·φ(f·n/R)) + 2·φ(f·2^(d/1200)·n/R))
//
// where φ(p) = p − ⌊p+½⌋ is the phase in cycles, wrapped to [−½, ½), and with t in seconds
//
//	e(t) = t/attack                                until attack,
//	       1 − (1−sustain)·(t−attack)/decay        until attack+decay,
//	       sustain                                 until gate,
//	       e(gate)·(1 − (t−gate)/release)          until gate+release, and 0 from there on.
//
// The gate may close early; the release then starts from the level that the envelope has reached. The output stays in
// [−1, 1]. The sawtooth is not band-limited, so it aliases.
//
// Phases are 64-bit fractions of a cycle, which wrap by themselves. Only a wrapped phase is converted to float32, so the
// error does not grow with time. The step from sample to sample is rounded up to such a fraction. So a phase of exactly ½
// has wrapped, and the sawtooth is −1 there. At 48 kHz the phase of 1000 Hz is exactly ½ once every 48 samples. A block of
// 512 samples at 44.1 kHz must be ready within 11.61 ms to be heard in time.
//
// Programs make a [Plan] and call Render once a block.
//
// Source: F. R. Moore, Elements of Computer Music, Prentice Hall 1990, sections 3.2 (oscillators) and 3.3 (envelopes).
package oscillator

import (
	"fmt"
	"math"
	"slices"

	"crossover/dispatch"
	"crossover/kernels"
)

// Voice is one voice of the bank. Times are in seconds, from 0 to 1e6, and a stage may take no time. Attack and Gate count
// from Reset, Decay from the end of the attack, and Release from Gate.
type Voice struct {
	Frequency float64 // of the sine, in Hz; it and that of the sawtooth must lie in [0, SampleRate/2)
	Detune    float64 // of the sawtooth above the sine, in cents: hundredths of a semitone
	Attack    float64
	Decay     float64
	Sustain   float64 // level in [0, 1]
	Gate      float64 // time at which the release begins
	Release   float64
}

// Params describes a bank.
type Params struct {
	SampleRate float64 // Hz, above 0
	Voices     []Voice
}

// check fails if a value is outside its range.
func (p Params) check() error {
	if !(p.SampleRate > 0) || math.IsInf(p.SampleRate, 1) {
		return fmt.Errorf("oscillator: sample rate %g Hz: want a positive number", p.SampleRate)
	}
	if len(p.Voices) == 0 {
		return fmt.Errorf("oscillator: no voices: want at least one")
	}
	for i, v := range p.Voices {
		if !(v.Frequency >= 0 && v.Frequency < p.SampleRate/2) {
			return fmt.Errorf("oscillator: voice %d: frequency %g Hz: want at least 0 and less than half of %g", i, v.Frequency, p.SampleRate)
		}
		if f := v.Frequency * cents(v.Detune); math.IsInf(v.Detune, 0) || !(f >= 0 && f < p.SampleRate/2) {
			return fmt.Errorf("oscillator: voice %d: %g Hz detuned by %g cents: want finite cents, and a frequency from 0 to less than half of %g Hz", i, v.Frequency,
				v.Detune, p.SampleRate)
		}
		if !(v.Sustain >= 0 && v.Sustain <= 1) {
			return fmt.Errorf("oscillator: voice %d: sustain %g: want 0 to 1", i, v.Sustain)
		}
		for _, t := range []float64{v.Attack, v.Decay, v.Gate, v.Release} {
			if !(t >= 0 && t <= maxSeconds) {
				return fmt.Errorf("oscillator: voice %d: envelope time %g s: want 0 to %g", i, t, float64(maxSeconds))
			}
		}
	}
	return nil
}

// maxSeconds is the greatest time in an envelope. It keeps numbers of samples far from overflow.
const maxSeconds = 1e6

// cents returns the ratio of two frequencies that are c cents apart.
func cents(c float64) float64 { return math.Exp2(c / 1200) }

// Plan renders a bank by the implementation that is fastest at its number of voices. Only one goroutine at a time may use a
// Plan.
type Plan struct {
	// Explain takes a number of samples, on which the choice does not depend.
	*kernels.SizedPlan[Params]

	position int64     // samples since Reset
	words    [2]uint32 // the words of the position of a call
}

// New returns the plan of a bank. The plan chooses by d, which may be nil: see [kernels.NewPlan]. New copies the voices. It
// fails if p has no voices or a value out of its range.
func New(d *dispatch.Dispatcher, p Params) (*Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	p.Voices = slices.Clone(p.Voices)
	return &Plan{SizedPlan: kernels.NewPlan(d, &Op, p).Along(samples, kernels.Shape{voices: len(p.Voices)})}, nil
}

// Render fills dst with the next len(dst) samples, and advances the position by as many. The times that the calibration
// predicts decide on the implementation. In a calibration without predictions the number of voices decides, as measured on
// blocks of 512 samples. Render allocates nothing at a length at which the implementation has
// run twice. An implementation on a GPU remembers only the last few lengths. Render fails only if every implementation
// fails, and then it does not advance.
func (p *Plan) Render(dst []float32) error {
	p.words = positionWords(p.position)
	if err := kernels.RunSized(p.SizedPlan, len(dst), &kernels.Args{dst, kernels.Uint32Words(p.words[:])}); err != nil {
		return err
	}
	p.position += int64(len(dst))
	return nil
}

// Reset goes back to the first sample, at which all phases are 0 and all attacks begin.
func (p *Plan) Reset() { p.position = 0 }

// Program is the [kernels.Program] of the operation.
var Program = kernels.NewProgram(New, func(p *Plan, _ kernels.Shape, a *kernels.Args) error {
	p.position = positionOf(a)
	return p.Render(a[0])
})

// Reference returns n samples of a bank from Reset on, by the definition in float64.
func Reference(p Params, n int) []float64 { return referenceFrom(p, 0, n) }

// referenceFrom is [Reference] from a position on.
func referenceFrom(p Params, position int64, n int) []float64 {
	y := make([]float64, n)
	for i := range y {
		at := float64(position + int64(i))
		t := at / p.SampleRate
		for _, v := range p.Voices {
			// A phase that is a whole number of halves is exact, because it is multiplied first and divided last.
			sine := math.Sin(2 * math.Pi * wrap(v.Frequency*at/p.SampleRate))
			saw := 2 * wrap(v.Frequency*cents(v.Detune)*at/p.SampleRate)
			y[i] += v.level(t) * (sine + saw) / 2
		}
		y[i] /= float64(len(p.Voices))
	}
	return y
}

// wrap returns a phase in cycles, wrapped to [−½, ½).
func wrap(p float64) float64 { return p - math.Floor(p+0.5) }

// level returns the envelope at t seconds.
func (v Voice) level(t float64) float64 {
	held := func(t float64) float64 {
		switch {
		case t < v.Attack:
			return t / v.Attack
		case t < v.Attack+v.Decay:
			return 1 - (1-v.Sustain)*(t-v.Attack)/v.Decay
		}
		return v.Sustain
	}
	switch {
	case t < v.Gate:
		return held(t)
	case t < v.Gate+v.Release:
		return held(v.Gate) * (1 - (t-v.Gate)/v.Release)
	}
	return 0
}
