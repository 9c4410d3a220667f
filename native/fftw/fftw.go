// Package fftw transforms float32 rows by the single-precision FFTW library. The library is found and loaded at run time,
// without cgo.
//
// The package has what Crossover's operations need: one-dimensional transforms of batches of real rows ([Plan]) and of
// complex rows ([ComplexPlan]). It is not a general binding. A program that links this package also runs without FFTW, because the first call loads
// the library. [Probe] then says what is missing. The usual steps are
//
//  1. ask [Probe] whether the library can be used, and [ProbeThreads] whether it can use several threads;
//  2. make a plan for a length, a number of rows and a number of threads;
//  3. transform, from any goroutine;
//  4. call Close, or drop the plan: the garbage collector frees a dropped plan.
//
// # How plans are made
//
// FFTW plans rows of up to 4096 values, and of 8192 and 16 384, by measurement (FFTW_MEASURE). It would try thousands of
// algorithms for a length, which takes up to a second. Two flags of its header make it try fewer; see effort. The first plan
// of a length then takes 1 to 200 ms. Of longer rows FFTW would take seconds, so their plans are its estimates. They take a
// few milliseconds, and 100 ms if the length has a prime factor of 100 000.
//
// FFTW remembers what it chose for as long as the process lives. A plan for the same rows, direction and number of threads
// then takes 20 µs, so this package keeps no plans for later. What is chosen for 16 rows also serves 64, and for complex rows
// any number. What is chosen for the forward transform does not help the inverse one. [Plan] therefore plans a direction at
// its first use.
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

// direction says what a plan transforms.
type direction int

const (
	toBins    direction = iota // real rows to bins
	toSamples                  // bins to real rows
	ofComplex                  // complex rows, either way
)

// Flags of the planner, from fftw3.h. Without one of them it measures (FFTW_MEASURE, which is 0). By default a transform
// preserves its input, unless its output is real. The manual does not describe the last two, which FFTW sets itself for
// estimates.
const (
	flagEstimate     = 1 << 6  // FFTW_ESTIMATE
	flagNoIndirectOp = 1 << 12 // FFTW_NO_INDIRECT_OP: do not copy rows to another place to transform them there
	flagAllowPruning = 1 << 20 // FFTW_ALLOW_PRUNING: at each step, take the first radix that has a good codelet
)

// timeLimit is the greatest number of seconds for a plan. If FFTW cannot try everything in that time, it falls back to its
// estimate, and the time is lost.
const timeLimit = 0.5

// The greatest lengths of rows whose plans are measured.
const (
	longestMeasured        = 4096
	longestMeasuredOfPower = 1 << 14 // of a power of two
	longestUnpruned        = 128     // of real rows of any length
)

// effort returns the flags with which FFTW plans batch rows of n values.
//
// They were chosen on an EPYC, by 145 plans for 73 lengths from 16 to 65 536. Plans without indirect algorithms take half as
// long to make as by FFTW_MEASURE alone, and run as fast. With pruning, plans take a tenth. They too run as fast, except for
// complex rows, several rows of bins, rows of an odd length, and rows so short that one codelet transforms them: those take
// 1.1 to 1.8 times as long. With the flags that effort returns, a plan took some 50 ms in the mean in place of 148 ms, and ran 3 %
// faster in the geometric mean, because FFTW's time is up at fewer lengths. Single plans ran up to 1.2 times as long. So did
// plans that were made a second time with the same flags.
func effort(n, batch int, d direction) uint32 {
	switch {
	case n > longestMeasured && (n&(n-1) != 0 || n > longestMeasuredOfPower):
		return flagEstimate
	case n <= longestUnpruned || n%2 == 1 || d == ofComplex || d == toSamples && batch > 1:
		return flagNoIndirectOp
	default:
		return flagNoIndirectOp | flagAllowPruning
	}
}

// library holds the addresses of the functions of libfftw3f that this package uses.
type library struct {
	alignment      uintptr // bytes; memory for a plan begins at a multiple of it
	version        string
	setTimeLimit   func(seconds float64)
	planForward    uintptr // fftwf_plan_many_dft_r2c
	planInverse    uintptr // fftwf_plan_many_dft_c2r
	planComplex    uintptr // fftwf_plan_many_dft
	executeForward uintptr // fftwf_execute_dft_r2c
	executeInverse uintptr // fftwf_execute_dft_c2r
	executeComplex uintptr // fftwf_execute_dft
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
	// threaded is the thread library once it is loaded. From then on, the number of threads must be set before each plan is
	// made. planner guards threaded.
	threaded *threadLibrary
)

// Probe returns nil if FFTW can be used, and otherwise an error of one line that names the library and the packages that
// have it.
func Probe() error {
	_, err := loaded()
	return err
}

// ProbeThreads returns nil if FFTW can be used with several threads, and otherwise an error of one line that says what is
// missing.
func ProbeThreads() error {
	if err := Probe(); err != nil {
		return err
	}
	_, err := loadedThreads()
	return err
}

