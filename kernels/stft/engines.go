package stft

import (
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/pool"
)

// engine is one implementation, ready for one pair of parameters. It is for one goroutine at a time.
type engine interface {
	// transform writes the spectrogram of x to dst, which has its length, and allocates nothing.
	transform(dst []complex64, x []float32)
	close()
}

var contenders = kernels.Contenders[Params, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newSerial(p), nil },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newParallel(p), nil },
	},
}

// framing cuts windowed frames out of a signal.
type framing struct {
	Params
	window []float32
}

func newFraming(p Params) framing {
	f := framing{Params: p, window: make([]float32, p.NFFT)}
	for j, w := range hann(p.NFFT) {
		f.window[j] = float32(w)
	}
	return f
}

// load writes frame f of x, windowed, to dst, in one pass: outside of x it is zero.
func (f *framing) load(dst, x []float32, frame int) {
	start := frame*f.Hop - f.NFFT/2
	from := min(max(-start, 0), f.NFFT)
	to := min(max(len(x)-start, from), f.NFFT)
	clear(dst[:from])
	multiply(dst[from:to], x[start+from:start+to], f.window[from:to])
	clear(dst[to:])
}

// serial transforms frame after frame.
type serial struct {
	framing
	fft   *fft.Real
	frame []float32
}

func newSerial(p Params) *serial {
	return &serial{framing: newFraming(p), fft: fft.NewReal(p.NFFT), frame: make([]float32, p.NFFT)}
}

func (e *serial) transform(dst []complex64, x []float32) {
	e.span(dst, x, 0, e.frames(len(x)))
}

// span fills the frames from lo to hi−1 of dst.
func (e *serial) span(dst []complex64, x []float32, lo, hi int) {
	bins := e.bins()
	for f := lo; f < hi; f++ {
		e.load(e.frame, x, f)
		e.fft.Forward(dst[f*bins:(f+1)*bins], e.frame)
	}
}

func (e *serial) close() {}

// samplesPerChunk is the least number of windowed samples that a worker takes at a time: work of some ten
// microseconds, a few times what handing it over costs.
const samplesPerChunk = 8192

// parallel shares out the frames over the pool.
type parallel struct {
	pool    *pool.Pool
	workers []*serial
	grain   int // frames

	dst []complex64 // of the call that runs
	x   []float32
}

func newParallel(p Params) *parallel {
	e := &parallel{pool: pool.Shared(), grain: max(1, samplesPerChunk/p.NFFT)}
	first := newSerial(p)
	e.workers = append(e.workers, first)
	for len(e.workers) < e.pool.Workers() {
		clone := *first
		clone.fft = first.fft.Clone()
		clone.frame = make([]float32, p.NFFT)
		e.workers = append(e.workers, &clone)
	}
	return e
}

func (e *parallel) transform(dst []complex64, x []float32) {
	e.dst, e.x = dst, x
	e.pool.Run(e.workers[0].frames(len(x)), e.grain, e)
	e.dst, e.x = nil, nil
}

// Do computes the frames from lo to hi−1.
func (e *parallel) Do(worker, lo, hi int) { e.workers[worker].span(e.dst, e.x, lo, hi) }

func (e *parallel) close() {}
