// Package emulated tests that the parts fit together: the catalogue's own cases, their kernel texts on an emulated GPU,
// a sweep, a fit, the file, and a typed plan that chooses by the file. No time means anything here.
package emulated

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/gpu/msl"
	"crossover/host"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/kernels/elementwise"
	"crossover/kernels/kerneltest"
	"crossover/pool"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// backends returns backends with an emulated GPU only. It skips the test if there is no emulator.
func backends(t *testing.T, options ...emulator.Option) *kernels.Backends {
	t.Helper()
	b := backendsOf(func() (gpu.Driver, error) { return emulator.New(options...) })
	if err := b.GPUs[0].Probe(); err != nil {
		t.Skip(err)
	}
	return b
}

func backendsOf(open func() (gpu.Driver, error)) *kernels.Backends {
	return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend(kerneltest.GPUName, open)}}
}

// cases returns the named cases of the catalogue, up to a size.
func cases(t *testing.T, b *kernels.Backends, high int, names ...string) []kernels.Case {
	t.Helper()
	var chosen []kernels.Case
	for _, c := range catalogue.Placed(b) {
		if slices.Contains(names, c.Name) {
			c.Axis.Max = c.Axis.Nearest(high)
			chosen = append(chosen, c)
		}
	}
	if len(chosen) != len(names) {
		t.Fatalf("the catalogue has %d of %q", len(chosen), names)
	}
	return chosen
}

