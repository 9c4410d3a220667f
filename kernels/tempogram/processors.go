package tempogram

import (
	"crossover/kernels"
	"crossover/kernels/fft"
	"crossover/kernels/fft/transform"
	"crossover/native/accelerate"
	"crossover/native/fftw"
	"crossover/pool"
)

// tempoOnProcessors returns the implementations of the tempo on the processor: in Go, by FFTW and by Apple's vDSP.
func tempoOnProcessors() []kernels.Makers[TempoParams] {
	onFFTW := func(name string, workers func(b *kernels.Backends) *pool.Pool) kernels.Makers[TempoParams] {
		return kernels.Library(name, fftw.Probe, fftw.Version, func(b *kernels.Backends, p TempoParams) (kernels.Runner, error) {
			t, err := fftw.NewReal(fft.FastLength(2*p.window()-1), 1, 1)
			if err != nil {
				return nil, err
			}
			r := newTempoRunner(p, workers(b), fft.FastLength(2*p.window()-1), func() forward { return t.Forward },
				func(dst []float32, src []complex64) {
					t.InverseUnscaled(dst, src)
					transform.Scale(dst, 1/float32(len(dst)))
				})
			r.close = t.Close
			return r, nil
		})
	}
	inGo := func(p TempoParams, workers *pool.Pool) kernels.Runner {
		points := fft.FastLength(2*p.window() - 1)
		t := transform.NewReal(points)
		return newTempoRunner(p, workers, points, func() forward { return t.Clone().Forward }, t.Inverse)
	}
	return []kernels.Makers[TempoParams]{
		kernels.InGo(func(p TempoParams) kernels.Runner { return inGo(p, pool.New(1)) }, inGo),
		onFFTW("fftw", func(*kernels.Backends) *pool.Pool { return pool.New(1) }),
		kernels.OnPool(onFFTW("fftw-parallel", func(b *kernels.Backends) *pool.Pool { return b.Pool })),
		kernels.Framework("", func(p TempoParams) (kernels.Runner, error) {
			points := accelerate.FastLength(2*p.window() - 1)
			t, err := accelerate.NewReal(points)
			if err != nil {
				return nil, err
			}
			return newTempoRunner(p, pool.New(1), points, func() forward { return t.Forward }, func(dst []float32, src []complex64) {
				t.InverseUnscaled(dst, src)
				transform.Scale(dst, 1/float32(len(dst)))
			}), nil
		}),
	}
}

type forward = func(dst []complex64, src []float32)

// summer adds up the power spectra of frames, each divided by the energy of its frame.
type summer struct {
	forward  forward
	samples  []float32
	spectrum []complex64
	powers   []float64
}

// tempoRunner divides the frames among the workers of a pool.
type tempoRunner struct {
	window  []float32
	prior   []float64
	pool    *pool.Pool
	own     []summer // one for each worker
	inverse func(dst []float32, src []complex64)
	means   []float64
	close   func() // may be nil

	strengths []float32 // of the current call
}

func newTempoRunner(p TempoParams, workers *pool.Pool, points int, each func() forward, inverse func(dst []float32, src []complex64)) *tempoRunner {
	r := &tempoRunner{window: Params{p.window()}.hann(), prior: p.prior(), pool: workers, inverse: inverse, means: make([]float64, p.window())}
	for range workers.Workers() {
		r.own = append(r.own, summer{each(), make([]float32, points), make([]complex64, points/2+1), make([]float64, points/2+1)})
	}
	return r
}

// Run computes a call.
func (r *tempoRunner) Run(_ kernels.Shape, a *kernels.Args) error {
	r.strengths = a[1]
	for i := range r.own {
		clear(r.own[i].powers)
	}
	r.pool.Run(len(r.strengths), r.pool.Grain(len(r.strengths), 1, 1), r)
	first := &r.own[0]
	for k := range first.powers {
		for _, other := range r.own[1:] {
			first.powers[k] += other.powers[k]
		}
		first.spectrum[k] = complex(float32(first.powers[k]/float64(len(r.strengths))), 0)
	}
	r.inverse(first.samples, first.spectrum)
	for k := range r.means {
		r.means[k] = float64(first.samples[k])
	}
	kernels.Uint32s(a[0])[0] = uint32(choose(r.means, r.prior))
	r.strengths = nil
	return nil
}

// Do adds up the frames from lo to hi−1.
func (r *tempoRunner) Do(worker, lo, hi int) {
	s, n := &r.own[worker], len(r.window)
	for t := lo; t < hi; t++ {
		load(s.samples[:n], r.window, r.strengths, t)
		by := energy(s.samples[:n])
		if by == 0 {
			continue
		}
		by = 1 / by
		clear(s.samples[n:])
		s.forward(s.spectrum, s.samples)
		powers := s.powers[:len(s.spectrum)]
		for k, v := range s.spectrum {
			powers[k] += float64((real(v)*real(v) + imag(v)*imag(v)) * by)
		}
	}
}

// Close frees the plan of a library.
func (r *tempoRunner) Close() {
	if r.close != nil {
		r.close()
	}
}
