package thresholds_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"crossover/thresholds"
	"crossover/timings"
)

// Whichever switches are given up, a doubt is a part of its segment and names another implementation, and segments leave no
// gap.
func TestDoubtsAreOfTheirSegments(t *testing.T) {
	doubts := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		set := &timings.Set{Implementations: []string{"a", "b", "c"}}
		for k := range 12 {
			for visit := range 1 + rng.IntN(2) {
				luck := []float64{0.2 * rng.NormFloat64(), 0.2 * rng.NormFloat64(), 0.2 * rng.NormFloat64()}
				for range 4 {
					b := timings.Block{Size: 64 << k, Visit: 2*k + visit, Iterations: []int{1, 1, 1}, Twin: -1}
					for i := range 3 {
						b.Seconds = append(b.Seconds, 1e-6*math.Exp(luck[i]+0.2*rng.NormFloat64()))
					}
					set.Blocks = append(set.Blocks, b)
				}
			}
		}
		r := thresholds.Fit([]*timings.Set{set}, thresholds.Options{Seed: seed, Resamples: 50})
		next := 64
		for _, s := range r.Segments {
			if s.From != next {
				t.Fatalf("seed %d: a segment from %d, want %d: %+v", seed, s.From, next, r.Segments)
			}
			next = s.To + 1
			for _, d := range s.Doubts {
				doubts++
				if d.Implementation == s.Implementation || d.From < s.From || d.To > s.To || d.From > d.To {
					t.Errorf("seed %d: the doubt %+v of the segment %+v", seed, d, s)
				}
			}
		}
	}
	if doubts < 20 {
		t.Errorf("only %d doubts: the test shows nothing", doubts)
	}
}

// On a noisy machine, an implementation that is twice as fast is still the clear winner.
func TestAClearWinnerOnANoisyMachine(t *testing.T) {
	for ratio, want := range map[float64]thresholds.Verdict{2: thresholds.Always, 1.05: thresholds.Unresolved} {
		w := newWorld(5, costA, func(n float64) float64 { return ratio * costA(n) })
		w.luck = 0.2
		r := thresholds.Fit([]*timings.Set{w.set(9, geometric(64, 65536, 2)...)}, thresholds.Options{Seed: 1, Resamples: 100})
		if r.TieBand < 0.25 || r.Verdict != want {
			t.Errorf("%v times as fast, a tie band of %.2f: verdict %v (%s), want %v", ratio, r.TieBand, r.Verdict, r.Reason, want)
		}
	}
}

// However noisy the machine was, a factor of two is no tie: the choice changes where the other implementation begins to be twice as
// fast, and the verdict says that the machine was too noisy.
func TestAFactorOfTwoIsNoTie(t *testing.T) {
	w := newWorld(11, func(n float64) float64 { return n }, func(n float64) float64 {
		if n < 4000 {
			return 1.02 * n
		}
		return n / 2
	})
	w.luck = 0.55
	var set timings.Set
	set.Implementations = w.names
	for _, size := range geometric(1000, 1_000_000, 2) {
		for range 8 {
			w.visit(&set, size, 4)
		}
	}
	r := thresholds.Fit([]*timings.Set{&set}, thresholds.Options{Seed: 1})
	if r.TieBand != thresholds.MostTieBand || r.Verdict != thresholds.Unresolved || !strings.Contains(r.Reason, "too noisy") {
		t.Errorf("a tie band of %v, verdict %v (%s), want %v, and that the machine was too noisy", r.TieBand, r.Verdict, r.Reason, thresholds.MostTieBand)
	}
	if last := r.Segments[len(r.Segments)-1]; last.Implementation != 1 || last.From > 8000 {
		t.Errorf("at the end there is implementation %d from %d on, want the one that is twice as fast, from 4000 to 8000 on", last.Implementation, last.From)
	}
}
