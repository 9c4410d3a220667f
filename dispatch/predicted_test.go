package dispatch

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
	"crossover/host"
)

// power is an implementation whose calls take seconds·work^exponent. work is a product of powers of the axes.
type power struct {
	name              string
	seconds, exponent float64
}

// surfaceOf returns a surface of implementations whose times are powers of the work. weights are the powers of the axes in
// the work.
func surfaceOf(axes []string, weights []float64, implementations ...power) surface.Surface {
	s := surface.Surface{
		Axes: axes, Features: []surface.Feature{{Kind: surface.Logarithm, Weights: weights}}, Scales: []float64{1},
		Shapes: make([]int, len(axes)),
	}
	for i := range s.Shapes {
		s.Shapes[i] = 1
	}
	for _, p := range implementations {
		s.Implementations = append(s.Implementations, surface.Implementation{
			Name: p.name, Linear: []float64{math.Log(p.seconds), p.exponent * math.Ln2}, Weights: []float64{0},
		})
	}
	return s
}

// implementationsOf returns the record of implementations. metal and cuda are on the GPU.
func implementationsOf(s *surface.Surface) []calibration.Implementation {
	var all []calibration.Implementation
	for i := range s.Implementations {
		name := s.Implementations[i].Name
		processor := "cpu"
		if name == "metal" || name == "cuda" {
			processor = "gpu"
		}
		all = append(all, calibration.Implementation{Name: name, Processor: processor})
	}
	return all
}

// stft is an operation whose work is n_fft·n/hop. go is the fastest up to a work of 10⁴, accelerate up to 10⁶, and then
// metal. Without accelerate, go and metal cross at 10⁵.
func stft() calibration.Operation {
	o := calibration.Operation{
		Name: "stft", Placement: "caller",
		Axes: []calibration.Axis{
			{Name: "n_fft", Unit: "samples", From: 64, To: 8192}, {Name: "hop", Unit: "samples", From: 16, To: 4096},
			{Name: "n", Unit: "samples", From: 1024, To: 4 << 20},
		},
		Surface: surfaceOf([]string{"n_fft", "hop", "n"}, []float64{1, -1, 1},
			power{"go", 1e-9, 1}, power{"accelerate", 1e-7, 0.5}, power{"metal", 1e-4, 0}),
		HeldOut: calibration.HeldOut{Shapes: 20, Regret: 0.012, RegretUpper: 0.023, Within: 0.9, WithinLower: 0.8, Worst: 0.2},
	}
	o.Implementations = implementationsOf(&o.Surface)
	return o
}

// gemm is an operation whose work is m·k·n, with the same implementations. Its measured case of square products has
// accelerate as the winner everywhere.
func gemm() (calibration.Operation, calibration.Case) {
	o := stft()
	o.Name = "matmul"
	o.Axes = []calibration.Axis{
		{Name: "m", Unit: "rows", From: 1, To: 4096}, {Name: "k", Unit: "columns", From: 16, To: 4096},
		{Name: "n", Unit: "columns", From: 16, To: 4096},
	}
	o.Surface = surfaceOf([]string{"m", "k", "n"}, []float64{1, 1, 1},
		power{"go", 1e-9, 1}, power{"accelerate", 1e-7, 0.5}, power{"metal", 1e-4, 0})
	square := calibration.Case{
		Name: "matmul/square", Operation: "matmul", Axis: calibration.Axis{Name: "n", Unit: "rows", From: 16, To: 4096},
		Implementations: o.Implementations, Verdict: calibration.Always, Sizes: []int{16, 64, 200, 800, 4096},
		Segments: []calibration.Segment{{From: 16, To: 4096, Implementation: "accelerate",
			Next: []calibration.Alternative{{Implementation: "go", Slowdown: 2}}}},
	}
	return o, square
}

// transforms is an fft over lengths and rows. go takes longer at lengths with a prime factor above 5, and metal does not.
// They cross at 10⁶ samples without such factors, and at 10⁴ with them.
func transforms() calibration.Operation {
	o := calibration.Operation{
		Name: "fft", Placement: "caller",
		Axes: []calibration.Axis{{Name: "n", Unit: "samples", From: 64, To: 65536}, {Name: "batch", Unit: "rows", From: 1, To: 1024}},
		Surface: surface.Surface{
			Axes: []string{"n", "batch"}, Scales: []float64{1, 1}, Shapes: []int{64, 1},
			Features: []surface.Feature{
				{Kind: surface.Logarithm, Weights: []float64{1, 1}}, {Kind: surface.Rough, Weights: []float64{1, 0}, Prime: 5},
			},
			Implementations: []surface.Implementation{
				{Name: "go", Linear: []float64{math.Log(1e-10), math.Ln2, math.Log(100)}, Weights: []float64{0}},
				{Name: "metal", Linear: []float64{math.Log(1e-4), 0, 0}, Weights: []float64{0}},
				{Name: "accelerate", Linear: []float64{math.Log(1e-9), math.Ln2, math.Log(100)}, Weights: []float64{0}},
			},
		},
	}
	o.Implementations = implementationsOf(&o.Surface)
	return o
}

// predictedFile is the calibration of an M3 Max with operations. Its cases have measured sizes without factors above 5.
func predictedFile() *calibration.File {
	file := testFile()
	h := &file.Hosts[1]
	product, square := gemm()
	fft := transforms()
	h.Operations = []calibration.Operation{fft, product, stft()}
	for i := range h.Cases {
		if c := &h.Cases[i]; c.Operation == "fft" {
			_, parameters, _ := strings.Cut(c.Name, "=")
			batch := map[string]int{"1": 1, "64": 64}[parameters]
			c.Parameters, c.Sizes = map[string]int{"batch": batch}, []int{64, 80, 256, 512, 2000, 8000, 30000, 65536}
		}
	}
	h.Cases = append(h.Cases, square)
	return file
}

func TestCut(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	c := d.Case("stft/n_fft=1024,hop=256") // a work of 4·n: go up to 2500, accelerate up to 250 000
	for _, test := range []struct {
		size   int
		want   string
		answer Answer
	}{
		{1, "go", Beyond}, {1023, "go", Beyond}, {1024, "go", Predicted}, {2470, "go", Predicted}, {2530, "accelerate", Predicted},
		{247_000, "accelerate", Predicted}, {253_000, "metal", Predicted}, {4 << 20, "metal", Predicted}, {1 << 30, "metal", Beyond},
	} {
		expect(t, c, test.size, test.want, "predicted to be the fastest from 1 shape")
		if e := c.Explain(test.size); e.Answer != test.answer || e.BeyondRange != (test.answer == Beyond) {
			t.Errorf("%d: answer %q, beyond %v, want %q", test.size, e.Answer, e.BeyondRange, test.answer)
		}
	}
	want := "stft/n_fft=1024,hop=256 at 48000 samples: accelerate, predicted to be the fastest from 1 shape, with an expected loss " +
		"of 1.2 % (at most 2.3 % at 95 %, by 20 shapes held out); segment 2501 to 250032; measured on apple-m3-max-40 12 days ago"
	e := c.Explain(48000)
	if got := e.String(); got != want {
		t.Errorf("explanation\n got %s\nwant %s", got, want)
	}
	if *e.Prediction != (Prediction{Shapes: 1, HeldOut: 20, Loss: 0.012, LossUpper: 0.023}) {
		t.Errorf("prediction %+v", *e.Prediction)
	}
	for _, name := range []string{"stft/hop=256,n_fft=1024", "stft/n_fft=1024,hop=256,shared"} {
		expect(t, d.Case(name), 48000, "accelerate", "predicted")
	}
	if e := d.Case("stft/n_fft=1024,hop=256,shared").Explain(48000); !strings.Contains(e.Reason, "measured with data in caller memory") {
		t.Errorf("the placement is not mentioned: %s", e)
	}
	// Along another axis the work is 10⁸/hop, which falls below 10⁶ at 100.
	expect(t, d.Case("stft/n_fft=1000,n=100000"), 98, "metal", "predicted")
	expect(t, d.Case("stft/n_fft=1000,n=100000"), 102, "accelerate", "predicted")
	// A fixed value outside of the measured ones counts as the nearest inside, so the work is 2·n.
	far := d.Case("stft/n_fft=32768,hop=4096")
	expect(t, far, 495_000, "accelerate", "n_fft is 32768, measured from 64 to 8192")
	expect(t, far, 505_000, "metal", "n_fft is 32768, measured from 64 to 8192")
	if e := far.Explain(48000); e.Answer != Beyond || !e.BeyondRange {
		t.Errorf("explained as %+v", e)
	}
}

