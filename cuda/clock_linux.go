//go:build amd64 || arm64

package cuda

import (
	"math"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"crossover/gpu"
)

// clock reads the device's own clock before and after each kernel of a recording. The events are nodes of its graph, so
// nothing that the host does lies between them. The cost of the events themselves is measured once and subtracted. So a
// kernel's time is what the kernel adds to a row of kernels.
type clock struct {
	driver *driver
	stream uintptr
	steps  []interval // at the steps' indices
	events []event    // all of them, in the order in which they happen
	costs  eventCosts
}

// eventCosts is the time that the events of a graph take themselves.
type eventCosts struct {
	around  time.Duration // those before and after a kernel or a copy: on an H200 some 2 µs
	between time.Duration // those with nothing between them
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
	costs, err := d.costsOfEvents()
	if err != nil {
		return nil, err
	}
	c := &clock{driver: d, stream: stream, steps: make([]interval, len(steps)), costs: costs}
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

// event makes the next event. If it fails, it destroys the events that were made.
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
	previous, neighbours := -1, 0 // the kernel before; how many kernels directly follow another
	for i, s := range c.steps {
		if !s.kernel {
			continue
		}
		busy, err := c.elapsed(s.begin, s.end)
		if err != nil {
			return err
		}
		t.Busy += max(busy-c.costs.around, 1) // a kernel that ran took some time
		t.Kernel++
		if previous >= 0 {
			gap, err := c.elapsed(c.steps[previous].end, s.begin)
			if err != nil {
				return err
			}
			cost := c.costs.around // of copies
			if i == previous+1 {
				cost = c.costs.between
				neighbours++
			}
			t.Gaps += max(gap-cost, 0)
		}
		previous = i
	}
	span, err := c.elapsed(c.events[0], c.events[len(c.events)-1])
	if err != nil {
		return err
	}
	span -= time.Duration(len(c.events)-1-neighbours)*c.costs.around + time.Duration(neighbours)*c.costs.between
	t.Span = max(span, t.Busy, 1)
	return nil
}

// elapsed returns the time from an event to a later one. The context is current.
func (c *clock) elapsed(from, to event) (time.Duration, error) {
	d := c.driver
	milliseconds := new(float32)
	status := d.eventElapsed.call(uintptr(unsafe.Pointer(milliseconds)), uintptr(from), uintptr(to))
	return time.Duration(math.Round(float64(*milliseconds) * float64(time.Millisecond))), d.check(&d.eventElapsed, status)
}

// costsOfEvents returns what events cost. The first call measures it.
func (d *driver) costsOfEvents() (eventCosts, error) {
	d.eventsMu.Lock()
	defer d.eventsMu.Unlock()
	if d.events == (eventCosts{}) {
		costs, err := d.measureEvents()
		if err != nil {
			return eventCosts{}, err
		}
		d.events = costs
	}
	return d.events, nil
}

// rowOfKernels is the length of a row of kernels. Compared with a single kernel, the row shows what one more kernel
// costs.
const rowOfKernels = 9

// measureEvents times rows of kernels that do nothing, between two events.
func (d *driver) measureEvents() (eventCosts, error) {
	stream, err := d.takeStream()
	if err != nil {
		return eventCosts{}, err
	}
	defer d.giveStream(stream)
	launch, err := d.launchNothing(stream)
	if err != nil {
		return eventCosts{}, err
	}
	c := &clock{driver: d, stream: stream}
	defer c.close()
	for range 2 {
		if _, err := c.event(); err != nil {
			return eventCosts{}, err
		}
	}
	var took [3]time.Duration
	for i, kernels := range []int{0, 1, rowOfKernels} {
		if took[i], err = c.timeRow(launch, kernels); err != nil {
			return eventCosts{}, err
		}
	}
	oneKernel := (took[2] - took[1]) / (rowOfKernels - 1)
	return eventCosts{around: max(took[1]-oneKernel, 1), between: max(took[0], 1)}, nil
}

// timeRow returns the median time from the first event to the second, with the given number of launches between them.
func (c *clock) timeRow(launch step, kernels int) (time.Duration, error) {
	d := c.driver
	g, err := d.capture(c.stream, func() error {
		if err := c.record(c.events[0]); err != nil {
			return err
		}
		for range kernels {
			if err := d.check(launch.function, launch.function.call(launch.arguments...)); err != nil {
				return err
			}
		}
		return c.record(c.events[1])
	})
	if err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(launch) // its code, as long as the graph
	defer d.do(&d.graphExecDestroy, g[0])
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer d.leave()
	var times []time.Duration
	for range 15 {
		if err := d.check(&d.graphLaunch, d.graphLaunch.call(g[:]...)); err != nil {
			return 0, err
		}
		if err := d.vital(&d.streamSynchronize, d.streamSynchronize.call(c.stream)); err != nil {
			return 0, err
		}
		took, err := c.elapsed(c.events[0], c.events[1])
		if err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
