package sweeps

import (
	"math"
	"testing"

	"crossover/kernels"
)

func TestCostsPredict(t *testing.T) {
	known := costs{demands: []demand{{alone: 1}, {alone: 1}, {alone: 1}}}
	known.record(100, 0.5, 3, []float64{1e-3, 1e-3, math.NaN()})
	if got := known.call(400, 0); math.Abs(got-4e-3) > 1e-9 {
		t.Errorf("from a single size a call at four times the size takes %v s, want four times as long", got)
	}
	cold := costs{demands: []demand{{alone: 0}}}
	cold.record(100, 0.5, 3, []float64{0.3})
	if got := cold.call(400, 0); got != 0.3 {
		t.Errorf("from a single size a cold call at four times the size takes %v s, want as long", got)
	}
	known.record(10, 0.5, 3, []float64{1e-4, 1e-5, math.NaN()})
	known.record(1000, 0.5, 3, []float64{1e-2, 1e5, math.NaN()})
	for name, c := range map[string]struct {
		size, index int
		want        float64
	}{
		"a measured size":                  {100, 0, 1e-3},
		"between two sizes":                {316, 0, 3.16e-3},
		"above, by the last slope":         {4000, 0, 4e-2},
		"above, by the cube at most":       {2000, 1, 8e5},
		"an implementation without a time": {2000, 2, 0},
	} {
		if got := known.call(c.size, c.index); math.Abs(got-c.want) > 0.01*c.want {
			t.Errorf("%s: a call at %d takes %v s, want %v", name, c.size, got, c.want)
		}
	}
	if known.below(100) != 10 || known.below(10) != 0 || known.greatest() != 1000 {
		t.Errorf("below 100 is %d, below 10 %d, greatest is %d", known.below(100), known.below(10), known.greatest())
	}
	if index, ratio := known.slowest(100, []int{0, 1, 2}); ratio != 1 || index != 0 {
		t.Errorf("the slowest at 100 is %d by %v", index, ratio)
	}
	if index, ratio := known.slowest(10, []int{1, 0}); index != 0 || math.Abs(ratio-10) > 1e-9 {
		t.Errorf("the slowest at 10 is %d by %v, want 0 by 10", index, ratio)
	}
}

// Shapes come in no order: two small ones of about as much work, the dearer one first, say little of a large one.
func TestCostsOfASpace(t *testing.T) {
	const small, large = 1000, 1 << 26
	for name, c := range map[string]struct {
		sizes   []int
		ofSpace bool
		least   float64
		most    float64
	}{
		"one size of a line":    {[]int{small}, false, 100, 1e4},
		"one shape":             {[]int{small}, true, 0.06, 0.2},
		"two shapes":            {[]int{small, small + 10}, true, 0.06, 0.2},
		"a large one":           {[]int{small, large}, true, 0.02, 0.03},
		"between two":           {[]int{small, 2 * large}, true, 0.005, 0.02},
		"above one that is big": {[]int{small, large / 2}, true, 0.02, 0.07},
	} {
		known := costs{demands: []demand{{alone: 1}}, ofSpace: c.ofSpace}
		for k, size := range c.sizes {
			known.record(size, 5e-3*float64(1+3*k), 0, []float64{math.NaN()})
		}
		if growing, _ := known.visit(large, 3, nil); growing < c.least || growing > c.most {
			t.Errorf("%s: a visit to much work is to take %v s, want %v to %v", name, growing, c.least, c.most)
		}
	}
}

// A call on several cores that waited for one of them says nothing about larger sizes.
func TestCostsOnSeveralCores(t *testing.T) {
	one := 0
	known := costs{demands: []demand{{alone: 1}, {alone: 1, onOne: &one}}}
	known.record(100, 0, 0, []float64{1e-5, 2e-3})
	known.record(200, 0, 0, []float64{2e-5, 1.2e-5})
	known.record(400, 0, 0, []float64{4e-5, 8e-3})
	if call := known.call(800, 1); math.Abs(call-8e-5) > 1e-6 {
		t.Errorf("a call on several cores at twice the size is to take %v s, want the 80 µs of one on one core", call)
	}
	if call := known.call(400, 1); call != 8e-3 {
		t.Errorf("a call that took 8 ms is said to take %v s", call)
	}
	known.record(400, 0, 0, []float64{math.NaN(), 2e-5})
	if call := known.call(800, 1); math.Abs(call-3.33e-5) > 1e-6 {
		t.Errorf("a call that grows as usual is to take %v s, want 33 µs", call)
	}
}

// An implementation on several cores has a counterpart only if that competes.
func TestCostsKnowCounterparts(t *testing.T) {
	c := &kernels.Case{Bytes: func(size int) float64 { return float64(size) }, Implementations: []kernels.Implementation{
		{Name: "go-parallel/fft", Cores: kernels.AllCores}, {Name: "fftw-parallel", Cores: kernels.AllCores}, {Name: "go/fft"},
	}}
	e := newEntry(c, &Options{State: Warm, Mode: Latency, Planner: func(*kernels.Case) Planner { return &counted{} }})
	if d := e.costs.demands; d[0].onOne == nil || *d[0].onOne != 2 || d[1].onOne != nil || d[2].onOne != nil {
		t.Errorf("counterparts are %v, %v and %v", d[0].onOne, d[1].onOne, d[2].onOne)
	}
}

