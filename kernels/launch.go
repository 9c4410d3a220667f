package kernels

import (
	"fmt"

	"crossover/gpu"
)

// launch runs an operation on a GPU. It keeps the launch plans of the last few shapes. The plan of a new shape takes over
// the memory of the plan that was not used for the longest time. So a program whose lengths differ at every call does not
// allocate device memory every time.
type launch[P any] struct {
	op       *Op[P]
	device   *gpu.Device
	params   P
	describe Append[P]
	plans    PlansBy[Shape, *launchPlan]
}

// launchPlan is the launch plan of one shape.
type launchPlan struct {
	*gpu.Plan
	tensors int
}

func newLaunch[P any](op *Op[P], d *gpu.Device, p P, describe Append[P]) *launch[P] {
	return &launch[P]{op: op, device: d, params: p, describe: describe}
}

// described returns a builder with the buffers and kernels of a shape, and the number of tensors. The kernels are compiled.
func (l *launch[P]) described(s Shape) (b *gpu.Builder, tensors int, err error) {
	b = l.device.NewPlan()
	io := l.op.IO(l.params, s)
	for _, t := range io {
		if most := l.device.Facts().MaxBufferBytes; most > 0 && int64(t.Len()) > most/4 {
			return nil, 0, fmt.Errorf("%s of %d values does not fit into a buffer of %s: %w: %w", t.Name, t.Len(),
				l.device.Facts().Name, gpu.ErrOutOfMemory, ErrRefused)
		}
	}
	buffers := make([]*gpu.Buffer, len(io))
	for i, t := range io {
		buffers[i] = hosted(b, t)
	}
	l.describe(b, l.params, s, buffers)
	return b, len(io), b.Err()
}

func (l *launch[P]) plan(s Shape) (*launchPlan, error) {
	b, tensors, err := l.described(s)
	if err != nil {
		return nil, err // before an older plan is given up
	}
	var spent *gpu.Plan
	if oldest, full := l.plans.Spare(); full {
		spent = oldest.Plan
	}
	p, err := b.BuildOver(spent)
	if err != nil {
		return nil, err
	}
	return &launchPlan{p, tensors}, nil
}

// compile compiles the kernels of a shape, ours and those of a vendor's library. It takes no memory for data.
func (l *launch[P]) compile(s Shape) error {
	b, _, err := l.described(s)
	if err != nil {
		return err
	}
	return b.Compile()
}

// vector is a number of words. Buffers of tensors are a multiple of it long, so that kernels may read and write whole
// vectors.
const vector = 4

// hosted adds a buffer for a tensor to a plan, as an input or an output of the plan.
func hosted(b *gpu.Builder, t Tensor) *gpu.Buffer {
	if t.Role == In {
		return BufferOf(t, b.Input)
	}
	return BufferOf(t, b.Output)
}

// Run computes a call.
func (l *launch[P]) Run(s Shape, a *Args) error {
	p, err := l.plans.For(s, l.plan)
	if err != nil {
		return err
	}
	return p.Call(a[:p.tensors])
}

// runTimed is Run, and writes to t where the time went.
func (l *launch[P]) runTimed(s Shape, a *Args, t *gpu.CallTimes) error {
	p, err := l.plans.For(s, l.plan)
	if err != nil {
		return err
	}
	*t, err = p.CallTimed(a[:p.tensors])
	return err
}

// Close gives the device's memory back.
func (l *launch[P]) Close() { l.plans.Close() }

// gpuRunner is a runner on a GPU. A sweep uses the launch plan itself to overlap calls, to time them by the device, and to
// compute on data that lie on the device already. [Plan.RunTimed] uses runTimed.
type gpuRunner interface {
	Runner
	ready(s Shape) (*launchPlan, error)
	runTimed(s Shape, a *Args, t *gpu.CallTimes) error
}

// ready returns the launch plan of a shape.
func (l *launch[P]) ready(s Shape) (*launchPlan, error) { return l.plans.For(s, l.plan) }
