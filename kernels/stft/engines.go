package stft

import (
	"slices"

	"crossover/fftw"
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/pool"
)

// engine is one implementation, ready for one pair of parameters. It is for one goroutine at a time.
type engine interface {
	// transform writes the spectrogram of x to dst, which has its length, and allocates nothing once x's length has been
	// met.
	transform(dst []complex64, x []float32) error
}

var contenders = slices.Concat(kernels.Contenders[Params, engine]{
	{
		Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newSerial(p, inGo) },
	},
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newParallel(p, inGo) },
	},
	{
		Implementation: kernels.Implementation{
			Name: "fftw", Processor: kernels.CPU, Probe: fftw.Probe, Version: fftw.Version,
		},
		New: func(p Params) (engine, error) { return newSerial(p, withFFTW) },
	},
	{
		// The threads are those of the pool, which window the frames too; FFTW's own threads are not asked for.
		Implementation: kernels.Implementation{
			Name: "fftw-parallel", Processor: kernels.CPU, Probe: fftw.Probe, Version: fftw.Version,
		},
		New: func(p Params) (engine, error) { return newParallel(p, withFFTW) },
	},
}, kernels.Accelerate("", newFramework), kernels.OnGPU("", newLaunch), kernels.GPUFFT(newVendorLaunch))

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

// transform is a real FFT of one or of several frames that lie one after the other.
type transform interface {
	Forward(dst []complex64, src []float32)
}

// transforms are what one goroutine computes with: a transform of a block of frames, and one of a single frame.
type transforms struct {
	blockFrames   int
	block, single transform
}

// newTransforms makes transforms of n points for count goroutines.
type newTransforms func(n, count int) ([]transforms, error)

func inGo(n, count int) ([]transforms, error) {
	var each []transforms
	for t := fft.NewReal(n); len(each) < count; t = t.Clone() {
		each = append(each, transforms{blockFrames: 1, block: t, single: t})
	}
	return each, nil
}

// framesPerBlock is how many frames FFTW transforms in one call: enough for it to share twiddle factors among frames,
// few enough for a block of the usual windows to stay in the second-level cache.
const framesPerBlock = 16

// withFFTW returns the same plans of FFTW, on one thread, for all goroutines: any number may run a plan.
func withFFTW(n, count int) ([]transforms, error) {
	block, err := fftw.NewReal(n, framesPerBlock, 1)
	if err != nil {
		return nil, err
	}
	single, err := fftw.NewReal(n, 1, 1)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]transforms{{blockFrames: framesPerBlock, block: block, single: single}}, count), nil
}

// serial transforms block after block on one core.
type serial struct {
	framing
	transforms
	rows []float32 // the windowed frames of a block
}

func newSerial(p Params, newTransforms newTransforms) (*serial, error) {
	each, err := newTransforms(p.NFFT, 1)
	if err != nil {
		return nil, err
	}
	return newFramer(newFraming(p), each[0]), nil
}

func newFramer(f framing, t transforms) *serial {
	return &serial{framing: f, transforms: t, rows: make([]float32, t.blockFrames*f.NFFT)}
}

func (e *serial) transform(dst []complex64, x []float32) error {
	e.span(dst, x, 0, e.frames(len(x)))
	return nil
}

// span fills the frames from lo to hi−1 of dst.
func (e *serial) span(dst []complex64, x []float32, lo, hi int) {
	bins := e.bins()
	f := lo
	for ; f+e.blockFrames <= hi; f += e.blockFrames {
		for i := range e.blockFrames {
			e.load(e.rows[i*e.NFFT:(i+1)*e.NFFT], x, f+i)
		}
		e.block.Forward(dst[f*bins:(f+e.blockFrames)*bins], e.rows)
	}
	for ; f < hi; f++ {
		row := e.rows[:e.NFFT]
		e.load(row, x, f)
		e.single.Forward(dst[f*bins:(f+1)*bins], row)
	}
}

// samplesPerChunk is the least number of windowed samples that a worker takes at a time: some five microseconds of
// work, a few times what handing it over costs.
const samplesPerChunk = 8192

// parallel shares out the frames over the pool, in whole blocks.
type parallel struct {
	pool    *pool.Pool
	workers []*serial
	grain   int // frames

	dst []complex64 // of the call that runs
	x   []float32
}

func newParallel(p Params, newTransforms newTransforms) (*parallel, error) {
	e := &parallel{pool: pool.Shared()}
	each, err := newTransforms(p.NFFT, e.pool.Workers())
	if err != nil {
		return nil, err
	}
	f := newFraming(p)
	for _, t := range each {
		e.workers = append(e.workers, newFramer(f, t))
	}
	block := each[0].blockFrames
	e.grain = block * max(1, samplesPerChunk/(block*p.NFFT))
	return e, nil
}

func (e *parallel) transform(dst []complex64, x []float32) error {
	e.dst, e.x = dst, x
	e.pool.Run(e.workers[0].frames(len(x)), e.grain, e)
	e.dst, e.x = nil, nil
	return nil
}

// Do computes the frames from lo to hi−1.
func (e *parallel) Do(worker, lo, hi int) { e.workers[worker].span(e.dst, e.x, lo, hi) }
