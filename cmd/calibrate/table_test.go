package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/cmd/internal/command"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/lab/chips"
	"crossover/thresholds"
)

// widest returns an entry with all cases in all placements. All texts have their greatest width.
func widest() (*calibration.Host, map[string]thresholds.Result) {
	h := &calibration.Host{
		ID: "simulated-apple-m3-ultra-80", Simulated: true, Facts: calibration.Facts{Chip: "Apple M3 Ultra", Architecture: "arm64", GPU: "x"},
		Environment: calibration.Environment{OS: "darwin", Go: "go1.26.8"},
		Method:      calibration.Method{Mode: "throughput", InFlight: 1024, State: "warm", SpentSeconds: 86399, Seed: math.MaxUint32},
	}
	fits := map[string]thresholds.Result{}
	for _, backends := range []*kernels.Backends{kernels.Here(), chips.Backends()} {
		for _, c := range catalogue.Cases(backends) {
			longest := slices.MaxFunc(c.Implementations, func(a, b kernels.Implementation) int { return len(a.Name) - len(b.Name) }).Name
			for _, placement := range []kernels.Placement{kernels.Caller, kernels.Shared, kernels.Resident} {
				w := calibration.Case{
					Name: c.Placed(placement).Name, Operation: c.Operation, Verdict: calibration.Unresolved, Degraded: true,
					Axis:   calibration.Axis{Name: c.Axis.Name, Unit: c.Axis.Unit, From: c.Axis.Min, To: c.Axis.Max},
					Regret: &calibration.Regret{Mean: -0.123, Upper: new(float64)}, Reason: strings.Repeat("why it is so ", 20),
					Implementations: []calibration.Implementation{{Name: longest, Excluded: strings.Repeat("no library ", 20)}},
				}
				*w.Regret.Upper = 9.876
				fit := thresholds.Result{Curves: thresholds.Curves{
					Sizes: []int{c.Axis.Min, c.Axis.Max}, Seconds: [][]float64{{99e-9, 0.099}, {1, 1}},
					Loss: [][]float64{{math.Log(9), 0}, {0, math.Log(123456)}},
				}}
				for n := range 2 {
					w.Segments = append(w.Segments, calibration.Segment{
						From: c.Axis.Min + n*(c.Axis.Max-c.Axis.Min), Implementation: longest,
						Interval: &calibration.Interval{Low: c.Axis.Max - 1, High: c.Axis.Max, AssumedBetweenRuns: 0.015},
					})
					fit.Segments = append(fit.Segments, thresholds.Segment{From: c.Axis.Min, To: c.Axis.Max})
				}
				h.Cases, fits[w.Name] = append(h.Cases, w), fit
			}
		}
	}
	for _, space := range catalogue.Spaces(chips.Backends()) {
		o := calibration.Operation{Name: space.Operation, Placement: string(space.Placement)}
		o.Surface.Implementations = make([]surface.Implementation, 1)
		for _, a := range space.Axes {
			o.Surface.Axes = append(o.Surface.Axes, a.Name)
			o.HeldOut.WorstShape = append(o.HeldOut.WorstShape, a.Max)
			o.Axes = append(o.Axes, calibration.Axis{Name: a.Name})
		}
		o.HeldOut.Shapes, o.HeldOut.Regret, o.HeldOut.RegretUpper, o.HeldOut.Within, o.HeldOut.Worst = 100, -0.1234, 9.876, 1, 98.765
		h.Operations = append(h.Operations, o)
	}
	return h, fits
}

func TestTheTableFits(t *testing.T) {
	h, fits := widest()
	before := *h
	before.Cases = slices.Clone(h.Cases)
	for k := range h.Cases {
		h.Cases[k].Verdict = calibration.Crossover
		before.Cases[k].Verdict = calibration.Crossover
		before.Cases[k].Segments = []calibration.Segment{{From: 1, Implementation: "another"}}
	}
	var text bytes.Buffer
	table(&text, h, fits)
	moves(&text, &before, h)
	notes(&text, h)
	gpus := *h
	gpus.Cases = slices.Clone(h.Cases)
	for k := range gpus.Cases {
		gpus.Cases[k].Implementations = []calibration.Implementation{{Name: h.Cases[k].Segments[0].Implementation, GPUTimes: []calibration.GPUTimes{{
			Size: 16 << 20, WallSeconds: 123.4e-6, GPUSeconds: 123.4e-6, EncodeSeconds: 123.4e-6, GapSeconds: 123.4e-6, LaunchEfficiency: 1.01,
		}}}}
	}
	gpuTable(&text, &gpus)
	for line := range strings.Lines(text.String()) {
		if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > command.Columns || strings.HasSuffix(line, " ") {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(line), line)
		}
	}
	for _, want := range []string{"SIMULATED: ", "mel/bands=128,n_fft=2048,resident, 1 to 8 192 frames", "\n    at in=", "0.11–123 456×", "99 ns – 99 ms", "-12.3 %", "987.6 %"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(text.String()[:4000])
	}
}

