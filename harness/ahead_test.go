package harness_test

import (
	"sync"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/harness"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/sweeps"
)

// compiled is a kernel that a run has compiled.
type compiled struct {
	c              string
	size           int
	implementation string
}

// note sets began at the first visit to a case.
func note(began *bool, c *kernels.Case) {
	problem := c.Problem
	c.Problem = func(size int, in kernels.Input) kernels.Problem {
		*began = true
		return problem(size, in)
	}
}

// compilations returns the kernels that a run over a case in all placements compiles before its first visit.
func compilations(t *testing.T, o harness.Options, compile func()) map[compiled]int {
	t.Helper()
	machine := model.New(launch(), 1)
	all, began := map[compiled]int{}, false
	var mu sync.Mutex
	var cases []kernels.Case
	for _, placement := range []kernels.Placement{kernels.Caller, kernels.Shared, kernels.Resident} {
		c := machine.Case()
		c.Name, c.Placement = c.Name+string(placement), placement
		note(&began, &c)
		c.Compile = func(size int, implementation string) error {
			mu.Lock()
			all[compiled{c.Name, size, implementation}]++
			late := began
			mu.Unlock()
			if late {
				t.Error("a kernel is compiled after the first visit")
			}
			compile()
			return nil
		}
		cases = append(cases, c)
	}
	o.Budget, o.Seed = time.Second, 1
	if err := harness.NewRun(anywhere(), cases, o).Measure(t.Context(), on(machine)); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestKernelsAreCompiledAhead(t *testing.T) {
	all := compilations(t, harness.Options{}, func() {})
	machine := model.New(launch(), 1)
	c := machine.Case()
	c.Placement = kernels.Caller
	gpus, names := 0, map[string]kernels.Processor{}
	for _, i := range c.Implementations {
		if names[i.Name] = i.Processor; i.Processor == kernels.GPU {
			gpus++
		}
	}
	sizes := harness.NewRun(anywhere(), []kernels.Case{c}, harness.Options{Seed: 1}).FirstSizes(&c)
	if len(all) != gpus*len(sizes) || gpus == 0 {
		t.Errorf("%d kernels were compiled, want one for each of %d sizes and %d implementations", len(all), len(sizes), gpus)
	}
	for k, n := range all {
		if n != 1 || k.c != c.Name+string(kernels.Caller) || names[k.implementation] != kernels.GPU {
			t.Errorf("%+v was compiled %d times", k, n)
		}
	}
}

// A call from nothing compiles, and is timed with that.
func TestNothingIsCompiledAheadOfColdCalls(t *testing.T) {
	if all := compilations(t, harness.Options{State: sweeps.Cold}, func() {}); len(all) > 0 {
		t.Errorf("%v were compiled", all)
	}
}

// A kernel that cannot be compiled is met again at its visit. Until then it stops nothing.
func TestACompilerThatPanics(t *testing.T) {
	if all := compilations(t, harness.Options{}, func() { panic("no compiler") }); len(all) == 0 {
		t.Error("nothing was compiled")
	}
}

// Before its first visit, a check compiles the kernels of the first sizes of all of its cases: as many as a finding takes. Otherwise
// each case would wait for its own, while most processors wait.
func TestACheckCompilesForAllCasesAtFirst(t *testing.T) {
	r := measured(t, harness.Options{}, "")
	fit(t, r)
	entry := r.Entry
	machine := model.New(launch(), 2)
	ahead, began := map[compiled]bool{}, false
	var mu sync.Mutex
	var recorded []calibration.Case
	var cases []kernels.Case
	for _, name := range []string{"launch", "again"} {
		known, c := entry.Cases[0], machine.Case()
		known.Name, known.Operation, c.Name = name, name, name
		note(&began, &c)
		c.Compile = func(size int, implementation string) error {
			mu.Lock()
			defer mu.Unlock()
			if !began {
				ahead[compiled{name, size, implementation}] = true
			}
			return nil
		}
		recorded, cases = append(recorded, known), append(cases, c)
	}
	entry.Cases = recorded
	v := verified(t, entry, on(machine), cases...)
	for _, check := range v.Checks {
		sizes := 0
		for _, s := range check.Audit.Sizes {
			if ahead[compiled{check.Case.Name, s.Size, "gpu"}] {
				sizes++
			}
		}
		if sizes < 8 {
			t.Errorf("%s: kernels of %d of %d sizes were compiled before the first visit", check.Case.Name, sizes, len(check.Audit.Sizes))
		}
	}
}
