package harness

import (
	"slices"
	"testing"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/timings"
)

// A second run begins at the threshold of the first one. It does not if an implementation is new to the first one or has changed
// since, because the threshold may be elsewhere with it.
func TestTheNextRunBeginsAtTheThreshold(t *testing.T) {
	scenario := &model.Scenarios()[0]
	machine := model.New(scenario, 1)
	c := machine.Case()
	first := NewRun(calibration.Host{ID: "somebody"}, []kernels.Case{c}, Options{Budget: 5e9, Seed: 1, Ratio: 64})
	if err := first.Measure(t.Context(), Machine{Clock: machine, Sentinel: machine.Sentinel}); err != nil {
		t.Fatal(err)
	}
	threshold := float64(scenario.Truth()[0])
	plain := NewRun(calibration.Host{}, nil, Options{Seed: 1, Ratio: 64}).FirstSizes(&c)
	set := first.Timings[c.Name] // as after a short budget
	set.Blocks = slices.DeleteFunc(set.Blocks, func(b timings.Block) bool { return !slices.Contains(plain, b.Size) })
	near := func(sizes []int) bool {
		return slices.ContainsFunc(sizes, func(size int) bool { return float64(size) > threshold/6 && float64(size) < threshold }) &&
			slices.ContainsFunc(sizes, func(size int) bool { return float64(size) < threshold*6 && float64(size) > threshold })
	}
	sizes := func(change func(c *kernels.Case, o *Options)) []int {
		changed, o := c, Options{Seed: 1, Ratio: 64}
		changed.Implementations = slices.Clone(c.Implementations)
		change(&changed, &o)
		r := NewRun(calibration.Host{}, nil, o)
		r.Before = first
		return r.FirstSizes(&changed)
	}
	if got := sizes(func(*kernels.Case, *Options) {}); !near(got) || near(plain) {
		t.Errorf("the first sizes are %v, and %v without an earlier run; the threshold is at %v", got, plain, threshold)
	}
	if got := sizes(func(c *kernels.Case, _ *Options) { c.Implementations[1].Revision++ }); !slices.Equal(got, plain) {
		t.Errorf("after a change of %s the first sizes are %v, want %v", c.Implementations[1].Name, got, plain)
	}
	another := func(c *kernels.Case, _ *Options) {
		c.Implementations = append(c.Implementations, kernels.Implementation{Name: "another", Processor: kernels.CPU})
	}
	if got := sizes(another); !slices.Equal(got, plain) {
		t.Errorf("with another implementation the first sizes are %v, want %v", got, plain)
	}
	excluded := func(c *kernels.Case, o *Options) {
		another(c, o)
		o.Include = func(name string) bool { return name != "another" }
	}
	if got := sizes(excluded); !near(got) {
		t.Errorf("with another implementation that is left out the first sizes are %v", got)
	}
	c.Name = "another case"
	if got := sizes(func(*kernels.Case, *Options) {}); !slices.Equal(got, plain) {
		t.Errorf("the first sizes of a case without earlier runs are %v, want %v", got, plain)
	}
}
