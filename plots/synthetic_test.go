package plots

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/timings"
)

// cost gives the time of a call of a synthetic implementation: fixed + perUnit·n^exponent seconds.
type cost struct {
	name                     string
	fixed, perUnit, exponent float64
}

func (c cost) at(n float64) float64 { return c.fixed + c.perUnit*math.Pow(n, c.exponent) }

// experiment is a synthetic case: implementations with known costs, measured with noise.
type experiment struct {
	name, axis, unit string
	from, to         int
	step             float64 // ratio of two neighbouring sizes, default 2
	blocks           int     // for each size, default 12
	noise            float64 // relative, default 2 %
	costs            []cost
	change           func(*calibration.Case)
}

func (e experiment) sizes() []int {
	step := e.step
	if step == 0 {
		step = 2
	}
	var sizes []int
	for n := float64(e.from); n <= float64(e.to)*1.0001; n *= step {
		sizes = append(sizes, int(math.Round(n)))
	}
	return slices.Compact(sizes)
}

// measure returns the samples of the experiment. They are the same at each call.
func (e experiment) measure() *timings.Set {
	if e.blocks == 0 {
		e.blocks = 12
	}
	if e.noise == 0 {
		e.noise = 0.02
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(e.name))))
	set := &timings.Set{Case: e.name}
	for _, c := range e.costs {
		set.Implementations = append(set.Implementations, c.name)
	}
	for _, n := range e.sizes() {
		for range e.blocks {
			block := timings.Block{Size: n, Twin: -1}
			drift := 1 + e.noise*rng.NormFloat64()
			for _, c := range e.costs {
				slow := math.Exp(e.noise * rng.NormFloat64())
				if rng.IntN(20) == 0 {
					slow *= 1 + 0.5*rng.Float64()
				}
				block.Seconds = append(block.Seconds, c.at(float64(n))*drift*slow)
				block.Iterations = append(block.Iterations, 1)
			}
			set.Blocks = append(set.Blocks, block)
		}
	}
	return set
}

// calibrate returns the case as a calibration would describe it: segments by the known costs, and intervals of a
// fixed width.
func (e experiment) calibrate() calibration.Case {
	operation, parameters, _ := strings.Cut(e.name, "/")
	c := calibration.Case{
		Name: e.name, Operation: operation, Parameters: map[string]int{},
		Axis:    calibration.Axis{Name: e.axis, Unit: e.unit, From: e.from, To: e.to},
		Verdict: calibration.Crossover, TieBand: 0.03, Blocks: 12 * len(e.sizes()), ExpectedRegret: 0.0084,
	}
	for p := range strings.SplitSeq(parameters, ",") {
		var value int
		if key, text, ok := strings.Cut(p, "="); ok {
			fmt.Sscan(text, &value)
			c.Parameters[key] = value
		}
	}
	best := func(n int) string {
		return slices.MinFunc(e.costs, func(a, b cost) int {
			if a.at(float64(n)) < b.at(float64(n)) {
				return -1
			}
			return 1
		}).name
	}
	for _, i := range e.costs {
		processor := "cpu"
		if strings.HasPrefix(i.name, "cu") {
			processor = "gpu"
		}
		c.Implementations = append(c.Implementations, calibration.Implementation{Name: i.name, Processor: processor})
	}
	for ratio := 1.0; ; ratio *= 1.01 {
		n := min(int(float64(e.from)*ratio), e.to)
		if last := len(c.Segments) - 1; last < 0 || c.Segments[last].Implementation != best(n) {
			s := calibration.Segment{From: n, Implementation: best(n)}
			if last >= 0 {
				c.Segments[last].To = n - 1
				s.Interval = &calibration.Interval{Low: max(1, int(float64(n)*0.87)), High: int(float64(n)*1.14) + 1}
			}
			c.Segments = append(c.Segments, s)
		}
		if n == e.to {
			break
		}
	}
	c.Segments[len(c.Segments)-1].To = e.to
	if len(c.Segments) == 1 {
		c.Verdict = calibration.Always
	}
	if e.change != nil {
		e.change(&c)
	}
	return c
}

