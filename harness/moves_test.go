package harness

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"crossover/calibration"
)

// line returns a case over 1 to 1000 with segments that begin at from. The intervals of their thresholds are 10 % wide on
// either side.
func line(verdict calibration.Verdict, from []int, implementations ...string) *calibration.Case {
	c := &calibration.Case{Name: "op", Verdict: verdict, Axis: calibration.Axis{Unit: "rows", From: 1, To: 1000}}
	for k, name := range implementations {
		s := calibration.Segment{From: from[k], Implementation: name}
		if k > 0 {
			s.Interval = &calibration.Interval{Low: from[k] - from[k]/10, High: from[k] + from[k]/10}
		}
		c.Segments = append(c.Segments, s)
	}
	for size := 1; size <= 1000; size *= 10 {
		c.Sizes = append(c.Sizes, size)
	}
	return c
}

func always(name string) *calibration.Case { return line(calibration.Always, []int{1}, name) }

func crossing(at int) *calibration.Case {
	return line(calibration.Crossover, []int{1, at}, "a", "b")
}

func TestMoves(t *testing.T) {
	doubtful := always("a")
	doubtful.Segments[0].Doubts = []calibration.Doubt{{From: 10, To: 100, Implementation: "b"}}
	smaller := always("a")
	smaller.Axis.To = 150
	for name, c := range map[string]struct {
		before, now *calibration.Case
		want        []Move
	}{
		"nothing":         {crossing(100), crossing(100), nil},
		"in the interval": {crossing(100), crossing(109), nil},
		"in that of before alone": {func() *calibration.Case {
			c := crossing(100)
			c.Segments[1].Interval.High = 400
			return c
		}(), crossing(300), nil},
		"in that of now alone": {crossing(300), func() *calibration.Case {
			c := crossing(100)
			c.Segments[1].Interval.High = 400
			return c
		}(), nil},
		"up":             {crossing(100), crossing(300), []Move{{Kind: ShiftedUp, From: 100, To: 299, Now: "a", Before: "b"}}},
		"down":           {crossing(300), crossing(100), []Move{{Kind: ShiftedDown, From: 100, To: 299, Now: "b", Before: "a"}}},
		"appeared":       {always("a"), crossing(300), []Move{{Kind: Appeared, From: 300, To: 1000, Now: "b", Before: "a", Ends: true}}},
		"appeared below": {always("b"), crossing(300), []Move{{Kind: Appeared, From: 1, To: 299, Now: "a", Before: "b"}}},
		"vanished":       {crossing(300), always("a"), []Move{{Kind: Vanished, From: 300, To: 1000, Now: "a", Before: "b", Ends: true}}},
		"vanished below": {crossing(300), always("b"), []Move{{Kind: Vanished, From: 1, To: 299, Now: "b", Before: "a"}}},
		"everywhere":     {always("a"), always("b"), []Move{{Kind: Replaced, From: 1, To: 1000, Now: "b", Before: "a", Ends: true}}},
		"another behind the threshold": {crossing(100), line(calibration.Crossover, []int{1, 105}, "a", "c"),
			[]Move{{Kind: Replaced, From: 105, To: 1000, Now: "c", Before: "b", Ends: true}}},
		"one between": {always("a"), line(calibration.Crossover, []int{1, 20, 200}, "a", "b", "a"),
			[]Move{{Kind: Appeared, From: 20, To: 199, Now: "b", Before: "a"}}},
		"in doubt before":        {doubtful, line(calibration.Crossover, []int{1, 5, 600}, "a", "b", "a"), nil},
		"in doubt now":           {line(calibration.Crossover, []int{1, 5, 600}, "a", "b", "a"), doubtful, nil},
		"unresolved before":      {line(calibration.Unresolved, []int{1, 100}, "a", "b"), always("a"), nil},
		"unresolved now":         {always("a"), line(calibration.Unresolved, []int{1, 100}, "a", "b"), nil},
		"without a segment":      {always("a"), &calibration.Case{Verdict: calibration.Unresolved}, nil},
		"a tie now":              {always("a"), line(calibration.Tie, []int{1}, "b"), nil},
		"a tie before":           {line(calibration.Tie, []int{1}, "b"), always("a"), []Move{{Kind: Replaced, From: 1, To: 1000, Now: "a", Before: "b", Ends: true}}},
		"where one did not look": {crossing(400), smaller, nil},
	} {
		got := Moves(c.before, c.now)
		for k := range c.want {
			c.want[k].Case, c.want[k].Unit = "op", "rows"
		}
		if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
