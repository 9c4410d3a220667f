// Package fftw transforms real float32 rows with the single-precision FFTW library, found and loaded at run time,
// without cgo.
//
// It holds the one kind of transform that Crossover's operations need, one-dimensional real rows in a batch, and it is
// no general binding. Nothing happens until the first call: a program that links this package runs where FFTW is
// absent, and [Probe] says there what is missing. The usual steps are
//
//  1. ask [Probe] whether the library is there, and [ProbeThreads] whether it can use several threads;
//  2. make a [Plan] for a length, a number of rows and a number of threads;
//  3. call Forward and Inverse, from any goroutine;
//  4. Close the plan, or drop it: the garbage collector frees a dropped plan.
//
// Plans for rows of up to 4096 samples are made by measurement (FFTW_MEASURE), which takes up to half a second for the
// first plan of a length. Longer rows would take seconds each, and a calibration visits many lengths in two minutes, so
// they get FFTW's own estimate of the best plan. What one plan has learned helps the later plans of the process.
//
// Source: M. Frigo and S. G. Johnson, The design and implementation of FFTW3, Proceedings of the IEEE 93 (2005),
// 216–231, and https://www.fftw.org/fftw3_doc/.
package fftw

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"
)

const (
	// Environment names the environment variable that holds the path of a library to load in place of the system's
	// libfftw3f.
	Environment = "CROSSOVER_LIBFFTW3F"
	// ThreadsEnvironment does the same for libfftw3f_threads.
	ThreadsEnvironment = "CROSSOVER_LIBFFTW3F_THREADS"
)

// timeLimit bounds the making of a plan for rows of n samples, in seconds. If the limit is too short to try everything,
// FFTW falls back to its estimate, and the time is lost. Half a second suffices up to 4096 samples. From some 2^14
// samples on, two seconds do not suffice.
func timeLimit(n int) float64 {
	if n <= 4096 {
		return 0.5
	}
	return 0.02
}

// flags are those of the planner, from fftw3.h: FFTW_MEASURE, which is 0. By default a forward transform preserves its
// input and an inverse one may overwrite it.
const flags = 0

// library is libfftw3f as far as it is used: the addresses of its functions.
type library struct {
	alignment      uintptr // in bytes: plans made here need memory that begins at a multiple of it
	version        string
	setTimeLimit   func(seconds float64)
	planForward    uintptr // fftwf_plan_many_dft_r2c
	planInverse    uintptr // fftwf_plan_many_dft_c2r
	executeForward uintptr // fftwf_execute_dft_r2c
	executeInverse uintptr // fftwf_execute_dft_c2r
	destroy        uintptr // fftwf_destroy_plan
	forgetWisdom   uintptr // fftwf_forget_wisdom
}

// threadLibrary is libfftw3f_threads.
type threadLibrary struct {
	planWithThreads uintptr // fftwf_plan_with_nthreads
}

var (
	loaded        = sync.OnceValues(load)
	loadedThreads = sync.OnceValues(loadThreads)

	// planner serialises the calls into FFTW's planner, which is not safe for concurrent use. Executing a plan is safe.
	planner sync.Mutex
	// threaded is the thread library once it is loaded. From then on each plan must set the number of threads that it
	// wants. planner guards threaded.
	threaded *threadLibrary
)

// Probe returns nil where FFTW can be used, else one line that names the library and the packages that bring it.
func Probe() error {
	_, err := loaded()
	return err
}

// ProbeThreads returns nil where FFTW can be used with several threads, else one line that names what is missing.
func ProbeThreads() error {
	if err := Probe(); err != nil {
		return err
	}
	_, err := loadedThreads()
	return err
}

// Version returns what the library says that it is, such as "fftw-3.3.10-sse2-avx", or "" where it is missing.
func Version() string {
	lib, err := loaded()
	if err != nil {
		return ""
	}
	return lib.version
}

// Forget drops what the planner has learned from the plans of the process, so that the next plan is made as the first
// one was. Existing plans stay as they are.
func Forget() {
	lib, err := loaded()
	if err != nil {
		return
	}
	planner.Lock()
	defer planner.Unlock()
	invoke(lib.forgetWisdom, nil)
}