// The list says of each name in it what it means, once.
func TestTheListSaysWhatNamesMean(t *testing.T) {
	for _, backends := range []*kernels.Backends{kernels.Here(), chips.Backends()} {
		cases := catalogue.Cases(backends)
		var text bytes.Buffer
		if err := list(&text, &calibration.Host{}, cases); err != nil {
			t.Fatal(err)
		}
		operations, legend, _ := strings.Cut(text.String(), "\nImplementations\n")
		for line := range strings.Lines(operations) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > command.Columns {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
		for _, c := range cases {
			for _, i := range c.Implementations {
				name, _, _ := strings.Cut(i.Name, "/")
				if kernels.Meaning(name) == "" || strings.Count(legend, "\n  "+name+"  ") != 1 {
					t.Fatalf("%s means %q, and the list says\n%s", name, kernels.Meaning(name), legend)
				}
			}
		}
	}
}

// sample returns an entry of two operations, not in the catalogue's order, on a machine without a GPU.
func sample() (*calibration.Host, map[string]thresholds.Result) {
	upper := 0.0061
	h := &calibration.Host{
		ID: "host", Facts: calibration.Facts{Architecture: "amd64"}, Environment: calibration.Environment{OS: "linux", Go: "go1.26"},
		Created: time.Date(2026, 11, 22, 11, 4, 5, 0, time.UTC),
		Method:  calibration.Method{Mode: "latency", State: "warm", SpentSeconds: 120, Seed: 7},
		Cases: []calibration.Case{
			{
				Name: "fft/batch=1", Operation: "fft", Verdict: calibration.Crossover, Degraded: true,
				Axis:   calibration.Axis{Unit: "samples", From: 64, To: 1 << 20},
				Regret: &calibration.Regret{Mean: -0.0001, Upper: &upper},
				Segments: []calibration.Segment{
					{From: 64, Implementation: "go"},
					{From: 4000, Implementation: "go-parallel", Interval: &calibration.Interval{Low: 3600, High: 4700}},
				},
				Implementations: []calibration.Implementation{
					{Name: "go", Processor: "cpu"}, {Name: "cuda", Processor: "gpu", Excluded: "cannot load libcuda"},
				},
			},
			{
				Name: "sum", Operation: "sum", Verdict: calibration.Always, Reason: "only two sizes were measured", Sizes: []int{1024, 4096}, Axis: calibration.Axis{Unit: "elements", From: 1024, To: 4096},
				Segments: []calibration.Segment{{From: 1024, Implementation: "go"}},
				Implementations: []calibration.Implementation{
					{Name: "go", Processor: "cpu"}, {Name: "cuda", Processor: "gpu", Excluded: "cannot load libcuda"},
					{Name: "fftw", Processor: "cpu", Excluded: "no libfftw3f.so.3"},
				},
			},
			{Name: "scale", Operation: "scale", Verdict: calibration.Unresolved, Reason: "no block was measured", Axis: calibration.Axis{Unit: "elements", From: 1, To: 1}},
		},
	}
	fit := thresholds.Result{
		Curves: thresholds.Curves{
			Sizes:   []int{64, 512, 4096, 65536, 1 << 20},
			Seconds: [][]float64{{50e-9, 400e-9, 4e-6, 90e-6, 2e-3}, {2e-6, 2e-6, 3.6e-6, 30e-6, 0.5e-3}},
			Loss:    [][]float64{{0, 0, math.Log(1.1), math.Log(3), math.Log(4)}, {math.Log(40), math.Log(5), 0, 0, 0}},
		},
		Segments: []thresholds.Segment{{From: 64, To: 3999}, {From: 4000, To: 1 << 20, Implementation: 1}},
	}
	only := thresholds.Result{ // with a single implementation
		Curves:   thresholds.Curves{Sizes: []int{1024, 4096}, Seconds: [][]float64{{1e-6, 1e-6}}, Loss: [][]float64{{0, 0}}},
		Segments: []thresholds.Segment{{From: 1024, To: 4096}},
	}
	return h, map[string]thresholds.Result{"fft/batch=1": fit, "sum": only}
}

func TestTable(t *testing.T) {
	h, fits := sample()
	var text bytes.Buffer
	entry := shown(h)
	table(&text, entry, fits)
	notes(&text, entry)
	const want = `host · linux/amd64 · go1.26 · latency · 120 s · seed 7

CASE, MEASURED SIZES                      VERDICT              REGRET  AT MOST
     FROM  95 % INTERVAL  IMPLEMENTATION  A CALL TAKES  NEXT BEST TAKES
scale, 1 element                          unresolved

sum, 1 024 to 4 096 elements              two sizes                 ?        ?
    1 024                 go              1.0 µs

fft/batch=1, 64 to 1 048 576 samples      crossover, degraded   0.0 %    0.6 %
       64                 go              50 – 400 ns   5.0–40×
    4 000  3 600 – 4 700  go-parallel     3.6 – 500 µs  1.1–4.0×
` + legend + `
scale: unresolved: no block was measured
sum: only two sizes were measured
fftw did not compete: no libfftw3f.so.3
`
	if text.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", text.String(), want)
	}
	if len(h.Cases[0].Implementations) != 2 || h.Cases[0].Name != "fft/batch=1" {
		t.Errorf("what is shown changed the entry: %+v", h.Cases[0])
	}
}

