//go:build amd64 || arm64

package cuda

import (
	"time"

	"github.com/ebitengine/purego"

	"crossover/gpu"
)

// clock reads the device's own clock around each kernel of a recording.
type clock struct {
	events      []*event
	first, last *event
	kernels     []interval // of the steps that are kernels, at their steps' indices
	elapsed     *float32   // what cuEventElapsedTime writes, in milliseconds
}

// interval is the time between two events.
type interval struct{ begin, end *event }

// event is a CUevent and the arguments of its cuEventRecord.
type event struct{ arguments [2]uintptr }

func (e *event) record(d *driver) error {
	status, _, _ := purego.SyscallN(d.eventRecord.address, e.arguments[:]...)
	return d.check(&d.eventRecord, int32(status))
}

// newClock makes the events of a recording.
func (d *driver) newClock(r *recording) (*clock, error) {
	c := &clock{kernels: make([]interval, len(r.steps)), elapsed: new(float32)}
	needed := []**event{&c.first, &c.last}
	for i := range r.steps {
		if r.steps[i].kernel {
			needed = append(needed, &c.kernels[i].begin, &c.kernels[i].end)
		}
	}
	for _, to := range needed {
		handle := new(uintptr)
		if err := d.do(&d.eventCreate, address(handle), 0); err != nil {
			c.close(d)
			return nil, err
		}
		*to = &event{arguments: [2]uintptr{*handle, r.stream[0]}}
		c.events = append(c.events, *to)
	}
	return c, nil
}

func (c *clock) close(d *driver) {
	for _, e := range c.events {
		_ = d.do(&d.eventDestroy, e.arguments[0])
	}
	c.events = nil
}

// read adds the device's times to t. The stream is idle, and the context is current.
func (c *clock) read(d *driver, t *gpu.Times) error {
	var err error
	if t.Span, err = c.between(d, c.first, c.last); err != nil {
		return err
	}
	var before *event
	for _, k := range c.kernels {
		if k.begin == nil {
			continue
		}
		busy, err := c.between(d, k.begin, k.end)
		if err != nil {
			return err
		}
		t.Busy += busy
		t.Kernel++
		if before != nil {
			gap, err := c.between(d, before, k.begin)
			if err != nil {
				return err
			}
			t.Gaps += gap
		}
		before = k.end
	}
	return nil
}

func (c *clock) between(d *driver, from, to *event) (time.Duration, error) {
	status := d.eventElapsed.call(address(c.elapsed), from.arguments[0], to.arguments[0])
	return time.Duration(float64(*c.elapsed) * float64(time.Millisecond)), d.check(&d.eventElapsed, status)
}