// Plan transforms batch rows of n real samples, which lie one after the other. Forward and Inverse may be called by
// several goroutines at once, on different memory; Close may not be called while they run.
type Plan struct {
	n, batch, threads int
	lib               *library
	held              *held
	planInverse       sync.Once // the inverse plan is made on its first use

	mu    sync.Mutex
	spare []*call // at most as many as ever ran at the same time
}

// NewReal returns a plan for batch rows of n samples on the given number of threads. It fails where the library is
// missing, where threads is above 1 and the thread library is missing, where a number is below 1, or where there are
// 2^31 samples or more, which is beyond what FFTW counts.
func NewReal(n, batch, threads int) (*Plan, error) {
	lib, err := loaded()
	if err != nil {
		return nil, err
	}
	if n < 1 || batch < 1 || n > math.MaxInt32/batch || threads < 1 || threads > math.MaxInt32 {
		return nil, fmt.Errorf("fftw: cannot plan %d rows of %d samples on %d threads (want each at least 1, and less"+
			" than 2^31 samples)", batch, n, threads)
	}
	if threads > 1 {
		if _, err := loadedThreads(); err != nil {
			return nil, err
		}
	}
	p := &Plan{n: n, batch: batch, threads: threads, lib: lib, held: &held{lib: lib}}
	collect()
	if p.held.forward = p.plan(lib.planForward, false); p.held.forward == 0 {
		return nil, fmt.Errorf("fftw: the planner refused %d rows of %d samples", batch, n)
	}
	runtime.AddCleanup(p, (*held).destroy, p.held)
	return p, nil
}

// plan makes a plan of one direction on memory of its own, which the planner overwrites.
func (p *Plan) plan(function uintptr, inverse bool) uintptr {
	planner.Lock()
	defer planner.Unlock()
	if threaded != nil {
		planWithThreads(threaded, p.threads) // a setting that stays until the next one
	}
	p.lib.setTimeLimit(timeLimit(p.n))
	c := &call{}
	samples, bins := address(c.sampleBuffer(p)), address(c.binBuffer(p))
	var made uintptr
	if inverse {
		made = planMany(function, p.n, p.batch, bins, p.n/2+1, samples, p.n)
	} else {
		made = planMany(function, p.n, p.batch, samples, p.n, bins, p.n/2+1)
	}
	if made != 0 {
		live.Add(1)
	}
	return made
}

// call is what one running call needs: the arguments that C gets, and memory that is aligned as FFTW wants it.
//
// Both plans are made for aligned memory, because FFTW's plans for any alignment (FFTW_UNALIGNED) use no vector
// instructions and take two to five times as long. The inverse plan may overwrite its input, because a plan that
// preserves it (FFTW_PRESERVE_INPUT) takes three to ten times as long. So the inverse plan always gets a copy.
type call struct {
	arguments [3]uintptr
	in, out   unsafe.Pointer // what the arguments point to, for the collector
	samples   []float32
	bins      []complex64
}

// begin takes a call from the spare ones, or makes one.
func (p *Plan) begin() *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.spare) - 1
	if last < 0 {
		return &call{}
	}
	c := p.spare[last]
	p.spare = p.spare[:last]
	return c
}

// end gives a call back. It also keeps p reachable until then, so that nothing that p holds is freed.
func (p *Plan) end(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spare = append(p.spare, c)
}

// sampleBuffer returns the call's memory for samples, which exists from its first use.
func (c *call) sampleBuffer(p *Plan) []float32 {
	if c.samples == nil {
		c.samples = aligned(p.batch * p.n)
	}
	return c.samples
}

// binBuffer returns the call's memory for bins, which exists from its first use.
func (c *call) binBuffer(p *Plan) []complex64 {
	if c.bins == nil {
		count := p.batch * (p.n/2 + 1)
		c.bins = unsafe.Slice((*complex64)(address(aligned(2*count))), count)
	}
	return c.bins
}

