package calibration

import (
	"slices"
	"testing"
)

// The part of a case that decides has all implementations that are named, and no less accurate ones where that is possible.
func TestAmong(t *testing.T) {
	m := func(name string, bound float64) Implementation { return Implementation{Name: name, ErrorBound: bound} }
	c := &Case{
		Implementations: []Implementation{m("best", 1e-6), m("good", 1e-5), m("fair", 1e-4), {Name: "gone", ErrorBound: 1e-4, Excluded: "no"}},
		Segments:        []Segment{{Implementation: "fair"}},
		Within:          []Within{{MaxError: 1e-6, Segments: []Segment{{Implementation: "best"}}}, {MaxError: 1e-5, Segments: []Segment{{Implementation: "good"}}}},
	}
	if got := c.Bounds(); !slices.Equal(got, []float64{1e-6, 1e-5}) {
		t.Errorf("bounds %v", got)
	}
	for _, test := range []struct {
		names []string
		want  string
		bound float64
	}{
		{nil, "fair", 0},
		{[]string{"best"}, "best", 1e-6},
		{[]string{"best", "gone", "unknown"}, "best", 1e-6},
		{[]string{"good"}, "good", 1e-5},
		{[]string{"good", "best"}, "good", 1e-5},
		{[]string{"fair", "best"}, "fair", 0},
	} {
		part, within := c.Among(test.names)
		if part.Segments[0].Implementation != test.want || (within == nil) != (test.bound == 0) || within != nil && within.MaxError != test.bound {
			t.Errorf("among %q: segments of %s, within %+v; want those of %s within %g", test.names, part.Segments[0].Implementation, within, test.want, test.bound)
		}
	}
	if c.Segments[0].Implementation != "fair" {
		t.Error("Among changed the case")
	}
}
