package biquad

import (
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// highpass is the high-pass of the Audio EQ Cookbook with Q = 1/√2.
func highpass(t *testing.T, cutoff, sampleRate float64) Coefficients {
	t.Helper()
	sin, cos := math.Sincos(2 * math.Pi * cutoff / sampleRate)
	alpha := sin / math.Sqrt2
	c, err := Normalise([3]float64{(1 + cos) / 2, -(1 + cos), (1 + cos) / 2}, [3]float64{1 + alpha, -2 * cos, 1 - alpha})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lowpass(t *testing.T, cutoff, sampleRate float64) Coefficients {
	t.Helper()
	c, err := Lowpass(cutoff, sampleRate)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// powers returns the first n powers of a ratio, 1 or −1.
func powers(ratio float32, n int) []float32 {
	x := make([]float32, n)
	for i, v := 0, float32(1); i < n; i, v = i+1, v*ratio {
		x[i] = v
	}
	return x
}

// worst returns the greatest difference.
func worst(got []float32, want []float64) float64 {
	var most float64
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= most) {
			most = d
		}
	}
	return most
}

// TestSlowFilters runs filters with poles near z = 1 or z = −1 on constants and on noise. The usual recurrence in float32,
// which is all that GPUs have, leaks constants or loses their gain.
func TestSlowFilters(t *testing.T) {
	const rate = 48000
	for _, test := range []struct {
		name      string
		c         Coefficients
		processor float64 // the greatest error on values of 1
		gpu       float64
	}{
		{"high-pass at 20 Hz", highpass(t, 20, rate), 1e-7, 1e-5},
		{"high-pass at 200 Hz", highpass(t, 200, rate), 1e-7, 2e-6},
		{"high-pass at 1 Hz", highpass(t, 1, rate), 1e-7, 1e-3},
		{"low-pass at 20 Hz", lowpass(t, 20, rate), 1e-7, 1e-4},
		{"low-pass at 3 Hz", lowpass(t, 3, rate), 1e-7, 1e-3},
		{"low-pass at 0.048 Hz", lowpass(t, 0.048, rate), 1e-6, math.Inf(1)},
		{"low-pass at 23 980 Hz", lowpass(t, rate/2-20, rate), 1e-5, 1e-4},
	} {
		const n = 30000
		all := ways(t, test.c)
		noise := make([]float32, n)
		kernels.Noise(noise, 7)
		for name, src := range map[string][]float32{"constant": powers(1, n), "alternating": powers(-1, n), "noise": noise} {
			want := Reference(test.c, src, 1)
			for way, p := range all {
				allowed := test.processor
				if strings.HasPrefix(way, kerneltest.GPUName) {
					allowed = test.gpu
				}
				if kerneltest.Emulated(way) && (name == "noise" || !slices.Contains(few, way) || math.IsInf(allowed, 1)) {
					continue
				}
				// In blocks, so that the caller also keeps the state.
				got, states := slices.Clone(src), make([]state, 1)
				for block := range slices.Chunk(got, 7500) {
					process(t, p, states, block)
				}
				if off := worst(got, want); !(off <= allowed) {
					t.Errorf("%s, %s, %s: off by %.2g, want at most %.2g", test.name, name, way, off, allowed)
				}
			}
		}
	}
}

// few has one strategy for each kernel.
var few = []string{"emulator/8 vectors a channel", "emulator/walk by 64 threads", "emulator/parts of 256 threads"}