// testHost returns a host that holds the experiments.
func testHost(experiments ...experiment) (*calibration.Host, map[string][]Run) {
	h := &calibration.Host{
		ID: "amd-epyc-16",
		Facts: calibration.Facts{
			Chip: "AMD EPYC 9654", Family: "amd-epyc", Architecture: "amd64", Cores: 16, MemoryBytes: 128 << 30,
		},
		Environment: calibration.Environment{
			OS: "linux", OSVersion: "Debian GNU/Linux 12 (bookworm)", Go: "go1.26.0", ToolVersion: "1.0.0",
			ToolCommit: "0123456789abcdef0123456789abcdef01234567", Power: "mains", Thermal: "unknown",
		},
		Created: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Method:  calibration.Method{Seed: 42, Mode: "latency", State: "warm", TieBand: 0.03},
	}
	runs := map[string][]Run{}
	for _, e := range experiments {
		h.Cases = append(h.Cases, e.calibrate())
		runs[e.name] = []Run{{Samples: e.measure()}}
	}
	slices.SortFunc(h.Cases, func(a, b calibration.Case) int { return strings.Compare(a.Name, b.Name) })
	return h, runs
}

// measuredRuns returns count runs of an experiment, the newest first. Earlier runs have other sizes and more noise. Each run
// has the given thresholds. Calls of absent implementations were not timed from a size on.
func (e experiment) measuredRuns(count int, thresholds ...[]int) []Run {
	var runs []Run
	for n := range count {
		again := e
		again.from = e.from << (n % 2)
		again.noise = e.noise * float64(1+n)
		run := Run{Samples: again.measure()}
		if n < len(thresholds) {
			run.Thresholds = thresholds[n]
		}
		runs = append(runs, run)
	}
	return runs
}

// without removes the times of an implementation at the sizes for which leave is true.
func without(set *timings.Set, name string, leave func(size int) bool) {
	i := slices.Index(set.Implementations, name)
	for b := range set.Blocks {
		if block := &set.Blocks[b]; leave(block.Size) {
			block.Seconds[i] = math.NaN()
		}
	}
}

// everything returns a case whose chart has every mark, and the runs of the case.
func everything() (*calibration.Host, []Run) {
	h, _ := testHost(marked)
	runs := marked.measuredRuns(3, []int{700}, []int{600, 9000}, []int{512})
	for _, r := range runs {
		without(r.Samples, "go/direct", func(size int) bool { return size > 1<<13 })
		without(r.Samples, "cuda/fft", func(size int) bool { return size < 1<<7 })
		without(r.Samples, "go-parallel/direct", func(size int) bool { return size > 1<<12 && size < 1<<14 })
	}
	c := &h.Cases[0]
	for _, r := range runs[1:] {
		c.Earlier = append(c.Earlier, calibration.Earlier{Blocks: len(r.Samples.Blocks)})
	}
	return h, runs
}

