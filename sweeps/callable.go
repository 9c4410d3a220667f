package sweeps

import "crossover/kernels"

// callable is an implementation with buffers and plans for the problem of a visit.
type callable struct {
	*implementation
	bind       func() (kernels.Call, error)
	call       kernels.Call
	flight     []kernels.Call // the calls in flight in a batch, with call as the first; empty if each call is waited for
	least      float64        // least seconds that a call can take
	seconds    float64        // of one call, measured in the warm-up
	iterations int            // number of calls of a batch that is just long enough
	behind     bool           // hopelessly slow
	level      level          // of its device; zero on the processor
	drowsy     bool           // whether the device's clock was down in the last batch
}

// release frees the buffers and plans, after calls in flight have ended.
func (c *callable) release() {
	for _, call := range c.flight {
		call.Release()
	}
	if len(c.flight) == 0 {
		c.call.Release()
	}
	c.call, c.flight = kernels.Call{}, nil
}

// run makes n calls: one after the other, or overlapping if several should be in flight.
func (c *callable) run(n int) error {
	if len(c.flight) > 0 {
		return c.inFlight(n)
	}
	return c.inSequence(n)
}

// inSequence makes n calls. Each ends before the next one starts.
func (c *callable) inSequence(n int) error {
	for range n {
		if err := c.call.Run(); err != nil {
			return err
		}
	}
	return nil
}

// inFlight makes n calls, with up to len(flight) of them under way at a time. It returns when all have ended.
func (c *callable) inFlight(n int) error {
	depth := len(c.flight)
	for i := range n {
		call := c.flight[i%depth].GPU
		if i >= depth {
			if err := call.Wait(); err != nil {
				return err
			}
		}
		if err := call.Submit(); err != nil {
			return err
		}
	}
	for i := max(0, n-depth); i < n; i++ {
		if err := c.flight[i%depth].GPU.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// fromNothing binds the implementation and makes one call, n times.
func (c *callable) fromNothing(n int) (err error) {
	for range n {
		c.release()
		if c.call, err = c.bind(); err != nil {
			return err
		}
		if err := c.call.Run(); err != nil {
			return err
		}
	}
	return nil
}

// bindAndRun binds an implementation and makes its first call, which makes plans. The goroutine is the same as for later
// calls. If that fails, nothing stays bound.
func (s *sweep) bindAndRun(bind func() (kernels.Call, error)) (call kernels.Call, err error) {
	err = s.caller.run(func() (err error) {
		if call, err = bind(); err != nil {
			return err
		}
		return call.Run()
	})
	if err != nil {
		call.Release()
		return kernels.Call{}, err
	}
	return call, nil
}

// undivided reports whether a call of an implementation on several cores is computed on one core, as the implementation on one
// core computes it, which is timed as well. Two times of the same program would differ by luck alone.
func (v *visit) undivided(c *callable) (bool, error) {
	if c.call.Divided == nil || !v.e.timesOnOne(c.implementation, v.size) {
		return false, nil
	}
	divided, err := v.dividesAgain(c.call)
	if err == nil {
		c.division.note(v.size, divided)
		v.e.noteDivision(c.implementation)
	}
	return !divided, err
}

// bySide returns the callables on the processor and those on the GPU.
func bySide(callables []*callable) (processors, gpus []*callable) {
	for _, c := range callables {
		if c.Processor == kernels.GPU {
			gpus = append(gpus, c)
		} else {
			processors = append(processors, c)
		}
	}
	return processors, gpus
}

// keepLive releases the callables that are no longer timed at a size and returns the others.
func keepLive(callables []*callable, size int) []*callable {
	var live []*callable
	for _, c := range callables {
		if c.live(size) {
			live = append(live, c)
			continue
		}
		c.release()
	}
	return live
}
