package stagegraph

import (
	_ "embed"
	"fmt"
	"math"

	"crossover/gpu"
	"crossover/kernels"
)

//go:embed stagegraph.metal
var text string

const (
	chunk     = 16 // samples of a lane
	mostParts = 32 // simdgroups of the mix
)

// launch renders a stage of lowpass nodes on a GPU: the nodes in one kernel, the mix in the next. It cannot run nodes
// whose work is Go code.
type launch struct {
	nodes  []*lowpass
	device *gpu.Device
	plans  kernels.Plans[*launchPlan]
}

// launchPlan is the launch plan of one length of block.
type launchPlan struct {
	*gpu.Plan
	x, y *gpu.Buffer
}

func newLaunch(d *gpu.Device, s stage) (engine, error) {
	e := &launch{device: d}
	for i, node := range s {
		l, ok := node.(*lowpass)
		if !ok {
			return nil, fmt.Errorf("node %d is a %T, which has no kernel: render it on the processor", i, node)
		}
		e.nodes = append(e.nodes, l)
	}
	return e, nil
}

func (e *launch) plan(n int) (*launchPlan, error) {
	width := len(e.nodes)
	parts := 1
	for parts < mostParts && parts < width {
		parts *= 2
	}
	passes := 0
	var words []uint32
	for _, node := range e.nodes {
		passes = max(passes, node.passes)
		words = append(words, node.words()...)
	}
	source := gpu.Source{Name: "stagegraph.metal", Text: text}.
		Define("CHUNK", chunk).Define("PASSES", passes).Define("PARTS", parts)
	b := e.device.NewPlan()
	p := &launchPlan{x: b.Input(gpu.Float, width*n), y: b.Output(gpu.Float, n)}
	rows := b.Scratch(gpu.Float, width*n)
	b.Dispatch(b.Kernel(source, "lowpasses"), gpu.Size{X: width, Y: 1, Z: 1}, gpu.Size{X: 32, Y: 1, Z: 1},
		rows, p.x, b.ConstantUints(words), gpu.Values(n))
	b.Dispatch(b.Kernel(source, "mixdown"), gpu.Size{X: (n-1)/32 + 1, Y: 1, Z: 1}, gpu.Size{X: 32 * parts, Y: 1, Z: 1},
		p.y, rows, gpu.Values(width), gpu.Values(n))
	plan, err := b.Build()
	if err != nil {
		return nil, err
	}
	p.Plan = plan
	return p, nil
}

// words returns the node as stagegraph.metal declares a Node.
func (l *lowpass) words() []uint32 {
	words := []uint32{math.Float32bits(l.gain), uint32(l.passes)}
	for k := range 5 {
		power := math.Pow(1-float64(l.gain), float64(int(chunk)<<k))
		words = append(words, math.Float32bits(float32(power)))
	}
	return words
}

func (e *launch) render(dst []float32) error {
	if len(dst) == 0 {
		return nil
	}
	p, err := e.load(len(dst))
	if err != nil {
		return err
	}
	if err := p.Run(); err != nil {
		return err
	}
	copy(dst, p.y.Floats())
	return nil
}

// load returns the plan of a block of n samples, with the nodes' input in its memory.
func (e *launch) load(n int) (*launchPlan, error) {
	for i, node := range e.nodes {
		if len(node.src) < n {
			return nil, fmt.Errorf("stagegraph: a block of %d samples, of which node %d holds %d", n, i, len(node.src))
		}
	}
	p, err := e.plans.For(n, e.plan)
	if err != nil {
		return nil, err
	}
	x := p.x.Floats()
	for i, node := range e.nodes {
		copy(x[i*n:(i+1)*n], node.src)
	}
	return p, nil
}

// bind returns the call that renders a block of n samples, again and again, from input that lies in the plan's own
// memory already. It takes the plan out of the engine, which has no further use.
func (e *launch) bind(n int) (kernels.Call, error) {
	p, err := e.load(n)
	if err != nil {
		return kernels.Call{}, err
	}
	return kernels.PlanCall(p.Plan, p.y.Floats), nil
}