// Measurements come before predictions, also if the name has the axes in another order. Data in their own placement come
// before data in caller memory.
func TestMeasuredBeforePredicted(t *testing.T) {
	file := predictedFile()
	h := &file.Hosts[1]
	measured := calibration.Case{
		Name: "stft/n_fft=1024,hop=256", Operation: "stft", Parameters: map[string]int{"n_fft": 1024, "hop": 256},
		Axis: h.Operations[2].Axes[2], Implementations: h.Operations[2].Implementations, Verdict: calibration.Always,
		Segments: []calibration.Segment{{From: 1024, To: 4 << 20, Implementation: "metal"}},
	}
	undecided := measured
	undecided.Name, undecided.Parameters = "stft/n_fft=512,hop=128", map[string]int{"n_fft": 512, "hop": 128}
	undecided.Segments, undecided.Verdict = nil, calibration.Unresolved
	inShared := stft()
	inShared.Placement = "shared"
	inShared.Surface = surfaceOf(inShared.Surface.Axes, []float64{1, -1, 1}, power{"go", 1e-4, 0}, power{"accelerate", 1e-3, 0}, power{"metal", 1e-3, 0})
	h.Cases, h.Operations = append(h.Cases, measured, undecided), append(h.Operations, inShared)
	d := newDispatcherFor(t, file, m3Max)
	for name, want := range map[string]string{
		"stft/n_fft=1024,hop=256":        "metal fastest at every measured size measured",
		"stft/hop=256,n_fft=1024":        "metal fastest at every measured size measured",
		"stft/hop=256,n_fft=2048":        "go predicted to be the fastest predicted",
		"stft/n_fft=512,hop=128":         "go predicted to be the fastest predicted", // measured, without a decision
		"stft/n_fft=1024,hop=256,shared": "go predicted to be the fastest predicted",
	} {
		e := d.Case(name).Explain(1100)
		reason, _, _ := strings.Cut(e.Reason, " from ")
		if got := fmt.Sprint(e.Implementation, " ", reason, " ", e.Answer); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// A file of version 1 has only cases.
	old := newDispatcherFor(t, testFile(), m3Max)
	expect(t, old.CaseOf("fft/batch=1,shared", "fft/batch=1", "", nil, nil), 65536, "metal", "fastest measured")
	nothing := testFile() // what was measured in shared memory does not decide
	apple := &nothing.Hosts[1]
	undecided = apple.Cases[slices.IndexFunc(apple.Cases, func(c calibration.Case) bool { return c.Name == "fft/batch=1" })]
	undecided.Name, undecided.Segments, undecided.Verdict = "fft/batch=1,shared", nil, calibration.Unresolved
	apple.Cases = append(apple.Cases, undecided)
	old = newDispatcherFor(t, nothing, m3Max)
	expect(t, old.CaseOf("fft/batch=1,shared", "fft/batch=1", "", nil, nil), 65536, "metal", "fastest measured")
	one := &apple.Cases[len(apple.Cases)-1] // neither does a single size
	one.Axis.From, one.Axis.To, one.Verdict = 64, 64, calibration.Always
	one.Segments = []calibration.Segment{{From: 64, To: 64, Implementation: "go"}}
	old = newDispatcherFor(t, nothing, m3Max)
	expect(t, old.CaseOf("fft/batch=1,shared", "fft/batch=1", "", nil, nil), 65536, "metal", "fastest measured")
	expect(t, old.Case("fft/batch=1,shared"), 65536, "metal", "fastest measured")
	if e := old.Case("fft/batch=1,shared").Explain(65536); !strings.Contains(e.String(), "; measured with data in caller memory") {
		t.Errorf("%s: where were the data?", e)
	}
	// So does it for data on the GPU that were not measured at all.
	expect(t, old.Case("fft/batch=1,resident"), 65536, "metal", "fastest measured")
	// Without anything for shared memory, a program's case in caller memory counts, measured or predicted.
	h.Operations = h.Operations[:3]
	if err := d.Swap(file); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"stft/n_fft=1024,hop=256": "metal", "stft/n_fft=2048,hop=256": "accelerate"} {
		if got := d.CaseOf(name+",shared", name, "", nil, nil).Choose(1300); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A measured case decides up to eight times beyond its sizes. Further away the surface decides, and everywhere but at the size
// if there is only one.
func TestFarBeyondAMeasuredCase(t *testing.T) {
	file := predictedFile()
	h := &file.Hosts[1]
	axis := h.Operations[2].Axes[2]
	line := func(name string, hop, from, to int, segments ...calibration.Segment) {
		c := calibration.Case{
			Name: name, Operation: "stft", Parameters: map[string]int{"n_fft": 1024, "hop": hop}, Axis: axis,
			Implementations: h.Operations[2].Implementations, Verdict: calibration.Always, Segments: segments,
		}
		if c.Axis.From, c.Axis.To = from, to; len(segments) > 1 {
			c.Verdict = calibration.Crossover
		}
		h.Cases = append(h.Cases, c)
	}
	line("stft/n_fft=1024,hop=256", 256, 4096, 65536,
		calibration.Segment{From: 4096, To: 8191, Implementation: "accelerate"}, calibration.Segment{From: 8192, To: 65536, Implementation: "go", Interval: &calibration.Interval{Low: 8000, High: 8400}})
	line("stft/n_fft=1024,hop=512", 512, 4096, 4096, calibration.Segment{From: 4096, To: 4096, Implementation: "metal"})
	d := newDispatcherFor(t, file, m3Max)
	for _, c := range []struct {
		name   string
		size   int
		want   string
		answer Answer
	}{
		{"stft/n_fft=1024,hop=256", 8192, "go", Measured},
		{"stft/n_fft=1024,hop=256", 4096, "accelerate", Measured},
		{"stft/n_fft=1024,hop=256", 512, "accelerate", Beyond},
		{"stft/n_fft=1024,hop=256", 65537, "go", Beyond},
		{"stft/n_fft=1024,hop=256", 8 * 65536, "go", Beyond},
		{"stft/n_fft=1024,hop=512", 4096, "metal", Measured},
	} {
		if e := d.Case(c.name).Explain(c.size); e.Implementation != c.want || e.Answer != c.answer || d.Case(c.name).Choose(c.size) != c.want {
			t.Errorf("%s at %d: %s, %s, want %s, %s", c.name, c.size, e.Implementation, e.Answer, c.want, c.answer)
		}
	}
	stft := d.Operation("stft")
	for _, c := range []struct {
		name      string
		hop, size int
	}{
		{"stft/n_fft=1024,hop=256", 256, 1}, {"stft/n_fft=1024,hop=256", 256, 511},
		{"stft/n_fft=1024,hop=256", 256, 8*65536 + 1}, {"stft/n_fft=1024,hop=256", 256, 1 << 40},
		{"stft/n_fft=1024,hop=512", 512, 4095}, {"stft/n_fft=1024,hop=512", 512, 4097}, {"stft/n_fft=1024,hop=512", 512, 1 << 20},
	} {
		of := d.Case(c.name)
		want, got := stft.ExplainShape(1024, c.hop, c.size), of.Explain(c.size)
		if of.Choose(c.size) != want.Implementation || got.Implementation != want.Implementation || got.Reason != want.Reason || got.Answer != want.Answer {
			t.Errorf("%s at %d: %s, %q, want %s, %q as by shape", c.name, c.size, got.Implementation, got.Reason, want.Implementation, want.Reason)
		}
		if allocated := testing.AllocsPerRun(100, func() { of.Choose(c.size) }); allocated > 0 {
			t.Errorf("%s at %d: Choose allocates %v times", c.name, c.size, allocated)
		}
	}
}

// So does the surface far beyond a case along which several axes vary together, as those of square products do.
func TestFarBeyondSquares(t *testing.T) {
	file := predictedFile()
	for k := range file.Hosts[1].Cases {
		if c := &file.Hosts[1].Cases[k]; c.Name == "matmul/square" {
			c.Axis.To, c.Sizes = 64, nil
			last := &c.Segments[len(c.Segments)-1]
			last.To = 64
		}
	}
	d := newDispatcherFor(t, file, m3Max)
	squares, matmul := d.Case("matmul/square"), d.Operation("matmul")
	if e := squares.Explain(8 * 64); e.Answer != Beyond || e.Prediction != nil {
		t.Errorf("%+v: want the choice of the measured case", e)
	}
	for _, size := range []int{8*64 + 1, 801, 5000} {
		want, got := matmul.ExplainShape(size, size, size), squares.Explain(size)
		if want.Prediction == nil || squares.Choose(size) != want.Implementation || got.Implementation != want.Implementation || got.Reason != want.Reason {
			t.Errorf("%d: %s, %q, want %s, %q as by shape", size, got.Implementation, got.Reason, want.Implementation, want.Reason)
		}
	}
}

// A program that lacks an implementation gets the thresholds of the others. It is not asked about implementations that would
// not be chosen.
func TestCutWithoutAnImplementation(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	c := d.Case("stft/n_fft=1024,hop=256", "go", "metal") // they cross at n = 25 000
	expect(t, c, 2000, "go", "predicted to be the fastest from")
	expect(t, c, 24_700, "go", "predicted to be the fastest of the others (accelerate is not there), from")
	expect(t, c, 25_300, "metal", "predicted to be the fastest of the others (accelerate is not there), from")
	expect(t, c, 1<<20, "metal", "predicted to be the fastest from")
	none := d.Case("stft/n_fft=1024,hop=256", "cuda")
	expect(t, none, 2000, CPU, "nothing on record can be used: accelerate is not there, go is not there, metal is not there")
	if e := none.Explain(2000); e.Answer != Unknown {
		t.Errorf("answer %q", e.Answer)
	}

	var asked []string
	obstacle := func(implementation string) string {
		asked = append(asked, implementation)
		return lacking(implementation, "accelerate")
	}
	d.CaseOf("stft/n_fft=64,hop=4096", "", "counting", nil, obstacle) // a work of n/64, 65 536 at most: go, then accelerate
	slices.Sort(asked)
	if got := strings.Join(slices.Compact(asked), " "); got != "accelerate go" {
		t.Errorf("asked about %s, want about accelerate and go alone", got)
	}
}

func TestCutPolicies(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	c := d.Case("stft/n_fft=1024,hop=256")
	// At n = 10⁶ metal takes 100 µs and accelerate 200 µs.
	d.SetGPUWait(50 * time.Microsecond)
	expect(t, c, 1_000_000, "metal", "; the GPU is busy for 50µs, but with 100µs there that is within 200µs for accelerate")
	d.SetGPUWait(150 * time.Microsecond)
	expect(t, c, 1_000_000, "accelerate", "the GPU is busy for 150µs, and with 100µs there for metal that exceeds 200µs here")
	d.SetGPUWait(0)
	if err := d.SetThermal("critical"); err != nil {
		t.Fatal(err)
	}
	expect(t, c, 1_000_000, "accelerate", "of the others (metal runs on the GPU and the thermal state is critical), from")
	if err := d.SetThermal("nominal"); err != nil {
		t.Fatal(err)
	}
	expect(t, c, 1_000_000, "metal", "predicted to be the fastest")
	file := predictedFile()
	o := stft()
	o.Implementations[2].Name, o.Surface.Implementations[2].Name = "cuda", "cuda"
	file.Hosts[0].Operations = []calibration.Operation{o} // of a machine with another GPU
	expect(t, newDispatcherFor(t, file, epyc).Case("stft/n_fft=1024,hop=256"), 1_000_000, "accelerate",
		"of the others (cuda was measured on another GPU), from")
	if got := newDispatcherFor(t, file, epyc).Operation("stft").ChooseShape(1024, 256, 1_000_000); got != "accelerate" {
		t.Errorf("ChooseShape chooses %s", got)
	}

	t.Setenv(ForceVariable, "stft=go")
	expect(t, newDispatcherFor(t, predictedFile(), m3Max).Case("stft/n_fft=1024,hop=256"), 1_000_000, "go", "CROSSOVER_FORCE asks for it")
	t.Setenv(ForceVariable, "stft=cuda")
	expect(t, newDispatcherFor(t, predictedFile(), m3Max).Case("stft/n_fft=1024,hop=256", "go", "metal"), 1_000_000, "metal",
		"CROSSOVER_FORCE asks for cuda, which is not there")
}

// A stretch in which another implementation would win by less than 1 % gets no segment. A stretch in which it wins by more
// gets one.
func TestCutDoesNotFlutter(t *testing.T) {
	for gain, want := range map[float64]int{0.028: 1, 0.07: 3} {
		file := predictedFile()
		o := &file.Hosts[1].Operations[2]
		// accelerate is 2 % slower than go everywhere except around n = 65 536, where it is faster.
		o.Surface = surfaceOf(o.Surface.Axes, []float64{0, 0, 1}, power{"go", 1e-9, 1}, power{"accelerate", 1.02e-9, 1}, power{"metal", 1, 0})
		o.Surface.Shapes = []int{1024, 256, 65536}
		o.Surface.Implementations[1].Weights[0] = -gain
		d := newDispatcherFor(t, file, m3Max)
		table := d.Case("stft/n_fft=1024,hop=256").table.Load()
		if len(table.choices) != want {
			t.Errorf("a gain of %v makes %d segments, want %d", gain, len(table.choices), want)
		}
		if want == 3 && table.at(65536).implementation != "accelerate" {
			t.Error("the segment is not where the gain is")
		}
	}
}

// randomOperation is an operation with a surface of random weights. It has two axes, eight implementations and eight
// features, two of which pad a length.
func randomOperation(random *rand.Rand, shapes int) calibration.Operation {
	o := stft()
	o.Axes = []calibration.Axis{{Name: "taps", Unit: "taps", From: 8, To: 32768}, {Name: "n", Unit: "samples", From: 64, To: 4 << 20}}
	s := surface.Surface{Axes: []string{"taps", "n"}}
	for _, f := range []surface.Feature{
		{Kind: surface.Logarithm, Weights: []float64{1, 0}}, {Kind: surface.Logarithm, Weights: []float64{0, 1}},
		{Kind: surface.Logarithm, Weights: []float64{1, 1}}, {Kind: surface.Length, Weights: []float64{1, 1}, Offset: -1},
		{Kind: surface.Padding, Weights: []float64{1, 1}, Offset: -1}, {Kind: surface.Padding, Weights: []float64{0, 1}},
		{Kind: surface.Logarithm, Weights: []float64{1, -1}}, {Kind: surface.Length, Weights: []float64{0, 1}},
	} {
		s.Features = append(s.Features, f)
		s.Scales = append(s.Scales, 0.1+0.2*random.Float64())
	}
	for range shapes {
		for _, a := range o.Axes {
			s.Shapes = append(s.Shapes, int(float64(a.From)*math.Pow(float64(a.To)/float64(a.From), random.Float64())))
		}
	}
	for i := range 8 {
		implementation := surface.Implementation{Name: fmt.Sprintf("implementation-%d", i), Linear: []float64{-14}, Risk: 0.02}
		for k := range s.Features {
			slope := 0.3 * random.NormFloat64()
			if s.Features[k].Kind != surface.Padding { // of all together
				slope *= 0.1
			}
			implementation.Linear = append(implementation.Linear, slope)
		}
		for range shapes {
			implementation.Weights = append(implementation.Weights, 0.1*random.NormFloat64())
		}
		s.Implementations = append(s.Implementations, implementation)
	}
	o.Surface, o.Implementations = s, implementationsOf(&s)
	return o
}

// TestCutFollowsTheSurface compares the choices of cuts through random surfaces with the least predicted times. It also
// counts the predictions of a cut.
func TestCutFollowsTheSurface(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	losses, worst, most, segments := 0.0, 0.0, 0, 0
	const surfaces, sizes = 20, 200
	for range surfaces {
		o := randomOperation(random, 60)
		p := newPredicted(&o, askedBy{})
		l, err := newLine(p, []string{fmt.Sprintf("taps=%d", 8+random.IntN(4000))})
		if err != nil {
			t.Fatal(err)
		}
		c := newCut(l)
		table := table{}
		for i, s := range c.segments() {
			if i > 0 {
				table.thresholds = append(table.thresholds, s.From)
			}
			table.choices = append(table.choices, choice{implementation: s.Implementation})
		}
		table.index()
		most = max(most, len(c.times))
		segments += len(table.choices)
		for range sizes {
			size := int(64 * math.Pow(65536, random.Float64()))
			shape := l.shape(size)
			var times logSeconds
			p.predict(shape[:2], &times)
			loss := times[p.index(table.at(size).implementation)] - times[least(&times, c.usable)]
			losses += loss
			worst = max(worst, loss)
		}
	}
	t.Logf("mean loss %.4f %%, worst %.2f %%, at most %d predictions, %d segments", 100*losses/surfaces/sizes, 100*worst, most, segments)
	if segments < 5*surfaces {
		t.Errorf("%d segments: these surfaces are too easy", segments)
	}
	if mean := losses / surfaces / sizes; mean > 0.002 || worst > 0.03 {
		t.Errorf("mean loss %.4f, worst %.4f (want at most 0.002 and 0.03)", mean, worst)
	}
	if most > mostPredicted {
		t.Errorf("%d predictions for a cut (want at most %d)", most, mostPredicted)
	}
}

// TestPlaces compares the places of sizes with the thresholds counted one by one.
func TestPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	size := func() int { return int(random.Uint64() >> (1 + random.IntN(63))) }
	for _, n := range []int{0, 1, 2, 13, 96, 2000} {
		var table table
		for range n {
			table.thresholds = append(table.thresholds, 1+min(size(), math.MaxInt-1))
		}
		slices.Sort(table.thresholds)
		table.thresholds = slices.Compact(table.thresholds)
		table.index()
		sizes := []int{math.MinInt, -1, 0, 1, 2, math.MaxInt}
		for _, threshold := range table.thresholds {
			sizes = append(sizes, threshold-1, threshold)
		}
		for range 1000 {
			sizes = append(sizes, size())
		}
		for _, size := range sizes {
			want := 0
			for want < len(table.thresholds) && size >= table.thresholds[want] {
				want++
			}
			if got := table.place(size); got != want {
				t.Fatalf("with %d thresholds, %d has place %d, want %d", len(table.thresholds), size, got, want)
			}
		}
	}
}

// TestNamesThatAreWrong tests that a case with a wrong name chooses as if nothing were known, and says in one line what is
// wrong.
func TestNamesThatAreWrong(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	const axes = "n_fft, hop, n"
	for name, want := range map[string]string{
		"stft/n_fft=1024,hop_length=256":          `axis "hop_length" is not an axis of stft: ` + axes,
		"stft/n_fft=1024,hop=0":                   `hop is "0" (want a whole number from 1 to 2147483647)`,
		"stft/n_fft=-1024,hop=256":                `n_fft is "-1024" (want a whole number from 1 to 2147483647)`,
		"stft/n_fft=99999999999999999999,hop=1":   `n_fft is "99999999999999999999" (want a whole number from 1 to 2147483647)`,
		"stft/n_fft=4294967296,hop=256":           `n_fft is "4294967296" (want a whole number from 1 to 2147483647)`,
		"stft/n_fft=1e3,hop=256":                  `n_fft is "1e3" (want a whole number from 1 to 2147483647)`,
		"stft/n_fft=,hop=256":                     `n_fft is "" (want a whole number from 1 to 2147483647)`,
		"stft/n_fft=1024,n_fft=1024":              "n_fft is there twice",
		"stft/n_fft=1024":                         "hop and n are left open (want one axis of stft: " + axes + ")",
		"stft":                                    "n_fft and hop and n are left open (want one axis of stft: " + axes + ")",
		"stft/n_fft=1024,hop=256,n=48000":         "every axis of stft has a value (want one of " + axes + " left open)",
		"stft/square":                             `"square" is no value of an axis of stft: ` + axes,
		"stft/n_fft=1024,hop_length=256,shared":   `axis "hop_length" is not an axis of stft: ` + axes,
		"stft/n_fft=1024,hop=256,resident":        `the calibration of apple-m3-max-40 has no case "stft/n_fft=1024,hop=256,resident"`,
		"stfd/n_fft=1024,hop=256":                 `the calibration of apple-m3-max-40 has no case "stfd/n_fft=1024,hop=256" (did you mean stft?)`,
		"stft/" + strings.Repeat("x", 300) + "=1": `axis "` + strings.Repeat("x", 80) + `" is not an axis of stft: ` + axes,
	} {
		c := d.Case(name)
		for _, size := range []int{math.MinInt, -1, 0, 1, 48000, math.MaxInt} {
			if got := c.Choose(size); got != CPU {
				t.Errorf("%s chooses %s", name, got)
			}
		}
		e := c.Explain(48000)
		if e.Reason != want || e.Answer != Unknown || strings.Contains(e.String(), "\n") {
			t.Errorf("%s: answer %q because of\n%s, want\n%s", name, e.Answer, e.Reason, want)
		}
	}
}

// A file whose surface cannot be used is refused in one line, whether it is loaded, made or swapped in. What was there stays.
func TestSurfacesThatAreWrong(t *testing.T) {
	for name, test := range map[string]struct {
		change func(o *calibration.Operation)
		want   string
	}{
		"a weight that is none": {func(o *calibration.Operation) { o.Surface.Implementations[0].Weights[0] = math.NaN() }, `a number of "go" that is none`},
		"an endless scale":      {func(o *calibration.Operation) { o.Surface.Scales[0] = math.Inf(1) }, "a scale that is no number"},
		"weights too many": {func(o *calibration.Operation) {
			o.Surface.Implementations[1].Weights = []float64{0, 0}
		}, `2 weights of "accelerate": want 1`},
		"linear terms too few": {func(o *calibration.Operation) { o.Surface.Implementations[1].Linear = []float64{1} }, `1 linear terms of "accelerate": want 2`},
		"half a shape":         {func(o *calibration.Operation) { o.Surface.Shapes = o.Surface.Shapes[1:] }, "2 numbers of shapes of 3 axes"},
		"a shape of size 0":    {func(o *calibration.Operation) { o.Surface.Shapes[0] = 0 }, "a shape of size 0 or less"},
		"other axes":           {func(o *calibration.Operation) { o.Surface.Axes[0] = "rows" }, "the axes of its surface are others than its own"},
		"an implementation that no case has": {func(o *calibration.Operation) {
			o.Implementations[2].Name, o.Surface.Implementations[2].Name = "cuda", "cuda"
		}, `surface names "cuda", which is in no case of the operation`},
		"another processor than in the cases": {func(o *calibration.Operation) { o.Implementations[0].Processor = "gpu" },
			`implementation "go" runs on the gpu, and in a case of the operation on the cpu`},
	} {
		file := predictedFile()
		matmul := &file.Hosts[1].Operations[1]
		matmul.Implementations = slices.Clone(matmul.Implementations) // the case has the same array
		test.change(matmul)
		d := newDispatcherFor(t, predictedFile(), m3Max)
		_, newErr := New(file, WithHost(m3Max))
		path := filepath.Join(t.TempDir(), "calibration.json")
		errs := map[string]error{"New": newErr, "Swap": d.Swap(file)}
		if text, err := json.Marshal(file); err == nil { // JSON has no NaN
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			_, errs["Load"] = Load(path, WithHost(m3Max))
			errs["Reload"] = d.Reload(path)
		}
		for by, err := range errs {
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "matmul") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s: %v, want %q", name, by, err, test.want)
			}
		}
		if got := d.Operation("matmul").ChooseShape(10, 30, 20); got != "go" {
			t.Errorf("%s: then %s is chosen", name, got)
		}
	}
}