func TestOperationsAreInTheCataloguesOrder(t *testing.T) {
	h, _ := sample()
	h.Operations = []calibration.Operation{{Name: "glu", Placement: "shared"}, {Name: "biquad", Placement: "caller"}, {Name: "glu", Placement: "caller"}}
	var names []string
	for _, o := range shown(h).Operations {
		names = append(names, placedName(&o))
	}
	if want := []string{"glu", "glu/shared", "biquad"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

// On a machine with a GPU, the command says once for all of the GPU's implementations why none of them competed.
func TestAGPUWithoutItsDriverIsTold(t *testing.T) {
	for name, has := range map[string]func(h *calibration.Host){
		"a GPU of which the library is missing": func(h *calibration.Host) { h.Facts.GPU = "NVIDIA H200" },
		"a GPU without a driver":                func(h *calibration.Host) { h.Environment.UndrivenGPU = "NVIDIA H200" },
	} {
		h, _ := sample()
		has(h)
		h.Cases[0].Implementations = append(h.Cases[0].Implementations,
			calibration.Implementation{Name: "cufft", Processor: "gpu", Excluded: "cannot load libcuda"},
			calibration.Implementation{Name: "fftw", Processor: "cpu"})
		var text bytes.Buffer
		notes(&text, shown(h))
		for _, want := range []string{"\ncuda, cufft did not compete: cannot load libcuda\n", "\nfftw in sum did not compete: no libfftw3f.so.3\n"} {
			if strings.Count(text.String(), want) != 1 {
				t.Errorf("%s: it says\n%s\nwant %q once", name, text.String(), want)
			}
		}
	}
}

func TestMovesInWords(t *testing.T) {
	before, _ := sample()
	before.Runs = []calibration.Run{{Created: before.Created.Add(24 * time.Hour)}}
	now, _ := sample()
	now.Cases[0].Segments[1] = calibration.Segment{From: 9000, Implementation: "go-parallel", Interval: &calibration.Interval{Low: 8000, High: 9500}}
	now.Cases[1].Segments[0].Implementation = "fftw"
	fresh := calibration.Case{Name: "log", Verdict: calibration.Always, Axis: calibration.Axis{From: 1, To: 5}, Segments: []calibration.Segment{{From: 1, Implementation: "go"}}}
	now.Cases = append(now.Cases, fresh)
	var text bytes.Buffer
	moves(&text, before, now)
	const want = `
moved since 2026-11-23:
  fft/batch=1: go-parallel from 9 000 samples on, before from 4 000
  sum: fftw instead of go from 1 024 elements on
`
	if text.String() != want {
		t.Errorf("it says %q, want %q", text.String(), want)
	}
	text.Reset()
	moves(&text, now, before)
	if want := "go-parallel from 4 000 samples on, before from 9 000\n"; !strings.Contains(text.String(), want) {
		t.Errorf("it says %q, want %q", text.String(), want)
	}
	now.Cases[0].Segments = now.Cases[0].Segments[:1]
	text.Reset()
	moves(&text, before, now)
	if want := "fft/batch=1: go instead of go-parallel from 4 000 samples on, a threshold less\n"; !strings.Contains(text.String(), want) {
		t.Errorf("it says %q, want %q", text.String(), want)
	}
	now.Cases[0].Segments = append(now.Cases[0].Segments, before.Cases[0].Segments[1], calibration.Segment{From: 9000, Implementation: "go"})
	text.Reset()
	moves(&text, before, now)
	if want := "fft/batch=1: go instead of go-parallel from 9 000 samples on, a new threshold\n"; !strings.Contains(text.String(), want) {
		t.Errorf("it says %q, want %q", text.String(), want)
	}
	text.Reset()
	moves(&text, before, before)
	moves(&text, nil, before)
	if text.Len() > 0 {
		t.Errorf("nothing moved, and it says %q", text.String())
	}
}

func TestManyMoves(t *testing.T) {
	var before, now calibration.Host
	for k := range mostMoves + 5 {
		c := calibration.Case{Name: strings.Repeat("x", k+1), Verdict: calibration.Always, Axis: calibration.Axis{From: 1, To: 5}}
		c.Segments = []calibration.Segment{{From: 1, Implementation: "a"}}
		before.Cases = append(before.Cases, c)
		c.Segments = []calibration.Segment{{From: 1, Implementation: "b"}}
		now.Cases = append(now.Cases, c)
	}
	var text bytes.Buffer
	moves(&text, &before, &now)
	if lines := strings.Count(text.String(), " instead of "); lines != mostMoves || !strings.HasSuffix(text.String(), "\n  and 5 more\n") {
		t.Errorf("%d moves are named:\n%s", lines, text.String())
	}
}
