// Package stagegraph renders one stage of an audio graph: nodes that do not depend on each other, and a mix of them.
//
// A graph of audio nodes is rendered block by block, and a block level by level of the graph's topological order. The nodes
// of a level are independent. The threshold of this operation is the number of nodes from which several cores render a level
// faster than one. A [Plan] renders one level and its mix. The package does not order a graph, connect ports or keep buffers
// between levels.
//
// All implementations on the processor give the same bits. Each node renders into a buffer of its own, and the mix adds the
// buffers in a fixed order. Processor and GPU round differently.
//
// Programs make a [Plan] of their nodes and call Render once for each block. The nodes of a program are Go code, so a plan
// stays on the processor. The measured nodes do a fixed number of passes over a block of input, and also have a kernel.
//
// Source: Y. Orlarey, S. Letz, D. Fober, "Adding automatic parallelization to Faust", Linux Audio Conference 2009.
package stagegraph

import (
	"fmt"
	"slices"
	"sync"

	"crossover/calibration/surface"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

// Node is one node of the stage.
type Node interface {
	// Render fills dst with the node's next len(dst) samples. Nodes of one stage are rendered in any order and at the same
	// time, so they must not share anything that Render changes.
	Render(dst []float32)
}

// Stage is the nodes of a program, or the measured nodes.
type Stage interface {
	// render fills dst with the next samples of a node. x is the input of the call.
	render(node int, dst, x []float32)
}

// program is a stage of nodes that are Go code.
type program []Node

func (p program) render(node int, dst, _ []float32) { p[node].Render(dst) }

// lowpasses is the measured stage. Node v filters the v-th block of the input by a one-pole low-pass several times, each
// time from silence. A pass is a recurrence, as in most audio nodes, so a core cannot compute its samples in parallel.
type lowpasses []lowpass

type lowpass struct {
	gain   float32
	passes int
}

// newLowpasses returns count nodes with the given number of passes and gains from 1/2 to 7/8. By less, 64 passes would leave denormals
// at the beginning of a block.
func newLowpasses(count, passes int) lowpasses {
	nodes := make(lowpasses, count)
	for v := range nodes {
		nodes[v] = lowpass{gain: float32(4+v%4) / 8, passes: passes}
	}
	return nodes
}

func (l lowpasses) render(node int, dst, x []float32) {
	copy(dst, x[node*len(dst):])
	for range l[node].passes {
		s := float32(0)
		for i, x := range dst {
			s += l[node].gain * (x - s)
			dst[i] = s
		}
	}
}

// The axes of the operation.
const (
	width = iota
	block
	cost
)

var axes = []kernels.Axis{
	{Name: "width", Unit: "nodes", Min: 1, Max: 256},
	{Name: "block", Unit: "samples", Min: 16, Max: 4096},
	{Name: "cost", Unit: "passes", Min: 1, Max: 64},
}

// usualCost is the number of passes on the measured line.
const usualCost = 4

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Stage]{
	Name:     "stage-graph",
	Formula:  "y = Σᵥ Pᵥ⁴(xᵥ), Pᵥ a pass of s ← s + gᵥ·(x − s) over a block, gᵥ = (4 + v mod 4)/8",
	Source:   "Orlarey, Letz, Fober, Adding automatic parallelization to Faust, LAC 2009",
	Axes:     axes,
	Features: []surface.Feature{kernels.Power(1, 1, 1)},
	Lines: []kernels.Line{
		kernels.Along(axes, "width", kernels.Param{Name: "block", Value: 512}, kernels.Param{Name: "cost", Value: usualCost}),
	},
	Params: func(s kernels.Shape) Stage { return newLowpasses(s[width], s[cost]) },
	IO: func(p Stage, s kernels.Shape) []kernels.Tensor {
		tensors := []kernels.Tensor{{Name: "y", Role: kernels.Out, Type: kernels.Float32, Dims: []int{s[block]}}}
		if _, measured := p.(lowpasses); measured {
			x := kernels.Tensor{Name: "x", Role: kernels.In, Type: kernels.Float32, Dims: []int{s[width], s[block]}}
			tensors = append(tensors, x)
		}
		return tensors
	},
	Fill:      func(_ Stage, _ kernels.Shape, in kernels.Input, a *kernels.Args) { in.Fill(a[1]) },
	Reference: reference,
	Tolerance: func(kernels.Shape) float64 { return 1e-5 },
	Work: func(s kernels.Shape, _ string) kernels.Work {
		const flops = 3 * 3 // per sample and pass; a scan takes three times as many as the recurrence
		n, steps := float64(s[width]), float64(s[block])*float64(s[cost])
		return kernels.Work{
			Bytes: 4 * float64(s[block]) * (n + 1), Flops: flops * n * steps, Pieces: n, Threads: 32 * n, Chain: steps, Launches: 2,
		}
	},
	// The cost of a program's nodes is not known before they run, so only their number decides.
	Judged: func(_ Stage, s kernels.Shape) (line, size int) { return 0, s[width] },
	// A program's nodes are Go code.
	OnProcessor: true,
	Hidden:      true,
	By: []kernels.Makers[Stage]{
		kernels.Revised(1, kernels.InGo( // light nodes are not divided
			func(p Stage) kernels.Runner { return &serial{stage: p} },
			func(p Stage, workers *pool.Pool) kernels.Runner { return newParallel(p, workers) }), "go-parallel"),
		kernels.KernelText("", appendStage),
	},
})

