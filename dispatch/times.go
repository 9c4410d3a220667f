package dispatch

import "math"

// Time is how long a call is expected to take.
type Time struct {
	Implementation string
	Seconds        float64
	OnGPU          bool
}

// Times returns how long the calibration expects calls of an operation to take at a shape, by its implementations, in the
// order of the file. The name of the operation may have a placement, as in [Dispatcher.Operation]. If the calibration predicts
// nothing at all shapes, the case named line and the size on its axis count: its cost models. Times returns nil if nothing is
// known, and if CROSSOVER_FORCE names an implementation, which no plan may overrule. It leaves out implementations that were not
// timed, and those on a GPU while the thermal state is too high, or if the calibration is of another GPU.
//
// A program that plans several calls together needs times. A program that makes a call needs Choose.
func (d *Dispatcher) Times(operation string, shape []int, line string, size int) []Time {
	if d.none() || len(d.force) > 0 {
		return nil
	}
	name, _, placement := splitName(operation)
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Time
	add := func(implementation string, onGPU bool, seconds float64) {
		if !onGPU || !d.entry.otherGPU && !tooHot(d.thermal) {
			all = append(all, Time{implementation, seconds, onGPU})
		}
	}
	if p := d.predictedFor(name, placement); p != nil && len(shape) == len(p.Axes) {
		var times logSeconds
		p.predict(shape, &times)
		for i := range p.Surface.Implementations {
			add(p.Surface.Implementations[i].Name, p.onGPU[i], math.Exp(times[i]))
		}
		return all
	}
	c := d.entry.find(line)
	if c == nil {
		return nil
	}
	for i := range c.Implementations {
		if m := &c.Implementations[i]; m.Cost != nil && m.Excluded == "" {
			add(m.Name, m.Processor == "gpu", modelled(m.Cost)(min(max(size, c.Axis.From), c.Axis.To)))
		}
	}
	return all
}

// LaunchSeconds returns the least time by which a call on the GPU was longer than its work there, as measured: what a launch
// and the wait for it take. It is 0 if it is not known.
func (d *Dispatcher) LaunchSeconds() float64 {
	if d.none() {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.entry.host == nil || d.entry.otherGPU {
		return 0
	}
	least := math.Inf(1)
	for i := range d.entry.host.Cases {
		for _, m := range d.entry.host.Cases[i].Implementations {
			for _, t := range m.GPUTimes {
				if beyond := t.WallSeconds - t.GPUSeconds; beyond > 0 {
					least = min(least, beyond)
				}
			}
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}