// A single high cost at one size says nothing about smaller sizes.
func TestCostsBelowTheMeasuredSizes(t *testing.T) {
	known := costs{demands: []demand{{alone: 1}}}
	known.record(3000, 0, 0.5, []float64{3e-3})
	known.record(3300, 0, 0.1, []float64{4e-3})
	if _, fixed := known.visit(1000, 3, nil); fixed > 0.5 {
		t.Errorf("binding at a third of the size is to take %v s", fixed)
	}
	if call := known.call(1000, 0); call > 1e-3 {
		t.Errorf("a call at a third of the size is to take %v s", call)
	}
}

// A visit costs its overhead, the warm-up, and the blocks, each with a twin of the slowest implementation in the worst case.
func TestCostsOfAVisit(t *testing.T) {
	c := &kernels.Case{Bytes: func(size int) float64 { return float64(size) }}
	for name, o := range map[string]struct {
		options   Options
		processor kernels.Processor
		calls     float64 // number in a block
		pause     float64 // seconds
	}{
		"latency":                         {Options{Mode: Latency, State: Warm}, kernels.CPU, 2, 0},
		"latency on a GPU":                {Options{Mode: Latency, State: Warm}, kernels.GPU, 3, 0},
		"throughput":                      {Options{Mode: Throughput, State: Warm, InFlight: 64}, kernels.CPU, 8, 0},
		"throughput on a GPU":             {Options{Mode: Throughput, State: Warm, InFlight: 64}, kernels.GPU, 257, 0},
		"throughput with one in flight":   {Options{Mode: Throughput, State: Warm, InFlight: 1}, kernels.GPU, 9, 0},
		"cold calls of a GPU":             {Options{Mode: Latency, State: Cold}, kernels.GPU, 1, 0},
		"calls after a pause":             {Options{Mode: Latency, State: AfterIdle}, kernels.CPU, 1, 0.05},
		"calls of a GPU after two pauses": {Options{Mode: Latency, State: AfterIdle}, kernels.GPU, 2, 0.1},
	} {
		known := costs{demands: []demand{o.options.demandOf(c, o.processor), o.options.demandOf(c, o.processor)}}
		known.record(64, 0.25, 0.75, []float64{0.1, 0.2})
		blocks := 5.0
		want := 0.25 + 2*o.calls*(0.1+0.2) + blocks*o.calls*(0.1+0.2+0.2)
		alike := 0.75 + (3*blocks+2)*o.pause
		growing, fixed := known.visit(64, 5, []int{0, 1})
		if math.Abs(growing-want) > 1e-9 || math.Abs(fixed-alike) > 1e-9 {
			t.Errorf("%s: a visit takes %v s that grow and %v s that do not, want %v and %v", name, growing, fixed, want, alike)
		}
	}
	nothing := costs{demands: []demand{(&Options{Mode: Latency, State: Warm}).demandOf(c, kernels.CPU)}}
	if growing, fixed := nothing.visit(64, 5, []int{0}); growing <= 0 || growing > 1e-2 || fixed != 0 {
		t.Errorf("a visit of which nothing is known takes %v s and %v s", growing, fixed)
	}
}

// The data of the calls in flight are bounded.
func TestCallsInFlight(t *testing.T) {
	c := &kernels.Case{Bytes: func(size int) float64 { return float64(size) }}
	o := Options{Mode: Throughput, State: Warm, InFlight: 64}
	for size, want := range map[int]int{1: 64, 16 << 20: 64, 16<<20 + 1: 63, 256 << 20: 4, 1 << 30: 1, 1 << 40: 1} {
		if got := o.flightOf(c, kernels.GPU, size); got != want {
			t.Errorf("%d calls of %d bytes are in flight, want %d", got, size, want)
		}
		if got := o.flightOf(c, kernels.CPU, size); got != 0 {
			t.Errorf("%d calls of the processor are in flight", got)
		}
	}
	if got := (&Options{Mode: Latency, InFlight: 64}).flightOf(c, kernels.GPU, 1); got != 0 {
		t.Errorf("in latency mode %d calls are in flight", got)
	}
}

// A hopelessly slow implementation is only in the first blocks of a visit, and has no twin.
func TestCostsOfAVisitBesideTheHopeless(t *testing.T) {
	c := &kernels.Case{Bytes: func(size int) float64 { return float64(size) }}
	each := (&Options{Mode: Latency, State: Warm}).demandOf(c, kernels.CPU) // two calls a block
	known := costs{demands: []demand{each, each}, hopelessBlocks: hopelessBlocks}
	known.record(64, 0, 0, []float64{0.1, 0.5})
	const blocks = 10
	want := 2*2*(0.1+0.5) + 2*(blocks*(0.1+0.1)+hopelessBlocks*0.5)
	if got, _ := known.visit(64, blocks, []int{0, 1}); math.Abs(got-want) > 1e-9 {
		t.Errorf("a visit takes %v s, want %v", got, want)
	}
}
