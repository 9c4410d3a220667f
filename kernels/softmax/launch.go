package softmax

import (
	_ "embed"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed softmax.metal
var text string

const (
	simdgroup   = 32   // lanes
	mostThreads = 1024 // in a threadgroup

	// A row of at most simdgroupColumns is one simdgroup's, and simdgroupsPerGroup of them share a threadgroup, only
	// to fill the machine. A longer one of at most threadgroupColumns is one threadgroup's, a thread holding
	// threadgroupValues of it or, where the threads would not do, as many as it takes. Longer ones are cut into chunks.
	simdgroupColumns   = 1024
	simdgroupsPerGroup = 8
	threadgroupValues  = 16
	threadgroupColumns = 32 * mostThreads
	chunkThreads       = 256
	chunkValues        = 16
)

// launch computes rows on a GPU.
type launch struct {
	Params
	device *gpu.Device
	plans  kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one number of rows.
type launchPlan struct {
	*gpu.Plan
	x, y *gpu.Buffer
}

func newLaunch(d *gpu.Device, p Params) (engine, error) { return &launch{Params: p, device: d}, nil }

// plan returns the launch plan of a number of rows.
func (e *launch) plan(rows int) (*launchPlan, error) {
	b := e.device.NewPlan()
	x, y := b.Input(gpu.Float, rows*e.Columns), b.Output(gpu.Float, rows*e.Columns)
	// Rows of whole vectors of four are read and written as such.
	wide, width := 0, 1
	if e.Columns%4 == 0 {
		wide, width = 1, 4
	}
	elements := e.Columns / width
	source := func(perThread int) gpu.Source {
		return gpu.Source{Name: "softmax.metal", Text: text}.Define("WIDE", wide).Define("VECTORS", perThread)
	}
	dispatch := func(perThread int, kernel string, groups, chunks, threads int, arguments ...gpu.Argument) {
		b.Dispatch(b.Kernel(source(perThread), kernel), gpu.Size{X: groups, Y: chunks, Z: 1},
			gpu.Size{X: threads, Y: 1, Z: 1}, append(arguments, gpu.Values(rows, elements))...)
	}
	switch {
	case e.Columns <= simdgroupColumns:
		simdgroups := min(rows, simdgroupsPerGroup)
		dispatch(atLeast(elements, simdgroup), "simdgroup_rows", ceil(rows, simdgroups), 1, simdgroup*simdgroups, y, x)
	case e.Columns <= threadgroupColumns:
		perThread := max(threadgroupValues/width, atLeast(elements, mostThreads))
		threads := ceil(ceil(elements, perThread), simdgroup) * simdgroup
		dispatch(perThread, "threadgroup_rows", rows, 1, threads, y, x)
	default:
		perThread := chunkValues / width
		chunks := ceil(elements, chunkThreads*perThread)
		statistics := b.Scratch(gpu.Float2, rows*chunks)
		dispatch(perThread, "chunk_statistics", rows, chunks, chunkThreads, statistics, x)
		dispatch(perThread, "chunk_values", rows, chunks, chunkThreads, y, x, statistics)
	}
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	return &launchPlan{p, x, y}, nil
}

// ceil returns a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }

// atLeast returns how many of n elements each of so many threads has to take, rounded up to a power of two: so few are
// compiled.
func atLeast(n, threads int) int {
	perThread := 1
	for perThread*threads < n {
		perThread *= 2
	}
	return perThread
}

func (e *launch) apply(dst, src []float32) error {
	p, err := e.plans.For(len(src)/e.Columns, e.plan)
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

// bind returns the call that computes the rows of x, which lies in the plan's own memory already.
func (e *launch) bind(x []float32) (kernels.Call, error) {
	p, err := e.plan(len(x) / e.Columns)
	if err != nil {
		return kernels.Call{}, err
	}
	copy(p.x.Floats(), x)
	return kernels.PlanCall(p.Plan, p.y.Floats), nil
}
