package dispatch

import (
	"math"
	"slices"

	"crossover/calibration"
)

// Pipeline returns what was measured of a graph at the length that is nearest to the given one, by ratio, and that length:
// elements of the inputs and of the outputs. stages are the names of the graph's stages, in their order; what was measured of other stages says nothing. Pipeline
// returns false if nothing was measured, if CROSSOVER_FORCE names an implementation, or if the calibration is of another GPU.
func (d *Dispatcher) Pipeline(name string, stages []string, elements []int) (near calibration.PipelineLength, found bool) {
	if d.none() || len(d.force) > 0 {
		return near, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entry.host == nil || d.entry.otherGPU {
		return near, false
	}
	p := d.entry.host.Pipeline(name)
	if p == nil || !slices.Equal(p.Stages, stages) {
		return near, false
	}
	least := math.Inf(1)
	for i := range p.Lengths {
		if l := &p.Lengths[i]; len(l.Elements) == len(elements) {
			if away := apart(l.Elements, elements); away < least {
				least, near, found = away, *l, true
			}
		}
	}
	return near, found
}

// apart returns how far apart lengths are: the greatest logarithm of a ratio.
func apart(a, b []int) (most float64) {
	for i := range a {
		most = max(most, math.Abs(math.Log(float64(a[i])/float64(max(1, b[i])))))
	}
	return most
}
