package kernels

import (
	"slices"

	"crossover/gpu"
)

// GPUCall is what a call on a GPU can do besides Run.
type GPUCall struct {
	Submit func() error              // starts the work of Run and returns
	Wait   func() error              // returns when the caller can read the output
	Time   func() (gpu.Times, error) // does the work of Run and returns the times that the device measured

	// BusBytes is the number of bytes that Run transfers between host and device. It is 0 if the two share memory, and if
	// the data stay on the device.
	BusBytes float64
}

// PlansBy keeps the plans of the last few sizes. S holds everything that a plan depends on, such as a [Shape]. The zero
// value is ready for use. Only one goroutine at a time may use a PlansBy.
type PlansBy[S comparable, T interface{ Close() }] struct {
	recent []sizedPlan[S, T] // most recent first
}

type sizedPlan[S comparable, T interface{ Close() }] struct {
	size S
	plan T
}

// mostPlans is the number of plans that a PlansBy keeps. Signal chains alternate between a few sizes.
const mostPlans = 4

// For returns the plan of a size. If it is not among the recent ones, For calls build and closes the plan that was not used
// for the longest time, unless build has taken that plan out by [PlansBy.Spare]. For fails if build does.
func (c *PlansBy[S, T]) For(size S, build func(size S) (T, error)) (T, error) {
	for i := range c.recent {
		if c.recent[i].size != size {
			continue
		}
		hit := c.recent[i]
		copy(c.recent[1:i+1], c.recent[:i])
		c.recent[0] = hit
		return hit.plan, nil
	}
	plan, err := build(size)
	if err != nil {
		return plan, err
	}
	if oldest, full := c.Spare(); full {
		oldest.Close()
	}
	c.recent = slices.Insert(c.recent, 0, sizedPlan[S, T]{size, plan})
	return plan, nil
}

// Spare takes out the plan that For would close to make room for one more, and returns true. The caller then owns the plan.
// Spare returns false if there is room.
func (c *PlansBy[S, T]) Spare() (plan T, full bool) {
	if len(c.recent) < mostPlans {
		return plan, false
	}
	plan = c.recent[mostPlans-1].plan
	c.recent = c.recent[:mostPlans-1]
	return plan, true
}

// Close closes every plan.
func (c *PlansBy[S, T]) Close() {
	for _, p := range c.recent {
		p.plan.Close()
	}
	c.recent = nil
}
