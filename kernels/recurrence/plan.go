package recurrence

import (
	"crossover/dispatch"
	"crossover/kernels"
)

// Plan filters blocks of audio by the implementation that is fastest at their shape: see [kernels.StatePlan]. Process filters
// the next block, and Reset goes back to the state before the first one.
type Plan[P any] = kernels.StatePlan[P]

// newPlan returns the plan of an operation for count channels.
func newPlan[P any](d *dispatch.Dispatcher, op *kernels.Op[P], p P, count int) (*Plan[P], error) {
	return kernels.NewStatePlan(d, op, p, samples, channels, kernels.Shape{}, count)
}

// Program returns the [kernels.Program] of the operation whose plans build makes.
func Program[P any](build func(d *dispatch.Dispatcher, p P, count int) (*Plan[P], error)) kernels.Program[P] {
	return kernels.StateProgram(channels, build)
}
