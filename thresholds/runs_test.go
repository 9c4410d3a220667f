package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"crossover/timings"
)

// runsOf returns runs of a case of two implementations. Run r has the log-ratio ratio(r, size) at each of the sizes, with
// two visits whose lucks have the deviation luck.
func runsOf(rng *rand.Rand, runs int, sizes []int, luck float64, ratio func(run, size int) float64) []*timings.Set {
	var sets []*timings.Set
	for run := range runs {
		set := &timings.Set{Implementations: []string{"a", "b"}}
		for k, size := range sizes {
			for v := range 2 {
				off := ratio(run, size) + luck*rng.NormFloat64()
				for range 6 {
					set.Blocks = append(set.Blocks, timings.Block{
						Size: size, Visit: 2*k + v, Twin: 0, TwinSeconds: 1e-6, Iterations: []int{1, 1},
						Seconds: []float64{1e-6, 1e-6 * math.Exp(off+0.002*rng.NormFloat64())},
					})
				}
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// fourfold are sizes with gaps like those of a short run.
var fourfold = []int{16, 64, 256, 1024, 4096, 16384}

// The luck of a run has the deviations that runs show: none where they agree, and theirs where they differ.
func TestTheLuckOfARunFollowsItsCurves(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	h := newHistory(runsOf(rng, 6, fourfold, 0, func(run, size int) float64 {
		if size < 1024 {
			return -0.3
		}
		return 0.3 + 0.1*float64(run%3-1) // a deviation of √0.008
	}))
	curves := h.curves()
	stretches := partition(curves.Loss, curves.Sizes, math.Log1p(MinTieBand))
	b := bootstrap{
		segments: segments(stretches, &curves, curves.Loss), curves: &curves, history: h,
		between: []spread{{}, {own: 5}}, rng: rng,
	}
	b.prepare()
	variance := 0.0
	for _, off := range b.offs {
		variance += math.Pow(off[1][4]-off[0][4], 2)
	}
	if math.Abs(variance-0.008) > 0.0005 {
		t.Errorf("the variance between runs is %.4f, want 0.008", variance)
	}
	ratios := make([][]float64, len(fourfold))
	for range 4000 {
		for i := range b.loss {
			copy(b.loss[i], curves.Loss[i])
		}
		b.moveRuns(1)
		for s := range ratios {
			ratios[s] = append(ratios[s], b.loss[1][s]-b.loss[0][s])
		}
	}
	// With five degrees of freedom the variance of Student's distribution is 5/3 of the sample's.
	want := math.Sqrt(0.008 * 5 / 3)
	if agree, differ := stat.StdDev(ratios[1], nil), stat.StdDev(ratios[4], nil); agree > 0.005 || math.Abs(differ/want-1) > 0.15 {
		t.Errorf("where runs agree the deviation is %.4f, want 0; where they differ it is %.4f, want %.4f", agree, differ, want)
	}
}

// What a prior says counts by its degrees of freedom.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	var owns, knowns float64
	const draws = 20000
	for range draws {
		own, known := spread{prior{0.04, 30}, 10}.draw(rng)
		owns += own * own / draws
		knowns += known * known / draws
	}
	// The mean of freedom ÷ χ² is 40/38.
	if want := 40.0 / 38; math.Abs(owns/(want*0.25)-1) > 0.05 || math.Abs(knowns/(want*0.75*0.04)-1) > 0.05 {
		t.Errorf("the runs' part is %.4f and the prior's %.5f, want %.4f and %.5f", owns, knowns, want*0.25, want*0.75*0.04)
	}
	if own, known := (spread{}).draw(rng); own != 0 || known != 0 {
		t.Errorf("a segment without a switch moves by %v and %v", own, known)
	}
}

// Runs that measured nothing near a switch say at the switch how they differ.
func TestRunsDifferInAWideBracket(t *testing.T) {
	h := newHistory(runsOf(rand.New(rand.NewPCG(7, 3)), 3, fourfold, 0, func(run, size int) float64 {
		return 0.2*math.Log(500/float64(size)) + 0.05*float64(run-1)
	}))
	curves := h.curves()
	segs := segments(partition(curves.Loss, curves.Sizes, math.Log1p(MinTieBand)), &curves, curves.Loss)
	if len(segs) != 2 {
		t.Fatalf("segments are %+v", segs)
	}
	offs := h.offs(segs, 1, curves.Loss)
	if len(offs) != 3 || math.Abs(stat.StdDev(offs, nil)-0.05) > 0.005 {
		t.Errorf("the runs are off by %v, want a deviation of 0.05", offs)
	}
}

// One run does not say where in a wide bracket the threshold is. Several runs that agree on the curve say it to a half of the
// bracket on either side.
func TestSeveralRunsNarrowAWideBracket(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 4))
	sets := runsOf(rng, 5, []int{1, 2, 8, 16, 32, 8192, 16384, 32768}, 0, func(_, size int) float64 { return 0.2 * math.Log(500/float64(size)) })
	o := Options{Seed: 1, Resamples: 200}
	if s := Fit(sets[:1], o).Segments[1]; s.Low != 33 || s.High != 8192 {
		t.Errorf("one run: the interval is %d to %d, want the bracket", s.Low, s.High)
	}
	s := Fit(sets, o).Segments[1]
	if reach := float64(s.High) / float64(s.Low); reach < 16 || reach > 300 || s.Low > 500 || s.High < 500 || s.Low == 33 && s.High == 8192 {
		t.Errorf("five runs: the interval is %d to %d, want a part of the bracket around 500", s.Low, s.High)
	}
}

// On a machine whose visits differ by 6 %, one run does not say that a difference of 8 % is one, and six runs do.
func TestSeveralRunsSeeWhatOneDoesNot(t *testing.T) {
	sizes := []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096}
	one, six, band := 0, 0, 0.0
	const cases = 20
	for k := range uint64(cases) {
		sets := runsOf(rand.New(rand.NewPCG(7, 5+k)), 6, sizes, 0.06, func(_, size int) float64 {
			if size < 600 {
				return 0.3
			}
			return -0.08
		})
		o := Options{Seed: 1, Resamples: 100}
		if r := Fit(sets[:1], o); len(r.Segments) > 1 {
			one++
		}
		r := Fit(sets, o)
		band += r.TieBand / cases
		if len(r.Segments) == 2 {
			six++
		}
	}
	if band < 0.08 || one > cases/2 || six < cases-2 {
		t.Errorf("with a tie band of %.2f, one run has a threshold in %d of %d cases, and six runs in %d", band, one, cases, six)
	}
}

