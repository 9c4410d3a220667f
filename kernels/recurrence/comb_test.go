package recurrence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crossover/kernels"
)

func TestComb(t *testing.T) {
	testOp(t, Comb)
	for _, delay := range []int{1, 2, 7, 300} { // shorter and longer than calls, and no multiple of a stretch
		op := Comb
		op.Params = func(kernels.Shape) CombParams { return CombParams{delay, 0.5, -0.25, -0.9} }
		t.Run("", func(t *testing.T) { testOp(t, op) })
	}
}

func TestCombBlocks(t *testing.T) {
	for _, p := range []CombParams{{1116, 1, 0.5, 0.7}, {1, 1, 0, 0.99}, {601, 0, 1, 0}, {5000, 1, 0, -0.9}, {37, -0.6, 1, 0.6}} {
		testBlocks(t, &Comb, p, 2e-6)
	}
}

// Vector code and Go compute the same bits, whatever the number of samples, and touch nothing behind them. NaNs may have other
// bits.
func TestCombVectors(t *testing.T) {
	const spare = 9
	random := rand.New(rand.NewPCG(3, 4))
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b }
	for _, c := range []comb{{1116, 1, 0.5, 0.7}, {300, -0.6, 1, 0.6}, {300, 0, 1, 0}} {
		for n := range 300 {
			for _, inPlace := range []bool{false, true} {
				line, src, dst := make([]float32, n+spare), make([]float32, n+spare), make([]float32, n+spare)
				for i := range src {
					line[i], src[i] = float32(unusual(random, 0.2)), float32(unusual(random, 0.2))
					if i%5 == 0 {
						line[i], src[i] = 0, float32(silence*(1+random.NormFloat64()/8))
					}
					if i%10 == 0 {
						src[i] = -src[i]
					}
				}
				wantLine, want := slices.Clone(line), slices.Clone(dst)
				if inPlace {
					copy(want, src)
				}
				c.filterGo(wantLine[:n], want[:n], slices.Clone(src[:n]))
				if inPlace {
					dst = src
				}
				c.filter(line[:n], dst[:n], src[:n])
				for i := range want {
					if !same(dst[i], want[i]) || !same(line[i], wantLine[i]) {
						t.Fatalf("%+v, in place %t: value %d of %d is %g with %g in the line, want %g and %g", c, inPlace, i, n, dst[i], line[i],
							want[i], wantLine[i])
					}
				}
			}
		}
	}
}

func TestCombPlan(t *testing.T) {
	testPlan(t, &Comb, NewComb, CombParams{441, 1, 0.5, 0.7})
	testSilence(t, &Comb, CombParams{100, 1, 0, 0.1}, 1e-20)
	nan := math.NaN()
	refused(t, NewComb, "samples: want 1 to", CombParams{Delay: 0}, CombParams{Delay: -1}, CombParams{Delay: mostDelay + 1})
	refused(t, NewComb, "feedback", CombParams{1, 0, 0, 1}, CombParams{1, 0, 0, -1}, CombParams{1, 0, 0, nan})
	refused(t, NewComb, "want both from -100 to 100", CombParams{1, 101, 0, 0}, CombParams{1, 0, nan, 0}, CombParams{1, 0, math.Inf(-1), 0})
}

// The responses to an impulse of the four filters that a universal comb can be.
// Delay lines of all channels together are limited, and the error says to how many channels. The product may overflow.
func TestCombMemory(t *testing.T) {
	for _, test := range []struct {
		delay, count int
		want         string // "" for none
	}{
		{mostDelay, 64, ""}, {256, 1 << 20, ""},
		{mostDelay, 65, "comb: 65 channels with states of 4194304 words: want at most 64 channels, or 268435456 words in all"},
		{257, 1 << 20, "comb: 1048576 channels with states of 257 words: want at most 1044495 channels, or 268435456 words in all"},
		{mostDelay, 1 << 20, "comb: 1048576 channels with states of 4194304 words: want at most 64 channels, or 268435456 words in all"},
		{mostDelay + 1, 1, "comb: delay of 4194305 samples: want 1 to 4194304"},
	} {
		got := ""
		if _, err := NewComb(nil, CombParams{Delay: test.delay, Blend: 1}, test.count); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("a delay of %d on %d channels: %q, want %q", test.delay, test.count, got, test.want)
		}
	}
}

func TestCombKinds(t *testing.T) {
	x := []float32{1, 0, 0, 0, 0, 0, 0}
	for name, test := range map[string]struct {
		p    CombParams
		want []float32
	}{
		"feed-forward": {CombParams{3, 1, 0.5, 0}, []float32{1, 0, 0, 0.5, 0, 0, 0}},
		"feedback":     {CombParams{3, 1, 0, 0.5}, []float32{1, 0, 0, 0.5, 0, 0, 0.25}},
		"all-pass":     {CombParams{3, -0.5, 1, 0.5}, []float32{-0.5, 0, 0, 0.75, 0, 0, 0.375}},
		"delay":        {CombParams{3, 0, 1, 0}, []float32{0, 0, 0, 1, 0, 0, 0}},
	} {
		if y := outputs(t, NewComb, test.p, x...); !slices.Equal(y, test.want) {
			t.Errorf("%s: %v, want %v", name, y, test.want)
		}
	}
}

// A NaN reaches the outputs that are a multiple of the delay later, and no others.
func TestCombKeepsNaN(t *testing.T) {
	x := make([]float32, 20)
	x[4] = float32(math.NaN())
	for i, y := range outputs(t, NewComb, CombParams{5, 1, 0.5, 0.5}, x...) {
		if (y != y) != (i >= 4 && i%5 == 4) {
			t.Errorf("output %d is %g", i, y)
		}
	}
}

func BenchmarkComb(b *testing.B) { benchmark(b, &Comb) }
