package autocorrelation

import (
	"runtime"

	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/kernels/fft/transform"
	"crossover/native/accelerate"
	"crossover/native/fftw"
	"crossover/pool"
)

// Rows says which rows an operation has correlated, and what becomes of their lags. Rows do not depend on each other, and
// are loaded and stored by several goroutines at once.
type Rows struct {
	N     int                                                                 // samples in a row, at least 1
	Count func(s *kernels.Shape) int                                          // of the rows of a call
	Load  func(samples []float32, s *kernels.Shape, a *kernels.Args, row int) // writes the N samples of a row
	Store func(s *kernels.Shape, a *kernels.Args, row int, lags []float32)    // takes the N lags of a row, and may change them
}

// OnProcessors returns the implementations on the processor of an operation that correlates rows: in Go, by FFTW and by
// Apple's vDSP.
func OnProcessors[P any](of func(p P) Rows) []kernels.Makers[P] {
	return []kernels.Makers[P]{
		kernels.InGo(
			func(p P) kernels.Runner { return newInGo(of(p), pool.New(1)) },
			func(p P, workers *pool.Pool) kernels.Runner { return newInGo(of(p), workers) }),
		kernels.Library("fftw", fftw.Probe, fftw.Version, func(_ *kernels.Backends, p P) (kernels.Runner, error) {
			return newFFTW(of(p), pool.New(1), 1)
		}),
		kernels.OnAllCores(kernels.Library("fftw-parallel", fftw.ProbeThreads, fftw.Version, func(b *kernels.Backends, p P) (kernels.Runner, error) {
			return newFFTW(of(p), b.Pool, runtime.GOMAXPROCS(0))
		})),
		kernels.Framework("", func(p P) (kernels.Runner, error) { return newFramework(of(p)) }),
	}
}

// correlator computes one row at a time. The first samples are those of the row.
type correlator struct {
	forward  func(dst []complex64, src []float32)
	inverse  func(dst []float32, src []complex64)
	gain     float32 // what powers are multiplied by
	samples  []float32
	spectrum []complex64
}

func newCorrelator(points int, forward func(dst []complex64, src []float32), inverse func(dst []float32, src []complex64), gain float32) *correlator {
	return &correlator{forward, inverse, gain, make([]float32, points), make([]complex64, points/2+1)}
}

// correlate replaces the first n samples by their lags.
func (c *correlator) correlate(n int) {
	clear(c.samples[n:])
	c.forward(c.spectrum, c.samples)
	for k, v := range c.spectrum {
		c.spectrum[k] = complex((real(v)*real(v)+imag(v)*imag(v))*c.gain, 0)
	}
	c.inverse(c.samples, c.spectrum)
}

// processor divides the rows among the workers of a pool, or they share each row.
type processor struct {
	Rows
	pool     *pool.Pool
	own      []*correlator // one for each worker
	together *correlator   // nil if a row is not worth dividing
	most     int           // number of rows that are shared
	close    func()        // may be nil

	shape kernels.Shape // of the current call
	args  *kernels.Args
}

func newInGo(r Rows, workers *pool.Pool) kernels.Runner {
	points := fft.FastLength(2*r.N - 1)
	p := &processor{Rows: r, pool: workers}
	for t := transform.NewReal(points); len(p.own) < workers.Workers(); t = t.Clone() {
		p.own = append(p.own, newCorrelator(points, t.Forward, t.Inverse, 1))
	}
	if workers.Workers() > 1 {
		if t := transform.NewSplit(points, workers); t != nil {
			p.together, p.most = newCorrelator(points, t.Forward, t.Inverse, 1), transform.MostShared(points, workers.Workers())
		}
	}
	return p
}

// leastShared is the number of samples from which on FFTW transforms a row on several threads.
const leastShared = 16 << 10

func newFFTW(r Rows, workers *pool.Pool, threads int) (kernels.Runner, error) {
	points := fft.FastLength(2*r.N - 1)
	gain := float32(1 / float64(points))
	one, err := fftw.NewReal(points, 1, 1)
	if err != nil {
		return nil, err
	}
	p := &processor{Rows: r, pool: workers, close: one.Close}
	for range workers.Workers() {
		p.own = append(p.own, newCorrelator(points, one.Forward, one.InverseUnscaled, gain))
	}
	if threads > 1 && points >= leastShared {
		all, err := fftw.NewReal(points, 1, threads)
		if err != nil {
			return nil, err
		}
		p.together, p.most = newCorrelator(points, all.Forward, all.InverseUnscaled, gain), workers.Workers()-1
		p.close = func() {
			one.Close()
			all.Close()
		}
	}
	return p, nil
}

func newFramework(r Rows) (kernels.Runner, error) {
	points := accelerate.FastLength(2*r.N - 1)
	t, err := accelerate.NewReal(points)
	if err != nil {
		return nil, err
	}
	own := newCorrelator(points, t.Forward, t.InverseUnscaled, float32(1/float64(points)))
	return &processor{Rows: r, pool: pool.New(1), own: []*correlator{own}}, nil
}

// Run computes a call.
func (p *processor) Run(s kernels.Shape, a *kernels.Args) error {
	p.shape, p.args = s, a
	count := p.Count(&p.shape)
	switch {
	case count <= p.most:
		p.each(p.together, 0, count)
	case count == 1: // asking the pool would cost a short row a part of its time
		p.each(p.own[0], 0, count)
	default:
		// A microsecond is about 512 samples.
		p.pool.Run(count, p.pool.Grain(count, 512/float64(len(p.own[0].samples)), 1), p)
	}
	p.args = nil
	return nil
}

// Do computes the rows from lo to hi−1.
func (p *processor) Do(worker, lo, hi int) { p.each(p.own[worker], lo, hi) }

func (p *processor) each(c *correlator, lo, hi int) {
	for row := lo; row < hi; row++ {
		p.Load(c.samples[:p.N], &p.shape, p.args, row)
		c.correlate(p.N)
		p.Store(&p.shape, p.args, row, c.samples[:p.N])
	}
}

// Close frees the plans of a library.
func (p *processor) Close() {
	if p.close != nil {
		p.close()
	}
}
