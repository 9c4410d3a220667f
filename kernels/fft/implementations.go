package fft

import (
	"runtime"

	"crossover/kernels"
	"crossover/kernels/fft/transform"
	"crossover/native/fftw"
	"crossover/pool"
)

// rowTransform is the forward transform of one row.
type rowTransform interface {
	Forward(dst []complex64, src []float32)
}

// serial transforms row after row.
type serial struct {
	n   int
	row rowTransform
}

func newSerial(p Params) kernels.Runner { return &serial{n: p.N, row: NewReal(p.N)} }

// Run transforms the rows of a call.
func (s *serial) Run(_ kernels.Shape, a *kernels.Args) error {
	transformRows(s.row, s.n, kernels.Complex(a[0]), a[1], 0, len(a[1])/s.n)
	return nil
}

// transformRows transforms the rows from lo to hi−1 of src, which have n samples each.
func transformRows(t rowTransform, n int, dst []complex64, src []float32, lo, hi int) {
	bins := n/2 + 1
	for row := lo; row < hi; row++ {
		t.Forward(dst[row*bins:][:bins], src[row*n:][:n])
	}
}

// parallel divides the rows among the workers of a pool. If there are fewer rows than workers and the length allows it, the
// workers share each row instead.
type parallel struct {
	n       int
	pool    *pool.Pool
	rows    []*Real      // one for each worker
	divided rowTransform // nil if a row is not worth dividing
	dst     []complex64
	src     []float32
}

func newParallel(p Params, workers *pool.Pool) kernels.Runner {
	e := &parallel{n: p.N, pool: workers, rows: []*Real{NewReal(p.N)}, divided: transform.NewSplit(p.N, workers)}
	for len(e.rows) < workers.Workers() {
		e.rows = append(e.rows, e.rows[0].Clone())
	}
	return e
}

// Run transforms the rows of a call.
func (p *parallel) Run(_ kernels.Shape, a *kernels.Args) error {
	dst, src := kernels.Complex(a[0]), a[1]
	rows := len(src) / p.n
	if rows < p.pool.Workers() && p.divided != nil {
		transformRows(p.divided, p.n, dst, src, 0, rows)
		return nil
	}
	if rows == 1 { // asking the pool would cost a short transform a tenth of its time
		transformRows(p.rows[0], p.n, dst, src, 0, rows)
		return nil
	}
	p.dst, p.src = dst, src
	// Half a microsecond is about 1024 samples.
	p.pool.Run(rows, p.pool.Grain(rows, max(1, 1024/p.n), 1), p)
	p.dst, p.src = nil, nil
	return nil
}

// Do transforms the rows from lo to hi−1.
func (p *parallel) Do(worker, lo, hi int) { transformRows(p.rows[worker], p.n, p.dst, p.src, lo, hi) }

// library transforms by FFTW. It has a plan for Batch rows. It transforms any other number of rows one by one.
type library struct {
	Params
	threads int
	whole   *fftw.Plan
	row     *fftw.Plan // nil until a call needs it
}

func newLibrary(_ *kernels.Backends, p Params) (kernels.Runner, error) { return newLibraryOn(p, 1) }

func newParallelLibrary(_ *kernels.Backends, p Params) (kernels.Runner, error) {
	return newLibraryOn(p, runtime.GOMAXPROCS(0))
}

func newLibraryOn(p Params, threads int) (kernels.Runner, error) {
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

// Run transforms the rows of a call.
func (l *library) Run(_ kernels.Shape, a *kernels.Args) error {
	dst, src := kernels.Complex(a[0]), a[1]
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
	transformRows(l.row, l.N, dst, src, 0, len(src)/l.N)
	return nil
}

// Close frees the plans.
func (l *library) Close() {
	l.whole.Close()
	if l.row != nil {
		l.row.Close()
	}
}
