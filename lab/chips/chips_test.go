package chips

import (
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels/catalogue"
)

func TestFitReproducesSaxpy(t *testing.T) {
	f := Fitted()
	t.Logf("a streaming kernel reaches %.3f of the memory bandwidth, the clock's rise takes %.0f µs; processor cores reach %.3f, a call takes %.2g s",
		f.GPUShare, 1e6*f.Rise, f.CPUShare, f.Call)
	for name, v := range map[string]float64{"GPU's share": f.GPUShare, "processor's share": f.CPUShare} {
		if !(v > 0 && v <= 1) {
			t.Errorf("the %s of the bandwidth is %v", name, v)
		}
	}
	if !(f.Rise >= 0 && f.Call >= 0) {
		t.Errorf("fixed costs of %v and %v", f.Rise, f.Call)
	}
	// The page states these errors. They remain after a fit of two numbers to a processor's three points.
	const metal, vdsp = 0.01, 0.05
	for _, r := range f.Rows {
		if off := math.Abs(r.MetalModel/r.Metal - 1); off > metal {
			t.Errorf("Metal at %d: the model is off by %.1f %%, allowed %.0f %%", r.Elements, 100*off, 100*metal)
		}
		if off := math.Abs(r.VDSPModel/r.VDSP - 1); off > vdsp {
			t.Errorf("vDSP at %d: the model is off by %.1f %%, allowed %.0f %%", r.Elements, 100*off, 100*vdsp)
		}
	}
	if len(f.Rows) != 3 {
		t.Errorf("%d rows", len(f.Rows))
	}
}

func TestLeastSquares(t *testing.T) {
	x := []float64{1, 2, 5, 9}
	for name, c := range map[string]struct{ a, b, known, wantA float64 }{
		"exact":                       {0.5, 2, 0, 0.5},
		"a part is known":             {0.5, 2, 0.2, 0.3},
		"no fixed cost is below zero": {0.5, 2, 0.6, 0},
	} {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = c.a + c.b*x[i]
		}
		a, b := leastSquares(x, y, c.known)
		// Only rounding is left. If a is held at 0, b takes up a tenth in values of 2.5 to 18.5.
		if math.Abs(a-c.wantA) > 1e-9 || math.Abs(b-c.b) > 0.05 {
			t.Errorf("%s: %v + %v·x, want %v + %v·x", name, a, b, c.wantA, c.b)
		}
	}
}

// After a pause, short calls are slower by the same factor, and long calls by the same time.
func TestRisen(t *testing.T) {
	const rise = 300e-6
	for seconds, want := range map[string]struct{ at, is float64 }{"short": {10e-6, 10e-6 / idleClock}, "long": {1e-3, 1e-3 + rise}} {
		if got := risen(want.at, rise); math.Abs(got-want.is) > 1e-12 {
			t.Errorf("%s: %v, want %v", seconds, got, want.is)
		}
	}
}

// The figures agree with each other: 128 lanes a core, a multiply-add each.
func TestPeaks(t *testing.T) {
	for _, c := range Published() {
		if c.Missing() != "" {
			continue
		}
		peak := 2 * 128 * float64(c.GPUCores) * *c.GPUGigahertz * 1e9
		// The figures have two or three digits.
		if math.Abs(c.peak()/peak-1) > 0.005 {
			t.Errorf("%s: a peak of %.3g, but cores and clock make %.3g", c.Name, c.peak(), peak)
		}
		for source := range strings.SplitSeq(c.Source, ",") {
			if figures.Sources[source] == "" {
				t.Errorf("%s: source %q is not listed", c.Name, source)
			}
		}
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"m5":     "no trustworthy figure was found for its GPU clock and peak of the GPU",
		"":       "no such chip (want m1, m1-pro",
		"m3 max": "no such chip (want m1, m1-pro",
	} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Find(%q): %v, want one line with %q", name, err, want)
		}
	}
	c, err := Find("m3-max")
	if err != nil || c.Title() != "Apple M3 Max" || len(Names()) != len(Published())-1 {
		t.Errorf("%q, %v; %d of %d chips can be modelled", c.Title(), err, len(Names()), len(Published()))
	}
}

// Every case of the catalogue has a cost on every chip, by every implementation.
func TestCosts(t *testing.T) {
	all := catalogue.Cases(Backends())
	for _, name := range Names() {
		chip, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		cases := NewMachine(chip, 1).Cases(all)
		if len(cases) != len(all) {
			t.Fatalf("%s: %d of the catalogue's %d cases", name, len(cases), len(all))
		}
		for _, c := range cases {
			for _, i := range chip.implementations(c) {
				for n := c.Axis.Min; n <= c.Axis.Max; n *= 2 {
					// No call takes more than ten years, or less than a tenth of a microsecond.
					if s := i.Cost(float64(n)); !(s > 1e-7 && s < 3e8) {
						t.Errorf("%s: %s by %s at %d takes %v s", name, c.Name, i.Name, n, s)
					}
					if i.Account == nil {
						continue
					}
					if told := i.Account(float64(n)); told.Busy <= 0 || told.Span.Seconds() > i.Cost(float64(n)) {
						t.Errorf("%s: %s by %s at %d tells %+v of a call of %v s", name, c.Name, i.Name, n, told, i.Cost(float64(n)))
					}
				}
			}
		}
	}
}

// The modelled machine has the implementations that the catalogue has on a Mac.
func TestImplementationsAreThoseOfAMac(t *testing.T) {
	chip, err := Find("m3-max")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range NewMachine(chip, 1).Cases(catalogue.Cases(Backends())) {
		var names []string
		for _, i := range c.Implementations {
			names = append(names, i.Name)
		}
		want := map[string][]string{
			"scale":           {"go", "go-parallel", "accelerate", "metal"},
			"fft":             {"go", "go-parallel", "accelerate", "metal", "mpsgraph"},
			"matmul":          {"go", "go-parallel", "accelerate", "metal", "mps"},
			"oscillator-bank": {"go", "go-parallel", "metal"},
		}[c.Operation]
		if want != nil && !slices.Equal(names, want) {
			t.Errorf("%s is computed by %q, want %q", c.Name, names, want)
		}
		if len(names) < 3 {
			t.Errorf("%s is computed by %q alone", c.Name, names)
		}
	}
}

func TestCrossoverOfPredictions(t *testing.T) {
	for _, name := range Names() {
		c, _ := Find(name)
		for _, v := range Predictions() {
			for _, busy := range []bool{false, true} {
				n, found := v.Crossover(c, c.Latency().Least, busy)
				if !found {
					continue
				}
				faster := func(n int) bool { return v.GPU(c, n, c.Latency().Least, busy) < v.CPU(c, n) }
				if !faster(n) || n > v.Sizes[0] && faster(n-1) {
					t.Errorf("%s on %s: %d is no crossover", v.Name, name, n)
				}
			}
		}
	}
}
