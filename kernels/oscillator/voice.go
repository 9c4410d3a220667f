package oscillator

import (
	"math"
	"math/big"
)

// voice is a Voice as the implementations run it.
type voice struct {
	// Cycles per sample, in units of 2⁻⁶⁴ of a cycle. The phase at sample n is n times that, in wrapping arithmetic, so
	// voices have no state.
	sine, saw uint64
	stages    []stage
}

// stage is a straight piece of an envelope. The envelope is level + slope·(n−start) at sample n, from the end of the earlier
// stages to end. Levels and slopes include the factor ½/V of the mix.
type stage struct {
	start        float64
	level, slope float64
	end          int64
}

// newVoices prepares the voices of a bank.
func newVoices(p Params) []voice {
	voices := make([]voice, len(p.Voices))
	gain := 0.5 / float64(len(p.Voices))
	for i, v := range p.Voices {
		voices[i] = voice{
			sine:   increment(v.Frequency, p.SampleRate),
			saw:    increment(v.Frequency*cents(v.Detune), p.SampleRate),
			stages: newStages(v, p.SampleRate, gain),
		}
	}
	return voices
}

// increment returns the cycles per sample, in [0, ½), in units of 2⁻⁶⁴, rounded up. So phases are never below the exact
// ones, and exceed them by less than a unit per sample. A phase that is exactly ½ must not be computed below ½, where the
// sawtooth has the other sign.
func increment(frequency, sampleRate float64) uint64 {
	cycles := new(big.Rat).SetFloat64(frequency)
	cycles.Quo(cycles, new(big.Rat).SetFloat64(sampleRate))
	units := new(big.Int).Lsh(cycles.Num(), 64)
	units.Add(units, cycles.Denom()).Sub(units, big.NewInt(1))
	return units.Quo(units, cycles.Denom()).Uint64()
}

// newStages returns the stages of an envelope in order of time, without those that take no time.
func newStages(v Voice, sampleRate, gain float64) []stage {
	var stages []stage
	add := func(from, to, level, slope float64) {
		if end := int64(math.Ceil(to * sampleRate)); to > from && end > 0 {
			stages = append(stages, stage{from * sampleRate, gain * level, gain * slope / sampleRate, end})
		}
	}
	add(0, min(v.Attack, v.Gate), 0, 1/v.Attack)
	add(v.Attack, min(v.Attack+v.Decay, v.Gate), 1, (v.Sustain-1)/v.Decay)
	add(v.Attack+v.Decay, v.Gate, v.Sustain, 0)
	add(v.Gate, v.Gate+v.Release, v.level(v.Gate), -v.level(v.Gate)/v.Release)
	return stages
}

// add renders the samples from lo to hi−1 of a block that begins at position, and adds them to dst, which is the whole
// block. Samples do not depend on lo and hi, to the bit.
func (v *voice) add(dst []float32, position int64, lo, hi int) {
	first := 0 // first sample of the stage
	for _, s := range v.stages {
		if first >= hi {
			return
		}
		if s.end <= position {
			continue
		}
		n := int(min(s.end-position, int64(len(dst)-first)))
		if from, to := max(lo, first), min(hi, first+n); from < to {
			level := s.level + s.slope*(float64(position)-s.start)
			at := uint64(position) + uint64(from-first)
			tone(dst[from:to], v.sine*at, v.sine, v.saw*at, v.saw, float32(level), float32(s.slope), from-first)
		}
		first, position = first+n, position+int64(n)
	}
}

// tone adds to dst the sum of a sine and a sawtooth whose phases start at sine and saw and step by sineStep and
// sawStep, under a level that rises by slope a sample and was level `past` samples before.
func tone(dst []float32, sine, sineStep, saw, sawStep uint64, level, slope float32, past int) {
	for i := range dst {
		// The upper half of a phase, read as a signed number, is the phase wrapped to [−½, ½) in units of 2⁻³².
		s := sin2Pi(float32(int32(sine>>32)) * 0x1p-32)
		w := float32(int32(saw>>32)) * 0x1p-31
		dst[i] += (level + slope*float32(past+i)) * (s + w)
		sine += sineStep
		saw += sawStep
	}
}

// sin2Pi returns sin(2πp) for p in [−½, ½], with an absolute error below 3e-7.
//
// The sine divided by its zeros, p·(¼−p²), is a smooth even function. A polynomial of degree 4 in p² approximates it. The
// coefficients minimise the greatest error of the product (found by Remez exchange), which is 1.05e-7 plus the rounding
// errors of float32. The function needs no table and no branch.
func sin2Pi(p float32) float32 {
	const (
		c0 = 25.1327304
		c1 = -64.8346811
		c2 = 67.043898
		c3 = -38.1231967
		c4 = 12.233301
	)
	t := p * p
	return p * (0.25 - t) * (c0 + t*(c1+t*(c2+t*(c3+t*c4))))
}
