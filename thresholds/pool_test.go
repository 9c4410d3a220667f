package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"crossover/timings"
)

// runsOff are runs of a case whose log-ratios are off by so much, each at sizes of its own.
func runsOff(rng *rand.Rand, offs ...float64) (sets []*timings.Set) {
	for run, off := range offs {
		set := &timings.Set{Implementations: []string{"a", "b"}}
		for k := range 24 {
			size := int(math.Round(100 * math.Pow(1.21, float64(k)+float64(run)/4)))
			for range 8 {
				ratio := 0.1*math.Log(1000/float64(size)) + off + 0.01*rng.NormFloat64()
				set.Blocks = append(set.Blocks, timings.Block{
					Size: size, Visit: k, Seconds: []float64{1e-6, 1e-6 * math.Exp(ratio)}, Iterations: []int{1, 1}, Twin: -1,
				})
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// However alike the runs of a few cases are, the next case may differ more: what they say is worth little.
func TestAFewCasesSayLittleOfTheNext(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	var cases [][]*timings.Set
	for range leastSwitches + 2 {
		cases = append(cases, runsOff(rng, -0.02, 0, 0.02))
	}
	p := StudyProcessors(map[string]string{"a": "cpu", "b": "cpu"}, cases)
	known, ok := p.learnt([2]string{"cpu", "cpu"})
	if !ok || known.freedom > mostFreedom || math.Abs(math.Sqrt(known.square)-0.02) > 0.01 {
		t.Errorf("the prior is %.4f with %.1f degrees of freedom, %t; want 0.02 with at most %d", math.Sqrt(known.square), known.freedom, ok, mostFreedom)
	}
}

// Runs that are off as a whole, each at sizes of its own, lead to the threshold in the middle of theirs, and to no step
// between their sizes.
func TestRunsArePooled(t *testing.T) {
	sets := runsOff(rand.New(rand.NewPCG(4, 1)), -0.06, 0.06, -0.06, 0.06)
	r := Fit(sets, Options{Seed: 1, Resamples: 200})
	if len(r.Segments) != 2 {
		t.Fatalf("segments are %+v, want two: the runs are off by 0.12 of one another", r.Segments)
	}
	s := r.Segments[1]
	if s.From < 850 || s.From > 1180 || s.Assumed != 0 {
		t.Errorf("the threshold is at %d, want about 1000; %v is assumed", s.From, s.Assumed)
	}
	// The next run is off by 0.07, a standard deviation, and so its threshold is off by a factor of two.
	if s.Low > 600 || s.High < 1700 {
		t.Errorf("the interval is %d to %d, and the runs' own thresholds are about 550 and 1820", s.Low, s.High)
	}
	if one := Fit(sets[:1], Options{Seed: 1, Resamples: 200}).Segments[1]; one.Assumed != assumedBetweenRuns {
		t.Errorf("a single run assumes %v between runs", one.Assumed)
	}
}

// A run that measured around a threshold says where it is. Runs of which the nearest sizes are far away do not say otherwise,
// however many there are: between their sizes they only know a line, and curves bend.
func TestCoarseRunsBendNothing(t *testing.T) {
	seconds := func(n float64) []float64 { // equal at 30 000
		return []float64{1e-7 + 3e-10*min(n, 20000) + 3.39e-9*max(n-20000, 0), 1e-5 + 1e-9*n}
	}
	run := func(off float64, ratio float64) *timings.Set {
		set := &timings.Set{Implementations: []string{"a", "b"}}
		for n := 64.0; n <= 1<<24; n *= ratio {
			for k := range 4 {
				s := seconds(math.Round(n))
				s[1] *= 1 + off + 0.001*float64(k)
				set.Blocks = append(set.Blocks, timings.Block{Size: int(math.Round(n)), Seconds: s, Iterations: []int{1, 1}, Twin: -1})
			}
		}
		return set
	}
	sets := []*timings.Set{run(0, 1.25), run(0.01, 64), run(-0.01, 64), run(0.01, 64), run(-0.01, 64)}
	exact := Fit(sets[:1], Options{Seed: 1, Resamples: 100}).Segments[1].From
	joined := Fit(sets, Options{Seed: 1, Resamples: 100})
	if len(joined.Segments) < 2 || math.Abs(math.Log(float64(joined.Segments[1].From)/float64(exact))) > 0.1 {
		t.Errorf("segments are %+v, want the threshold at %d as by the run that measured there", joined.Segments, exact)
	}
}

// sizedGroups are the groups of a run with sizes only.
func sizedGroups(sizes ...int) (out []group) {
	for _, size := range sizes {
		out = append(out, group{size: size})
	}
	return out
}

// Some loops compute so many outputs at a time. A run that measured such a step says where it is. Runs that measured on both sides
// of it do not say otherwise, however many and however near they are.
func TestRunsBesideAStepDoNotHideIt(t *testing.T) {
	seconds := func(n int) []float64 { // b wins from 33 to 48 only, by 20 %
		a := 1e-7 * float64((n+15)/16)
		return []float64{a, 1e-7 * []float64{1.3, 2.6, 2.5, 5.2}[min((n-1)/16, 3)]}
	}
	run := func(off float64, sizes ...int) *timings.Set {
		set := &timings.Set{Implementations: []string{"a", "b"}}
		for _, n := range sizes {
			for k := range 8 {
				s := seconds(n)
				s[1] *= 1 + off + 0.001*float64(k)
				set.Blocks = append(set.Blocks, timings.Block{Size: n, Seconds: s, Iterations: []int{1, 1}, Twin: -1})
			}
		}
		return set
	}
	dense := run(0, 16, 24, 32, 33, 40, 48, 49, 56, 64)
	sets := []*timings.Set{dense, run(0.01, 16, 32, 64), run(-0.01, 16, 32, 64), run(0.01, 16, 32, 64), run(-0.01, 16, 32, 64)}
	r := Fit(sets, Options{Seed: 1, Resamples: 100})
	if len(r.Segments) != 3 || r.Segments[1].From < 33 || r.Segments[1].From > 36 || r.Segments[2].From < 48 || r.Segments[2].From > 52 {
		t.Errorf("segments are %+v, want b from 33 to 48 as by the run that measured there", r.Segments)
	}
}

// A run counts by what is usual in its gap, or by what runs that measured the size saw, if that is more.
func TestALineCountsByItsError(t *testing.T) {
	groups := [][]group{sizedGroups(100, 400), sizedGroups(100, 400), sizedGroups(100, 200, 400)}
	for _, c := range []struct {
		name   string
		middle []float64 // losses of the run that measured in the middle, of implementations whose line is at 0.2 there
		want   float64   // weight of each of the two others there
	}{
		{"straight", []float64{0.2, 0.2}, 1 / (1 + 2*1.0)},
		{"off by as much as a line that counts half", []float64{0.2 + bentLine, 0.2}, 1 / (1 + 2*1.0)},
		{"bent", []float64{0.2 + 3*bentLine, 0.2}, 1 / (1 + 2*9.0)},
		{"bent both ways", []float64{0.2 + bentLine, 0.2 - 2*bentLine}, 1 / (1 + 2*9.0)},
		{"bent where nobody chooses it", []float64{0.2, 0.2 + 1}, 1 / (1 + 2*1.0)},
		{"not timed", []float64{0.2, math.Inf(1)}, 1 / (1 + 2*1.0)},
	} {
		run := [][]float64{{0, 0}, {0.2, 0.2}, {0.2, 0.2}}
		middle := [][]float64{{0, 0, 0}, {0.2, c.middle[0], 0.2}, {0.2, c.middle[1], 0.2}}
		p := newPool(groups, [][][]float64{run, run, middle})
		if got := p.places[0][1].weight; math.Abs(got-c.want) > 1e-12 || p.places[1][1].weight != got {
			t.Errorf("%s: a line counts %v, want %v", c.name, got, c.want)
		}
		if p.places[2][1].weight != 1 || p.places[0][0].weight != 1 {
			t.Errorf("%s: a measured size counts %v and %v, want 1", c.name, p.places[2][1].weight, p.places[0][0].weight)
		}
	}
	// One of three runs that measured in the middle saw a bend.
	line, straight, bent := [][]float64{{0, 0}, {0.2, 0.2}}, [][]float64{{0, 0, 0}, {0.2, 0.2, 0.2}}, [][]float64{{0, 0, 0}, {0.2, 0.6, 0.2}}
	dense := sizedGroups(100, 200, 400)
	p := newPool([][]group{groups[0], dense, dense, dense}, [][][]float64{line, bent, straight, straight})
	if got := p.places[0][1].weight; math.Abs(got-0.5) > 1e-12 {
		t.Errorf("a line counts %v where one run of three saw it bend, want 0.5", got)
	}
}

// Where a single run measured, it counts without how far it is off the others, so that its sizes make no steps.
func TestALoneRunMakesNoSteps(t *testing.T) {
	runs := [][][]float64{{{0.3, 0.3, 0.3, 0.3, 0.3}, {1.3, 1.3, 1.3, 1.3, 1.3}}, {{0, 0}, {1, 1}}, {{0, 0}, {1, 1}}}
	p := newPool([][]group{sizedGroups(100, 200, 400, 800, 100000), sizedGroups(100, 100000), sizedGroups(100, 100000)}, runs)
	loss := newTable(2, len(p.sizes))
	p.join(runs, loss)
	for s, size := range p.sizes {
		if loss[0][s] != 0 || math.Abs(loss[1][s]-1) > 1e-12 {
			t.Errorf("at %d the losses are %v and %v, want 0 and 1", size, loss[0][s], loss[1][s])
		}
	}
	for r, of := range p.deviations(runs, 2) {
		for s := range p.sizes {
			if want := []float64{0.2, -0.1, -0.1}[r] / math.Sqrt2; math.Abs(of[1][s]-want) > 1e-12 {
				t.Errorf("run %d deviates by %v at %d, want %v", r, of[1][s], p.sizes[s], want)
			}
		}
	}
	// Three runs that know a curve well outvote one that is off, as before.
	runs = [][][]float64{{{0, 0}, {1, 1}}, {{0, 0}, {1, 1}}, {{0, 0}, {4, 4}}}
	newPool([][]group{sizedGroups(100, 200), sizedGroups(100, 200), sizedGroups(100, 200)}, runs).join(runs, loss[:2])
	if math.Abs(loss[1][1]-2) > 1e-12 {
		t.Errorf("the mean of 1, 1 and 4 is %v", loss[1][1])
	}
}

// A place that one run does not reach is known from the others. A place that none reaches is not known.
func TestPlaces(t *testing.T) {
	groups := []group{{size: 100}, {size: 400}, {size: 1600}}
	row := []float64{1, 3, math.Inf(1)}
	for size, want := range map[int]float64{99: math.NaN(), 100: 1, 200: 2, 400: 3, 800: math.NaN(), 1600: math.NaN(), 1601: math.NaN()} {
		if got := placeOf(size, groups).at(row); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("at %d the value is %v, want %v", size, got, want)
		}
	}
}

// The prior has the scale of the variances, and how much they differ beyond the effect of few runs.
func TestEmpiricalBayes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	chi := func(freedom int) (sum float64) {
		for range freedom {
			z := rng.NormFloat64()
			sum += z * z
		}
		return sum
	}
	for _, freedom := range []int{3, 8} {
		var squares, freedoms []float64
		for range 4000 {
			truth := 0.02 * 0.02 * float64(freedom) / chi(freedom)
			squares, freedoms = append(squares, truth*chi(5)/5), append(freedoms, 5)
		}
		square, worth := EmpiricalBayes(squares, freedoms)
		if math.Abs(math.Sqrt(square)-0.02) > 0.001 || math.Abs(worth/float64(freedom)-1) > 0.2 {
			t.Errorf("the prior is %.4f with %.1f degrees of freedom, want 0.02 with %d", math.Sqrt(square), worth, freedom)
		}
	}
	var squares, freedoms []float64
	for range 4000 {
		squares, freedoms = append(squares, 0.02*0.02*chi(5)/5), append(freedoms, 5)
	}
	if _, worth := EmpiricalBayes(squares, freedoms); worth < 50 {
		t.Errorf("variances that are the same have a prior of %.1f degrees of freedom, want many", worth)
	}
	if square, worth := EmpiricalBayes([]float64{0.04}, []float64{5}); math.IsNaN(square) || worth < 50 {
		t.Errorf("a single variance gives %v with %v degrees of freedom", square, worth)
	}
}

// On a machine with two states, 16 % apart, the time of a program's call depends on the state. No threshold exists that the
// next visit would confirm. The twin shares the state of its visit and does not show it.
func TestTwoStates(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 3))
		set := &timings.Set{Implementations: []string{"a", "b"}}
		visit := 0
		for k := range 40 {
			size := int(math.Round(1000 * math.Pow(1.12, float64(k))))
			for range 1 + k%3 {
				state := 0.16 * float64(rng.IntN(2))
				for range 8 {
					a := 1e-6 * math.Exp(0.005*rng.NormFloat64())
					set.Blocks = append(set.Blocks, timings.Block{
						Size: size, Visit: visit, Seconds: []float64{a, 1e-6 * math.Exp(state-0.08+0.005*rng.NormFloat64())},
						Iterations: []int{1, 1}, Twin: 0, TwinSeconds: a * math.Exp(0.005*rng.NormFloat64()),
					})
				}
				visit++
			}
		}
		r := Fit([]*timings.Set{set}, Options{Seed: seed, Resamples: 200})
		if n := len(r.Segments) - 1; n > 2 {
			t.Errorf("seed %d: %d thresholds", seed, n)
		}
		if r.TieBand < 0.08 {
			t.Errorf("seed %d: a tie band of %.3f", seed, r.TieBand)
		}
	}
}
