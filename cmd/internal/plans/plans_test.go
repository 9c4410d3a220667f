package plans

import (
	"math"
	"slices"
	"testing"

	"crossover/kernels"
	"crossover/kernels/catalogue"
	"crossover/sweeps"
	"crossover/timings"
)

// result is what a sweep of one implementation measures at two sizes, whose program takes times as long.
func result(times ...float64) *sweeps.Result {
	r := &sweeps.Result{
		Case:    &kernels.Case{Name: "scale", Axis: kernels.Axis{Unit: "elements"}},
		Samples: timings.Set{Implementations: []string{"go", "program:go", "cuda"}},
	}
	for i, ratio := range times {
		r.Samples.Blocks = append(r.Samples.Blocks, timings.Block{
			Size: 10 * (1 + i%2), Twin: -1, Seconds: []float64{1e-3, 1e-3 * ratio, math.NaN()}, Iterations: []int{1, 1, 0},
		})
	}
	return r
}

func TestRows(t *testing.T) {
	rows := rowsOf(result(1, 2, 1.1, 2.2, 0.9, 1.8))
	if len(rows) != 2 {
		t.Fatalf("%d rows, want one for each of two sizes", len(rows))
	}
	for i, want := range []Row{
		{Case: "scale", Implementation: "go", Size: 10, Unit: "elements", Sweep: 1e-3, Program: 1e-3, Ratio: 1, Blocks: 3},
		{Case: "scale", Implementation: "go", Size: 20, Unit: "elements", Sweep: 1e-3, Program: 2e-3, Ratio: 2, Blocks: 3},
	} {
		if rows[i] != want {
			t.Errorf("%+v, want %+v", rows[i], want)
		}
	}
}

func TestSum(t *testing.T) {
	for name, test := range map[string]struct {
		times []float64
		true  bool
	}{
		"the same":              {[]float64{1, 1.02}, true},
		"one row is off":        {[]float64{1, 1.2}, false},
		"one row is too fast":   {[]float64{1, 0.8}, false},
		"all a little too dear": {[]float64{1.07, 1.08}, false},
	} {
		if s := Sum(rowsOf(result(test.times...))); s.TellsTheTruth != test.true || s.Rows != 2 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if Sum(nil).TellsTheTruth {
		t.Error("no rows tell the truth")
	}
}

func TestSpread(t *testing.T) {
	if got, want := spread(kernels.Axis{Min: 1, Max: 1000000}, 3), []int{9, 999, 100000}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := spread(kernels.Axis{Min: 1, Max: 2}, 3); len(got) != 1 {
		t.Errorf("%v of an axis from 1 to 2", got)
	}
}

// Every case of the catalogue can be called as a program does, by every implementation, and gets what a sweep gets.
func TestEveryProgram(t *testing.T) {
	in := kernels.GeneratedInput()
	for _, c := range catalogue.Cases(kernels.Here()) {
		both, ok := c.WithPrograms()
		if !ok {
			t.Errorf("%s has no typed plan", c.Name)
			continue
		}
		size := c.Axis.Nearest(c.Axis.Min + 37)
		problem := both.Problem(size, in)
		want := problem.Reference()
		programs := 0
		for _, i := range both.Implementations {
			if _, isProgram := kernels.ProgramOf(i.Name); !isProgram || i.Missing() != nil {
				continue
			}
			call, err := problem.Bind(i.Name)
			if err != nil {
				t.Errorf("%s, %s: %v", c.Name, i.Name, err)
				continue
			}
			if err := call.Run(); err != nil {
				t.Errorf("%s, %s: %v", c.Name, i.Name, err)
			} else if off := call.ErrorAgainst(want); !(off <= c.Tolerance(size)) {
				t.Errorf("%s, %s at %d: error %.2g, allowed %.2g", c.Name, i.Name, size, off, c.Tolerance(size))
			}
			if n := testing.AllocsPerRun(3, func() { _ = call.Run() }); n != 0 {
				t.Errorf("%s, %s: %v allocations a call", c.Name, i.Name, n)
			}
			programs++
		}
		if programs == 0 {
			t.Errorf("%s has no implementation", c.Name)
		}
	}
}
