package songs

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/gpu/emulator"
	"crossover/host"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// madeUp returns a dispatcher whose calibration has costs of gains: some seconds a value on the processor, and on the emulated
// GPU a call of 50 µs and 8 ns a value in shared memory, and of 5 µs and 1 ns a value with resident data, of which 4 µs are the
// launch.
func madeUp(t *testing.T, onCPU float64) *dispatch.Dispatcher {
	t.Helper()
	facts := host.Facts{Chip: "AMD EPYC", Family: "amd-epyc", Architecture: "amd64", Cores: 2, GPU: "emulator", GPUMemoryBytes: 1 << 30}
	cost := func(fixed, size float64) *calibration.Cost {
		return &calibration.Cost{FixedSeconds: fixed, SizeSeconds: size, Exponent: 1}
	}
	of := func(name string, parameters map[string]int, gpu *calibration.Cost) calibration.Case {
		return calibration.Case{
			Name: name, Operation: "gain", Parameters: parameters, Verdict: calibration.Unresolved, Reason: "made up",
			Axis: calibration.Axis{Name: "n", Unit: "elements", From: 1 << 10, To: 1 << 24},
			Implementations: []calibration.Implementation{
				{Name: "go", Processor: "cpu", Cost: cost(0, onCPU)},
				{Name: "go-parallel", Processor: "cpu", Cost: cost(0, 1.5*onCPU)},
				{Name: kerneltest.GPUName, Processor: "gpu", Cost: gpu, GPUTimes: []calibration.GPUTimes{{Size: 1 << 10,
					WallSeconds: 6e-6, GPUSeconds: 2e-6, LaunchEfficiency: 1. / 3}}},
			},
		}
	}
	d, err := dispatch.New(&calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{{
		ID: facts.ID(), Facts: calibration.Facts(facts), Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
		Environment: calibration.Environment{OS: "linux", ToolVersion: "made up for tests", Power: "mains", Thermal: "nominal", Load: -1},
		Method:      calibration.Method{Mode: "latency", State: "warm", TieBand: 0.03},
		Cases: []calibration.Case{
			of("gain", nil, cost(60e-6, 10e-9)),
			of("gain/resident", map[string]int{"resident": 1}, cost(5e-6, 1e-9)),
			of("gain/shared", map[string]int{"shared": 1}, cost(50e-6, 8e-9)),
		},
		Pipelines: []calibration.Pipeline{{
			Name: "measured", Stages: []string{"a", "b", "c"}, Created: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC),
			Lengths: []calibration.PipelineLength{{Elements: []int{4000, 4000}, Blocks: 5, Margin: 0.5, Routes: []calibration.Route{
				{Name: "lacking", Implementations: []string{"fftw", "go", "go"}, MedianSeconds: 1e-6},
				{Name: "best-2", Implementations: []string{"go-parallel", "", kerneltest.GPUName}, MedianSeconds: 2e-6},
				{Name: "stages", Implementations: []string{"", "", ""}, MedianSeconds: 2.05e-6},
			}}, {Elements: []int{400_000, 400_000}, Blocks: 5, Routes: []calibration.Route{
				{Name: "best-1", Implementations: []string{"go", "go", "go"}, MedianSeconds: 1e-3},
				{Name: "stages", Implementations: []string{"", "", ""}, MedianSeconds: 1.008e-3},
			}}},
		}},
	}}}, dispatch.WithHost(facts), dispatch.Unforced())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A list of kernels can be faster than the processor where no stage alone is: the moves are paid once.
