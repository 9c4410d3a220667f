package dispatch

import (
	"slices"

	"crossover/calibration"
)

// Pipeline returns what was measured of a graph. stages are the names of the graph's stages, in their order; what was measured
// of other stages says nothing. The caller must not change what it is given. Pipeline returns false if nothing was measured, if
// CROSSOVER_FORCE names an implementation, or if the calibration is of another GPU.
func (d *Dispatcher) Pipeline(name string, stages []string) (measured calibration.Pipeline, found bool) {
	if d.none() || len(d.force) > 0 {
		return measured, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entry.host == nil || d.entry.otherGPU {
		return measured, false
	}
	p := d.entry.host.Pipeline(name)
	if p == nil || !slices.Equal(p.Stages, stages) {
		return measured, false
	}
	return *p, true
}

// Processors returns the greatest number of processors to which the times of the calibration may belong, and 0 without a
// calibration. This program may have fewer, by GOMAXPROCS or another limit on the process.
func (d *Dispatcher) Processors() int {
	h := d.inForce()
	if h == nil {
		return 0
	}
	return h.Processors()
}

// inForce returns the calibration that choices rest on, or nil if there is none. Nobody changes it: a fresh file has another one.
func (d *Dispatcher) inForce() *calibration.Host {
	if d.none() {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.entry.host
}

// MoveSeconds returns how long a byte takes that a pipeline moves in the processor's memory between two stages: the median over
// all pipelines that were measured. It is 0 if none was.
func (d *Dispatcher) MoveSeconds() float64 {
	h := d.inForce()
	if h == nil {
		return 0
	}
	var all []float64
	for i := range h.Pipelines {
		for _, l := range h.Pipelines[i].Lengths {
			for _, part := range l.Parts {
				if part.Implementation == "" {
					all = append(all, part.MedianSeconds/float64(part.Bytes))
				}
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
