package catalogue_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

// Names, formulas and sources of the cases go into the calibration file.
func TestCasesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range catalogue.Cases(kernels.Here()) {
		if seen[c.Name] {
			t.Errorf("%s is listed twice", c.Name)
		}
		seen[c.Name] = true
		var params []string
		for _, p := range c.Params {
			params = append(params, fmt.Sprintf("%s=%d", p.Name, p.Value))
		}
		named := strings.Contains(c.Name, "=") // not by a word, such as attention/self
		if name := c.Operation + "/" + strings.Join(params, ","); named && c.Name != name {
			t.Errorf("%s: its parameters make the name %s", c.Name, name)
		}
		if c.Definition == "" || c.Source == "" {
			t.Errorf("%s: definition %q, source %q; want both", c.Name, c.Definition, c.Source)
		}
		if c.Axis.Unit == "" || len(c.Axis.Unit) > calibration.MostUnit {
			t.Errorf("%s: unit %q (want 1 to %d letters)", c.Name, c.Axis.Unit, calibration.MostUnit)
		}
		if c.Axis.Min < 1 || c.Axis.Max <= c.Axis.Min || c.Axis.Nearest(c.Axis.Min) != c.Axis.Min || c.Axis.Nearest(c.Axis.Max) != c.Axis.Max {
			t.Errorf("%s: axis from %d to %d", c.Name, c.Axis.Min, c.Axis.Max)
		}
		names := map[string]bool{}
		for _, i := range c.Implementations {
			if names[i.Name] {
				t.Errorf("%s: %s is listed twice", c.Name, i.Name)
			}
			names[i.Name] = true
			name, _, _ := strings.Cut(i.Name, "/")
			want := kernels.OneCore
			switch {
			case strings.HasSuffix(name, "-parallel"):
				want = kernels.AllCores
			case name == "accelerate":
				want = kernels.LibraryCores
			}
			if i.Cores != want {
				t.Errorf("%s: %s is declared with Cores %d, and its name stands for %d (see kernels.OnAllCores)", c.Name, i.Name, i.Cores, want)
			}
			if i.Missing() == nil && strings.Contains(i.Name, "fftw") && i.LibraryVersion() == "" {
				t.Errorf("%s: %s has no library version", c.Name, i.Name)
			}
		}
		if !slices.ContainsFunc(c.Implementations, func(i kernels.Implementation) bool { return i.Name == "go" || strings.HasPrefix(i.Name, "go/") }) {
			t.Errorf("%s: no implementation in Go, so a machine without libraries cannot run it", c.Name)
		}
	}
}

// If a GPU works, a case is measured in every placement that differs there.
func TestPlacements(t *testing.T) {
	opened := func(unified bool) *kernels.Backends {
		return &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend("emulator", func() (gpu.Driver, error) {
			return emulator.New(emulator.Unified(unified))
		})}}
	}
	if err := opened(true).GPUs[0].Probe(); err != nil {
		t.Skip(err)
	}
	missing := &kernels.Backends{Pool: pool.Shared(), GPUs: []*gpu.Backend{gpu.NewBackend("emulator", func() (gpu.Driver, error) {
		return nil, errors.New("no device")
	})}}
	for name, test := range map[string]struct {
		b           *kernels.Backends
		scale, rows []string
	}{
		"no GPU":              {missing, []string{"scale"}, []string{"fft/n=4096"}},
		"unified memory":      {opened(true), []string{"scale", "scale/shared"}, []string{"fft/n=4096", "fft/n=4096,shared"}},
		"memory of the GPU's": {opened(false), []string{"scale", "scale/shared", "scale/resident"}, []string{"fft/n=4096", "fft/n=4096,shared", "fft/n=4096,resident"}},
	} {
		var scale, rows []string
		for _, c := range catalogue.Placed(test.b) {
			if c.Operation == "scale" {
				scale = append(scale, c.Name)
			}
			if strings.HasPrefix(c.Name, "fft/n=4096") {
				rows = append(rows, c.Name)
				if want := 1 + strings.Count(c.Name, ","); len(c.Params) != want {
					t.Errorf("%s: %s has the parameters %v, want %d", name, c.Name, c.Params, want)
				}
			}
		}
		if !slices.Equal(scale, test.scale) || !slices.Equal(rows, test.rows) {
			t.Errorf("%s: %q and %q, want %q and %q", name, scale, rows, test.scale, test.rows)
		}
	}
}

