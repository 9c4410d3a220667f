package thresholds

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Only what was measured in a segment counts. Sizes beside it do not count, nor does an implementation that was left out
// there.
func TestStakes(t *testing.T) {
	unknown, none := math.NaN(), math.Inf(1)
	r := &Result{
		Curves: Curves{
			Sizes:   []int{10, 20, 40, 80, 160},
			Seconds: [][]float64{{1, 2, 4, 8, 16}, {3, 3, 3, 4, unknown}, {9, 9, 9, 9, 9}},
			Loss: [][]float64{
				{0, 0, math.Log(4. / 3), math.Log(2), none},
				{math.Log(3), math.Log(1.5), 0, 0, 0},
				{none, none, math.Log(3), math.Log(9. / 4), none},
			},
		},
		Segments: []Segment{{From: 10, To: 29, Implementation: 0}, {From: 30, To: 100, Implementation: 1}, {From: 101, To: 160, Implementation: 1}},
	}
	want := []Stakes{
		{First: 1, Last: 2, Least: 1.5, Most: 3},
		{First: 3, Last: 4, Least: 4. / 3, Most: 2},
		{}, // neither its time nor another one is known
	}
	for n := range want {
		if diff := cmp.Diff(want[n], r.Stakes(n), cmpopts.EquateApprox(1e-12, 0)); diff != "" { // rounding of a logarithm
			t.Errorf("segment %d (-want +got):\n%s", n, diff)
		}
	}
}

// If a choice is slower than another one at some size, the least gain is below 1.
func TestStakesOfASlowChoice(t *testing.T) {
	r := &Result{
		Curves: Curves{
			Sizes: []int{1, 2}, Seconds: [][]float64{{1, 1}, {2, 0.5}}, Loss: [][]float64{{0, math.Log(2)}, {math.Log(2), 0}},
		},
		Segments: []Segment{{From: 1, To: 2}},
	}
	if s := r.Stakes(0); math.Abs(s.Least-0.5) > 1e-12 || math.Abs(s.Most-2) > 1e-12 {
		t.Errorf("%+v, want 0.5 to 2", s)
	}
}

// A value that is interpolated between the sizes of one run, at a size of another, was not measured.
func TestGainIsMeasured(t *testing.T) {
	unknown := math.NaN()
	c := &Curves{
		Sizes: []int{1, 2, 4}, Seconds: [][]float64{{1, 1, 1}, {2, unknown, 2}, {3, 3, 3}},
		Loss: [][]float64{{0, 0, 0}, {math.Log(2), math.Log(2), math.Log(2)}, {math.Log(3), math.Log(3), math.Log(3)}},
	}
	for size, want := range []float64{2, 3, 2} {
		if got := c.Gain(0, size); math.Abs(got-want) > 1e-12 {
			t.Errorf("at %d the gain is %v, want %v", c.Sizes[size], got, want)
		}
	}
	if got := c.Gain(1, 1); !math.IsNaN(got) {
		t.Errorf("what was not measured gains %v", got)
	}
}
