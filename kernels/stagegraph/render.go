package stagegraph

import (
	"crossover/kernels"
	"crossover/pool"
)

// serial renders one node after the other, and adds each to the mix while its samples are in the cache.
type serial struct {
	stage  Stage
	buffer []float32
}

func (r *serial) Run(s kernels.Shape, a *kernels.Args) error {
	dst := a[0]
	r.buffer = resize(r.buffer, len(dst))
	clear(dst)
	for node := range s[width] {
		r.stage.render(node, r.buffer, a[1])
		add(dst, r.buffer)
	}
	return nil
}

// parallel renders the nodes on the workers of the pool. Then each worker mixes a part of the block.
type parallel struct {
	pool  *pool.Pool
	nodes nodesTask
	mix   mixTask
}

// minAdditions is the least number of additions in a part of the mix: about a microsecond.
const minAdditions = 4096

func (r *parallel) Run(s kernels.Shape, a *kernels.Args) error {
	dst, count := a[0], s[width]
	r.nodes.n, r.nodes.x = len(dst), a[1]
	r.nodes.buffers = resize(r.nodes.buffers, count*len(dst))
	r.pool.Run(count, 1, &r.nodes)
	r.nodes.x = nil

	r.mix = mixTask{dst, r.nodes.buffers}
	r.pool.Run(len(dst), max(1, minAdditions/count), &r.mix)
	r.mix = mixTask{}
	return nil
}

// nodesTask is the pool's task of rendering, with an index for each node.
type nodesTask struct {
	stage   Stage
	n       int       // samples of a block
	x       []float32 // of the current call
	buffers []float32 // nodes×n
}

func (t *nodesTask) Do(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		t.stage.render(i, t.buffers[i*t.n:(i+1)*t.n:(i+1)*t.n], t.x)
	}
}

// mixTask is the pool's task of mixing, with an index for each sample.
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

// resize returns a slice of n values, in the memory of x if that is large enough.
func resize(x []float32, n int) []float32 {
	if cap(x) < n {
		return make([]float32, n)
	}
	return x[:n]
}
