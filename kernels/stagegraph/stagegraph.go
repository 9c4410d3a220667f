// Package stagegraph renders one stage of an audio graph: nodes that do not depend on each other, and a mix of them.
//
// A graph of audio nodes is rendered block by block, level by level of its topological order; the nodes of a level are
// independent, and the question is from how many on it pays to render them on several cores. This package holds one
// such level and the mix node below it. It does not order a graph, connect ports or hold back buffers between levels.
//
// Every implementation on one kind of processor gives the same bits: each node renders into a buffer of its own, and the
// mix adds the buffers in an order that depends on nothing else. Processor and GPU round differently.
//
// Programs make a [Plan] of their nodes and call Render once a block; nodes are Go code, so a plan stays on the
// processor. The sweep takes [Cases], whose nodes do a fixed number of passes over the block and have a kernel too.
//
// Source: Y. Orlarey, S. Letz, D. Fober, "Adding automatic parallelization to Faust", Linux Audio Conference 2009.
package stagegraph

import (
	"fmt"

	"crossover/dispatch"
	"crossover/kernels"
)

// Node is one node of the stage.
type Node interface {
	// Render fills dst with the node's next len(dst) samples. Nodes of one stage are rendered in any order and at the
	// same time, so that they must not share anything that Render changes.
	Render(dst []float32)
}

// Plan renders a stage with the implementation that is fastest for its number of nodes. It must not be used by two
// goroutines at once.
type Plan struct {
	width   int
	engines *kernels.Engines[stage, engine]
}

// stage is what an engine is made for.
type stage []Node

// New returns the plan of a stage that chooses by d; d may be nil. It fails where there are no nodes.
func New(d *dispatch.Dispatcher, nodes []Node) (*Plan, error) {
	if len(nodes) == 0 {
		return nil, fmt.Errorf("stagegraph: no nodes: want at least one")
	}
	engines, err := kernels.NewEngines(d, caseName, processors, append(stage(nil), nodes...))
	if err != nil {
		return nil, err
	}
	return &Plan{len(nodes), engines}, nil
}

// Render renders every node once for len(dst) samples and fills dst with their sum. The implementation is chosen by
// the number of nodes, as it was measured on blocks of 512 samples and nodes that take some microseconds: lighter nodes
// have their crossover at more of them, heavier ones at fewer. Render allocates nothing itself once an implementation
// has rendered a block of that length.
//
// A panic in a node surfaces here, wrapped in a *pool.Panic where another goroutine had rendered it. Render fails where
// the chosen implementation does.
func (p *Plan) Render(dst []float32) error {
	engine, err := p.engines.For(p.width)
	if err != nil {
		return err
	}
	return engine.render(dst)
}

// Explain says why Render takes the implementation that it takes.
func (p *Plan) Explain() dispatch.Explanation { return p.engines.Explain(p.width) }
