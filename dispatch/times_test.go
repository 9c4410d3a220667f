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
		{"fft", "fft/batch=1", 1, map[string]float64{"go": 20e-9 * 64, "accelerate": 1e-6 + 10e-9*64, "metal": 50e-6 + 64e-9}}, // the least measured size
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