// sweep measures cases with the smallest budget that suffices.
func sweep(t *testing.T, b *kernels.Backends, cases []kernels.Case, change func(*sweeps.Options)) []*sweeps.Result {
	t.Helper()
	o := sweeps.Options{
		Budget: 2 * time.Second, Seed: 1, Input: kernels.GeneratedInput(), Sentinel: spin,
		Include: func(name string) bool { return name == "go" || name == kerneltest.GPUName },
		Forget:  b.Forget,
		Trim:    func() { b.Trim() },
		Planner: func(c *kernels.Case) sweeps.Planner {
			return thresholds.NewPlanner(thresholds.PlannerOptions{Low: c.Axis.Min, High: c.Axis.Max, Round: c.Axis.Round})
		},
	}
	if change != nil {
		change(&o)
	}
	results, err := sweeps.Run(t.Context(), cases, o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// spin is a sentinel of some microseconds. The machine would seem restless by one that takes less than a clock's tick.
func spin() {
	for i := range 20_000 {
		spun += i
	}
}

var spun int

// status returns the emulated GPU's status, and the number of blocks in which it was timed.
func status(r *sweeps.Result) (s sweeps.Status, blocks int) {
	for _, status := range r.Implementations {
		if status.Name == kerneltest.GPUName {
			s = status
		}
	}
	if i := slices.Index(r.Samples.Implementations, kerneltest.GPUName); i >= 0 {
		for _, b := range r.Samples.Blocks {
			if b.Timed(i) {
				blocks++
			}
		}
	}
	return s, blocks
}

func TestTheEmulatorIsInEveryCase(t *testing.T) {
	b := backends(t)
	names := map[string]bool{}
	all := catalogue.Placed(b)
	for _, c := range all {
		names[c.Name] = true
	}
	for _, c := range catalogue.Cases(b) {
		on := func(i kernels.Implementation) bool {
			return i.Name == kerneltest.GPUName || strings.HasPrefix(i.Name, kerneltest.GPUName+"/")
		}
		if !slices.ContainsFunc(c.Implementations, on) {
			t.Errorf("%s has no implementation on the GPU", c.Name)
			continue
		}
		for _, p := range []kernels.Placement{kernels.Shared, kernels.Resident} {
			if twin := c.Placed(p).Name; !names[twin] {
				t.Errorf("there is no %s, and the device has memory of its own", twin)
			}
		}
	}
}

// A plan of a program chooses a kernel text by the file.
func TestFromKernelToPlan(t *testing.T) {
	b := backends(t)
	// The implementation that is bound first waits for the compiler.
	longer := func(o *sweeps.Options) { o.Budget = 8 * time.Second }
	results := sweep(t, b, cases(t, b, 4096, "scale", "scale/resident", "fft/batch=1"), longer)
	entry := calibration.Host{
		Facts:       calibration.Facts{Chip: "AMD EPYC", Architecture: "amd64", Cores: 2},
		Environment: calibration.Environment{Power: "unknown", Thermal: "unknown"},
		Created:     time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
		Method:      calibration.Method{Mode: "latency", State: "warm"},
	}
	entry.ID = "amd-epyc-2"
	for _, r := range results {
		s, blocks := status(r)
		if s.Excluded != "" || blocks == 0 {
			t.Errorf("%s: %+v after %d blocks", r.Case.Name, s, blocks)
		}
		i := slices.Index(r.Samples.Implementations, kerneltest.GPUName)
		for _, b := range r.Samples.Blocks {
			if account, told := b.TimesOnGPU(i); b.Timed(i) && (!told || account.Span <= 0) {
				t.Errorf("%s at %d: the device's account is %+v", r.Case.Name, b.Size, account)
			}
		}
		uses := thresholds.GPUUses(&r.Samples, i)
		if len(uses) == 0 {
			t.Errorf("%s: nothing says where the time went", r.Case.Name)
		}
		entry.Cases = append(entry.Cases, calibration.Case{
			Name: r.Case.Name, Operation: r.Case.Operation, Verdict: calibration.Always,
			Axis:            calibration.Axis{Name: r.Case.Axis.Name, Unit: r.Case.Axis.Unit, From: r.Case.Axis.Min, To: r.Case.Axis.Max},
			Implementations: []calibration.Implementation{{Name: kerneltest.GPUName, Processor: "gpu", Version: s.Version}},
			Segments:        []calibration.Segment{{From: r.Case.Axis.Min, To: r.Case.Axis.Max, Implementation: kerneltest.GPUName}},
		})
	}
	file := &calibration.File{SchemaVersion: calibration.SchemaVersion}
	if err := errors.Join(file.Merge(entry), file.Validate()); err != nil {
		t.Fatal(err)
	}

	d, err := dispatch.New(file, dispatch.WithHost(host.Facts(entry.Facts)))
	if err != nil {
		t.Fatal(err)
	}
	freed := int64(-1)
	d.OnMemoryPressure(func() { freed = b.Trim() })
	plan := kernels.NewPlanOn(b, d, &elementwise.Scale, elementwise.Params{A: 3, B: 1})
	defer plan.Close()
	src, dst := []float32{1, 2, -4, 0.5, 7}, make([]float32, 5)
	if err := plan.Run(kernels.Shape{5}, kernels.Args{dst, src}); err != nil {
		t.Fatal(err)
	}
	for i, x := range src {
		if want := 3*x + 1; math.Abs(float64(dst[i]-want)) > 1e-5 {
			t.Errorf("3·%v + 1 is %v on the GPU, want %v", x, dst[i], want)
		}
	}
	if e := plan.Explain(kernels.Shape{5}); e.Implementation != kerneltest.GPUName {
		t.Errorf("%s computed it: %s", e.Implementation, e.Reason)
	}
	if err := d.SetMemoryPressure("critical"); err != nil || freed < 0 {
		t.Errorf("memory pressure freed %d bytes, %v", freed, err)
	}
}

// visits is a planner of two sizes.
type visits struct{ left []int }

func (v *visits) Next(*timings.Set) (size, blocks int, worth float64) {
	if len(v.left) == 0 {
		return 0, 0, 0
	}
	return v.left[0], 3, 1
}
func (v *visits) Visited(int) { v.left = v.left[1:] }
func (v *visits) Doubted(int) {}
func (v *visits) Limit(int)   { v.left = nil }

func TestModesOnTheEmulator(t *testing.T) {
	b := backends(t)
	for name, change := range map[string]func(*sweeps.Options){
		"throughput": func(o *sweeps.Options) { o.Mode, o.InFlight = sweeps.Throughput, 3 },
		"cold":       func(o *sweeps.Options) { o.State = sweeps.Cold },
		"after idle": func(o *sweeps.Options) { o.State = sweeps.AfterIdle },
	} {
		t.Run(name, func(t *testing.T) {
			few := func(o *sweeps.Options) {
				change(o)
				o.Budget = 6 * time.Second // most of it is not spent
				o.Planner = func(*kernels.Case) sweeps.Planner { return &visits{[]int{1024, 1500}} }
			}
			for _, r := range sweep(t, b, cases(t, b, 2000, "scale", "scale/resident"), few) {
				if s, blocks := status(r); s.Excluded != "" || blocks == 0 || r.Lost != "" {
					t.Errorf("%s: %+v after %d blocks, lost %q", r.Case.Name, s, blocks, r.Lost)
				}
			}
		})
	}
}

func TestTheDeviceIsLost(t *testing.T) {
	b := backends(t, emulator.LoseAfter(400))
	// Calls of this size take so long that a visit ends before the device is lost, even on a fast machine. Several visits
	// make more calls than the device survives, even on a slow machine.
	again := func(o *sweeps.Options) {
		o.Budget = 15 * time.Second // most of it is not spent
		o.Planner = func(*kernels.Case) sweeps.Planner { return &visits{slices.Repeat([]int{4096}, 15)} }
	}
	kept := 0
	for _, r := range sweep(t, b, cases(t, b, 4096, "scale", "log", "sum"), again) {
		_, blocks := status(r)
		kept += blocks
		if !strings.Contains(r.Lost, gpu.ErrLost.Error()) {
			t.Errorf("%s: lost %q", r.Case.Name, r.Lost)
		}
		if sizes := r.Samples.Sizes(); len(sizes) == 0 || sizes[len(sizes)-1] != r.Case.Axis.Max {
			t.Errorf("%s: the processor was measured at %v", r.Case.Name, sizes)
		}
	}
	if kept == 0 {
		t.Error("no time of the GPU was kept")
	}
}

func TestTheDeviceHasLittleMemory(t *testing.T) {
	b := backends(t, emulator.MemoryLimit(300_000))
	// An input and an output have up to 37 500 floats each. The twin needs as much again, and may be missing.
	few := func(o *sweeps.Options) {
		o.Budget = 15 * time.Second // most of it is not spent
		o.Planner = func(*kernels.Case) sweeps.Planner { return &visits{[]int{1024, 16384, 1 << 17}} }
	}
	r := sweep(t, b, cases(t, b, 1<<17, "scale/resident"), few)[0]
	s, blocks := status(r)
	if s.Excluded != "" || blocks == 0 {
		t.Errorf("%+v after %d blocks: small sizes fit", s, blocks)
	}
	about := func(w string) bool { return strings.Contains(w, "out of GPU memory") }
	if !slices.ContainsFunc(r.Warnings, about) {
		t.Errorf("the case does not say where it stopped: %q", r.Warnings)
	}
	if sizes := r.Samples.Sizes(); sizes[len(sizes)-1] != r.Case.Axis.Max {
		t.Errorf("the processor was measured at %v", sizes)
	}
}

func TestAKernelReturnsNaN(t *testing.T) {
	b := backends(t, emulator.ReturnNaN())
	for _, r := range sweep(t, b, cases(t, b, 4096, "scale", "scale/resident"), nil) {
		if s, blocks := status(r); !s.Wrong || blocks > 0 || !strings.Contains(s.Excluded, "wrong at") {
			t.Errorf("%s: %+v with %d blocks", r.Case.Name, s, blocks)
		}
	}
}

// broken is a driver whose compiler refuses everything.
type broken struct{ gpu.Driver }

func (broken) Facts() gpu.Facts {
	return gpu.Facts{API: kerneltest.GPUName, Name: "broken", SIMDWidth: 32, MaxThreads: 1024}
}

func (broken) Compile(src gpu.Source, _ []msl.Function) (gpu.Library, error) {
	return nil, &gpu.CompileError{Source: src.Name, Kernel: "scale", Line: 3, Message: "expected ';'"}
}

func TestAKernelDoesNotCompile(t *testing.T) {
	b := backendsOf(func() (gpu.Driver, error) { return broken{}, nil })
	r := sweep(t, b, cases(t, b, 4096, "scale"), nil)[0]
	const want = "failed at 1024 elements: elementwise.metal:3: kernel scale: expected ';'"
	if s, blocks := status(r); s.Excluded != want || blocks > 0 {
		t.Errorf("%+v with %d blocks, want it excluded with %q", s, blocks, want)
	}
	if len(r.Samples.Blocks) == 0 {
		t.Error("the processor was not measured")
	}
}
