package plots

import (
	"math"
	"testing"

	"crossover/calibration"
	"crossover/timings"
)

// exact returns a case over the sizes 1 to 64 and one run of the case without noise. b is faster from 8 on.
func exact() (*calibration.Host, []Run) {
	e := experiment{
		name: "x", axis: "n", unit: "n", from: 1, to: 64, noise: 1e-9,
		costs: []cost{{"a", 0, 1e-6, 1}, {"b", 8e-6, 0, 1}, {"c", 1e-3, 0, 1}},
	}
	h, _ := testHost(e)
	h.Cases[0].Segments = []calibration.Segment{
		{From: 1, To: 7, Implementation: "a"}, {From: 8, To: 64, Implementation: "b", Interval: &calibration.Interval{Low: 6, High: 11}},
	}
	return h, []Run{{Samples: smooth(e)}}
}

// smooth returns one block for each size, with the exact costs of an experiment.
func smooth(e experiment) *timings.Set {
	set := &timings.Set{Case: e.name}
	for _, c := range e.costs {
		set.Implementations = append(set.Implementations, c.name)
	}
	for _, n := range e.sizes() {
		block := timings.Block{Size: n, Twin: -1, Iterations: make([]int, len(e.costs))}
		for _, c := range e.costs {
			block.Seconds = append(block.Seconds, c.at(float64(n)))
		}
		set.Blocks = append(set.Blocks, block)
	}
	return set
}

// Lines are medians of all runs.
func TestLinesAreOfAllRuns(t *testing.T) {
	h, runs := exact()
	slower := experiment{from: 1, to: 64, costs: []cost{{"a", 0, 2e-6, 1}, {"b", 16e-6, 0, 1}, {"c", 4e-3, 0, 1}}}
	runs = append(runs, Run{Samples: smooth(slower)}, Run{})
	f := newCaseFigure(h, &h.Cases[0], runs)
	for i, c := range f.curves {
		earlier := newCaseFigure(h, &h.Cases[0], runs[1:]).curves[i]
		if c.name != earlier.name || len(c.times) != 7 || len(c.newest.blocks) != 7 {
			t.Fatalf("%s has the lines %v and %v", c.name, c.times, c.newest.blocks)
		}
		for k := range c.times {
			newest, before := c.newest.blocks[k].Y, earlier.times[k].Y
			if newest >= before || math.Abs(c.times[k].Y/((newest+before)/2)-1) > 1e-9 {
				t.Errorf("%s at %v: %v of all, %v of the newest, %v before", c.name, c.times[k].X, c.times[k].Y, newest, before)
			}
		}
	}
	c := h.Cases[0]
	c.Blocks, c.Earlier = 7, []calibration.Earlier{{Blocks: 5}, {Blocks: 2}}
	if got := measured(&c); got[0] != "14 blocks in 3 runs, 7 of them in the main one" {
		t.Errorf("the caption says %q", got)
	}
}
