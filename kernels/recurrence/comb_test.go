package recurrence

import (
	"math"
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