func TestForecasts(t *testing.T) {
	const n = 1 << 20
	b := kerneltest.Backends(t, emulator.Unified(false))
	perValue := (50e-6 + 8e-9*n - 5e-6 - 1e-9*n) / (2 * n) // to the GPU or back
	for _, test := range []struct {
		onCPU float64
		n     int
		want  string
		time  float64
	}{
		{3e-9, n, "go go go", 3 * 3e-9 * n},
		{4e-9, n, "emulator emulator emulator", 4e-6 + 3*(1e-6+1e-9*n) + 2*perValue*n},
		{9e-9, n, "emulator emulator emulator", 4e-6 + 3*(1e-6+1e-9*n) + 2*perValue*n},
		{4e-9, 1000, "go go go", 3 * 4e-9 * 1000},
	} {
		p, err := NewOn(b, madeUp(t, test.onCPU), chain())
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Forecasts(3, test.n)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(strings.Join(all[0].Route, " "), kerneltest.GPUName, "emulator")
		if got != test.want || math.Abs(all[0].Seconds-test.time) > 1e-9 {
			t.Errorf("%v a value, %d values: %s in %v s, want %s in %v s", test.onCPU, test.n, got, all[0].Seconds, test.want, test.time)
		}
		if len(all) != 3 || all[0].Seconds > all[1].Seconds || all[1].Seconds > all[2].Seconds || slices.Equal(all[0].Route, all[1].Route) {
			t.Errorf("not the three best: %v", all)
		}
		p.Close()
	}
}

// Functions of single values tell what moves take: of two tensors in calls that differ in nothing else.
func TestMovesOfCalls(t *testing.T) {
	all := movesOfCalls(madeUp(t, 1e-9))
	for k, n := range []int{1 << 10, 1 << 16, 1 << 22} {
		if want := 45e-6 + 7e-9*float64(n); len(all) != 3 || all[k].tensors != 2 || all[k].bytes != 8*n || math.Abs(all[k].seconds-want) > 1e-9 {
			t.Fatalf("%+v, want 2 tensors of %d values in %g s", all, n, want)
		}
	}
	if got := newMoves(all); math.Abs(got.perTensor-22.5e-6) > 1e-9 || math.Abs(got.perByte-7e-9/8) > 1e-15 {
		t.Errorf("%+v, want 22.5 µs a tensor and 7 ns for 8 bytes", got)
	}
}

