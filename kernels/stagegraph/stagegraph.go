// Package stagegraph renders one stage of an audio graph: nodes that do not depend on each other, and a mix of them.
//
// A graph of audio nodes is rendered block by block, level by level of its topological order; the nodes of a level are
// independent. The threshold of this operation is the number of nodes from which several cores render them faster
// than one. The package holds one such level and the mix node below it. It does not order a graph, connect ports or
// keep buffers between levels.
//
// Every implementation on one kind of processor gives the same bits: each node renders into a buffer of its own, and the
// mix adds the buffers in an order that depends on nothing else. Processor and GPU round differently.
//
// Programs make a [Plan] of their nodes and call Render once a block; nodes are Go code, so a plan stays on the
// processor. The nodes that are measured do a fixed number of passes over a block of input, and have a kernel too.
//
// Source: Y. Orlarey, S. Letz, D. Fober, "Adding automatic parallelization to Faust", Linux Audio Conference 2009.
package stagegraph

import (
	"fmt"
	"slices"
	"sync"

	"crossover/dispatch"
	"crossover/kernels"
	"crossover/pool"
)

// Node is one node of the stage.
type Node interface {
	// Render fills dst with the node's next len(dst) samples. Nodes of one stage are rendered in any order and at the
	// same time, so that they must not share anything that Render changes.
	Render(dst []float32)
}

// Stage is what an implementation is made for: the nodes of a program, or those that are measured.
type Stage interface {
	// render fills dst with the next samples of a node; x is the input of the call.
	render(node int, dst, x []float32)
}

// program is a stage of nodes that are Go code.
type program []Node

func (p program) render(node int, dst, _ []float32) { p[node].Render(dst) }

// lowpasses are the stage that is measured: node v takes the v-th block of the input and puts it through a one-pole
// low-pass several times, from silence each time. A pass is a recurrence, which no core can hurry, as most audio nodes
// are.
type lowpasses []lowpass

type lowpass struct {
	gain   float32
	passes int
}

// newLowpasses returns nodes of so many passes with the gains 1/8 to 7/8.
func newLowpasses(count, passes int) lowpasses {
	nodes := make(lowpasses, count)
	for v := range nodes {
		nodes[v] = lowpass{gain: float32(1+v%7) / 8, passes: passes}
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

// usualCost is the number of passes of the nodes on the line that is measured.
const usualCost = 4

// Op declares the operation.
var Op = kernels.Declare(kernels.Op[Stage]{
	Name:    "stage-graph",
	Formula: "y = Σᵥ Pᵥ⁴(xᵥ), Pᵥ a pass of s ← s + gᵥ·(x − s) over a block, gᵥ = (1 + v mod 7)/8",
	Source:  "Orlarey, Letz, Fober, Adding automatic parallelization to Faust, LAC 2009",
	Axes:    axes,
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
		const flops = 3 * 3 // of a sample and pass, of which a scan does three times as many as the recurrence
		n, steps := float64(s[width]), float64(s[block])*float64(s[cost])
		return kernels.Work{
			Bytes: 4 * float64(s[block]) * (n + 1), Flops: flops * n * steps, Pieces: n, Threads: 32 * n, Chain: steps, Launches: 2,
		}
	},
	// Nobody knows what a node of a program costs, so its number of nodes alone counts.
	Judged: func(_ Stage, s kernels.Shape) (line, size int) { return 0, s[width] },
	By: []kernels.Makers[Stage]{
		kernels.InGo(
			func(p Stage) kernels.Runner { return &serial{stage: p} },
			func(p Stage, workers *pool.Pool) kernels.Runner {
				return &parallel{pool: workers, nodes: nodesTask{stage: p}}
			}),
		kernels.KernelText("", appendStage),
	},
})

// Plan renders a stage with the implementation that is fastest for its number of nodes. It is for one goroutine
// at a time.
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

// New returns the plan of a stage that chooses by d; d may be nil. It fails where there are no nodes.
func New(d *dispatch.Dispatcher, nodes []Node) (*Plan, error) {
	if len(nodes) == 0 {
		return nil, fmt.Errorf("stagegraph: no nodes: want at least one")
	}
	plan := kernels.NewPlanOn(processors(), d, &Op, Stage(program(slices.Clone(nodes))))
	return &Plan{plan.Along(block, kernels.Shape{width: len(nodes), cost: usualCost})}, nil
}

// Render renders every node once for len(dst) samples and fills dst with their sum. The implementation is chosen by
// the number of nodes, as it was measured on blocks of 512 samples and nodes that take some microseconds: lighter nodes
// have their crossover at more of them, heavier ones at fewer. Render allocates nothing itself once an implementation
// has rendered a block of that length.
//
// Render panics with the panic of a node, wrapped in a *pool.Panic if another goroutine rendered the node. Render fails
// only if every implementation fails.
func (p *Plan) Render(dst []float32) error {
	return kernels.RunSized(p.SizedPlan, len(dst), kernels.Args{dst})
}

// Program calls a plan as a program does, whose nodes read the input of the call. It fails where d asks for a GPU.
func Program(d *dispatch.Dispatcher, p Stage) (func(s kernels.Shape, a *kernels.Args) error, error) {
	var x []float32
	var nodes []Node
	for i := range p.(lowpasses) {
		nodes = append(nodes, input{p, i, &x})
	}
	plan, err := New(d, nodes)
	if err != nil {
		return nil, err
	}
	swept := kernels.NewPlan(d, &Op, p)
	defer swept.Close()
	if asked, got := swept.Explain(kernels.Shape{width: len(nodes)}).Implementation, plan.Explain(1).Implementation; got != asked {
		return nil, fmt.Errorf("stagegraph: a program's nodes are Go code, which %s does not run", asked)
	}
	return func(_ kernels.Shape, a *kernels.Args) error {
		x = a[1]
		defer func() { x = nil }()
		return plan.Render(a[0])
	}, nil
}

// input is a node of the stage that is measured as a program would have it.
type input struct {
	stage Stage
	node  int
	x     *[]float32 // of the call under way
}

func (n input) Render(dst []float32) { n.stage.render(n.node, dst, *n.x) }

// reference renders the stage that is measured, in float64.
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
