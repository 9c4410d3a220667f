package catalogue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"crossover/calibration"
	"crossover/kernels"
)

// The calibration file is made of what the cases say of themselves.
func TestCasesAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Cases() {
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

// A sweep and a verification draw sizes that nobody has tried. Every implementation must be right at each.
func TestEveryImplementationAtRandomSizes(t *testing.T) {
	in := kernels.GeneratedInput()
	for _, c := range Cases() {
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
		if off := kernels.RelativeError(call.Output(), want); off > c.Tolerance(size) {
			t.Errorf("%s at %d: relative error %.2g, allowed %.2g", i.Name, size, off, c.Tolerance(size))
		}
		call.Release()
	}
	if _, err := problem.Bind("nobody"); err == nil {
		t.Error("an implementation that does not exist was bound")
	}
}