// affordable is how many floating-point operations a call of a test may have above the smallest size of its case. Recurrent
// layers compute a step after the other, and have the most at small sizes.
const affordable = 128 << 20

// Sweeps and verifications draw random sizes. Every implementation must be right at each.
func TestEveryImplementationAtRandomSizes(t *testing.T) {
	in, times := kernels.GeneratedInput(), 2
	if testing.Short() {
		times = 1 // of each implementation, in which the race detector sees all of its goroutines
	}
	for _, c := range catalogue.Cases(kernels.Here()) {
		t.Run(c.Name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(20261121, uint64(len(c.Name))))
			top := min(float64(c.Axis.Max), 300*float64(c.Axis.Min), 20_000)
			for top > float64(c.Axis.Min) && c.Work(c.Axis.Nearest(int(top)), "").Flops > affordable {
				top = max(top/1.25, float64(c.Axis.Min))
			}
			for range times {
				x := float64(c.Axis.Min) * math.Pow(top/float64(c.Axis.Min), rng.Float64())
				size := c.Axis.Nearest(int(x))
				checkAt(t, &c, size, in)
			}
		})
	}
}

func checkAt(t *testing.T, c *kernels.Case, size int, in kernels.Input) {
	t.Helper()
	problem := c.Problem(size, in)
	want := problem.Reference()
	for _, i := range c.Implementations {
		if i.Missing() != nil {
			continue
		}
		call, err := problem.Bind(i.Name)
		if err != nil {
			t.Fatalf("%s at %d: %v", i.Name, size, err)
		}
		// Twice, because a call must not depend on the call before.
		for range 2 {
			if err := call.Run(); err != nil {
				t.Fatalf("%s at %d: %v", i.Name, size, err)
			}
		}
		if off := call.ErrorAgainst(want); !(off <= c.Tolerance(size)) {
			t.Errorf("%s at %d: relative error %.2g, allowed %.2g", i.Name, size, off, c.Tolerance(size))
		}
		call.Release()
	}
	if _, err := problem.Bind("nobody"); err == nil {
		t.Error("an implementation that does not exist was bound")
	}
}

// The dispatcher knows from the declarations which operations CROSSOVER_FORCE may name.
func TestDispatchKnowsTheOperations(t *testing.T) {
	var have []string
	for _, c := range catalogue.Cases(kernels.Here()) {
		have = append(have, c.Operation)
	}
	slices.Sort(have)
	if known := dispatch.Operations(); !slices.Equal(known, slices.Compact(have)) {
		t.Errorf("dispatch knows %v, the catalogue has %v", known, slices.Compact(have))
	}
}

// A typed plan computes the same as what a sweep binds, and allocates nothing. That of the stage graph computes on the
// processor only.
func TestPrograms(t *testing.T) {
	in := kernels.GeneratedInput()
	for _, c := range catalogue.Cases(kernels.Here()) {
		c, ok := c.WithPrograms()
		if !ok {
			t.Errorf("%s has no typed plan", c.Name)
			continue
		}
		programs := 0
		size := c.Axis.Nearest(c.Axis.Min + 37)
		problem := c.Problem(size, in)
		want := problem.Reference()
		for _, i := range c.Implementations {
			_, isProgram := kernels.ProgramOf(i.Name)
			if !isProgram || i.Missing() != nil {
				continue
			}
			programs++
			call, err := problem.Bind(i.Name)
			if err != nil {
				t.Fatalf("%s, %s: %v", c.Name, i.Name, err)
			}
			for range 2 {
				if err := call.Run(); err != nil {
					t.Fatalf("%s, %s: %v", c.Name, i.Name, err)
				}
			}
			if off := call.ErrorAgainst(want); !(off <= c.Tolerance(size)) {
				t.Errorf("%s, %s at %d: error %.2g, allowed %.2g", c.Name, i.Name, size, off, c.Tolerance(size))
			}
			if n := allocations(func() { _ = call.Run() }); n != 0 && !kerneltest.UnderRace() {
				t.Errorf("%s, %s: %v allocations a call", c.Name, i.Name, n)
			}
			call.Release()
		}
		if programs == 0 {
			t.Errorf("%s has no implementation", c.Name)
		}
		kernels.Release(problem)
	}
}