// The experiments behind the golden images and the structural tests.
var (
	twoThresholds = experiment{
		name: "fft/batch=1", axis: "n", unit: "samples", from: 64, to: 1 << 20,
		costs: []cost{
			{"go", 60e-9, 9e-9, 1.05}, {"go-parallel", 7e-6, 1.7e-9, 1.07}, {"fftw", 180e-9, 2.2e-9, 1.08},
			{"fftw-parallel", 28e-6, 0.25e-9, 1.1},
		},
		change: func(c *calibration.Case) {
			c.Implementations[2].Version, c.Implementations[3].Version = "FFTW 3.3.10", "FFTW 3.3.10"
		},
	}
	noCrossover = experiment{
		name: "biquad/channels=1", axis: "n", unit: "samples", from: 64, to: 1 << 20,
		costs:  []cost{{"go", 30e-9, 2.1e-9, 1}, {"go-parallel", 5e-6, 2.2e-9, 1}, {"cuda", 19e-6, 13e-9, 1}},
		change: func(c *calibration.Case) { c.Reason = "each sample waits for the one before it" },
	}
	tie = experiment{
		name: "abs", axis: "n", unit: "elements", from: 1 << 10, to: 1 << 24,
		costs: []cost{{"go", 20e-9, 0.301e-9, 1}, {"openblas", 20e-9, 0.299e-9, 1}},
		change: func(c *calibration.Case) {
			c.Verdict, c.Reason = calibration.Tie, "both are bound by memory"
		},
	}
	unresolved = experiment{
		name: "sum", axis: "n", unit: "elements", from: 1 << 10, to: 1 << 24, noise: 0.3,
		costs: []cost{{"go", 20e-9, 0.31e-9, 1}, {"go-parallel", 4e-6, 0.2e-9, 1}},
		change: func(c *calibration.Case) {
			c.Verdict, c.Reason, c.Segments = calibration.Unresolved, "the interval of the threshold spans the whole axis", nil
		},
	}
	degraded = experiment{
		name: "conv1d/n=32768", axis: "taps", unit: "taps", from: 16, to: 1 << 15, noise: 0.12,
		costs: []cost{
			{"go/direct", 1e-6, 9e-6, 1}, {"go-parallel/direct", 9e-6, 0.9e-6, 1}, {"go/fft", 1.1e-3, 1e-9, 1},
			{"go/partitioned", 0.6e-3, 40e-9, 1},
		},
		change: func(c *calibration.Case) {
			c.Degraded = true
			c.Implementations = append(c.Implementations, calibration.Implementation{
				Name: "fftw/fft", Processor: "cpu", Version: "FFTW 3.3.10", RelativeError: 3e-4,
				Excluded: "relative error 3e-04 is above the tolerance of 1e-06",
			})
			c.Warnings = []string{
				"the cost model puts the crossover at 9 811, outside of the interval",
				"degraded: other programs or virtual machines took 62 % of a processor meanwhile",
			}
		},
	}
	resident = experiment{
		name: "fft/n=4096,resident", axis: "batch", unit: "rows", from: 1, to: 1 << 14,
		costs: []cost{
			{"go", 0.1e-6, 45e-6, 1}, {"go-parallel", 6e-6, 6e-6, 1}, {"cuda", 11e-6, 20e-9, 1}, {"cufft", 13e-6, 18e-9, 1},
		},
		change: func(c *calibration.Case) {
			for k, efficiency := range map[int]float64{2: 0.031, 3: 0.024} {
				i := &c.Implementations[k]
				i.Version = []string{"CUDA 13.0, driver 580.159.04", "cuFFT 12.0.0"}[k-2]
				i.GPUTimes = []calibration.GPUTimes{{Size: 1, LaunchEfficiency: efficiency}, {Size: 1 << 14, LaunchEfficiency: 0.97}}
			}
		},
	}
	manyImplementations = experiment{
		name: "matmul/k=1024,m=128", axis: "columns", unit: "columns", from: 16, to: 4096, step: 1.5,
		costs: func() []cost {
			var costs []cost
			names := []string{"go", "go-parallel", "openblas", "openblas-parallel", "cuda", "cublas"}
			for i := range 40 {
				name := fmt.Sprintf("go/tile-%02d", i)
				if i < len(names) {
					name = names[i]
				}
				costs = append(costs, cost{name, 1e-6 * math.Pow(1.3, float64(i%17)), 100e-9 / math.Pow(1.2, float64(i%17)) * (1 + float64(i)/10), 1})
			}
			return costs
		}(),
	}
	marked = experiment{
		name: "conv1d/n=32768,resident", axis: "taps", unit: "taps", from: 16, to: 1 << 15, noise: 0.03,
		costs: []cost{
			{"go/direct", 1e-6, 9e-8, 1}, {"go-parallel/direct", 4e-6, 2.2e-8, 1}, {"go/fft", 200e-6, 1e-9, 1},
			{"cuda/direct", 11e-6, 4e-9, 1}, {"cuda/partitioned", 13e-6, 1.5e-9, 1}, {"cuda/fft", 30e-6, 0.1e-9, 1},
		},
		change: func(c *calibration.Case) {
			c.Implementations = append(c.Implementations,
				calibration.Implementation{Name: "fftw/fft", Processor: "cpu", Excluded: "relative error 3e-04 is above the tolerance of 1e-06"})
			for k := range c.Segments {
				if i := c.Segments[k].Interval; i != nil {
					i.AssumedBetweenRuns = 0.015
				}
			}
			last := len(c.Segments) - 1
			c.Segments[1].Interval.Low, c.Segments[1].Interval.High = 16, 1<<15
			c.Segments[0].Doubts = []calibration.Doubt{{From: 16, To: 64, Implementation: "go-parallel/direct"}}
			c.Segments[last].Doubts = []calibration.Doubt{{From: 1 << 15, To: 1 << 15, Implementation: "cuda/partitioned", Tie: true}}
		},
	}
	tinyAxis = experiment{
		name: "oscillator-bank/samples=512", axis: "voices", unit: "voices", from: 1, to: 64,
		costs: []cost{{"go", 0.1e-6, 1.9e-6, 1}, {"go-parallel", 6e-6, 0.3e-6, 1}},
	}
	oneSize = experiment{
		name: "lora/rank=8", axis: "rows", unit: "rows", from: 512, to: 512,
		costs:  []cost{{"go", 0.1e-6, 1.9e-6, 1}, {"go-parallel", 6e-6, 0.3e-6, 1}},
		change: func(c *calibration.Case) { c.Sizes, c.Reason = []int{512}, "only one size was measured" },
	}
	twoSizes = experiment{
		name: "glu/columns=1024", axis: "rows", unit: "rows", from: 1, to: 64,
		costs:  []cost{{"go", 0.1e-6, 1.9e-6, 1}, {"go-parallel", 6e-6, 0.3e-6, 1}},
		change: func(c *calibration.Case) { c.Sizes, c.Reason = []int{1, 64}, "only two sizes were measured" },
	}
)

