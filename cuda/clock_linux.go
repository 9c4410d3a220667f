//go:build amd64 || arm64

package cuda

import (
	"time"

	"crossover/gpu"
)

// clock reads the device's own clock before and after each kernel of a recording. The events are nodes of its graph, so
// nothing that the host does lies between them.
type clock struct {
	stream      uintptr
	first, last event      // of the recording
	steps       []interval // of the steps that are kernels, at their indices
	elapsed     *float32   // what cuEventElapsedTime writes, in milliseconds
}

// interval is the time between two events; without a begin it is none.
type interval struct{ begin, end event }

// event is a CUevent, or 0.
type event uintptr

// newClock makes the events of a recording.
func (d *driver) newClock(steps []step, stream uintptr) (*clock, error) {
	c := &clock{stream: stream, steps: make([]interval, len(steps)), elapsed: new(float32)}
	var needed []*event
	for i := range steps {
		if steps[i].kernel {
			needed = append(needed, &c.steps[i].begin, &c.steps[i].end)
		}
	}
	if !steps[0].kernel {
		needed = append(needed, &c.first)
	}
	if !steps[len(steps)-1].kernel {
		needed = append(needed, &c.last)
	}
	for _, to := range needed {
		handle := new(uintptr)
		if err := d.do(&d.eventCreate, address(handle), 0); err != nil {
			c.close(d)
			return nil, err
		}
		*to = event(*handle)
	}
	return c, nil
}

func (c *clock) close(d *driver) {
	events := []event{c.first, c.last}
	for _, s := range c.steps {
		events = append(events, s.begin, s.end)
	}
	for _, e := range events {
		if e != 0 {
			_ = d.do(&d.eventDestroy, uintptr(e))
		}
	}
}

// before records what the clock needs before a step that is about to be captured. A nil clock needs nothing.
func (c *clock) before(d *driver, step int) error {
	if c == nil {
		return nil
	}
	if step == 0 && c.first != 0 {
		if err := c.record(d, c.first); err != nil {
			return err
		}
	}
	return c.record(d, c.steps[step].begin)
}

// after records what the clock needs after a step.
func (c *clock) after(d *driver, step int) error {
	if c == nil {
		return nil
	}
	if err := c.record(d, c.steps[step].end); err != nil {
		return err
	}
	if step == len(c.steps)-1 {
		return c.record(d, c.last)
	}
	return nil
}

func (c *clock) record(d *driver, e event) error {
	if e == 0 {
		return nil
	}
	return d.check(&d.eventRecord, d.eventRecord.call(uintptr(e), c.stream, eventRecordExternal))
}

// read adds the device's times to t. The stream is idle, and the context is current.
func (c *clock) read(d *driver, t *gpu.Times) error {
	first, last := c.first, c.last
	if first == 0 {
		first = c.steps[0].begin
	}
	if last == 0 {
		last = c.steps[len(c.steps)-1].end
	}
	var err error
	if t.Span, err = c.between(d, first, last); err != nil {
		return err
	}
	var before event
	for _, s := range c.steps {
		if s.begin == 0 {
			continue
		}
		busy, err := c.between(d, s.begin, s.end)
		if err != nil {
			return err
		}
		t.Busy += busy
		t.Kernel++
		if before != 0 {
			gap, err := c.between(d, before, s.begin)
			if err != nil {
				return err
			}
			t.Gaps += gap
		}
		before = s.end
	}
	return nil
}

func (c *clock) between(d *driver, from, to event) (time.Duration, error) {
	status := d.eventElapsed.call(address(c.elapsed), uintptr(from), uintptr(to))
	return time.Duration(float64(*c.elapsed) * float64(time.Millisecond)), d.check(&d.eventElapsed, status)
}
