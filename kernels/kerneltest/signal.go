package kerneltest

import "math"

// SignalRate is the sampling rate of Signal, in hertz.
const SignalRate = 22050

// Signal returns the first n samples of the signal from which librosa, NumPy and SciPy computed the arrays in testdata folders.
// It has five seconds: a tone with vibrato and harmonics, a rising chirp, clicks at 120 beats a minute, and quiet noise.
func Signal(n int) []float32 {
	const seconds = 5
	if n > seconds*SignalRate {
		panic("kerneltest: the signal has five seconds")
	}
	x := make([]float32, n)
	state := uint32(12345)
	for i := range x {
		t := float64(i) / SignalRate
		tone := 0.0
		for h := 1.0; h <= 5; h++ {
			tone += math.Sin(2*math.Pi*220*h*t+0.3*math.Sin(2*math.Pi*5*t)) / h
		}
		chirp := 0.1 * math.Sin(2*math.Pi*(100*t+(4000-100)/(2*seconds)*t*t))
		state = 1664525*state + 1013904223
		noise := float64(state)/(1<<31) - 1
		x[i] = float32(0.15*tone + chirp + click(i) + 0.01*noise)
	}
	return x
}

// click returns the clicks at a sample: one from 0.25 s on, and then one every half second, each of 600 samples.
func click(i int) float64 {
	for beat := 0.25; ; beat += 0.5 {
		since := i - int(beat*SignalRate)
		if since < 0 {
			return 0
		}
		if since < 600 {
			j := float64(since)
			return 0.6 * math.Exp(-j/80) * math.Sin(2*math.Pi*1500*j/SignalRate)
		}
	}
}