// Version returns the version that the library reports, such as "fftw-3.3.10-sse2-avx", or "" if Probe fails.
func Version() string {
	lib, err := loaded()
	if err != nil {
		return ""
	}
	return lib.version
}

// Forget drops what the planner has learned from the plans of the process. The next plan then takes as long as the first
// one. Existing plans stay as they are.
func Forget() {
	lib, err := loaded()
	if err != nil {
		return
	}
	planner.Lock()
	defer planner.Unlock()
	invoke(lib.forgetWisdom, nil)
}

// Plan transforms batch rows of n real samples, which lie one after the other. Several goroutines may transform at once, on
// different memory. Close must not be called while they run.
type Plan struct {
	n, batch, threads int
	lib               *library
	held              *held
	forward, inverse  sync.Once // make the plans of FFTW
	calls             calls
}

// leastThreaded is how many samples a plan has at least that uses several threads. FFTW's threads are woken for each call,
// which takes 50 to 100 µs. Over 300 transforms of fewer samples, on 2 and on 16 processors, threads were never more than
// 1.2 times faster, and up to 200 times slower.
const leastThreaded = 1 << 14

// NewReal returns a plan for batch rows of n samples on the given number of threads, of which fewer than 16 384 samples use
// only one. It fails if Probe does, if threads is above 1 and ProbeThreads fails, if a number is below 1, or if there are
// 2^31 samples or more, which FFTW cannot count. The plan is ready for Forward.
func NewReal(n, batch, threads int) (*Plan, error) {
	return newReal(n, batch, threads, (*Plan).forwardPlan)
}

// NewInverseReal is [NewReal], but the plan is ready for InverseUnscaled.
func NewInverseReal(n, batch, threads int) (*Plan, error) {
	return newReal(n, batch, threads, (*Plan).inversePlan)
}

func newReal(n, batch, threads int, ready func(p *Plan) uintptr) (*Plan, error) {
	lib, threads, err := prepare(n, batch, threads)
	if err != nil {
		return nil, err
	}
	p := &Plan{n: n, batch: batch, threads: threads, lib: lib, held: &held{lib: lib}}
	if ready(p) == 0 {
		return nil, refused(n, batch)
	}
	runtime.AddCleanup(p, (*held).destroy, p.held)
	return p, nil
}

// forwardPlan returns FFTW's plan for Forward. It is made at its first use.
func (p *Plan) forwardPlan() uintptr {
	p.forward.Do(func() { p.held.forward = p.plan(p.lib.planForward, false) })
	return p.held.forward
}

// inversePlan returns FFTW's plan for InverseUnscaled. It is made at its first use.
func (p *Plan) inversePlan() uintptr {
	p.inverse.Do(func() { p.held.inverse = p.plan(p.lib.planInverse, true) })
	return p.held.inverse
}

// prepare checks what a plan is made for, and returns how many threads it uses.
func prepare(n, batch, threads int) (*library, int, error) {
	lib, err := loaded()
	if err != nil {
		return nil, 0, err
	}
	if n < 1 || batch < 1 || n > math.MaxInt32/batch || threads < 1 || threads > math.MaxInt32 {
		return nil, 0, fmt.Errorf("fftw: cannot plan %d rows of %d samples on %d threads (want each at least 1, and less"+
			" than 2^31 samples)", batch, n, threads)
	}
	if threads > 1 {
		if _, err := loadedThreads(); err != nil {
			return nil, 0, err
		}
	}
	if n*batch < leastThreaded {
		threads = 1
	}
	collect()
	return lib, threads, nil
}

func refused(n, batch int) error {
	return fmt.Errorf("fftw: the planner refused %d rows of %d samples", batch, n)
}

// plan makes a plan for one direction. The planner overwrites memory, so plan gives it new memory.
func (p *Plan) plan(function uintptr, inverse bool) uintptr {
	c := &call{}
	samples, bins := address(c.sampleBuffer(p)), address(c.binBuffer(p))
	return p.lib.made(p.threads, func() uintptr {
		if p.held.destroyed {
			return 0
		}
		if inverse {
			return planMany(function, p.n, p.batch, bins, p.n/2+1, samples, p.n, effort(p.n, p.batch, toSamples))
		}
		return planMany(function, p.n, p.batch, samples, p.n, bins, p.n/2+1, effort(p.n, p.batch, toBins))
	})
}

// made returns the plan on the given number of threads for which ask asks FFTW. It is 0 if FFTW makes none.
func (l *library) made(threads int, ask func() uintptr) uintptr {
	planner.Lock()
	defer planner.Unlock()
	if threaded != nil {
		planWithThreads(threaded, threads) // applies until the next call
	}
	l.setTimeLimit(timeLimit)
	made := ask()
	if made != 0 {
		live.Add(1)
	}
	return made
}