// Kernels take what a call with resident data takes but its launch, and never almost nothing.
func TestKernelsOfResidentCalls(t *testing.T) {
	p, err := NewOn(kerneltest.Backends(t, emulator.Unified(false)), madeUp(t, 4e-9), chain())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := p.costs([]int{100_000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.onGPU {
		if got, want := c.onGPU[i][0].alone, 5e-6+1e-9*100_000-4e-6; math.Abs(got-want) > 1e-12 {
			t.Errorf("stage %d: kernels of %g s, want %g", i, got, want)
		}
	}
	if got, want := c.kernels(100e-6, 2e-6), 5e-6; got != want {
		t.Errorf("a call of 100 µs without its launch: %g s, want %g", got, want)
	}
}

// A pipeline follows the best forecast, and says so. The program may overrule it.
func TestPipelinePlans(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(false))
	p, err := NewOn(b, madeUp(t, 4e-9), chain())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got, want := p.Explain(), "chain: nothing was planned yet, because the first call plans for its lengths\n"; got != want {
		t.Errorf("before a call: %q, want %q", got, want)
	}
	check := func(n int, want ...string) {
		t.Helper()
		x := noise(1, n, 1)
		if err := p.Run(x); err != nil {
			t.Fatal(err)
		}
		for i, v := range p.Floats("c") {
			if v != 8*x[i] {
				t.Fatalf("value %d is %v, want %v", i, v, 8*x[i])
			}
		}
		for _, text := range want {
			if !strings.Contains(p.Explain(), text) {
				t.Errorf("%d values: %q is not in %s", n, text, p.Explain())
			}
		}
	}
	check(1<<17, "chain: the least predicted time, ", "b: "+kerneltest.GPUName+", in list 1")
	check(1000, "chain: the least predicted time, ", "b: go\n")
	if err := p.Follow(Route{"go", kerneltest.GPUName, ""}); err != nil {
		t.Fatal(err)
	}
	check(1000, "chain: as the program says", "a: go\n", "b: "+kerneltest.GPUName+", in list 2", "c: gain")
	if _, err := p.Forecasts(1); err == nil {
		t.Error("forecasts without lengths")
	}

	plain, err := NewOn(b, nil, chain())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	p = plain
	check(1000, "each stage as the dispatcher chooses", "a: gain at 1000")

	followed := must2(NewOn(b, nil, chain()))
	defer followed.Close()
	if err := followed.Follow(Route{"go", "go", "go"}); err != nil {
		t.Fatal(err)
	}
	if got, want := followed.Explain(), "chain: no call was computed by the route until now, or the last one has failed; as the program says\n"; got != want {
		t.Errorf("before a call by the program's route: %q, want %q", got, want)
	}
}

// What was measured of the whole pipeline comes before what is predicted, at about that length.
func TestMeasuredRoute(t *testing.T) {
	g := chain()
	g.Name = "measured"
	p, err := NewOn(kerneltest.Backends(t, emulator.Unified(false)), madeUp(t, 4e-9), g)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, test := range []struct {
		n    int
		want string
	}{{1000, "forecast to be second"}, {16000, "forecast to be second"}, {999, "the least predicted time"}, {16001, "the least predicted time"},
		{200_000, "each stage as the dispatcher chooses, which took 1.01 ms at [400000] elements"}} {
		p.planned = nil
		if err := p.Run(noise(1, test.n, 1)); err != nil {
			t.Fatal(err)
		}
		if got := p.Explain(); !strings.Contains(got, test.want) {
			t.Errorf("%d values: %s", test.n, got)
		}
	}
}

func TestAlone(t *testing.T) {
	b := kerneltest.Backends(t, emulator.Unified(false))
	p, err := NewOn(b, madeUp(t, 1e-9), chain())
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.costs([]int{1000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for gpu, want := range map[bool]string{false: "go", true: kerneltest.GPUName} {
		if got := c.alone(gpu); !slices.Equal(got, slices.Repeat(Route{want}, 3)) {
			t.Errorf("on the GPU %v: %v", gpu, got)
		}
	}
}

func TestNoForecasts(t *testing.T) {
	p, err := NewOn(kerneltest.Backends(t, emulator.Unified(false)), madeUp(t, 1e-9), chain())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, -1} {
		if all, err := p.Forecasts(n, 1000); err != nil || len(all) > 0 {
			t.Errorf("at most %d: %d forecasts, %v", n, len(all), err)
		}
	}
}

// The best routes may all be alike, so one with many stages in other places is measured too, unless its forecast is far from theirs.
func TestARouteWithStagesElsewhere(t *testing.T) {
	way := func(seconds float64, onGPU uint, name string) placed {
		return placed{Forecast{Route{name}, seconds}, onGPU}
	}
	ways := []placed{way(1, 0b111111, "best"), way(1.1, 0b111110, "alike"), way(1.4, 0b011101, "elsewhere"), way(1.45, 0, "later"), way(1.6, 0b000111, "slow")}
	for _, test := range []struct {
		name string
		of   []placed
		open int
		not  string // is measured anyway
		want string
	}{
		{"two of six stages", ways, 6, "", "elsewhere"},
		{"three of seven stages", ways, 7, "", "later"},
		{"two of three stages", ways, 3, "", "elsewhere"},
		{"entered already", ways, 6, "elsewhere", "later"},
		{"too slow", append(ways[:2:2], ways[4]), 6, "", ""},
		{"a single way", ways[:1], 0, "", ""},
	} {
		r, ok := elsewhere(test.of, test.open, func(r Route) bool { return r[0] == test.not })
		if got := strings.Join(r, " "); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// The routes that are measured for a chain of six stages: the best ones have all or all but one on the GPU.
func TestEntrants(t *testing.T) {
	g := &Graph{
		Name:    "six",
		Inputs:  []Input{{"x", kernels.Float32, 100}},
		Stages:  []Stage{gain("a", "x"), gain("b", "a"), gain("c", "b"), gain("d", "c"), gain("e", "d"), gain("f", "e")},
		Outputs: []string{"f"},
	}
	p, err := NewOn(kerneltest.Backends(t, emulator.Unified(false)), madeUp(t, 3.3e-9), g.unrevised())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	all, err := p.Entrants(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Name+": "+strings.ReplaceAll(strings.Join(e.Route, " "), kerneltest.GPUName, "gpu"))
	}
	want := []string{
		"stages:      ", "best-1: gpu gpu gpu gpu gpu gpu", "best-2: gpu gpu gpu gpu gpu go", "best-3: go gpu gpu gpu gpu gpu",
		"processor: go go go go go go", "elsewhere: gpu gpu gpu gpu go go",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
