package dispatch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
)

// nothingAt is the reason for a shape of which nothing is known, without the operation.
const nothingAt = "the calibration of apple-m3-max-40 measured nothing that decides at this shape, and predicts nothing for "

// askedFile is predictedFile with shapes that somebody asked for, at which other implementations win than are predicted.
func askedFile() *calibration.File {
	file := predictedFile()
	h := &file.Hosts[1]
	for i := range h.Operations {
		o := &h.Operations[i]
		seconds := func(times map[string]float64) (all []float64) {
			for k := range o.Implementations {
				all = append(all, times[o.Implementations[k].Name])
			}
			return all
		}
		switch o.Name {
		case "fft": // go is predicted at few samples, metal at many
			o.Asked = []calibration.Asked{
				{Shape: []int{441, 64}, Calls: 9, MedianSeconds: seconds(map[string]float64{"go": 3, "accelerate": 1, "metal": 2})},
				{Shape: []int{480, 1}, Calls: 1, MedianSeconds: seconds(map[string]float64{"go": 1, "metal": 2})},
				{Shape: []int{4096, 1}, Calls: 1, MedianSeconds: seconds(map[string]float64{"go": 1, "accelerate": 1.02, "metal": 2})},
			}
		case "stft":
			o.Asked = []calibration.Asked{
				{Shape: []int{1024, 256, 2000}, Calls: 1, MedianSeconds: seconds(map[string]float64{"go": 2, "accelerate": 3, "metal": 1})},
				{Shape: []int{1024, 256, 48000}, Calls: 1, MedianSeconds: seconds(map[string]float64{"go": 1, "accelerate": 3, "metal": 2})},
				{Shape: []int{1024, 256, 50000}, Calls: 1, MedianSeconds: seconds(map[string]float64{"go": 1, "accelerate": 1.01, "metal": 2})},
				{Shape: []int{1024, 256, 8 << 20}, Calls: 1, MedianSeconds: seconds(map[string]float64{"go": 1, "accelerate": 2})},
			}
		}
	}
	return file
}

// Shapes that were measured, or are predicted from such, on a machine that was not quiet are said to be.
func TestExplainDegradedShapes(t *testing.T) {
	for _, degraded := range []bool{false, true} {
		file := askedFile()
		for k := range file.Hosts[1].Operations {
			file.Hosts[1].Operations[k].Degraded = degraded
		}
		d := newDispatcherFor(t, file, m3Max)
		for name, e := range map[string]Explanation{
			"asked":                d.Operation("fft").ExplainShape(441, 64),
			"predicted":            d.Operation("fft").ExplainShape(442, 64),
			"asked, of a case":     d.Case("stft/n_fft=1024,hop=256").Explain(48000),
			"predicted, of a case": d.Case("stft/n_fft=1024,hop=256").Explain(48001),
		} {
			if e.Degraded != degraded || strings.Contains(e.String(), ", while the machine was not quiet") != degraded {
				t.Errorf("%s: degraded is %v, want %v (%s)", name, e.Degraded, degraded, e)
			}
		}
	}
}

// What was measured because somebody asked for it decides at its shape, whatever is predicted and wherever it is asked for.
func TestAskedShapes(t *testing.T) {
	d := newDispatcherFor(t, askedFile(), m3Max)
	for _, test := range []struct {
		operation string
		have      []string
		shape     []int
		want      string
		answer    Answer
		reason    string
	}{
		{"fft", nil, []int{441, 64}, "accelerate", Measured, "fastest measured"},
		{"fft", []string{"go", "metal"}, []int{441, 64}, "metal", Measured, "next best, as accelerate is not there"},
		{"fft", nil, []int{442, 64}, "metal", Predicted, "predicted"},
		{"fft", nil, []int{480, 1}, "go", Measured, "fastest measured"},
		{"fft/shared", nil, []int{441, 64}, "accelerate", Measured, "measured with data in caller memory"},
		{"fft", []string{"cufft"}, []int{441, 64}, CPU, Unknown, "nothing on record can be used"},
		{"stft", nil, []int{1024, 256, 48000}, "go", Measured, "fastest measured"},
		{"stft", nil, []int{1024, 256, 48001}, "accelerate", Predicted, "predicted"},
		{"stft", nil, []int{1024, 256, 8 << 20}, "go", Measured, "fastest measured"},
	} {
		o := d.Operation(test.operation, test.have...)
		for range 2 { // found, and remembered
			if got := o.ChooseShape(test.shape...); got != test.want {
				t.Errorf("%s %v: %s, want %s", test.operation, test.shape, got, test.want)
			}
		}
		e := o.ExplainShape(test.shape...)
		if e.Implementation != test.want || e.Answer != test.answer || !strings.Contains(e.Reason, test.reason) || e.BeyondRange {
			t.Errorf("%s %v: %+v\nwant %s, %s, %q", test.operation, test.shape, e, test.want, test.answer, test.reason)
		}
	}
	for _, test := range []struct {
		name   string
		size   int
		want   string
		answer Answer
		reason string
	}{
		{"fft/batch=64", 441, "accelerate", Measured, "fastest measured"}, // the case was measured, and metal won everywhere
		{"fft/batch=64", 442, "metal", Predicted, "predicted"},            // as the measured lengths have no factor of 13
		{"fft/n=441", 64, "accelerate", Measured, "fastest measured"},
		{"fft/batch=1", 4096, "accelerate", Measured, "as fast as go, the fastest measured"},
		{"stft/n_fft=1024,hop=256", 1999, "go", Predicted, "predicted"},
		{"stft/n_fft=1024,hop=256", 2000, "metal", Measured, "fastest measured"},
		{"stft/n_fft=1024,hop=256", 2001, "go", Predicted, "predicted"},
		{"stft/n_fft=1024,hop=256", 47_999, "accelerate", Predicted, "predicted"},
		{"stft/n_fft=1024,hop=256", 48_000, "go", Measured, "fastest measured"},
		{"stft/n_fft=1024,hop=256", 48_001, "accelerate", Predicted, "predicted"},
		{"stft/n_fft=1024,hop=256", 50_000, "accelerate", Measured, "as fast as go"},
		{"stft/hop=256,n_fft=1024", 8 << 20, "go", Measured, "fastest measured"},
		{"stft/n_fft=1024,hop=256", 9 << 20, "metal", Beyond, "predicted"},
		{"stft/n_fft=1024,hop=255", 48_000, "accelerate", Predicted, "predicted"},
	} {
		c := d.Case(test.name)
		expect(t, c, test.size, test.want, test.reason)
		if e := c.Explain(test.size); e.Answer != test.answer || e.BeyondRange != (test.answer == Beyond) {
			t.Errorf("%s at %d: answer %q, beyond %v, want %q", test.name, test.size, e.Answer, e.BeyondRange, test.answer)
		}
	}
}