// However many runs compare two equal implementations, they find no threshold.
func TestSeveralRunsOfEquals(t *testing.T) {
	sizes := []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096}
	for _, luck := range []float64{0, 0.03, 0.1} {
		claimed := 0
		const cases = 60
		for k := range uint64(cases) {
			rng := rand.New(rand.NewPCG(8, k))
			offs := make([]float64, 6)
			for run := range offs {
				offs[run] = 0.01 * rng.NormFloat64()
			}
			sets := runsOf(rng, len(offs), sizes, luck, func(run, _ int) float64 { return offs[run] })
			if r := Fit(sets, Options{Seed: k, Resamples: 60}); len(r.Segments) > 1 {
				claimed++
			}
		}
		t.Logf("visits differ by %.2f: %d of %d cases have a threshold", luck, claimed, cases)
		if claimed > cases/20 {
			t.Errorf("visits differ by %.2f: %d of %d cases have a threshold between equals", luck, claimed, cases)
		}
	}
}

// Of two switches on which runs disagree, the one that saves much in the mean is kept. The one that saves little is a doubt.
func TestASwitchThatRunsDisagreeOnMayPay(t *testing.T) {
	sizes := []int{16, 32, 64, 128, 256, 512, 1024, 2048, 4096}
	fit := func(agree, disagree float64, bump func(size int) bool) Result {
		return Fit(runsOf(rand.New(rand.NewPCG(9, 1)), 6, sizes, 0, func(run, size int) float64 {
			switch {
			case !bump(size):
				return 0.3
			case run%3 == 2: // two of six
				return disagree
			}
			return agree
		}), Options{Seed: 1, Resamples: 400})
	}
	r := fit(-0.5, 0.5, func(size int) bool { return size > 300 })
	if len(r.Segments) != 2 || r.Segments[1].Support >= keep {
		t.Errorf("a switch that saves 17 %% has the segments %+v, want two, and a support below %.1f", r.Segments, keep)
	}
	if d := r.Segments[1].Doubts; len(d) != 1 || d[0].Tie || d[0].Implementation != 0 || d[0].From != 512 || r.Verdict != Unresolved {
		t.Errorf("the doubts of that switch are %+v with verdict %v, want one above it, and unresolved", d, r.Verdict)
	}
	r = fit(-0.12, 0.12, func(size int) bool { return size == 256 })
	if len(r.Segments) != 1 || len(r.Segments[0].Doubts) != 1 {
		t.Errorf("a size at which another one saves 4 %% has the segments %+v, want one with a doubt", r.Segments)
	}
}

// A stretch between two switches without much support is in doubt once, although both switches doubt it.
func TestADoubtIsThereOnce(t *testing.T) {
	f := fitting{
		bootstrap: &bootstrap{curves: &Curves{
			Implementations: []string{"a", "b"}, Sizes: fourfold,
			Loss: [][]float64{{0, 0, 0.05, 0.05, 0, 0}, {0.5, 0.5, 0, 0, 0.5, 0.5}},
		}},
		spans: []float64{1, 1, 1, 1, 1, 1}, tie: math.Log1p(MinTieBand),
		stretches: []stretch{{0, 0, 2}, {1, 2, 4}, {0, 4, 6}},
		supports:  []float64{1, 0.8, 0.8},
	}
	doubts := f.doubts(f.stretches)
	want := Doubt{From: 256, To: 1024, Implementation: 0}
	if len(doubts[0]) != 0 || len(doubts[1]) != 1 || len(doubts[2]) != 0 || doubts[1][0] != want {
		t.Errorf("%+v, want %+v once", doubts, want)
	}
}
