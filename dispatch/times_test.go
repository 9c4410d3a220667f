package dispatch

import (
	"math"
	"testing"
)

func TestTimes(t *testing.T) {
	d := newDispatcherFor(t, testFile(), m3Max)
	for _, test := range []struct {
		operation, line string
		size            int
		want            map[string]float64
	}{
		{"fft", "fft/batch=1", 1000, map[string]float64{"go": 20e-6, "accelerate": 11e-6, "metal": 51e-6}},
		{"fft", "fft/batch=1", 1, map[string]float64{"go": 20e-9, "accelerate": 1e-6 + 10e-9, "metal": 50e-6 + 1e-9}}, // beyond the sizes
		{"fft", "fft/batch=7", 1000, nil},
		{"fft", "", 1000, nil},
	} {
		got := d.Times(test.operation, []int{test.size, 1}, test.line, test.size)
		if len(got) != len(test.want) {
			t.Errorf("%s at %d: %v, want %v", test.line, test.size, got, test.want)
		}
		for _, m := range got {
			if want := test.want[m.Implementation]; math.Abs(m.Seconds-want) > 1e-12 || m.OnGPU != (m.Implementation == "metal") {
				t.Errorf("%s at %d: %+v, want %v", test.line, test.size, m, want)
			}
		}
	}
	d.SetThermal("critical")
	for _, m := range d.Times("fft", nil, "fft/batch=1", 1000) {
		if m.OnGPU {
			t.Errorf("%s on a GPU that is too hot", m.Implementation)
		}
	}
	if got := (*Dispatcher)(nil).Times("fft", nil, "fft/batch=1", 1000); got != nil {
		t.Errorf("without a calibration: %v", got)
	}
	if got := d.LaunchSeconds(); got != 0 {
		t.Errorf("a launch of %v s without a measurement", got)
	}
}

// What was measured at a shape comes before the surface, and the surface before the cost models of a case. A Watch predicts the
// same.
func TestTimesInOrder(t *testing.T) {
	d := newDispatcherFor(t, askedFile(), m3Max)
	of := d.knownFor("fft", caller)
	for _, test := range []struct {
		shape []int
		line  string
		want  map[string]float64
	}{
		{[]int{480, 1}, "fft/batch=1", map[string]float64{"go": 1, "accelerate": of.seconds([]int{480, 1}, of.index("accelerate")), "metal": 2}},
		{[]int{1000, 1}, "fft/batch=1", map[string]float64{"go": of.seconds([]int{1000, 1}, of.index("go")),
			"accelerate": of.seconds([]int{1000, 1}, of.index("accelerate")), "metal": of.seconds([]int{1000, 1}, of.index("metal"))}},
		{[]int{1000}, "fft/batch=1", map[string]float64{"go": 20e-6, "accelerate": 11e-6, "metal": 51e-6}}, // no shape of the operation
	} {
		got := d.Times("fft", test.shape, test.line, test.shape[0])
		if len(got) != len(test.want) {
			t.Errorf("%v: %v, want %v", test.shape, got, test.want)
		}
		at := timed{of: d.Case(test.line), size: test.shape[0]}
		f := d.forecastOf(at.site())
		for _, m := range got {
			if want := test.want[m.Implementation]; math.Abs(m.Seconds/want-1) > 1e-9 {
				t.Errorf("%v: %+v, want %v", test.shape, m, want)
			}
			if watched, _, _ := f.at(&at, m.Implementation); watched != m.Seconds && len(test.shape) > 1 {
				t.Errorf("%v: a watch predicts %v of %s, Times %v", test.shape, watched, m.Implementation, m.Seconds)
			}
		}
	}
	if got := d.Times("fft/shared", []int{480, 1}, "fft/batch=1,shared", 480); got != nil {
		t.Errorf("times of another placement: %v", got)
	}
}