// A file of version 1.0, which has no operations and no sizes of hosts, gives the same choices as before.
func TestAFileOfVersion1(t *testing.T) {
	file := testFile()
	file.SchemaVersion = "1.0"
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"operations", "host_bytes", `"2.`} {
		if strings.Contains(string(text), absent) {
			t.Fatalf("the text has %s", absent)
		}
	}
	path := filepath.Join(t.TempDir(), "calibration.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	old, err := Load(path, WithHost(m3Max), WithClock(func() time.Time { return calibrated.Add(time.Hour) }))
	if err != nil || old.Fallback() != "" {
		t.Fatalf("%v, %s", err, old.Fallback())
	}
	now := newDispatcherFor(t, testFile(), m3Max, WithClock(func() time.Time { return calibrated.Add(time.Hour) }))
	for _, name := range []string{"fft/batch=1", "fft/batch=64", "sum", "fft/batch=7", "stft/n_fft=1024,hop=256"} {
		for _, size := range []int{1, 64, 511, 512, 8191, 8192, 65536, 1 << 20} {
			if got, want := old.Case(name).Explain(size), now.Case(name).Explain(size); !reflect.DeepEqual(got, want) || old.Case(name).Choose(size) != want.Implementation {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	}
	if e := old.Operation("fft").ExplainShape(64, 1); e.Implementation != CPU || e.Reason != nothingAt+"fft" {
		t.Errorf("explained as %+v", e)
	}
}

// Times of transforms jump from each length to the next, so a case along n follows the surface at each length.
func TestCaseAlongLengths(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	c := d.Case("fft/batch=50") // without factors above 5 go up to 20 000, with them up to 200
	for _, test := range []struct {
		size int
		want string
	}{{1, "go"}, {120, "go"}, {121, "go"}, {198, "go"}, {203, "metal"}, {441, "metal"}, {4096, "go"}, {4097, "metal"}, {16384, "go"},
		{20480, "metal"}, {1 << 20, "metal"}} {
		for range 2 { // predicted, then remembered
			expect(t, c, test.size, test.want, "predicted to be the fastest from 1 shape")
		}
	}
	if e := c.Explain(441); e.Answer != Predicted || e.Case != "fft/batch=50" || e.Size != 441 || e.Unit != "samples" || e.To != 0 {
		t.Errorf("explained as %+v", e)
	}
	if e := c.Explain(1 << 20); e.Answer != Beyond || !strings.Contains(e.Reason, "n is 1048576, measured from 64 to 65536") {
		t.Errorf("explained as %+v", e)
	}
	d.SetGPUWait(time.Second)
	expect(t, c, 441, "go", "the GPU is busy for 1s")
	d.SetGPUWait(0)
	expect(t, d.Case("fft/batch=50", "accelerate", "go"), 441, "go", "predicted to be the fastest of the others (metal is not there)")
	expect(t, d.Case("fft/batch=50", "cuda"), 441, CPU, "nothing on record can be used")
}

func TestChooseShape(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	o := d.Operation("matmul")
	if o != d.Operation("matmul") || o == d.Operation("matmul", "go") {
		t.Error("the same arguments give other operations, or others the same")
	}
	for _, test := range []struct {
		shape  []int
		want   string
		answer Answer
		reason string
	}{
		{[]int{10, 30, 20}, "go", Predicted, "predicted to be the fastest from 1 shape, with an expected loss of 1.2 % (at most 2.3 % at 95 %, by 20 shapes held out)"},
		{[]int{10, 31, 33}, "accelerate", Predicted, "predicted to be the fastest"},
		{[]int{100, 99, 100}, "accelerate", Predicted, "predicted to be the fastest"},
		{[]int{100, 102, 100}, "metal", Predicted, "predicted to be the fastest"},
		{[]int{400, 400, 400}, "accelerate", Measured, "fastest at every measured size"}, // on the line of square products
		{[]int{801, 801, 801}, "metal", Predicted, "predicted to be the fastest"},        // in a gap of the line
		{[]int{4096, 4096, 4096}, "accelerate", Measured, "fastest at every measured size"},
		{[]int{4097, 4097, 4097}, "accelerate", Beyond, "fastest at every measured size"}, // up to eight times as far
		{[]int{32769, 32769, 32769}, "metal", Beyond, "m is 32769, measured from 1 to 4096"},
		{[]int{1 << 20, 16, 16}, "metal", Beyond, "m is 1048576, measured from 1 to 4096"},
		{[]int{1, 1, 8}, "go", Beyond, "k is 1, measured from 16 to 4096, n is 8, measured from 16 to 4096"},
		{[]int{1, 1, 4096}, "accelerate", Beyond, "k is 1, measured from 16 to 4096"}, // as with k = 16
		{[]int{math.MaxInt, math.MaxInt, math.MaxInt - 1}, "metal", Beyond, "measured from"},
		{[]int{1, 2}, CPU, Unknown, "a shape of matmul has 3 values: m, k, n"},
		{nil, CPU, Unknown, "a shape of matmul has 3 values: m, k, n"},
		{make([]int, 20), CPU, Unknown, "a shape of matmul has 3 values: m, k, n"},
		{[]int{1, 0, 2}, CPU, Unknown, "k is 0 (want at least 1)"},
		{[]int{1, 2, math.MinInt}, CPU, Unknown, "n is -9223372036854775808 (want at least 1)"},
	} {
		for range 2 {
			if got := o.ChooseShape(test.shape...); got != test.want {
				t.Errorf("%v: %s, want %s", test.shape, got, test.want)
			}
		}
		e := o.ExplainShape(test.shape...)
		if e.Implementation != test.want || e.Answer != test.answer || !strings.Contains(e.Reason, test.reason) ||
			e.BeyondRange != (e.Answer == Beyond) || strings.Contains(e.String(), "\n") {
			t.Errorf("%v: %s (%s) because of %q, want %s (%s) because of %q", test.shape, e.Implementation, e.Answer, e.Reason,
				test.want, test.answer, test.reason)
		}
	}
	for shape, want := range map[[3]int]string{
		{10, 30, 20}: "matmul at m=10 k=30 n=20: go, predicted to be the fastest from 1 shape, with an expected loss of 1.2 % " +
			"(at most 2.3 % at 95 %, by 20 shapes held out); measured on apple-m3-max-40 12 days ago",
		{400, 400, 400}: "matmul/square at 400 rows: accelerate, fastest at every measured size; segment 16 to 4096; " +
			"measured on apple-m3-max-40 12 days ago",
		{10, 0, 20}: "matmul at m=10 k=0 n=20: cpu, k is 0 (want at least 1)",
	} {
		if got := o.ExplainShape(shape[:]...).String(); got != want {
			t.Errorf("explanation\n got %s\nwant %s", got, want)
		}
	}
}

// TestChooseShapeFollowsTheSurface asks for random shapes again and again, so that they replace one another in the memory.
// It compares each choice with the least predicted time.
func TestChooseShapeFollowsTheSurface(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	file := predictedFile()
	random1 := randomOperation(random, 40)
	file.Hosts[1].Operations[2] = random1
	d := newDispatcherFor(t, file, m3Max)
	chooser, p := d.Operation("stft"), newPredicted(&random1, askedBy{})
	var shapes [][]int
	for range 3000 {
		shapes = append(shapes, []int{8 + random.IntN(32761), 64 + random.IntN(1<<20)})
	}
	usable := slices.Repeat([]bool{true}, 8)
	for _, i := range random.Perm(2 * len(shapes)) {
		shape := shapes[i%len(shapes)]
		var times logSeconds
		p.predict(shape, &times)
		if got, want := chooser.ChooseShape(shape...), random1.Surface.Implementations[least(&times, usable)].Name; got != want {
			t.Fatalf("%v: %s, want %s", shape, got, want)
		}
	}
}

// TestShapesAreRemembered changes a remembered choice, and gets the changed choice.
func TestShapesAreRemembered(t *testing.T) {
	o := newDispatcherFor(t, predictedFile(), m3Max).Operation("matmul")
	shape := []int{10, 30, 20}
	if got := o.ChooseShape(shape...); got != "go" {
		t.Fatalf("chooses %s", got)
	}
	s := o.present.Load().shapes
	place := &s.recent[hash(shape)%recentShapes]
	place.Store(place.Load()&^answerMask | uint64(s.of.index("metal")))
	if got := o.ChooseShape(shape...); got != "metal" {
		t.Errorf("chooses %s: it predicts at each call", got)
	}
}

// A measured length says nothing of lengths of its kind that are far from it.
func TestKindsOfNeighbouringLengths(t *testing.T) {
	file := predictedFile()
	for i := range file.Hosts[1].Cases {
		if c := &file.Hosts[1].Cases[i]; c.Name == "fft/batch=1" {
			c.Sizes = []int{64, 80, 256, 512, 2000, 8000, 33614, 65536} // of which only 33 614 has a factor above 5
		}
	}
	o := newDispatcherFor(t, file, m3Max).Operation("fft")
	for n, want := range map[int]Answer{441: Predicted, 500: Measured, 30870: Measured, 30000: Measured, 65000: Measured, 7938: Predicted} {
		if e := o.ExplainShape(n, 1); e.Answer != want {
			t.Errorf("%d samples: %s, want %s: %s", n, e.Answer, want, e)
		}
	}
}

// On a measured line the case decides, except at lengths with prime factors that the measured lengths next to them do not have.
func TestShapesOnMeasuredLines(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	o := d.Operation("fft")
	for _, test := range []struct {
		n, batch int
		want     string
		answer   Answer
	}{
		{512, 1, "accelerate", Measured}, {500, 1, "go", Measured}, {16384, 1, "metal", Measured}, {600, 64, "metal", Measured},
		{441, 1, "go", Predicted}, {521, 1, "go", Predicted}, {600, 63, "go", Predicted}, {441, 64, "metal", Predicted}, {131072, 1, "metal", Beyond}, {131071, 1, "metal", Beyond},
		{1 << 20, 1, "metal", Beyond},
	} {
		e := o.ExplainShape(test.n, test.batch)
		if got := o.ChooseShape(test.n, test.batch); got != test.want || e.Implementation != got || e.Answer != test.answer {
			t.Errorf("n=%d batch=%d: %s (%s), want %s (%s): %s", test.n, test.batch, got, e.Answer, test.want, test.answer, e)
		}
	}
	for size, want := range map[int]Answer{512: Measured, 500: Measured, 441: Predicted, 131072: Beyond, 0: Unknown, -5: Unknown} {
		if e := d.Case("fft/batch=1").Explain(size); e.Answer != want || want == Measured && e.Interval == nil && e.To == 0 || want == Unknown && e.Reason != noSize {
			t.Errorf("of a case at %d: %s, want %s: %s", size, e.Answer, want, e)
		}
	}
	// Far from the sizes of a case, a line that crosses it decides. The range of the case says nothing then.
	crossed := predictedFile()
	cases := crossed.Hosts[1].Cases
	line := slices.IndexFunc(cases, func(c calibration.Case) bool { return c.Name == "fft/batch=1" })
	short, across := cases[line], cases[line]
	short.Verdict, across.Verdict = calibration.Always, calibration.Always
	short.Axis.To, short.Sizes, short.Segments = 80, []int{64, 80}, []calibration.Segment{{From: 64, To: 80, Implementation: "go"}}
	across.Name, across.Parameters = "fft/n=30000", map[string]int{"n": 30000}
	across.Axis = calibration.Axis{Name: "batch", Unit: "transforms", From: 1, To: 64}
	across.Sizes, across.Segments = []int{1, 8, 64}, []calibration.Segment{{From: 1, To: 64, Implementation: "accelerate"}}
	cases[line] = short
	crossed.Hosts[1].Cases = append(cases, across)
	e := newDispatcherFor(t, crossed, m3Max).Case("fft/batch=1").Explain(30000)
	if e.Implementation != "accelerate" || e.Answer != Measured || e.BeyondRange || e.MeasuredTo != 0 || strings.Contains(e.String(), "beyond the measured range") {
		t.Errorf("explained as %+v: %s", e, e)
	}
	// Lines of data in shared memory do not count for other data, and come first for data there.
	file := predictedFile()
	inShared := file.Hosts[1].Cases[2]
	inShared.Name, inShared.Parameters = "fft/batch=64,shared", map[string]int{"batch": 64, "shared": 1}
	inShared.Segments = []calibration.Segment{{From: 64, To: 65536, Implementation: "accelerate"}}
	file.Hosts[1].Cases = append(file.Hosts[1].Cases, inShared)
	d = newDispatcherFor(t, file, m3Max)
	for name, want := range map[string]string{"fft": "metal", "fft/shared": "accelerate"} {
		if got := d.Operation(name).ChooseShape(600, 64); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := d.Operation("fft/shared").ChooseShape(512, 1); got != "accelerate" { // as on the line of caller memory
		t.Errorf("chooses %s", got)
	}
	if e := d.Operation("fft/shared").ExplainShape(600, 63); e.Implementation != "go" || !strings.Contains(e.Reason, "measured with data in caller memory") {
		t.Errorf("explained as %s", e)
	}
	// A forced line is forced at every length. A line that was not measured may be forced, too.
	t.Setenv(ForceVariable, "fft/batch=1=metal,fft/batch=7=accelerate")
	o = newDispatcherFor(t, predictedFile(), m3Max).Operation("fft")
	for shape, want := range map[[2]int]string{{441, 1}: "metal", {64, 1}: "metal", {441, 7}: "accelerate", {441, 8}: "go"} {
		if got := o.ChooseShape(shape[:]...); got != want {
			t.Errorf("%v: %s, want %s", shape, got, want)
		}
	}
	// A wish that cannot be met is told at every length.
	t.Setenv(ForceVariable, "fft=cuda")
	for _, size := range []int{441, 512} {
		if e := newDispatcherFor(t, predictedFile(), m3Max).Case("fft/batch=1").Explain(size); !strings.Contains(e.Reason, "asks for cuda, which is not there") {
			t.Errorf("at %d: %s", size, e)
		}
	}
	t.Setenv(ForceVariable, "")
	// A case along an axis of the surface uses the lines that it crosses.
	c := newDispatcherFor(t, predictedFile(), m3Max).Case("fft/batch=64")
	expect(t, c, 64, "metal", "fastest at every measured size")
}

// A program may ask the case of a line or the operation, and gets the same choice for the same call. Where two measured lines
// cross, each case speaks for itself.
func TestACaseChoosesAsItsOperationDoes(t *testing.T) {
	committed, err := calibration.Load("../calibration.json")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	compared := 0
	for _, file := range []*calibration.File{predictedFile(), committed} {
		for i := range file.Hosts {
			h := &file.Hosts[i]
			d := newDispatcherFor(t, file, host.Facts(h.Facts), Unforced())
			if why := d.Fallback(); why != "" {
				t.Fatalf("%s: %s", h.ID, why)
			}
			for j := range h.Cases {
				c := &h.Cases[j]
				if decided(c) && placementOf(c) == caller {
					compared += compareOnLine(t, d, c, r)
				}
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d sizes were compared", compared)
	}
}

// compareOnLine compares the choices of a case and of its operation at random sizes, and returns the number of sizes.
func compareOnLine(t *testing.T, d *Dispatcher, c *calibration.Case, r *rand.Rand) int {
	p := d.predictedFor(c.Operation, caller)
	if p == nil {
		return 0
	}
	l := p.lineOf(c)
	if l == nil || len(p.Asked) > 0 {
		return 0
	}
	const sizes = 200
	one, o := d.Case(c.Name), d.Operation(c.Operation)
	for range sizes {
		size := int(math.Exp(r.Float64() * math.Log(20*float64(c.Axis.To))))
		if r.IntN(3) == 0 {
			size = 1 << r.IntN(25)
		}
		if e := one.Explain(size); e.Answer == Measured && (e.BeyondRange || strings.Contains(e.String(), "beyond the measured range")) {
			t.Errorf("measured, and beyond: %s", e)
		}
		shape := l.shape(size)
		crossed := slices.ContainsFunc(d.entry.host.Cases, func(other calibration.Case) bool {
			across := p.lineOf(&other)
			return other.Name != c.Name && placementOf(&other) == caller && across != nil && across.passes(shape[:len(p.Axes)])
		})
		if crossed {
			continue
		}
		if got, want := one.Choose(size), o.ChooseShape(shape[:len(p.Axes)]...); got != want {
			t.Errorf("%s at %d: %s, and the operation chooses %s", c.Name, size, one.Explain(size), o.ExplainShape(shape[:len(p.Axes)]...))
		}
	}
	return sizes
}

func TestChooseShapePolicies(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	o := d.Operation("matmul")
	choose := func(want string, shape ...int) {
		t.Helper()
		for range 2 {
			if got, e := o.ChooseShape(shape...), o.ExplainShape(shape...); got != want || e.Implementation != want {
				t.Errorf("%v: %s, want %s: %s", shape, got, want, e)
			}
		}
	}
	// The work is 4·10⁶: metal takes 100 µs, and accelerate 200 µs.
	choose("metal", 100, 200, 200)
	d.SetGPUWait(50 * time.Microsecond)
	choose("metal", 100, 200, 200)
	d.SetGPUWait(150 * time.Microsecond)
	choose("accelerate", 100, 200, 200)
	if e := o.ExplainShape(100, 200, 200); e.Reason != "the GPU is busy for 150µs, and with 100µs there for metal that exceeds 200µs here" {
		t.Errorf("reason %q", e.Reason)
	}
	d.SetGPUWait(0)
	if err := d.SetThermal("serious"); err != nil {
		t.Fatal(err)
	}
	choose("accelerate", 100, 200, 200)
	if e := o.ExplainShape(100, 200, 200); !strings.Contains(e.Reason, "metal runs on the GPU and the thermal state is serious") {
		t.Errorf("reason %q", e.Reason)
	}
	if err := d.SetThermal("nominal"); err != nil {
		t.Fatal(err)
	}
	choose("metal", 100, 200, 200)

	// A fresh file is swapped in.
	file := predictedFile()
	file.Hosts[1].Operations[1].Surface.Implementations[2].Linear[0] = 10
	if err := d.Swap(file); err != nil {
		t.Fatal(err)
	}
	choose("accelerate", 100, 200, 200)
	if err := d.Swap(nil); err != nil {
		t.Fatal(err)
	}
	choose(CPU, 100, 200, 200)
	if e := o.ExplainShape(100, 200, 200); e.Reason != "no calibration loaded" || e.Answer != Unknown {
		t.Errorf("explained as %+v", e)
	}
	if err := d.Swap(testFile()); err != nil {
		t.Fatal(err)
	}
	choose(CPU, 100, 200, 200)
	if e := o.ExplainShape(100, 200, 200); e.Reason != nothingAt+"matmul" {
		t.Errorf("explained as %+v", e)
	}

	t.Setenv(ForceVariable, "matmul=go")
	o = newDispatcherFor(t, predictedFile(), m3Max).Operation("matmul")
	choose("go", 100, 200, 200)
	choose("go", 400, 400, 400)
	o = (*Dispatcher)(nil).Operation("matmul", "go")
	choose("go", 1, 2, 3)
	t.Setenv(ForceVariable, "")
	for _, d := range []*Dispatcher{nil, {}, Always("cuda")} {
		o = d.Operation("matmul", "go")
		choose(CPU, 1, 2, 3)
	}
	o = new(Operation)
	choose(CPU, 1, 2, 3)
	o = Always("go").Operation("matmul", "go")
	choose("go", 1, 2, 3)
	o = newDispatcherFor(t, predictedFile(), m3Max).Operation("matmul/square")
	choose(CPU, 1, 2, 3)
	if e := o.ExplainShape(1, 2, 3); !strings.Contains(e.Reason, "is no name of an operation") {
		t.Errorf("explained as %+v", e)
	}
}

// TestExplainWhatIsForced tests that an explanation names what was asked for, whatever CROSSOVER_FORCE names.
func TestExplainWhatIsForced(t *testing.T) {
	for force, want := range map[string]string{
		"matmul=go":         "matmul at m=8 k=8 n=8: go, CROSSOVER_FORCE asks for it",
		"matmul/square=go":  "matmul at m=8 k=8 n=8: go, CROSSOVER_FORCE asks for it on the line matmul/square",
		"matmul/m=8,k=8=go": "matmul at m=8 k=8 n=8: go, CROSSOVER_FORCE asks for it on the line matmul/m=8,k=8",
	} {
		t.Setenv(ForceVariable, force)
		e := newDispatcherFor(t, predictedFile(), m3Max).Operation("matmul").ExplainShape(8, 8, 8)
		if e.String() != want || e.Case != "matmul" || e.Shape != "m=8 k=8 n=8" || e.Size != 0 || e.Answer != Unknown {
			t.Errorf("%s: %s, want %s\n%+v", force, e, want, e)
		}
	}
	t.Setenv(ForceVariable, "matmul/square=nonsense")
	e := newDispatcherFor(t, predictedFile(), m3Max).Operation("matmul", "go", "accelerate").ExplainShape(400, 400, 400)
	if e.Case != "matmul/square" || e.Size != 400 || e.Answer != Measured || !strings.Contains(e.Reason, "asks for nonsense, which is not there") {
		t.Errorf("where the override cannot be used: %+v", e)
	}
}

// The program is asked about an implementation when it would first be chosen, once for each calibration and policy.
func TestShapesAskLate(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	var asked []string
	o := d.OperationOf("matmul", "counting", nil, func(implementation string) string {
		asked = append(asked, implementation)
		return lacking(implementation, "accelerate")
	})
	expectAsked := func(want string) {
		t.Helper()
		if got := strings.Join(asked, " "); got != want {
			t.Errorf("asked about %q, want %q", got, want)
		}
		asked = nil
	}
	expectAsked("")
	o.ChooseShape(1, 16, 17)
	o.ChooseShape(1, 16, 18)
	expectAsked("go")
	if got := o.ChooseShape(10, 50, 100); got != "go" { // accelerate is the fastest
		t.Errorf("chooses %s", got)
	}
	expectAsked("accelerate")
	o.ChooseShape(1000, 100, 10)
	o.ChooseShape(1000, 100, 11)
	expectAsked("metal")
	if err := d.Swap(predictedFile()); err != nil {
		t.Fatal(err)
	}
	o.ChooseShape(1, 16, 17)
	expectAsked("go")
}

func TestChooseShapeAllocatesNothing(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	matmul, fft, along := d.Operation("matmul", "go", "accelerate", "metal"), d.Operation("fft"), d.Case("fft/batch=50")
	n := 0
	shape := [6]int{100, 200, 300}
	for name, wait := range map[string]time.Duration{"idle": 0, "GPU busy": time.Millisecond} {
		d.SetGPUWait(wait)
		for what, call := range map[string]func(){
			"hit":             func() { sink += len(matmul.ChooseShape(100, 200, 300)) },
			"hit of a slice":  func() { sink += len(matmul.ChooseShape(shape[:3]...)) },
			"miss":            func() { n++; sink += len(matmul.ChooseShape(100, 200, n)) },
			"on a line":       func() { n++; sink += len(matmul.ChooseShape(n, n, n)) },
			"near a line":     func() { n++; sink += len(fft.ChooseShape(n, 1)) },
			"along a length":  func() { n++; sink += len(along.Choose(n)) },
			"none":            func() { sink += len(matmul.ChooseShape(0, 1, 2)) },
			"too few values":  func() { sink += len(matmul.ChooseShape(1)) },
			"without anybody": func() { sink += len((*new(Operation)).ChooseShape(1)) },
		} {
			if what == "without anybody" {
				continue
			}
			if allocated := testing.AllocsPerRun(100, call); allocated != 0 {
				t.Errorf("%s, %s: %v allocations", name, what, allocated)
			}
		}
	}
}

// TestShapesUnderLoad changes everything that can change while calls run. It is a test for the race detector.
func TestShapesUnderLoad(t *testing.T) {
	d := newDispatcherFor(t, predictedFile(), m3Max)
	var done atomic.Bool
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			o, c := d.Operation("matmul", "go", "accelerate", "metal"), d.Case("fft/batch=50")
			for n := caller; !done.Load(); n++ {
				for _, got := range []string{o.ChooseShape(1+n%7, 2, 3+n), o.ChooseShape(1+n, 1+n, 1+n), c.Choose(n)} {
					if got != "go" && got != "accelerate" && got != "metal" && got != CPU {
						t.Errorf("chooses %q", got)
						return
					}
				}
				if n%16 == 0 {
					o.ExplainShape(1+n%7, 2, 3+n)
					d.Case(fmt.Sprintf("stft/n_fft=1024,hop=%d", 1+n%64)).Choose(n)
				}
			}
		})
	}
	files := []*calibration.File{predictedFile(), nil, predictedFile(), testFile()}
	for i := range 60 {
		if err := d.Swap(files[i%len(files)]); err != nil {
			t.Error(err)
		}
		if err := d.SetThermal([]string{"nominal", "critical"}[i%2]); err != nil {
			t.Error(err)
		}
		d.SetGPUWait(time.Duration(i%3) * time.Millisecond)
	}
	done.Store(true)
	callers.Wait()
}

// FuzzShapes looks for names, sizes and shapes that panic, whose choice differs from the explained one, or whose explanation
// has several lines.
func FuzzShapes(f *testing.F) {
	for _, name := range []string{"stft/n_fft=1024,hop=256", "fft/batch=3", "matmul", "matmul/shared", "fft/n=441,shared", "stft/n_fft=,",
		"stft/hop=9223372036854775807,n=1", "matmul/square", "fft/batch=1,resident", "stft//,,=", "fft/n=1\x00"} {
		f.Add(name, 1024, 256, 3)
		f.Add(name, 0, -1, math.MaxInt)
	}
	known := []string{CPU, "go", "accelerate", "metal"}
	d, err := New(predictedFile(), WithHost(m3Max), Unforced())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name string, a, b, c int) {
		check := func(what, got string, e Explanation) {
			if !slices.Contains(known, got) || e.Implementation != got {
				t.Errorf("%q %s: chooses %q, explained as %q", name, what, got, e.Implementation)
			}
			if strings.ContainsAny(e.String(), "\n\x00\x1b") && !strings.ContainsAny(name, "\n\x00\x1b") {
				t.Errorf("%q %s: explained by %q", name, what, e)
			}
			if e.Reason != noSize && (e.Answer == Unknown) != (got == CPU) {
				t.Errorf("%q %s: answer %q for %q", name, what, e.Answer, got)
			}
		}
		of := &Case{name: name} // not kept
		d.mu.Lock()
		of.table.Store(d.newTable(of))
		d.mu.Unlock()
		for _, size := range []int{a, b, c} {
			check(fmt.Sprint(size), of.Choose(size), of.Explain(size))
		}
		for _, operation := range []string{name, "matmul", "fft"} {
			o := &Operation{name: operation}
			d.mu.Lock()
			o.present.Store(d.newOverShapes(o))
			d.mu.Unlock()
			for _, shape := range [][]int{{a, b, c}, {a, b}, {c, a}, {a}, nil, {b, b, b}} {
				check(fmt.Sprint(operation, shape), o.ChooseShape(shape...), o.ExplainShape(shape...))
			}
		}
	})
}

// lacking is the obstacle of a program that lacks one implementation.
func lacking(implementation, missing string) string {
	if implementation == missing {
		return NotThere
	}
	return ""
}

// A surface with cost models predicts beyond the measured values. One without predicts what it does at the nearest of them.
func TestPredictBeyond(t *testing.T) {
	for _, costs := range []bool{false, true} {
		o := stft()
		if costs {
			for k := range o.Surface.Implementations {
				o.Surface.Implementations[k].Costs = append([]float64{1e-6}, make([]float64, len(o.Surface.Features))...)
			}
		}
		p := newPredicted(&o, askedBy{})
		var edge, beyond logSeconds
		shape := []int{o.Axes[0].To, o.Axes[1].To, o.Axes[2].To}
		p.predict(shape, &edge)
		shape[2] *= 16
		p.predict(shape, &beyond)
		if (edge == beyond) == costs {
			t.Errorf("costs %v: %v, beyond %v", costs, edge[:3], beyond[:3])
		}
	}
}
