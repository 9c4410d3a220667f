package recurrence

import (
	"math"
	"testing"

	"crossover/kernels"
)

func TestCompressor(t *testing.T)         { testOp(t, Compressor) }
func TestCompressorBarriers(t *testing.T) { testBarriers(t, &Compressor) }

func TestCompressorBlocks(t *testing.T) {
	for _, p := range []CompressorParams{
		{-20, 4, 6, 0.005, 0.1, 6, 44100}, {-30, math.Inf(1), 0, 0, 0.5, 0, 48000}, {0, 1, 10, 0.1, 0, -20, 48000},
		{-60, 2, 120, 0.01, 0.01, 30, 96000}, {-24, 3, 0, 1000, 1000, 0, 192000},
	} {
		testBlocks(t, &Compressor, p, 2e-6)
	}
}

func TestCompressorPlan(t *testing.T) {
	good := Compressor.Params(kernels.Shape{})
	testPlan(t, &Compressor, NewCompressor, good)
	quick := good
	quick.Release, quick.SampleRate = 0.052, 1000
	testSilence(t, &Compressor, quick, 1e-20)
	with := func(change func(p *CompressorParams)) CompressorParams {
		p := good
		change(&p)
		return p
	}
	refused(t, NewCompressor, "sample rate", with(func(p *CompressorParams) { p.SampleRate = -1 }))
	refused(t, NewCompressor, "want both from 0 to 1000", with(func(p *CompressorParams) { p.Attack = -1 }))
	refused(t, NewCompressor, "threshold -121: want -120 to 20", with(func(p *CompressorParams) { p.Threshold = -121 }))
	refused(t, NewCompressor, "ratio 0.5: want 1 to +Inf", with(func(p *CompressorParams) { p.Ratio = 0.5 }))
	refused(t, NewCompressor, "ratio NaN", with(func(p *CompressorParams) { p.Ratio = math.NaN() }))
	refused(t, NewCompressor, "knee -1: want 0 to 120", with(func(p *CompressorParams) { p.Knee = -1 }))
	refused(t, NewCompressor, "make-up 121: want -120 to 120", with(func(p *CompressorParams) { p.Makeup = 121 }))
}

// The static curve: constant levels come out at the levels that threshold, ratio and knee say.
func TestCompressorCurve(t *testing.T) {
	level := func(decibels float64) float32 { return float32(math.Pow(10, decibels/20)) }
	for _, test := range []struct{ ratio, knee, in, want float64 }{
		{4, 0, -40, -40}, {4, 0, -20, -20}, {4, 0, -8, -17}, {4, 0, 4, -14}, {math.Inf(1), 0, -3, -20}, {1, 0, -3, -3},
		{2, 10, -26, -26}, {2, 10, -25, -25}, {2, 10, -20, -20.625}, {2, 10, -15, -17.5}, {2, 10, -10, -15},
	} {
		p := CompressorParams{Threshold: -20, Ratio: test.ratio, Knee: test.knee, Makeup: 3, SampleRate: 1000} // at once
		for _, x := range []float32{level(test.in), -level(test.in)} {
			got := outputs(t, NewCompressor, p, x)[0]
			if want := float64(level(test.want+3)) * math.Copysign(1, float64(x)); math.Abs(float64(got)/want-1) > 1e-6 {
				t.Errorf("%+v: %g becomes %g, want %g", test, x, got, want)
			}
		}
	}
	if y := outputs(t, NewCompressor, CompressorParams{Threshold: -20, Ratio: 4, SampleRate: 1000}, 0, 1e-42); y[0] != 0 || y[1] != 1e-42 {
		t.Errorf("silence becomes %v", y)
	}
}

func BenchmarkCompressor(b *testing.B) { benchmark(b, &Compressor) }
