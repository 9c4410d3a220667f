package dispatch

import (
	"math"
	"slices"
	"testing"

	"crossover/calibration"
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

// A launch is what calls take beside the work of the GPU, where nothing is copied: those with resident data, or with unified memory
// those with shared data. Among others, the shortest may have copied next to nothing.
func TestLaunchSeconds(t *testing.T) {
	of := func(name string, beyond ...float64) calibration.Case {
		c := testFile().Hosts[1].Cases[0]
		c.Name, c.Operation, c.Parameters = name, "fft", map[string]int{}
		c.Implementations = slices.Clone(c.Implementations)
		if _, _, placement := splitName(name); placement != caller {
			c.Parameters[placement] = 1
		}
		for n, s := range beyond {
			const k = 2 // the one on a GPU
			c.Implementations[k].GPUTimes = append(c.Implementations[k].GPUTimes, calibration.GPUTimes{
				Size: 64 << n, WallSeconds: 20e-6 + s, GPUSeconds: 20e-6, LaunchEfficiency: 0.5})
		}
		return c
	}
	own, shared, resident := of("fft", 30e-6, 9e-6, -1e-6), of("fft/shared", 14e-6, 12e-6, 15e-6), of("fft/resident", 6e-6, 2e-6, 7e-6, -5e-6, 8e-6)
	for name, test := range map[string]struct {
		cases []calibration.Case
		want  float64
	}{
		"resident": {[]calibration.Case{own, shared, resident}, 6e-6}, "shared": {[]calibration.Case{own, shared}, 14e-6},
		"caller": {[]calibration.Case{own}, 9e-6}, "none": {[]calibration.Case{of("fft")}, 0},
	} {
		file := testFile()
		file.Hosts[1].Cases, file.Hosts[1].Operations = test.cases, nil
		if got := newDispatcherFor(t, file, m3Max).LaunchSeconds(); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%s: %v s, want %v s", name, got, test.want)
		}
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
