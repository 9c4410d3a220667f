package fft

import (
	"errors"
	"runtime"
	"slices"

	"crossover/fftw"
	"crossover/kernels"
	"crossover/pool"
)

// engine is one implementation at one length, for one goroutine at a time.
type engine interface {
	// transform writes the bins of each row of src to the rows of dst.
	transform(dst []complex64, src []float32) error
	// close releases what the garbage collector does not know.
	close()
}

// rowTransform is the forward transform of one row.
type rowTransform interface {
	Forward(dst []complex64, src []float32)
}

var goContender = kernels.Contender[Params, engine]{
	Implementation: kernels.Implementation{Name: "go", Processor: kernels.CPU},
	New:            func(p Params) (engine, error) { return &serial{n: p.N, row: NewReal(p.N)}, nil },
}

var fftwContenders = kernels.Contenders[Params, engine]{
	{
		Implementation: kernels.Implementation{
			Name: "fftw", Processor: kernels.CPU, Probe: fftw.Probe, Version: fftw.Version,
		},
		New: func(p Params) (engine, error) { return newLibrary(p, 1) },
	},
	{
		Implementation: kernels.Implementation{
			Name: "fftw-parallel", Processor: kernels.CPU, Probe: fftw.ProbeThreads, Version: fftw.Version,
		},
		New: func(p Params) (engine, error) { return newLibrary(p, runtime.GOMAXPROCS(0)) },
	},
}

var gpuContenders = slices.Concat(kernels.OnGPU("", newLaunch), kernels.GPUFFT(newVendorLaunch))

// rowContenders compete where there are rows to share out.
var rowContenders = slices.Concat(kernels.Contenders[Params, engine]{
	goContender,
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU},
		New:            func(p Params) (engine, error) { return newParallel(p.N, pool.Shared()), nil },
	},
}, fftwContenders, kernels.Accelerate("", newFramework), gpuContenders)

// singleContenders compete in a transform of one row.
var singleContenders = slices.Concat(kernels.Contenders[Params, engine]{
	goContender,
	{
		Implementation: kernels.Implementation{Name: "go-parallel", Processor: kernels.CPU, Probe: probeSplit},
		New:            func(p Params) (engine, error) { return newParallel(p.N, pool.Shared()), nil },
	},
}, fftwContenders, kernels.Accelerate("", newFramework), gpuContenders)

func probeSplit() error {
	if !splitsOne() {
		return errors.New("fft: one transform is not split over cores on this processor (want amd64 with AVX2 and FMA)")
	}
	return nil
}

// serial transforms row after row.
type serial struct {
	n   int
	row rowTransform
}

func (s *serial) transform(dst []complex64, src []float32) error {
	bins := s.n/2 + 1
	for row := range len(src) / s.n {
		s.row.Forward(dst[row*bins:][:bins], src[row*s.n:][:s.n])
	}
	return nil
}

func (s *serial) close() {}

// parallel shares the rows out over the pool. Where there are fewer rows than workers and the length allows it, the
// workers share each row instead.
type parallel struct {
	n       int
	pool    *pool.Pool
	rows    []*Real      // one a worker
	divided rowTransform // nil where a row is not worth dividing
	dst     []complex64
	src     []float32
}

func newParallel(n int, workers *pool.Pool) *parallel {
	p := &parallel{n: n, pool: workers, rows: []*Real{NewReal(n)}, divided: newSplit(n, workers)}
	for len(p.rows) < p.pool.Workers() {
		p.rows = append(p.rows, p.rows[0].Clone())
	}
	return p
}

func (p *parallel) transform(dst []complex64, src []float32) error {
	rows := len(src) / p.n
	if rows < p.pool.Workers() && p.divided != nil {
		s := serial{n: p.n, row: p.divided}
		return s.transform(dst, src)
	}
	if rows == 1 { // asking the pool would cost a short transform a tenth of its time
		s := serial{n: p.n, row: p.rows[0]}
		return s.transform(dst, src)
	}
	p.dst, p.src = dst, src
	// Half a microsecond is about 1024 samples.
	p.pool.Run(rows, p.pool.Grain(rows, max(1, 1024/p.n), 1), p)
	p.dst, p.src = nil, nil
	return nil
}

// Do transforms rows lo to hi.
func (p *parallel) Do(worker, lo, hi int) {
	bins := p.n/2 + 1
	for row := lo; row < hi; row++ {
		p.rows[worker].Forward(p.dst[row*bins:][:bins], p.src[row*p.n:][:p.n])
	}
}

func (p *parallel) close() {}

// library transforms through FFTW: the number of rows that it was made for by one plan, any other row after row.
type library struct {
	Params
	threads int
	whole   *fftw.Plan
	row     *fftw.Plan // nil until a call needs it
}

func newLibrary(p Params, threads int) (engine, error) {
	plan, err := fftw.NewReal(p.N, p.Batch, threads)
	if err != nil {
		return nil, err
	}
	l := &library{Params: p, threads: threads, whole: plan}
	if p.Batch == 1 {
		l.row = plan
	}
	return l, nil
}

func (l *library) transform(dst []complex64, src []float32) error {
	if len(src) == l.Batch*l.N {
		l.whole.Forward(dst, src)
		return nil
	}
	if l.row == nil {
		plan, err := fftw.NewReal(l.N, 1, l.threads)
		if err != nil {
			return err
		}
		l.row = plan
	}
	s := serial{n: l.N, row: l.row}
	return s.transform(dst, src)
}

func (l *library) close() {
	l.whole.Close()
	if l.row != nil {
		l.row.Close()
	}
}