// alignment is what memory for a plan is aligned to, in bytes: a cache line, which is enough for every instruction set.
const alignment = 64

// aligned returns n zeros that begin at a multiple of alignment.
func aligned(n int) []float32 {
	x := make([]float32, n+alignment/4)
	skip := -uintptr(address(x)) % alignment / 4
	return x[skip:][:n]
}

func address[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// fits reports whether a plan can work on memory at an address. FFTW asks for the alignment of a vector register.
func fits(lib *library, at unsafe.Pointer) bool { return uintptr(at)%lib.alignment == 0 }

// Forward writes bins 0 to n/2 of the unscaled transform of each row of src to the rows of dst. src has batch·n values
// and dst batch·(n/2+1); they do not overlap, and src is unchanged. Memory that does not begin at a multiple of 16
// bytes is copied. It panics where a length is wrong or the plan is closed.
func (p *Plan) Forward(dst []complex64, src []float32) {
	p.check(len(dst), len(src))
	c := p.begin()
	from, to := src, dst
	if !fits(p.lib, address(src)) {
		from = c.sampleBuffer(p)
		copy(from, src)
	}
	if !fits(p.lib, address(dst)) {
		to = c.binBuffer(p)
	}
	c.execute(p.lib.executeForward, p.held.forward, address(from), address(to))
	if !fits(p.lib, address(dst)) {
		copy(dst, to)
	}
	p.end(c)
}

// Inverse writes the samples whose spectra are the rows of src, divided by n, to the rows of dst: the inverse of
// Forward. src has batch·(n/2+1) values and dst batch·n; they do not overlap, and src is unchanged. The first call
// plans. It panics where a length is wrong or the plan is closed.
func (p *Plan) Inverse(dst []float32, src []complex64) {
	p.check(len(src), len(dst))
	c := p.begin()
	bins, scale := c.binBuffer(p), float32(1/float64(p.n))
	for i, v := range src {
		bins[i] = complex(scale*real(v), scale*imag(v))
	}
	p.finishInverse(dst, c)
}

// InverseUnscaled is Inverse without the division, as FFTW has it, for callers that can divide elsewhere at no cost.
func (p *Plan) InverseUnscaled(dst []float32, src []complex64) {
	p.check(len(src), len(dst))
	c := p.begin()
	copy(c.binBuffer(p), src)
	p.finishInverse(dst, c)
}

// finishInverse transforms the bins of c.
func (p *Plan) finishInverse(dst []float32, c *call) {
	p.planInverse.Do(func() {
		if p.held.inverse = p.plan(p.lib.planInverse, true); p.held.inverse == 0 {
			panic(fmt.Sprintf("fftw: the planner refused %d inverse rows of %d samples", p.batch, p.n))
		}
	})
	to := dst
	if !fits(p.lib, address(dst)) {
		to = c.sampleBuffer(p)
	}
	c.execute(p.lib.executeInverse, p.held.inverse, address(c.bins), address(to))
	if !fits(p.lib, address(dst)) {
		copy(dst, to)
	}
	p.end(c)
}

// execute runs a plan. Objects on Go's heap do not move, and c is on the heap and holds the two objects that C works
// on. The arguments lie in a slice already, so the call allocates nothing.
func (c *call) execute(function, plan uintptr, in, out unsafe.Pointer) {
	c.in, c.out = in, out
	c.arguments = [3]uintptr{plan, uintptr(in), uintptr(out)}
	invoke(function, c.arguments[:])
	runtime.KeepAlive(c)
	c.in, c.out = nil, nil
}

func (p *Plan) check(bins, samples int) {
	if p.held.forward == 0 {
		panic("fftw: the plan is closed")
	}
	if bins != p.batch*(p.n/2+1) || samples != p.batch*p.n {
		panic(fmt.Sprintf("fftw: a plan of %d rows of %d samples got %d samples and %d bins", p.batch, p.n, samples, bins))
	}
}

// Close frees the plan. Closing twice does nothing.
func (p *Plan) Close() { p.held.destroy() }
