package stagegraph

import (
	"slices"

	"crossover/kernels"
	"crossover/pool"
)

// engine renders the next len(dst) samples of a stage.
type engine interface {
	render(dst []float32) error
}

// processors run any node.
var processors = kernels.Contenders[stage, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(s stage) (engine, error) { return &serial{nodes: s}, nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(s stage) (engine, error) { return newParallel(s), nil },
	},
}

// contenders run the nodes of the case.
var contenders = slices.Concat(processors, kernels.OnGPU("", newLaunch))

// serial renders one node after the other and adds each to the mix while it is in the cache.
type serial struct {
	nodes  stage
	buffer []float32
}

func (e *serial) render(dst []float32) error {
	e.buffer = resize(e.buffer, len(dst))
	clear(dst)
	for _, node := range e.nodes {
		node.Render(e.buffer)
		add(dst, e.buffer)
	}
	return nil
}

// parallel renders the nodes on the workers of the pool, and then mixes on them too, each a part of the block.
type parallel struct {
	pool  *pool.Pool
	nodes nodesTask
	mix   mixTask
}

func newParallel(s stage) *parallel {
	return &parallel{pool: pool.Shared(), nodes: nodesTask{nodes: s}}
}

// minAdditions is the number of additions below which a part of the mix is not worth a worker: about a microsecond.
const minAdditions = 4096

func (e *parallel) render(dst []float32) error {
	width := len(e.nodes.nodes)
	e.nodes.n = len(dst)
	e.nodes.buffers = resize(e.nodes.buffers, width*len(dst))
	e.pool.Run(width, 1, &e.nodes)

	e.mix = mixTask{dst, e.nodes.buffers}
	e.pool.Run(len(dst), max(1, minAdditions/width), &e.mix)
	e.mix = mixTask{}
	return nil
}

// nodesTask is the pool's task of rendering; its index is the node.
type nodesTask struct {
	nodes   stage
	n       int
	buffers []float32 // nodes×n
}

func (t *nodesTask) Do(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		t.nodes[i].Render(t.buffers[i*t.n : (i+1)*t.n : (i+1)*t.n])
	}
}

// mixTask is the pool's task of mixing; its index is the sample.
type mixTask struct {
	dst     []float32
	buffers []float32 // nodes×len(dst)
}

func (t *mixTask) Do(_, lo, hi int) {
	n := len(t.dst)
	clear(t.dst[lo:hi])
	for start := 0; start < len(t.buffers); start += n {
		add(t.dst[lo:hi], t.buffers[start+lo:start+hi])
	}
}

// add adds src to dst, element by element.
func add(dst, src []float32) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] += v
	}
}

// resize returns a slice of n values in x's memory if that is large enough.
func resize(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}
