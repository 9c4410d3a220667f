package dispatch

import (
	"math"
	"slices"
)

// Time is how long a call is expected to take.
type Time struct {
	Implementation string
	Seconds        float64
	OnGPU          bool
}

// Times returns how long the calibration expects calls of an operation to take at a shape, by its implementations, in the
// order of the file. The name of the operation may have a placement, as in [Dispatcher.Operation], and then only times in this
// placement count. line is the case through the shape, and size is the shape's value on the axis of the case. What was measured
// at this very shape comes first, then the operation's surface, and last the cost models of the case: for an operation with one
// axis, which has no surface, these are all that is known. Times returns nil if nothing is known, and if CROSSOVER_FORCE names
// an implementation, which no plan may overrule. It leaves out implementations that were not timed, and those on a GPU while
// the thermal state is too high, or if the calibration is of another GPU.
//
// A program that plans several calls together needs times. A program that makes a call needs Choose.
func (d *Dispatcher) Times(operation string, shape []int, line string, size int) (all []Time) {
	if d.none() || len(d.force) > 0 {
		return nil
	}
	name, _, placement := splitName(operation)
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.entryFor(name)
	f := forecast{of: d.knownFor(name, placement), measured: d.find(name, line)}
	if f.of == nil || len(shape) != len(f.of.Axes) {
		f.of, shape = nil, nil
	}
	otherGPU := e.otherGPU
	if f.of != nil {
		if _, asked := f.of.FindAsked(shape); asked {
			otherGPU = f.of.asked.entry.otherGPU
		}
	}
	for _, i := range f.implementations() {
		onGPU := i.Processor == "gpu"
		if onGPU && (otherGPU || tooHot(d.thermal)) {
			continue
		}
		if seconds, _, known := f.seconds(shape, size, i.Name); known {
			all = append(all, Time{i.Name, seconds, onGPU})
		}
	}
	return all
}

// LaunchSeconds returns by how much a call on the GPU is longer than its work there: what a launch and the wait for it take. It is
// the median over the measured calls with resident data, or with shared data if there are none of those, or the least over all
// other calls, which may also have copied data. It is 0 if it is not known.
func (d *Dispatcher) LaunchSeconds() float64 {
	if d.none() {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entry.host == nil || d.entry.otherGPU {
		return 0
	}
	beyond := map[string][]float64{} // by placement
	for i := range d.entry.host.Cases {
		c := &d.entry.host.Cases[i]
		_, _, placement := splitName(c.Name)
		for _, m := range c.Implementations {
			for _, t := range m.GPUTimes {
				beyond[placement] = append(beyond[placement], t.WallSeconds-t.GPUSeconds)
			}
		}
	}
	for _, placement := range []string{resident, shared} {
		if all := beyond[placement]; len(all) > 0 {
			slices.Sort(all)
			return max(0, all[len(all)/2])
		}
	}
	least := math.Inf(1)
	for _, s := range beyond[caller] {
		if s > 0 {
			least = min(least, s)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}
