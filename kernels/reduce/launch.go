package reduce

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed reduce.metal
var text string

// The numbers are those of an H200. It would leave 64 Ki values to one threadgroup; cores that read slower, Apple's among
// them, leave it fewer.
const (
	vectors       = 8        // of four values, that a thread adds up pairwise at a time
	threads       = 256      // in a threadgroup, where there are several
	groupsPerCore = 4        // with eight vectors a thread, as many as run at once
	mostThreads   = 1024     // in a threadgroup that is alone
	aloneUpTo     = 32 << 10 // values that one threadgroup sums sooner than two launches do
)

var source = gpu.Source{Name: "reduce.metal", Text: text}.Define("VECTORS", vectors)

// launch sums on a GPU.
type launch struct {
	device *gpu.Device
	plans  kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one length.
type launchPlan struct {
	*gpu.Plan
	x, y *gpu.Buffer
}

func newLaunch(d *gpu.Device, _ params) (engine, error) { return &launch{device: d}, nil }

// plan returns the launch plan of n values.
func (e *launch) plan(n int) (*launchPlan, error) {
	return newPlan(e.device, n, groupsFor(n, e.device.Facts().Cores))
}

// groupsFor returns how many threadgroups sum n values on so many cores: one alone, or a multiple of four, so that their
// sums are whole vectors, but no more than run at once or find work.
func groupsFor(n, cores int) int {
	if n <= aloneUpTo {
		return 1
	}
	const step = 4 * vectors * threads
	return (min((n+step-1)/step, cores*groupsPerCore) + 3) / 4 * 4
}

// newPlan returns the launch plan of n values in so many threadgroups, whose sums another one sums. The input is rounded
// up to whole vectors with zeros.
func newPlan(d *gpu.Device, n, groups int) (*launchPlan, error) {
	n4 := (n + 3) / 4
	b := d.NewPlan()
	x, y := b.Input(gpu.Float4, n4), b.Output(gpu.Float, 1)
	kernel := b.Kernel(source, "sum")
	sum := func(y, x gpu.Argument, n4, groups, threads int) {
		b.Dispatch(kernel, gpu.Size{X: groups, Y: 1, Z: 1}, gpu.Size{X: threads, Y: 1, Z: 1}, y, x, gpu.Values(n4))
	}
	if groups == 1 {
		sum(y, x, n4, 1, alone(n4))
	} else {
		sums := b.Scratch(gpu.Float4, groups/4)
		sum(sums.As(gpu.Float), x, n4, groups, threads)
		sum(y, sums, groups/4, 1, alone(groups/4))
	}
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	clear(x.Floats()[n:])
	return &launchPlan{p, x, y}, nil
}

// alone returns how many threads sum n4 vectors in one threadgroup: whole simdgroups.
func alone(n4 int) int { return min((n4+31)/32*32, mostThreads) }

func (e *launch) sum(x []float32) (float32, error) {
	p, err := e.plans.For(len(x), e.plan)
	if err != nil {
		return 0, err
	}
	copy(p.x.Floats(), x)
	if err := p.Run(); err != nil {
		return 0, err
	}
	return p.y.Floats()[0], nil
}

// bind returns the call that sums x, which lies in the plan's own memory already.
func (e *launch) bind(x []float32) (kernels.Call, error) {
	p, err := e.plan(len(x))
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.x.Floats(), x)
	return kernels.PlanCall(p.Plan, p.y.Floats), nil
}
