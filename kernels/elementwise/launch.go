package elementwise

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed elementwise.metal
var text string

// threads are those of a threadgroup. On an H200 512 are as good, and threads of two vectors or more are slower.
const threads = 256

var source = gpu.Source{Name: "elementwise.metal", Text: text}

// launch runs a function on a GPU.
type launch struct {
	function
	device *gpu.Device
	plans  kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one length.
type launchPlan struct {
	*gpu.Plan
	x, y *gpu.Buffer
}

func newLaunch(d *gpu.Device, f function) (engine, error) {
	return &launch{function: f, device: d}, nil
}

// plan returns the launch plan of n elements. The buffers are rounded up to whole vectors.
func (e *launch) plan(n int) (*launchPlan, error) {
	vectors := (n + 3) / 4
	b := e.device.NewPlan()
	x, y := b.Input(gpu.Float4, vectors), b.Output(gpu.Float4, vectors)
	arguments := []gpu.Argument{y, x, gpu.Values(vectors)}
	if e.operation.parameters {
		arguments = append(arguments, gpu.Values(e.a), gpu.Values(e.b))
	}
	groups := (vectors + threads - 1) / threads
	b.Dispatch(b.Kernel(source, e.operation.kernel), gpu.Size{X: groups, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1},
		arguments...)
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	return &launchPlan{p, x, y}, nil
}

func (e *launch) apply(dst, src []float32) error {
	p, err := e.plans.For(len(src), e.plan)
	if err != nil {
		return err
	}
	copy(p.x.Floats(), src)
	if err := p.Run(); err != nil {
		return err
	}
	copy(dst, p.y.Floats())
	return nil
}

// bind returns the call that computes the function of x, which lies in the plan's own memory already.
func (e *launch) bind(x []float32) (kernels.Call, error) {
	p, err := e.plan(len(x))
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.x.Floats(), x)
	return kernels.PlanCall(p.Plan, func() []float32 { return p.y.Floats()[:len(x)] }), nil
}
