package main

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestScore(t *testing.T) {
	for name, c := range map[string]struct {
		chosen int
		times  [][]float64
		visits int
		want   score
	}{
		"the best is chosen":             {0, [][]float64{{1, 1, 1, 1}, {2, 2, 2, 2}}, 2, score{1, 1, 1}},
		"the choice takes twice as long": {1, [][]float64{{1, 1, 1, 1}, {2, 2, 2, 2}}, 2, score{2, 2, 1}},
		"one implementation alone":       {0, [][]float64{{1, 2, 3, 4}}, 2, score{1, 1, 1}},
		"luck changes within a visit":    {0, [][]float64{{2, 1, 1, 2, 1, 1}, {1.6, 1.6, 1.6, 1.6, 1.6, 1.6}}, 2, score{1, 1, 1}},
		// The first one is the best in the first visit, by 1 to 2, and the second one in the other, by 3 to 4.
		"the machine changes between two visits": {0, [][]float64{{1, 1, 4, 4}, {2, 2, 3, 3}}, 2,
			score{1, math.Sqrt(1.0 / 2), math.Sqrt(4.0 / 3 * 2)}},
		// The first one is the best in two of three visits, and takes nine times as long in the last. The best in the first visit
		// and the last together is the second one, by 2 to 5.
		"one visit of three is disturbed": {0, [][]float64{{1, 1, 9}, {2, 2, 2}}, 3,
			score{1, math.Cbrt(0.5 * 0.5), math.Cbrt(2.5 * 2.5 * 2)}},
	} {
		got := scoreOf(c.chosen, c.times, c.visits)
		if !near(got.ratio, c.want.ratio) || !near(got.unbiased, c.want.unbiased) || !near(got.oracle, c.want.oracle) {
			t.Errorf("%s: the score is %v, want %v", name, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		of   []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{5, 1, 3}, 3}, {[]float64{9, 1, 2, 4}, 3}} {
		if got := median(c.of); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.of, got, c.want)
		}
	}
}

func TestSummary(t *testing.T) {
	ratios := make([]float64, 20)
	for i := range ratios {
		ratios[i] = 1
	}
	ratios[3], ratios[7], ratios[11] = 1.05, 1.2, 2
	got := summarise(ratios)
	want := summary{20, math.Pow(1.05*1.2*2, 1.0/20) - 1, 18.0 / 20, 0.05, 1, 1}
	if got.shapes != want.shapes || !near(got.mean, want.mean) || got.within != want.within ||
		!near(got.p90, want.p90) || !near(got.p99, want.p99) || !near(got.worst, want.worst) {
		t.Errorf("the summary is %+v, want %+v", got, want)
	}
	if ratios[3] != 1.05 {
		t.Error("the ratios were sorted in place")
	}
}

// Implementations that are left out have fewer blocks, and do not judge.
func TestScoreOfAnOutcomeLeavesOut(t *testing.T) {
	o := outcome{visits: 2, entrants: []entrant{
		{name: "slow", times: []float64{9, 9}, leftOut: true},
		{name: "best", times: []float64{1, 1, 1, 1}},
		{name: "chosen", times: []float64{1.5, 1.5, 1.5, 1.5}},
	}}
	o.explanation.Implementation = "chosen"
	if got := o.score(); got.ratio != 1.5 || !near(got.unbiased, 1.5) || got.oracle != 1 {
		t.Errorf("the score is %v", got)
	}
}

func TestLeaveOut(t *testing.T) {
	o := outcome{entrants: []entrant{
		{name: "best", times: []float64{1, 3}},
		{name: "once near", times: []float64{20, 7}},
		{name: "far behind", times: []float64{8.5, 9}},
		{name: "chosen", times: []float64{90, 90}},
	}}
	o.explanation.Implementation = "chosen"
	o.leaveOut()
	for i, want := range []bool{false, false, true, false} {
		if o.entrants[i].leftOut != want {
			t.Errorf("%s is left out: %v", o.entrants[i].name, !want)
		}
	}
}