// Plan renders a stage by the implementation that is fastest at its number of nodes. Only one goroutine at a time may use a
// Plan.
type Plan struct {
	// Explain takes a number of samples, on which the choice does not depend.
	*kernels.SizedPlan[Stage]
}

// processors are the backends of this machine without its GPUs.
var processors = sync.OnceValue(func() *kernels.Backends {
	b := *kernels.Here()
	b.GPUs = nil
	return &b
})

// New returns the plan of a stage. The plan chooses by d, which may be nil: see [kernels.NewPlan]. New copies the slice of
// nodes. It fails if there are no nodes, or if one is nil.
func New(d *dispatch.Dispatcher, nodes []Node) (*Plan, error) {
	if len(nodes) == 0 {
		return nil, fmt.Errorf("stagegraph: no nodes: want at least one")
	}
	if at := slices.Index(nodes, nil); at >= 0 {
		return nil, fmt.Errorf("stagegraph: node %d is nil: want something to render", at)
	}
	plan := kernels.NewPlanOn(processors(), d, &Op, Stage(program(slices.Clone(nodes))))
	return &Plan{plan.Along(block, kernels.Shape{width: len(nodes)})}, nil // without a cost nothing is predicted
}

// Render renders every node once for len(dst) samples, and fills dst with their sum. The number of nodes decides on the
// implementation, as measured on blocks of 512 samples with nodes that take some microseconds. The implementation on several
// cores times the nodes of its first calls, and of one call in 32 after that. It renders the nodes of the first call on one
// core, and later on those that take less than 4 µs together. Render itself allocates nothing at a length at which the
// implementation has run twice.
//
// Render panics with the panic of a node, wrapped in a *pool.Panic if another goroutine rendered the node. Render fails
// only if every implementation fails.
//
// Render is not inlined, because the compiler would then allocate the arguments in the caller's package.
//
//go:noinline
func (p *Plan) Render(dst []float32) error {
	return kernels.RunSized(p.SizedPlan, len(dst), &kernels.Args{dst})
}

// Program is the [kernels.Program] of the operation. Its nodes read the input of the call. It fails if d chooses a GPU.
func Program(d *dispatch.Dispatcher, p Stage) (run func(s kernels.Shape, a *kernels.Args) error, end func(), err error) {
	var x []float32
	var nodes []Node
	for i := range p.(lowpasses) {
		nodes = append(nodes, input{p, i, &x})
	}
	plan, err := New(d, nodes)
	if err != nil {
		return nil, nil, err
	}
	swept := kernels.NewPlan(d, &Op, p)
	defer swept.Close()
	if asked, got := swept.Explain(kernels.Shape{width: len(nodes)}).Implementation, plan.Explain(1).Implementation; got != asked {
		return nil, nil, fmt.Errorf("stagegraph: a program's nodes are Go code, which %s does not run", asked)
	}
	return func(_ kernels.Shape, a *kernels.Args) error {
		x = a[1]
		defer func() { x = nil }()
		return plan.Render(a[0])
	}, plan.Close, nil
}

// input is a node of the measured stage, as Go code.
type input struct {
	stage Stage
	node  int
	x     *[]float32 // of the current call
}

func (n input) Render(dst []float32) { n.stage.render(n.node, dst, *n.x) }

// reference renders the measured stage in float64.
func reference(p Stage, s kernels.Shape, a *kernels.Args) []float64 {
	y, x := make([]float64, s[block]), make([]float64, s[block])
	for v, node := range p.(lowpasses) {
		for i := range x {
			x[i] = float64(a[1][v*s[block]+i])
		}
		for range node.passes {
			state := 0.0
			for i := range x {
				state += float64(node.gain) * (x[i] - state)
				x[i] = state
			}
		}
		for i := range y {
			y[i] += x[i]
		}
	}
	return y
}
