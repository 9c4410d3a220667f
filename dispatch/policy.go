package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// SetThermal sets the thermal state of the machine: "nominal", "fair", "serious", "critical" or "unknown", as host.Observe
// returns it. In the states serious and critical, no implementation on the GPU is chosen. Any other word is an error and
// changes nothing.
func (d *Dispatcher) SetThermal(state string) error {
	if err := oneOf("thermal state", state, "nominal", "fair", "serious", "critical", "unknown"); err != nil || d.none() {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if state != d.thermal {
		d.thermal = state
		d.rebuild()
	}
	return nil
}

func tooHot(state string) bool { return state == "serious" || state == "critical" }

// SetGPUWait sets how long a call to the GPU would wait now before it starts; 0 means an idle GPU. While it is above 0,
// Choose takes the best CPU implementation instead of the GPU if the wait and the GPU's predicted time exceed the CPU's
// predicted time. Predictions come from the costs in the calibration. Without costs the wait changes nothing. SetGPUWait is
// cheap enough to be called before every submission.
func (d *Dispatcher) SetGPUWait(wait time.Duration) {
	if d != nil {
		d.gpuWait.Store(int64(wait))
	}
}

// SetMemoryPressure sets how short memory is: "normal", "warning" or "critical". At each call with "critical" it calls the
// functions of OnMemoryPressure, and returns when they have returned. Any other word is an error and changes nothing.
func (d *Dispatcher) SetMemoryPressure(level string) error {
	if err := oneOf("memory pressure", level, "normal", "warning", "critical"); err != nil || d.none() {
		return err
	}
	if level != "critical" {
		return nil
	}
	d.mu.Lock()
	var releases []func()
	for release := range d.releases {
		releases = append(releases, *release)
	}
	d.mu.Unlock()
	for _, release := range releases {
		release()
	}
	return nil
}

// OnMemoryPressure adds a function that SetMemoryPressure calls when memory pressure is critical. It should free buffers
// that are only kept for speed; kernels.Here().Trim frees those of the GPUs. The functions are called in no particular order
// and without a lock held. stop removes release again.
func (d *Dispatcher) OnMemoryPressure(release func()) (stop func()) {
	if d.none() {
		return func() {}
	}
	key := &release
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releases[key] = struct{}{}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.releases, key)
	}
}

func oneOf(what, value string, accepted ...string) error {
	if slices.Contains(accepted, value) {
		return nil
	}
	return fmt.Errorf("dispatch: %s %q (want %s)", what, value, strings.Join(accepted, ", "))
}