// call holds the arguments of one call into C, and memory with the alignment that FFTW needs.
//
// Plans are made for aligned memory, because FFTW's plans for any alignment (FFTW_UNALIGNED) use no vector instructions and
// take two to five times as long. The plan from bins to samples overwrites its input, because a plan that preserves it
// (FFTW_PRESERVE_INPUT) takes three to ten times as long. So that plan always gets a copy.
type call struct {
	arguments [3]uintptr
	in, out   unsafe.Pointer // the objects of the arguments, for the garbage collector
	memory    [2][]float32
}

// calls are those of a plan that no goroutine uses: at most as many as have run at the same time.
type calls struct {
	mu    sync.Mutex
	spare []*call
}

// begin returns a spare call, or a new one.
func (s *calls) begin() *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.spare) - 1
	if last < 0 {
		return &call{}
	}
	c := s.spare[last]
	s.spare = s.spare[:last]
	return c
}

// end makes a call spare again. It also keeps the plan of s reachable until then, so that nothing that it holds is freed.
func (s *calls) end(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = append(s.spare, c)
}

// buffer returns memory of the call, 0 or 1, for n values. It is allocated at its first use, and n is always the same.
func (c *call) buffer(i, n int) []float32 {
	if c.memory[i] == nil {
		c.memory[i] = aligned(n)
	}
	return c.memory[i]
}

func (c *call) sampleBuffer(p *Plan) []float32 { return c.buffer(0, p.batch*p.n) }

func (c *call) binBuffer(p *Plan) []complex64 {
	count := p.batch * (p.n/2 + 1)
	return complexes(c.buffer(1, 2*count))
}

// complexes returns pairs of values as complex values in the same memory.
func complexes(x []float32) []complex64 { return unsafe.Slice((*complex64)(address(x)), len(x)/2) }

// alignment is the alignment of memory for a plan, in bytes: a cache line, which is enough for every instruction set.
const alignment = 64

// aligned returns n zeros that begin at a multiple of alignment.
func aligned(n int) []float32 {
	x := make([]float32, n+alignment/4)
	skip := -uintptr(address(x)) % alignment / 4
	return x[skip:][:n]
}

func address[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

// fits reports whether a plan can work on memory at an address. FFTW needs the alignment of a vector register.
func fits(lib *library, at unsafe.Pointer) bool { return uintptr(at)%lib.alignment == 0 }

// Forward writes bins 0 to n/2 of the unscaled transform of each row of src to the rows of dst. src has batch·n values and
// dst has batch·(n/2+1). They must not overlap; src is unchanged. Forward copies memory that lacks the alignment that FFTW
// needs, such as 16 bytes. It panics if a length is wrong, if the plan is closed, or if FFTW makes no plan.
func (p *Plan) Forward(dst []complex64, src []float32) {
	plan := p.check(len(dst), len(src), p.forwardPlan())
	c := p.calls.begin()
	from, to := src, dst
	if !fits(p.lib, address(src)) {
		from = c.sampleBuffer(p)
		copy(from, src)
	}
	if !fits(p.lib, address(dst)) {
		to = c.binBuffer(p)
	}
	c.execute(p.lib.executeForward, plan, address(from), address(to))
	if !fits(p.lib, address(dst)) {
		copy(dst, to)
	}
	p.calls.end(c)
}

// InverseUnscaled writes n times the samples whose spectra are the rows of src to the rows of dst, as FFTW computes it. src
// has batch·(n/2+1) values and dst has batch·n. They must not overlap; src is unchanged. InverseUnscaled panics if a length is
// wrong, if the plan is closed, or if FFTW makes no plan.
func (p *Plan) InverseUnscaled(dst []float32, src []complex64) {
	plan := p.check(len(src), len(dst), p.inversePlan())
	c := p.calls.begin()
	copy(c.binBuffer(p), src)
	to := dst
	if !fits(p.lib, address(dst)) {
		to = c.sampleBuffer(p)
	}
	c.execute(p.lib.executeInverse, plan, address(c.memory[1]), address(to))
	if !fits(p.lib, address(dst)) {
		copy(dst, to)
	}
	p.calls.end(c)
}

// execute runs a plan. Objects on Go's heap do not move, and c is on the heap and keeps the two objects alive that C works
// on. The arguments are already in a slice, so calling C allocates nothing.
func (c *call) execute(function, plan uintptr, in, out unsafe.Pointer) {
	c.in, c.out = in, out
	c.arguments = [3]uintptr{plan, uintptr(in), uintptr(out)}
	invoke(function, c.arguments[:])
	runtime.KeepAlive(c)
	c.in, c.out = nil, nil
}

// check returns the plan of FFTW for a call.
func (p *Plan) check(bins, samples int, plan uintptr) uintptr {
	if plan == 0 {
		panic(fmt.Sprintf("fftw: no plan of %d rows of %d samples: it is closed, or FFTW made none", p.batch, p.n))
	}
	if bins != p.batch*(p.n/2+1) || samples != p.batch*p.n {
		panic(fmt.Sprintf("fftw: a plan of %d rows of %d samples got %d samples and %d bins", p.batch, p.n, samples, bins))
	}
	return plan
}

// Close frees the plan. Closing twice does nothing.
func (p *Plan) Close() { p.held.destroy() }