// catalogue is 18 cases like those of a full run.
func catalogue() []experiment {
	all := []experiment{twoThresholds, noCrossover, tie, unresolved, degraded, resident, tinyAxis}
	add := func(name, axis, unit string, from, to int, costs ...cost) {
		all = append(all, experiment{name: name, axis: axis, unit: unit, from: from, to: to, costs: costs})
	}
	serial := func(unit float64) cost { return cost{"go", 40e-9, unit, 1} }
	parallel := func(unit float64) cost { return cost{"go-parallel", 6e-6, unit, 1} }
	add("fft/n=512", "batch", "rows", 1, 1024, serial(4e-6), parallel(0.5e-6), cost{"fftw", 100e-9, 1.1e-6, 1}, cost{"fftw-parallel", 15e-6, 0.1e-6, 1})
	add("stft/hop=512,nfft=2048", "samples", "samples", 1<<11, 1<<24, serial(60e-9), parallel(7e-9), cost{"fftw", 1e-6, 22e-9, 1})
	add("istft/hop=512,nfft=2048", "samples", "samples", 1<<11, 1<<24, serial(50e-9), parallel(6e-9))
	add("mel/bands=128,bins=1025", "frames", "frames", 1, 1<<13, cost{"go/banded", 50e-9, 2e-6, 1}, cost{"go-parallel/banded", 6e-6, 0.3e-6, 1}, cost{"openblas", 3e-6, 5e-6, 1})
	add("matmul/square", "n", "columns", 16, 4096, cost{"go", 60e-9, 0.25e-9, 3}, cost{"go-parallel", 6e-6, 0.03e-9, 3}, cost{"openblas", 300e-9, 0.02e-9, 3}, cost{"openblas-parallel", 20e-6, 0.002e-9, 3})
	add("linear/in=1024,out=1024", "batch", "rows", 1, 256, serial(300e-6), parallel(40e-6), cost{"openblas", 1e-6, 30e-6, 1}, cost{"cublas", 90e-6, 1e-6, 1})
	add("softmax/columns=1024", "rows", "rows", 1, 4096, serial(3e-6), parallel(0.4e-6))
	add("lstm/hidden=128,in=64", "steps", "rows", 50, 1000, serial(14e-6), cost{"cuda", 20e-6, 40e-6, 1})
	add("exp", "n", "elements", 1<<10, 1<<24, serial(1.1e-9), parallel(0.15e-9))
	add("resample/down=2,up=1", "n", "samples", 1<<10, 1<<22, serial(9e-9), parallel(1.2e-9))
	add("graph/cost=1000,frames=512", "width", "nodes", 1, 64, serial(5e-6), parallel(0.9e-6))
	return all
}