// A GPU that is busy is left for the processor where that is faster by what was measured at the shape.
func TestAskedShapesOfABusyGPU(t *testing.T) {
	d := newDispatcherFor(t, askedFile(), m3Max)
	c, o := d.Case("stft/n_fft=1024,hop=256"), d.Operation("stft")
	for _, test := range []struct {
		wait time.Duration
		want string
	}{{0, "metal"}, {900 * time.Millisecond, "metal"}, {1100 * time.Millisecond, "go"}} {
		d.SetGPUWait(test.wait)
		expect(t, c, 2000, test.want, "")
		if got, e := o.ChooseShape(1024, 256, 2000), o.ExplainShape(1024, 256, 2000); got != test.want || e.Implementation != test.want {
			t.Errorf("%v: %s, explained as %s, want %s", test.wait, got, e.Implementation, test.want)
		}
	}
	d.SetGPUWait(0)
	if err := d.SetThermal("critical"); err != nil {
		t.Fatal(err)
	}
	expect(t, c, 2000, "go", "thermal state is critical")
}

// Shapes that somebody asked for decide also where nothing else was measured of their operation.
func TestAskedShapesAlone(t *testing.T) {
	file := askedFile()
	h := &file.Hosts[1]
	h.Cases = nil
	for i := range h.Operations {
		s := &h.Operations[i].Surface
		s.Scales, s.Shapes, s.Implementations = nil, nil, nil
	}
	d := newDispatcherFor(t, file, m3Max)
	expect(t, d.Case("fft/batch=64"), 441, "accelerate", "fastest measured")
	expect(t, d.Case("fft/batch=64"), 442, CPU, "has no case")
	expect(t, d.Case("fft/batch=64", "metal"), 441, "metal", "next best")
	for size, want := range map[int]Answer{441: Measured, 442: Unknown} {
		if e := d.Case("fft/batch=64").Explain(size); e.Answer != want {
			t.Errorf("%d: %q, want %q", size, e.Answer, want)
		}
	}
	o := d.Operation("fft")
	if got := o.ChooseShape(441, 64); got != "accelerate" {
		t.Errorf("chooses %s", got)
	}
	if got, e := o.ChooseShape(442, 64), o.ExplainShape(442, 64); got != CPU || e.Answer != Unknown || e.Reason != nothingAt+"fft" {
		t.Errorf("chooses %s, explained by %+v", got, e)
	}
	t.Setenv(ForceVariable, "fft=go")
	d = newDispatcherFor(t, file, m3Max)
	expect(t, d.Case("fft/batch=64"), 441, "go", ForceVariable)
}

// A table takes up only the shapes at which something else is faster, so that Choose stays quick.
func TestAskedShapesThatAgree(t *testing.T) {
	file := predictedFile()
	stft := &file.Hosts[1].Operations[2]
	for n := 3000; n < 3500; n++ { // accelerate is predicted
		stft.Asked = append(stft.Asked, calibration.Asked{Shape: []int{1024, 256, n}, Calls: 1, MedianSeconds: []float64{2, 1, 3}})
	}
	d := newDispatcherFor(t, file, m3Max)
	c := d.Case("stft/n_fft=1024,hop=256")
	if got := len(c.table.Load().thresholds); got != 2 {
		t.Errorf("%d thresholds, want 2", got)
	}
	if e := c.Explain(3100); e.Answer != Measured {
		t.Errorf("explained as %+v", e)
	}
	if !slices.IsSorted(c.table.Load().thresholds) {
		t.Error("thresholds in disorder")
	}
}

// What was fastest in measurements that contradict each other is only likely to be the fastest.
func TestAskedShapesThatAreUndecided(t *testing.T) {
	for regret, want := range map[float64]string{0.04: "fastest measured", 0.06: "likely the fastest, but the measurements do not decide"} {
		file := askedFile()
		for k := range file.Hosts[1].Operations {
			for i := range file.Hosts[1].Operations[k].Asked {
				file.Hosts[1].Operations[k].Asked[i].Regret = new(regret)
			}
		}
		d := newDispatcherFor(t, file, m3Max)
		for _, e := range []Explanation{d.Operation("fft").ExplainShape(441, 64), d.Case("fft/n=441").Explain(64)} {
			if e.Implementation != "accelerate" || e.Reason != want || e.Answer != Measured {
				t.Errorf("with a regret of %v: %s, want %q", regret, e, want)
			}
		}
		if e := d.Operation("fft", "go", "metal").ExplainShape(441, 64); e.Reason != "next best, as accelerate is not there" {
			t.Errorf("with a regret of %v: %s", regret, e)
		}
	}
}
