package sweeps_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
)

// foresighted is a planner of a script that knows all of it.
type foresighted struct {
	sweeps.Planner
	sizes []int
}

func (f foresighted) Upcoming() []int { return f.sizes }

// Kernels of a case are compiled before its first visit, with those of the other cases whose next visits are worth most. Each is
// compiled once, and nothing of a case that has no kernels.
func TestKernelsOfOtherCasesAreCompiledToo(t *testing.T) {
	m := newMachine()
	o := m.options(100 * time.Second)
	s := script{{1000, 3}, {2000, 3}}
	o.Planner = func(c *kernels.Case) sweeps.Planner { return foresighted{s.planner(c), []int{1000, 2000}} }
	var calls [][]string
	o.Ahead = func(upcoming []sweeps.Upcoming) {
		var names []string
		for _, u := range upcoming {
			names = append(names, fmt.Sprint(u.Case.Name, u.Sizes))
		}
		calls = append(calls, names)
	}
	var cases []kernels.Case
	for k := range 7 {
		c := m.newCase(fmt.Sprintf("fft%d", k), 1, 1<<20, quickStarter(), card("cuda"))
		if k == 6 {
			c = m.newCase("fft6", 1, 1<<20, quickStarter(), slowStarter())
		}
		c.Compile = func(int, string) error { return nil }
		cases = append(cases, c)
	}
	m.sweep(t, o, cases...)
	seen := map[string]int{}
	for _, names := range calls {
		for _, name := range names {
			seen[name]++
		}
	}
	if len(calls) != 2 || len(calls[0]) != 4 || len(calls[1]) != 2 || len(seen) != 6 || slices.Contains(calls[1], "fft6[1000 2000]") {
		t.Errorf("kernels were compiled in the calls %v; want four cases, and then two", calls)
	}
}
