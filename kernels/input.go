package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// Input is the recording that the audio operations compute on: mono, float32 in [−1, 1].
type Input struct {
	Samples    []float32
	SampleRate float64 // Hz
	Name       string  // where the samples came from: "generated" or a file name

	// Absent says that a problem gets no data at all. Its calls can be bound, which makes their launch plans, and cannot run.
	Absent bool
}

// GeneratedInput returns what the audio operations compute on without a recording. It lasts five seconds at 22 050 Hz, and
// it is the sum of a vibrato tone with harmonics, a rising chirp, clicks at 120 beats a minute, and quiet noise. Because of
// the noise, values do not decay into denormals. Each call returns samples of its own.
func GeneratedInput() Input {
	return Input{Samples: slices.Clone(generated()), SampleRate: generatedRate, Name: "generated"}
}

const generatedRate = 22050 // Hz

// generated computes the samples of GeneratedInput once, because the sines take longer than the calls of most tests.
var generated = sync.OnceValue(func() []float32 {
	const rate, seconds = generatedRate, 5
	n := rate * seconds
	x := make([]float64, n)
	for i := range x {
		t := float64(i) / rate
		vibrato := 0.3 * math.Sin(2*math.Pi*5*t)
		for h := 1.0; h <= 5; h++ {
			x[i] += 0.15 / h * math.Sin(2*math.Pi*220*h*t+vibrato)
		}
		x[i] += 0.1 * math.Sin(2*math.Pi*(100*t+3900/(2.0*seconds)*t*t))
	}
	for beat := 0.25; beat < seconds; beat += 0.5 {
		start := int(beat * rate)
		for i := 0; i < 600 && start+i < n; i++ {
			x[start+i] += 0.6 * math.Exp(-float64(i)/80) * math.Sin(2*math.Pi*1500*float64(i)/rate)
		}
	}
	rng := rand.New(rand.NewPCG(12345, 0))
	samples := make([]float32, n)
	for i := range x {
		samples[i] = float32(x[i] + 0.01*(2*rng.Float64()-1))
	}
	return samples
})

// Fill fills dst with the recording from its beginning, repeated as often as needed. If the recording is empty, it fills dst
// with zeros.
func (in Input) Fill(dst []float32) {
	if len(in.Samples) == 0 {
		clear(dst)
		return
	}
	for n := 0; n < len(dst); {
		n += copy(dst[n:], in.Samples)
	}
}

// Noise fills dst with seeded uniform values in [−1, 1). Operations that do not compute on audio have such inputs.
func Noise(dst []float32, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x63726f73))
	for i := range dst {
		dst[i] = 2*rng.Float32() - 1
	}
}
