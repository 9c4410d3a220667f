package race

import (
	"math"
	"slices"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/songs"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// judgedOf judges a race of four entrants, of whom the first one is followed, by the seconds of visits of two blocks each.
func judgedOf(visits ...[]float64) Judged {
	r := &race{Session: &Session{}, entrants: []songs.Entrant{{Name: "best-1"}, {Name: "stages"}, {Name: "processor", OneSided: true}, {Name: "gpu", OneSided: true}}}
	set := timings.Set{Implementations: []string{"stages", "gpu", "best-1", "processor"}} // in another order
	for v, seconds := range visits {
		for range 2 {
			set.Blocks = append(set.Blocks, timings.Block{Visit: v, Twin: -1, Seconds: []float64{seconds[1], seconds[3], seconds[0], seconds[2]}})
		}
	}
	return r.judge(&sweeps.Result{Samples: set}, "because")
}

func TestFindings(t *testing.T) {
	nan := math.NaN()
	for name, test := range map[string]struct {
		visits  [][]float64
		want    thresholds.Finding
		regret  float64
		oneSide float64
	}{
		"the fastest": {[][]float64{{1, 1.2, 2, 3}, {1.01, 1.2, 2.02, 3}, {0.99, 1.2, 1.98, 3}}, thresholds.Holds, 0, 2},
		// The machine becomes slower from visit to visit, which says nothing of routes.
		"a slower machine": {[][]float64{{1, 1.2, 2, 3}, {2, 2.4, 4, 6}, {8, 9.6, 16, 24}}, thresholds.Holds, 0, 2},
		"4 % behind":       {[][]float64{{1.04, 1, 2, 3}, {1.041, 1, 2, 3}, {1.039, 1, 2, 3}}, thresholds.Drifted, 0.04, 2 / 1.04},
		"1 % behind":       {[][]float64{{1.01, 1, 2, 3}, {1.011, 1, 2, 3}, {1.009, 1, 2, 3}}, thresholds.Holds, 0.01, 2 / 1.01},
		// Noise alone: which of two equal routes is best in a visit is luck. The others say which one, so that luck costs nothing.
		"luck":          {[][]float64{{1, 1.3, 2, 3}, {1, 0.8, 2, 3}, {1, 1.3, 2, 3}, {1, 1.3, 2, 3}}, thresholds.Holds, 0, 2},
		"too noisy":     {[][]float64{{1, 1, 2, 3}, {1.5, 1, 2, 3}, {0.9, 1, 2, 3}}, thresholds.Ambiguous, nan, nan},
		"one side":      {[][]float64{{1, nan, 1, 0.5}, {1, nan, 1, 0.5}, {1, nan, 1, 0.5}}, thresholds.Drifted, 1, 0.5},
		"a single one":  {[][]float64{{1, 1.2, 2, 3}}, thresholds.Holds, 0, 2},
		"no other time": {[][]float64{{1, nan, nan, nan}, {1, nan, nan, nan}}, thresholds.Holds, 0, nan},
		"never timed":   {[][]float64{{nan, 1, 1, 1}, {nan, 1, 1, 1}}, thresholds.Unmeasured, 0, nan},
	} {
		j := judgedOf(test.visits...)
		if got := j.Finding(); got != test.want {
			t.Errorf("%s: finding %d, want %d: %+v", name, got, test.want, j)
		}
		if !math.IsNaN(test.regret) && math.Abs(j.Regret-test.regret) > 1e-4 {
			t.Errorf("%s: a regret of %g, want %g", name, j.Regret, test.regret)
		}
		if !math.IsNaN(test.oneSide) && math.Abs(j.OneSide-test.oneSide) > 1e-3 {
			t.Errorf("%s: one side takes %g times as long, want %g", name, j.OneSide, test.oneSide)
		}
		if !(j.Lower <= j.Regret+1e-12 && j.Regret <= j.Upper+1e-12) && j.Why == "" {
			t.Errorf("%s: %g is not within %g and %g", name, j.Regret, j.Lower, j.Upper)
		}
	}
}

// One block names no best route for itself.
func TestASingleBlock(t *testing.T) {
	r := &race{Session: &Session{}, entrants: []songs.Entrant{{Name: "a"}, {Name: "b"}}}
	set := timings.Set{Implementations: []string{"a", "b"}, Blocks: []timings.Block{{Twin: -1, Seconds: []float64{1, 2}}}}
	if j := r.judge(&sweeps.Result{Samples: set}, ""); j.Why != TooShort || j.Finding() != thresholds.Unmeasured {
		t.Errorf("%+v", j)
	}
}

// A visit in which the best route of the others was not timed says nothing.
func TestTheBestWasNotTimed(t *testing.T) {
	nan := math.NaN()
	if j := judgedOf([]float64{1.1, 1, 2, 3}, []float64{1.1, 1, 2, 3}, []float64{1.1, nan, 2, 3}); math.Abs(j.Regret-0.1) > 1e-9 {
		t.Errorf("a regret of %g, want 0.1", j.Regret)
	}
}

// Disturbed blocks do not count if there are others.
func TestDisturbedVisits(t *testing.T) {
	r := &race{Session: &Session{}, entrants: []songs.Entrant{{Name: "a"}, {Name: "b"}}}
	set := timings.Set{Implementations: []string{"a", "b"}, Blocks: []timings.Block{
		{Visit: 0, Twin: -1, Seconds: []float64{9, 1}, Disturbed: true}, {Visit: 1, Twin: -1, Seconds: []float64{1, 2}}, {Visit: 2, Twin: -1, Seconds: []float64{1, 2}},
	}}
	if visits := r.visits(&set); len(visits) != 2 || visits[0][0] != 0 {
		t.Errorf("the visits are %v", visits)
	}
	for i := range set.Blocks {
		set.Blocks[i].Disturbed = true
	}
	if visits := r.visits(&set); len(visits) != 3 {
		t.Errorf("the visits are %v", visits)
	}
}

// The route of a file is among the routes that are timed, and the first one, whatever the forecasts are.
func TestJudge(t *testing.T) {
	d, g := gains(t)
	sessions := []Session{{g, "short", "", [][][]float32{{make([]float32, 6400)}}}, {g, "long", "", [][][]float32{{make([]float32, 64000)}}}}
	all, err := Judge(t.Context(), kernels.Here(), d, sessions,
		sweeps.Options{Budget: 2 * time.Second, Seed: 1, Input: kernels.GeneratedInput(), Sentinel: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	for i, j := range all {
		if j.Length != sessions[i].Length || j.Why != "" || j.Visits == 0 || j.Reason == "" || j.Followed == "" {
			t.Errorf("%+v", j)
		}
	}
	p, err := songs.New(d, g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	followed, reason, err := p.Followed(6400)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(make([]float32, 6400)); err != nil {
		t.Fatal(err)
	}
	chosen := p.Chosen()
	for i, name := range followed.Route {
		if name != "" && name != chosen[i] {
			t.Errorf("Followed says %v, and a call is computed by %v", followed.Route, chosen)
		}
	}
	if reason == "" || slices.Contains(chosen, "") {
		t.Errorf("%q, %v", reason, chosen)
	}
	if _, _, err := p.Followed(1, 2); err == nil {
		t.Error("a call with two inputs of one is planned")
	}
}
