package recurrence

import (
	"fmt"
	"math"
	"math/rand/v2"
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
			if want := float64(level(test.want+3)) * math.Copysign(1, float64(x)); !(math.Abs(float64(got)/want-1) <= 1e-6) {
				t.Errorf("%+v: %g becomes %g, want %g", test, x, got, want)
			}
		}
	}
	if y := outputs(t, NewCompressor, CompressorParams{Threshold: -20, Ratio: 4, SampleRate: 1000}, 0, 1e-42); y[0] != 0 || y[1] != 1e-42 {
		t.Errorf("silence becomes %v", y)
	}
}

// unusualCompressors have no knee, the widest one, a ratio of 1, an infinite one, an attack that is slower than the release, and
// times of 0.
var unusualCompressors = []CompressorParams{
	{-20, 4, 6, 0.005, 0.1, 6, 44100}, {-30, math.Inf(1), 0, 0, 0.5, 0, 48000}, {0, 1, 10, 0.1, 0.2, -20, 48000},
	{-120, 2, 120, 0, 0, 120, 96000}, {20, 3, 0, 1000, 1000, -120, 192000}, {-40, 8, 12, 0.2, 0.003, 0, 44100}, {-20, 4, 6, 0.1, 0, 0, 44100},
}

func TestCompressorVectors(t *testing.T) {
	for _, p := range unusualCompressors[:6] {
		if testing.Short() && p != unusualCompressors[0] && p != unusualCompressors[5] {
			continue
		}
		testVectors(t, &Compressor, p, func(p CompressorParams) kernel { return newCompressor(p) })
	}
	testApart(t, &Compressor, Compressor.Params(kernels.Shape{}))
}

// The vector code of a compressor has the bits of the Go code, which calls the same logarithms and exponentials. NaNs may have
// other bits.
func TestCompressorSameBits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, p := range unusualCompressors {
		c := newCompressor(p)
		edge := float32(math.Pow(10, (p.Threshold-p.Knee/2)/20))
		far := float32(math.Pow(10, (p.Threshold+p.Knee/2)/20))
		for n := range 61 {
			src := make([]float32, n+1)
			for i := range src {
				src[i] = float32(unusual(random, 0.2))
				switch random.IntN(8) {
				case 0:
					src[i] = float32(float64(edge) * (1 + 2e-5*random.NormFloat64()))
				case 1:
					src[i] = -float32(float64(far) * (1 + 1e-6*random.NormFloat64()))
				}
			}
			for _, x := range [][]float32{src, src[1:]} {
				got, want := make([]float32, len(x)), make([]float32, len(x))
				c.reduce(got, x)
				c.reduceGo(want, x)
				sameBits(t, fmt.Sprintf("%+v: reduction", p), got, want, x)
				levels := append([]float32(nil), want...)
				copy(got, x)
				c.amplify(got, got, append([]float32(nil), levels...))
				c.amplifyGo(want, x, levels)
				sameBits(t, fmt.Sprintf("%+v: output", p), got, want, x)
			}
		}
	}
}

func sameBits(t *testing.T, what string, got, want, x []float32) {
	t.Helper()
	for i, v := range got {
		if math.Float32bits(v) != math.Float32bits(want[i]) && (v == v || want[i] == want[i]) {
			t.Fatalf("%s of value %d of %d, %g, is %g, want %g", what, i, len(got), x[i], v, want[i])
		}
	}
}

// The vector code of a block has the bits of the Go code, and its follower hardly differs from that of an envelope.
func TestCompressorBlocksSameBits(t *testing.T) {
	if !haveSIMD {
		t.Skip("this processor has no vector code")
	}
	random := rand.New(rand.NewPCG(5, 6))
	for _, p := range unusualCompressors {
		c, exact := newCompressor(p), newEnvelope(stepOf(p.Attack, p.SampleRate), stepOf(p.Release, p.SampleRate))
		for n := 1; n <= 40; n++ {
			for count := 1; count <= widest; count++ {
				if testing.Short() && n != count && n%8 != count%8 {
					continue
				}
				width := (count-1)/lanes*lanes + lanes
				x, state := make([]float32, n*width), make([]float64, width)
				for i := range x {
					x[i] = float32(unusual(random, 0.01))
				}
				for i := range state {
					state[i] = 40 * random.Float64()
				}
				if count > 2 {
					state[1] = math.Inf(1)
				}
				want, end := make([]float32, len(x)), append([]float64(nil), state...)
				src, levels := make([]float32, n), make([]float32, n)
				for channel := range count {
					for i := range src {
						src[i] = x[i*width+channel]
					}
					c.reduceGo(levels, src)
					ends, near := end[channel:channel+1], append([]float32(nil), levels...)
					if e := []float64{ends[0]}; c.greater {
						finite(ends)
						ends[0] = c.smoothGo(ends[0], levels)
						exact.one(e, near, near)
						for i, v := range near {
							if off := math.Abs(float64(v - levels[i])); off > 1e-6*float64(v) {
								t.Fatalf("%+v: %d: smoothed to %g, want %g", p, i, levels[i], v)
							}
						}
					} else {
						c.envelope.one(ends, levels, levels)
					}
					c.amplifyGo(src, src, levels)
					for i, v := range src {
						want[i*width+channel] = v
					}
				}
				got, what := append([]float32(nil), x...), fmt.Sprintf("%+v: %d channels of %d samples: output", p, count, n)
				if count > pair {
					for i := range got {
						if i%width >= count {
							got[i], want[i] = 0, 0
						}
					}
					states := append(append([]float64(nil), state...), make([]float64, width)...)
					kernel(c).(wide).many(states, got, width)
					copy(state, states)
				} else {
					row := make([]float32, pair*n)
					for i := range row {
						row[i] = x[i%n*width+i/n]
					}
					if count == 1 {
						c.one(state[:1], row[:n], row[:n])
					} else {
						c.two(state[:pair], row[:n], row[n:], row[:n], row[n:])
					}
					for i := range got {
						if got[i] = 0; i%width < count {
							got[i] = row[i%width*n+i/width]
						}
					}
				}
				sameBits(t, what, got, want, x)
				for i, v := range state[:count] {
					if math.Float64bits(v) != math.Float64bits(end[i]) && (v == v || end[i] == end[i]) {
						t.Fatalf("%s: the state of channel %d is %g, want %g", what, i, v, end[i])
					}
				}
			}
		}
	}
}

// A knee that float32 does not resolve is none.
func TestCompressorNarrowKnee(t *testing.T) {
	p := CompressorParams{Threshold: 0, Ratio: 4, Knee: 1e-39, SampleRate: 1000}
	for i, y := range outputs(t, NewCompressor, p, 0.5, 1, 2) {
		if want := []float64{0.5, 1, math.Pow(2, 0.25)}[i]; !(math.Abs(float64(y)-want) <= 1e-6) {
			t.Errorf("output %d is %g, want %g", i, y, want)
		}
	}
}

func BenchmarkCompressor(b *testing.B) { benchmark(b, &Compressor) }
