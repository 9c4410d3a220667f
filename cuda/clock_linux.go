//go:build amd64 || arm64

package cuda

import (
	"math"
	"slices"
	"time"
	"unsafe"

	"crossover/gpu"
)

// clock reads the device's own clock before and after each kernel of a recording. The events are nodes of its graph, so
// nothing that the host does lies between them. What they cost themselves is measured once and taken off; on an H200 a
// kernel that does nothing then still counts for somewhat more than a microsecond.
type clock struct {
	driver *driver
	stream uintptr
	steps  []interval // at the steps' indices
	events []event    // all of them, in the order in which they happen
	cost   time.Duration
}

// interval is the events before and after a step, as far as it has any.
type interval struct {
	begin, end event
	kernel     bool
}

// event is a CUevent, or 0.
type event uintptr

// newClock makes the events of a recording: around each kernel, and at both ends where there is none.
func (d *driver) newClock(steps []step, stream uintptr) (*clock, error) {
	cost, err := d.costOfEvent()
	if err != nil {
		return nil, err
	}
	c := &clock{driver: d, stream: stream, steps: make([]interval, len(steps)), cost: cost}
	for i := range steps {
		c.steps[i].kernel = steps[i].kernel
		if steps[i].kernel || i == 0 {
			if c.steps[i].begin, err = c.event(); err != nil {
				return nil, err
			}
		}
		if steps[i].kernel || i == len(steps)-1 {
			if c.steps[i].end, err = c.event(); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// event makes the next event. Where it cannot, it destroys those that were made.
func (c *clock) event() (event, error) {
	handle := new(uintptr)
	if err := c.driver.do(&c.driver.eventCreate, uintptr(unsafe.Pointer(handle)), 0); err != nil {
		c.close()
		return 0, err
	}
	c.events = append(c.events, event(*handle))
	return event(*handle), nil
}

func (c *clock) close() {
	for _, e := range c.events {
		_ = c.driver.do(&c.driver.eventDestroy, uintptr(e))
	}
	c.events = nil
}

// before records what the clock needs before a step that is about to be captured. A nil clock needs nothing.
func (c *clock) before(step int) error {
	if c == nil {
		return nil
	}
	return c.record(c.steps[step].begin)
}

// after records what the clock needs after a step.
func (c *clock) after(step int) error {
	if c == nil {
		return nil
	}
	return c.record(c.steps[step].end)
}

func (c *clock) record(e event) error {
	if e == 0 {
		return nil
	}
	d := c.driver
	return d.check(&d.eventRecord, d.eventRecord.call(uintptr(e), c.stream, eventRecordExternal))
}

// read adds the device's times to t. The stream is idle, and the context is current.
func (c *clock) read(t *gpu.Times) error {
	span, err := c.between(c.events[0], c.events[len(c.events)-1])
	if err != nil {
		return err
	}
	t.Span = max(0, span-time.Duration(len(c.events)-2)*c.cost)
	var before event
	for _, s := range c.steps {
		if !s.kernel {
			continue
		}
		busy, err := c.between(s.begin, s.end)
		if err != nil {
			return err
		}
		t.Busy += busy
		t.Kernel++
		if before != 0 {
			gap, err := c.between(before, s.begin)
			if err != nil {
				return err
			}
			t.Gaps += gap
		}
		before = s.end
	}
	return nil
}

// between returns the time from an event to a later one, less the cost of one event. The context is current.
func (c *clock) between(from, to event) (time.Duration, error) {
	d := c.driver
	milliseconds := new(float32)
	status := d.eventElapsed.call(uintptr(unsafe.Pointer(milliseconds)), uintptr(from), uintptr(to))
	elapsed := time.Duration(math.Round(float64(*milliseconds) * float64(time.Millisecond)))
	return max(0, elapsed-c.cost), d.check(&d.eventElapsed, status)
}

// costOfEvent returns the time from one event in a graph to the next one, with nothing between them.
func (d *driver) costOfEvent() (time.Duration, error) {
	d.eventCostMu.Lock()
	defer d.eventCostMu.Unlock()
	if d.eventCost == 0 {
		cost, err := d.measureEventCost()
		if err != nil {
			return 0, err
		}
		d.eventCost = max(cost, 1)
	}
	return d.eventCost, nil
}

func (d *driver) measureEventCost() (time.Duration, error) {
	stream, err := d.takeStream()
	if err != nil {
		return 0, err
	}
	defer d.giveStream(stream)
	c := &clock{driver: d, stream: stream}
	defer c.close()
	for range 2 {
		if _, err := c.event(); err != nil {
			return 0, err
		}
	}
	g, err := d.capture(stream, func() error {
		for _, e := range c.events {
			if err := c.record(e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	defer d.do(&d.graphExecDestroy, g[0])
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	var costs []time.Duration
	for range 15 {
		if err := d.check(&d.graphLaunch, d.graphLaunch.call(g[:]...)); err != nil {
			return 0, err
		}
		if err := d.vital(&d.streamSynchronize, d.streamSynchronize.call(stream)); err != nil {
			return 0, err
		}
		cost, err := c.between(c.events[0], c.events[1])
		if err != nil {
			return 0, err
		}
		costs = append(costs, cost)
	}
	slices.Sort(costs)
	return costs[len(costs)/2], nil
}
