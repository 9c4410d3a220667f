package kernels

import (
	"slices"

	"crossover/gpu"
)

// GPUCall is what a call can do beside when a GPU computes it.
type GPUCall struct {
	Submit func() error              // starts Run and returns
	Wait   func() error              // returns when the caller can read the output
	Time   func() (gpu.Times, error) // is Run, with the device's own account of the time

	// BusBytes is how many bytes Run carries between host and device: 0 where they share memory and where the data
	// stay on the device.
	BusBytes float64
}

// PlansBy keeps the launch plans of the shapes that were used last, for runners that take any shape: S is all that a plan
// depends on. The zero value is ready. It is for one goroutine at a time.
type PlansBy[S comparable, T interface{ Close() }] struct {
	recent []sizedPlan[S, T] // most recent first
}

type sizedPlan[S comparable, T interface{ Close() }] struct {
	size S
	plan T
}

// mostPlans is how many sizes a runner keeps a plan for: signal chains alternate between a few.
const mostPlans = 4

// For returns the plan of a size, building it where it is not among the recent ones. A plan that is pushed out is
// closed, unless build takes it ([PlansBy.Spare]).
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

// Spare takes out the plan that For would close to make room for one more, and false where there is room. What the plan
// holds is the caller's.
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
