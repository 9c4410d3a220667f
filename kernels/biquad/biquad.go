// Package biquad filters float32 audio with a second-order recursive section.
//
// A plan filters any number of channels with one section, or with a cascade of sections. Each channel has a state, which is
// kept from call to call until Reset. The package does not change coefficients during a signal. It designs Butterworth
// low-passes only: [Lowpass] and [LowpassCascade]. [Normalise] takes coefficients from elsewhere. Programs make a [Plan] or a
// [CascadePlan] and call Process. The samples of a call are channels×n, row-major: all n samples of the first channel, then
// those of the second.
//
// The section is direct form II transposed: with input x, output y and state s1, s2,
//
//	y[n] = b0·x[n] + s1[n]
//	s1[n+1] = b1·x[n] − a1·y[n] + s2[n]
//	s2[n+1] = b2·x[n] − a2·y[n]
//
// The implementations substitute the first line into the other two: s1[n+1] = (b1−a1·b0)·x[n] − a1·s1[n] + s2[n], and
// likewise for s2. The state is the same, but there is one operation fewer from s1 to the next s1. A single channel waits
// for these operations.
//
// Coefficients and state are float64 on a processor, which takes as long as float32. Poles near z = 1 need float64. For
// example, b0·x and s1 nearly cancel in a high-pass at 20 Hz for 48 kHz, and float32 would let a thousandth of a constant
// through. A GPU has float32 only. It keeps another state, which section.metal describes, and in which less cancels. On a
// GPU that high-pass lets less than 1e-5 of a constant through, and the error of a low-pass at 3 Hz is at most 1e-4.
//
// A state that decays towards silence would end in denormal numbers. Many processors compute with them a hundred times more
// slowly. So the implementations set the state of a channel to zero if both values are below 1e-30 (−600 dB) after every 256
// samples, and at the end of a call. A GPU, which is as fast with denormals, does so only at the end of a call.
//
// A processor core filters up to eight channels side by side, each in a lane of AVX2 or NEON. A lane computes what the Go code
// does on amd64, in the same order. So a channel has the same bits whatever the others are, and however they are divided among
// cores, unless it is scanned over time. On arm64, Go adds some products without rounding them. There, calls of one or two
// channels or of fewer than 20 samples do not use lanes, and may differ from others in the last bits.
//
// Source: J. O. Smith, Introduction to Digital Filters, https://ccrma.stanford.edu/~jos/filters/Transposed_Direct_Forms.html
package biquad

import (
	"fmt"
	"math"

	"crossover/dispatch"
	"crossover/kernels"
)

// Coefficients are those of y[n] = b0·x[n] + b1·x[n−1] + b2·x[n−2] − a1·y[n−1] − a2·y[n−2], where a0 is 1.
type Coefficients struct {
	B0, B1, B2, A1, A2 float64
}

// Normalise returns the coefficients of the transfer function (b[0] + b[1]·z⁻¹ + b[2]·z⁻²) / (a[0] + a[1]·z⁻¹ + a[2]·z⁻²),
// divided by a[0]. It fails if a[0] is 0 or infinite, or if Coefficients.Check does.
func Normalise(b, a [3]float64) (Coefficients, error) {
	if a[0] == 0 || math.IsInf(a[0], 0) {
		return Coefficients{}, fmt.Errorf("biquad: a0 is %g: want a finite number other than 0", a[0])
	}
	c := Coefficients{
		B0: b[0] / a[0], B1: b[1] / a[0], B2: b[2] / a[0],
		A1: a[1] / a[0], A2: a[2] / a[0],
	}
	return c, c.Check()
}

// lowestCutoff is the least cutoff of Lowpass, as a fraction of the sample rate. The gain at 0 Hz is a quotient of sums that
// nearly cancel. At lowestCutoff five digits of a float64 are left, and at a hundredth of it one digit.
const lowestCutoff = 1e-6

// Lowpass returns the second-order Butterworth low-pass with the given cutoff, at which its gain is −3 dB. Both frequencies
// are in hertz. It fails unless sampleRate/1e6 ≤ cutoff < sampleRate/2. Coefficients in float64 are not exact enough for a
// lower cutoff.
//
// Source: R. Bristow-Johnson, Audio EQ Cookbook, https://www.w3.org/TR/audio-eq-cookbook/, LPF with Q = 1/√2.
func Lowpass(cutoff, sampleRate float64) (Coefficients, error) {
	return damped(cutoff, sampleRate, math.Sqrt2)
}

// damped returns the low-pass of the cookbook with a Q of 1/damping.
func damped(cutoff, sampleRate, damping float64) (Coefficients, error) {
	if !(sampleRate > 0 && cutoff >= lowestCutoff*sampleRate && cutoff < sampleRate/2) {
		return Coefficients{}, fmt.Errorf("biquad: cutoff %g Hz at a sample rate of %g Hz: want at least a millionth of the"+
			" rate and less than half of it", cutoff, sampleRate)
	}
	omega := 2 * math.Pi * (cutoff / sampleRate)
	sin, cos := math.Sincos(omega)
	alpha := sin / 2 * damping // sin/(2Q)
	half := math.Sin(omega / 2)
	gain := half * half // equals (1−cos)/2, which would cancel
	return Normalise([3]float64{gain, 2 * gain, gain}, [3]float64{1 + alpha, -2 * cos, 1 - alpha})
}

// Check fails if a coefficient is not finite or the filter is not stable. A filter is stable if its poles lie inside the
// unit circle, which means |a2| < 1 and |a1| < 1 + a2.
func (c Coefficients) Check() error {
	for _, v := range []float64{c.B0, c.B1, c.B2, c.A1, c.A2} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("biquad: coefficients %v: want finite ones", c)
		}
	}
	if math.Abs(c.A2) >= 1 || math.Abs(c.A1) >= 1+c.A2 {
		return fmt.Errorf("biquad: a1=%g, a2=%g: not stable (want |a2| < 1 and |a1| < 1+a2)", c.A1, c.A2)
	}
	return nil
}

// Plan filters blocks of audio by the implementation that is fastest at their shape: see [kernels.StatePlan]. Process filters
// the next block, and Reset goes back to silence.
type Plan = kernels.StatePlan[Coefficients]

// New returns the plan of a filter on count channels. The plan chooses by d, which may be nil: see [kernels.NewPlan]. New
// fails if the coefficients do not pass Check or if count is not 1 to 1 Mi.
func New(d *dispatch.Dispatcher, c Coefficients, count int) (*Plan, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return kernels.NewStatePlan(d, &Op, c, samples, channels, kernels.Shape{}, count)
}

// Program is the [kernels.Program] of the operation.
var Program = kernels.StateProgram(channels, New)

// Reference returns src filtered by the definition in float64, from silence. Both are channels×n, row-major.
func Reference(c Coefficients, src []float32, channels int) []float64 {
	return filtered(c, make([]state, channels), src)
}

// filtered returns src filtered by the definition in float64, from the given states. It updates the states.
func filtered(c Coefficients, states []state, src []float32) []float64 {
	y := make([]float64, len(src))
	n := len(src) / len(states)
	for channel := range states {
		s := &states[channel]
		for i := channel * n; i < (channel+1)*n; i++ {
			x := float64(src[i])
			y[i] = c.B0*x + s.s1
			s.s1 = c.B1*x - c.A1*y[i] + s.s2
			s.s2 = c.B2*x - c.A2*y[i]
		}
		s.settle()
	}
	return y
}
