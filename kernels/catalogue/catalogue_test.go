package catalogue

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
	"crossover/kernels"
)

// The calibration file is made of what the cases say of themselves.
func TestCasesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases(kernels.Here()) {
		if seen[c.Name] {
			t.Errorf("%s is listed twice", c.Name)
		}
		seen[c.Name] = true
		var params []string
		for _, p := range c.Params {
			params = append(params, fmt.Sprintf("%s=%d", p.Name, p.Value))
		}
		if name := c.Operation + "/" + strings.Join(params, ","); len(params) > 0 && c.Name != name {
			t.Errorf("%s: its parameters make the name %s", c.Name, name)
		}
		if c.Definition == "" || c.Source == "" {
			t.Errorf("%s: definition %q, source %q; want both", c.Name, c.Definition, c.Source)
		}
		if !slices.Contains(calibration.Units, c.Axis.Unit) {
			t.Errorf("%s: unit %q is not one that the file knows", c.Name, c.Axis.Unit)
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
			if i.Missing() == nil && strings.Contains(i.Name, "fftw") && i.LibraryVersion() == "" {
				t.Errorf("%s: %s has no library version", c.Name, i.Name)
			}
		}
		if !slices.ContainsFunc(c.Implementations, func(i kernels.Implementation) bool { return i.Name == "go" || strings.HasPrefix(i.Name, "go/") }) {
			t.Errorf("%s: no implementation in Go, so a machine without libraries cannot run it", c.Name)
		}
	}
}

func TestResidentTwins(t *testing.T) {
	missing := func() error { return errors.New("no device") }
	cpu := kernels.Implementation{Name: "go", Processor: kernels.CPU}
	cases := []kernels.Case{
		{Name: "scale", Operation: "scale", Implementations: []kernels.Implementation{cpu, {Name: "cuda", Processor: kernels.GPU}}},
		{Name: "fft/n=4096", Operation: "fft", Params: []kernels.Param{{Name: "n", Value: 4096}},
			Implementations: []kernels.Implementation{cpu, {Name: "cuda", Processor: kernels.GPU, Probe: missing}, {Name: "cufft", Processor: kernels.GPU}}},
		{Name: "sum", Operation: "sum", Implementations: []kernels.Implementation{cpu, {Name: "cuda", Processor: kernels.GPU, Probe: missing}}},
		{Name: "biquad", Operation: "biquad", Implementations: []kernels.Implementation{cpu}},
	}
	names := func(cases []kernels.Case) (names []string) {
		for _, c := range cases {
			names = append(names, c.Name)
		}
		return names
	}
	if got, want := names(withPlacements(cases, false, false)), names(cases); !slices.Equal(got, want) {
		t.Errorf("with unified memory, or without a GPU, the cases are %q, want %q", got, want)
	}
	twins := withPlacements(cases, true, true)
	want := []string{"scale", "scale/resident", "fft/n=4096", "fft/n=4096,resident", "sum", "biquad"}
	if got := names(twins); !slices.Equal(got, want) {
		t.Fatalf("with memory of its own the cases are %q, want %q", got, want)
	}
	for n, params := range map[int][]kernels.Param{1: {{Name: "resident", Value: 1}}, 3: {{Name: "n", Value: 4096}, {Name: "resident", Value: 1}}} {
		if !slices.Equal(twins[n].Params, params) {
			t.Errorf("%s has the parameters %v, want %v", twins[n].Name, twins[n].Params, params)
		}
	}
	if len(cases[1].Params) != 1 {
		t.Errorf("the twin changed its case: %v", cases[1].Params)
	}
}

// A sweep and a verification draw sizes that nobody has tried. Every implementation must be right at each.
func TestEveryImplementationAtRandomSizes(t *testing.T) {
	in := kernels.GeneratedInput()
	for _, c := range Cases(kernels.Here()) {
		t.Run(c.Name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(20261121, uint64(len(c.Name))))
			top := min(float64(c.Axis.Max), 300*float64(c.Axis.Min), 20_000)
			for range 4 {
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
		// Twice, because a call is timed many times and must not depend on the last one.
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

// The dispatcher holds what CROSSOVER_FORCE names against what declarations told it.
func TestDispatchKnowsTheOperations(t *testing.T) {
	var have []string
	for _, c := range Cases(kernels.Here()) {
		have = append(have, c.Operation)
	}
	slices.Sort(have)
	if known := dispatch.Operations(); !slices.Equal(known, slices.Compact(have)) {
		t.Errorf("dispatch knows %v, the catalogue has %v", known, slices.Compact(have))
	}
}

// A typed plan called as a program calls it computes what a sweep binds. The stage graph's is on the processor alone.
func TestPrograms(t *testing.T) {
	programs := 0
	in := kernels.GeneratedInput()
	for _, c := range Cases(kernels.Here()) {
		c, ok := c.WithPrograms()
		if !ok {
			continue
		}
		size := c.Axis.Nearest(max(7, c.Axis.Min))
		problem := c.Problem(size, in)
		want := problem.Reference()
		for _, i := range c.Implementations {
			_, isProgram := kernels.ProgramOf(i.Name)
			if !isProgram || i.Missing() != nil || c.Operation == "stage-graph" && i.Processor == kernels.GPU {
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
			call.Release()
		}
	}
	if programs == 0 {
		t.Error("no typed plan is listed")
	}
}
