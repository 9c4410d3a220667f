package conv1d

import (
	"crossover/gpu"
	"crossover/kernels"
)

// launched is the engine of one algorithm on a GPU.
type launched struct {
	taps   []float32
	device *gpu.Device
	// describe appends the algorithm's kernels for signals of n samples to a plan: x holds the samples, and y is to
	// hold the output, both padded to whole vectors of four.
	describe func(b *gpu.Builder, y, x *gpu.Buffer, n int)
	plans    kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one length of signal.
type launchPlan struct {
	*gpu.Plan
	x, y *gpu.Buffer
}

func (e *launched) plan(n int) (*launchPlan, error) {
	b := e.device.NewPlan()
	p := &launchPlan{x: b.Input(gpu.Float4, vectorsOf(n)), y: b.Output(gpu.Float4, vectorsOf(e.output(n)))}
	e.describe(b, p.y, p.x, n)
	plan, err := b.Build()
	if err != nil {
		return nil, err
	}
	p.Plan = plan
	return p, nil
}

func (e *launched) prepare(n int) error {
	_, err := e.plans.For(n, e.plan)
	return err
}

func (e *launched) convolve(y, x []float32) error {
	p, err := e.plans.For(len(x), e.plan)
	if err != nil {
		return err
	}
	copy(p.x.Floats(), x)
	if err := p.Run(); err != nil {
		return err
	}
	copy(y, p.y.Floats())
	return nil
}

// bind returns the call that convolves x, which lies in the plan's own memory already.
func (e *launched) bind(x []float32) (kernels.Call, error) {
	p, err := e.plan(len(x))
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.x.Floats(), x)
	return kernels.PlanCall(p.Plan, func() []float32 { return p.y.Floats()[:e.output(len(x))] }), nil
}

// output returns the length of the full convolution of n samples.
func (e *launched) output(n int) int { return n + len(e.taps) - 1 }

// vectorsOf returns how many vectors of four hold n samples.
func vectorsOf(n int) int { return divideUp(n, 4) }

func divideUp(a, b int) int { return (a + b - 1) / b }

// perValue appends a kernel that computes a value a thread.
func perValue(b *gpu.Builder, source gpu.Source, kernel string, values int, arguments ...gpu.Argument) {
	const width = 256
	b.Dispatch(b.Kernel(source, kernel), gpu.Size{X: divideUp(values, width), Y: 1, Z: 1}, gpu.Size{X: width, Y: 1, Z: 1},
		arguments...)
}
