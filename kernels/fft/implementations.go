package fft

import (
	"runtime"

	"crossover/kernels"
	"crossover/kernels/fft/transform"
	"crossover/native/fftw"
	"crossover/pool"
)

// rowTransform transforms the words of one row, or of a fixed number of rows.
type rowTransform func(dst, src []float32)

// realTransform and complexTransform are transforms of one row.
type (
	realTransform interface {
		Forward(dst []complex64, src []float32)
		Inverse(dst []float32, src []complex64)
	}
	complexTransform interface {
		Forward(dst, src []complex64)
		Inverse(dst, src []complex64)
	}
)

// ofReal returns one direction of a transform.
func ofReal(t realTransform, inverse bool) rowTransform {
	if inverse {
		return func(dst, src []float32) { t.Inverse(dst, kernels.Complex(src)) }
	}
	return func(dst, src []float32) { t.Forward(kernels.Complex(dst), src) }
}

// ofComplex returns one direction of a transform.
func ofComplex(t complexTransform, inverse bool) rowTransform {
	do := t.Forward
	if inverse {
		do = t.Inverse
	}
	return func(dst, src []float32) { do(kernels.Complex(dst), kernels.Complex(src)) }
}

// inGo returns transforms for count goroutines.
func (r rows) inGo(count int) (all []rowTransform) {
	if r.complex {
		for t := transform.NewComplex(r.n); len(all) < count; t = t.Clone() {
			all = append(all, ofComplex(t, r.inverse))
		}
		return all
	}
	for t := transform.NewReal(r.n); len(all) < count; t = t.Clone() {
		all = append(all, ofReal(t, r.inverse))
	}
	return all
}

// divided returns a transform of one row by all workers of a pool, or nil if a row is not worth dividing.
func (r rows) divided(workers *pool.Pool) rowTransform {
	if r.complex {
		if t := transform.NewComplexSplit(r.n, workers); t != nil {
			return ofComplex(t, r.inverse)
		}
	} else if t := transform.NewSplit(r.n, workers); t != nil {
		return ofReal(t, r.inverse)
	}
	return nil
}

// serial transforms row after row.
type serial struct {
	rows
	row rowTransform
}

func newSerial(r rows) kernels.Runner { return &serial{r, r.inGo(1)[0]} }

// Run transforms the rows of a call.
func (s *serial) Run(shape kernels.Shape, a *kernels.Args) error {
	s.each(s.row, a[0], a[1], 0, shape[batch])
	return nil
}

// each transforms the rows from lo to hi−1 of src.
func (r rows) each(t rowTransform, dst, src []float32, lo, hi int) {
	out, in := r.words()
	for row := lo; row < hi; row++ {
		t(dst[row*out:][:out], src[row*in:][:in])
	}
}

// parallel divides the rows among the workers of a pool, or they share each row: see transform.MostShared.
type parallel struct {
	rows
	pool     *pool.Pool
	own      []rowTransform // one for each worker
	together rowTransform   // nil if a row is not worth dividing
	most     int            // number of rows that are shared
	dst, src []float32
}

func newParallel(r rows, workers *pool.Pool) kernels.Runner {
	p := &parallel{rows: r, pool: workers, own: r.inGo(workers.Workers()), together: r.divided(workers)}
	if p.together != nil {
		p.most = transform.MostShared(r.samples(), workers.Workers())
	}
	return p
}

// Run transforms the rows of a call.
func (p *parallel) Run(s kernels.Shape, a *kernels.Args) error {
	count := s[batch]
	if count <= p.most {
		p.each(p.together, a[0], a[1], 0, count)
		return nil
	}
	if count == 1 { // asking the pool would cost a short transform a tenth of its time
		p.each(p.own[0], a[0], a[1], 0, count)
		return nil
	}
	p.dst, p.src = a[0], a[1]
	// A microsecond is about 1024 samples.
	p.pool.Run(count, p.pool.Grain(count, 1024/float64(p.n), 1), p)
	p.dst, p.src = nil, nil
	return nil
}

// Do transforms the rows from lo to hi−1.
func (p *parallel) Do(worker, lo, hi int) { p.each(p.own[worker], p.dst, p.src, lo, hi) }

// library transforms by FFTW. It has a plan for the usual number of rows. It transforms any other number of rows one by one.
type library struct {
	rows
	threads    int
	whole, row libraryPlan // row has no transform until a call needs it
}

// libraryPlan is a plan of FFTW for some rows.
type libraryPlan struct {
	transform rowTransform
	close     func()
}

func newLibrary(r rows, threads int) (kernels.Runner, error) {
	l := &library{rows: r, threads: threads}
	var err error
	if l.whole, err = r.byFFTW(r.batch, threads); err != nil {
		return nil, err
	}
	if r.batch == 1 {
		l.row = l.whole
	}
	return l, nil
}

func newParallelLibrary(r rows) (kernels.Runner, error) { return newLibrary(r, runtime.GOMAXPROCS(0)) }

// byFFTW returns a plan for count rows. FFTW's inverse transforms are not divided by n.
func (r rows) byFFTW(count, threads int) (libraryPlan, error) {
	scale := float32(1 / float64(r.n))
	if r.complex {
		plan, err := fftw.NewComplex(r.n, count, threads, r.inverse)
		if err != nil {
			return libraryPlan{}, err
		}
		return libraryPlan{func(dst, src []float32) {
			plan.Transform(kernels.Complex(dst), kernels.Complex(src))
			if r.inverse {
				transform.Scale(dst, scale)
			}
		}, plan.Close}, nil
	}
	if r.inverse {
		plan, err := fftw.NewInverseReal(r.n, count, threads)
		if err != nil {
			return libraryPlan{}, err
		}
		return libraryPlan{func(dst, src []float32) {
			plan.InverseUnscaled(dst, kernels.Complex(src))
			transform.Scale(dst, scale)
		}, plan.Close}, nil
	}
	plan, err := fftw.NewReal(r.n, count, threads)
	if err != nil {
		return libraryPlan{}, err
	}
	return libraryPlan{func(dst, src []float32) { plan.Forward(kernels.Complex(dst), src) }, plan.Close}, nil
}

// Run transforms the rows of a call.
func (l *library) Run(s kernels.Shape, a *kernels.Args) error {
	count := s[batch]
	if count == l.batch {
		l.whole.transform(a[0], a[1])
		return nil
	}
	if l.row.transform == nil {
		row, err := l.byFFTW(1, l.threads)
		if err != nil {
			return err
		}
		l.row = row
	}
	l.each(l.row.transform, a[0], a[1], 0, count)
	return nil
}

// Close frees the plans.
func (l *library) Close() {
	l.whole.close()
	if l.row.close != nil {
		l.row.close()
	}
}
