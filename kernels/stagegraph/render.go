package stagegraph

import (
	"time"

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

// parallel renders the nodes on the workers of the pool. Then each worker mixes a part of the block. What a program's nodes cost
// is not known before they run, so parallel times them now and then. While all nodes together take too little to be worth
// dividing, it renders as serial does.
type parallel struct {
	one   serial
	pool  *pool.Pool
	nodes nodesTask
	mix   mixTask
	pace  pace
}

// additions is the number of additions of the mix that take about a microsecond.
const additions = 4096

func newParallel(stage Stage, workers *pool.Pool) *parallel {
	return &parallel{one: serial{stage: stage}, pool: workers, nodes: nodesTask{stage: stage}}
}

func (r *parallel) Run(s kernels.Shape, a *kernels.Args) error {
	dst, count := a[0], s[width]
	timed := r.pace.next()
	grain := r.pool.Grain(count, r.pace.nodesPerMicrosecond(len(dst)), 1)
	if grain >= count {
		if !timed {
			return r.one.Run(s, a)
		}
		start := time.Now()
		err := r.one.Run(s, a)
		r.pace.note(time.Since(start), count*len(dst))
		return err
	}
	r.nodes.n, r.nodes.x, r.nodes.timed, r.nodes.took, r.nodes.rendered = len(dst), a[1], timed, 0, 0
	r.nodes.buffers = resize(r.nodes.buffers, count*len(dst))
	r.pool.Run(count, grain, &r.nodes)
	r.nodes.x = nil
	r.pace.note(r.nodes.took, r.nodes.rendered*len(dst))

	r.mix = mixTask{dst, r.nodes.buffers}
	r.pool.Run(len(dst), r.pool.Grain(len(dst), additions/float64(count), lane), &r.mix)
	r.mix = mixTask{}
	return nil
}

// lane is the number of samples of a line of memory. Parts of the mix are multiples of it.
const lane = 16

// The first calls are timed, and then one of timedEach.
const (
	firstTimed = 8
	timedEach  = 32
)

// pace is what a node costs: the median time of a sample in the last three calls that were timed. So a delay of one call changes
// nothing, and a program whose voices begin to sound is followed within some blocks.
type pace struct {
	perSample [3]float64 // seconds, the newest one first; 0 as long as none is known
	calls     uint32
}

// next counts a call, and reports whether it is timed.
func (p *pace) next() bool {
	p.calls++
	return p.calls <= firstTimed || p.calls%timedEach == 0
}

// note says how long a number of samples took, over all nodes.
func (p *pace) note(took time.Duration, samples int) {
	if samples > 0 && took > 0 {
		p.perSample = [3]float64{took.Seconds() / float64(samples), p.perSample[0], p.perSample[1]}
	}
}

// nodesPerMicrosecond returns how many nodes render a block of some samples in a microsecond. It is infinite as long as no call
// was timed.
func (p *pace) nodesPerMicrosecond(block int) float64 {
	a, b, c := p.perSample[0], p.perSample[1], p.perSample[2]
	middle := max(min(a, b), min(max(a, b), c))
	if b == 0 {
		middle = a
	}
	return 1e-6 / (float64(block) * middle)
}

// nodesTask is the pool's task of rendering, with an index for each node.
type nodesTask struct {
	stage   Stage
	n       int       // samples of a block
	x       []float32 // of the current call
	buffers []float32 // nodes×n

	timed    bool          // whether the caller's part is timed
	took     time.Duration // by the caller
	rendered int           // nodes of the caller
}

func (t *nodesTask) Do(worker, lo, hi int) {
	if worker == 0 && t.timed {
		start := time.Now()
		defer func() {
			t.took += time.Since(start)
			t.rendered += hi - lo
		}()
	}
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
