// Package pool runs data-parallel loops on goroutines that outlive the call. A loop starts no goroutine and allocates
// nothing. It only wakes goroutines.
//
// The package does not schedule a graph of tasks, keep a queue or limit concurrency. If all helpers are busy, the caller
// computes the loop alone. The usual steps are
//
//  1. make, once, a value that holds the slices of the loop and has a Do method;
//  2. call Shared().Run(n, grain, task) as often as needed: it returns when [0, n) is covered.
//
// A helper without work polls its mailbox for a short while and then parks. A parked pool uses no processor time. On a
// two-core virtual machine that was not quiet, BenchmarkRun gave these medians: reaching a polling helper took 0.3 µs,
// reaching a parked one 90 µs, and up to 2 ms if it had been parked for 10 ms. If caller and helper share one core, reaching
// it takes 90 µs even when it polls. So a Run never waits for a helper that has not come. The caller computes the chunks
// itself and withdraws the invitation.
//
// A helper that wakes on the processor of the thread that woke it moves to another processor: see package affinity.
package pool

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"crossover/pool/affinity"
)

const (
	// idleSpin is how long a helper without work polls before it parks. It is long enough to wait for the last chunk of a
	// caller that runs loop after loop. A longer poll would take the processor from other threads.
	idleSpin = 50 * time.Microsecond

	// finishSpin is how long a caller without work polls for the helpers' last chunks before it parks. Parking is
	// expensive for a caller that is locked to its thread, because two threads must then trade places to resume it.
	finishSpin = 100 * time.Microsecond

	// yieldAfter is how long a caller polls before it offers its processor to other threads between two looks. On a
	// machine that is busy or packs threads to save power, one of those threads may be the helper that the caller waits
	// for. Helpers without work do not yield: a system that sees a thread hardly use its processor may leave the thread
	// on the caller's.
	yieldAfter = 2 * time.Microsecond

	// pollsPerClock is the number of polls between two looks at the clock.
	pollsPerClock = 64

	// sparedJobs is the number of finished jobs that a pool keeps. If more loops run at the same time, they allocate.
	sparedJobs = 64
)

// Task is the body of a loop.
type Task interface {
	// Do computes the indexes in [lo, hi). worker is in [0, Workers()). In one Run, no two calls at the same time have the
	// same worker, so it may index scratch memory of that Run.
	Do(worker, lo, hi int)
}

// Pool is a set of parked goroutines, the helpers. Its methods may be called by several goroutines at once.
type Pool struct {
	helpers []*helper
	spare   chan *job
	closed  atomic.Bool
	running sync.WaitGroup
}

var shared = sync.OnceValue(func() *Pool { return New(runtime.GOMAXPROCS(0)) })

// Shared returns the pool that the whole program shares. It has one worker for each processor that Go may use at the time of
// the first call. It must not be closed.
func Shared() *Pool { return shared() }

// New returns a pool of the given number of workers: the caller of Run and workers−1 helpers. A number below 1 counts as 1.
// Close ends the helpers.
func New(workers int) *Pool {
	p := &Pool{helpers: make([]*helper, max(workers, 1)-1), spare: make(chan *job, sparedJobs)}
	for i := range p.helpers {
		p.helpers[i] = &helper{worker: i + 1, wake: make(chan struct{}, 1)}
		p.start(p.helpers[i])
	}
	return p
}

// Workers returns the greatest number of goroutines that compute one Run, the caller included.
func (p *Pool) Workers() int { return len(p.helpers) + 1 }

// Close ends the helpers, and waits for the chunks that they are computing. After Close, the caller of Run computes alone.
// Close must not be called from inside Do.
func (p *Pool) Close() {
	p.closed.Store(true)
	for _, h := range p.helpers {
		h.rouse()
	}
	p.running.Wait()
}

// Run covers [0, n) with calls of t.Do, each on a chunk of grain indexes (the last one may be shorter), and returns when all
// have returned. The caller computes chunks, too. If n <= grain, it computes everything in one call of Do and wakes no
// helper. Which worker gets which chunk is not defined. Do may call Run.
//
// A panic in Do ends the loop early, and Run panics. The value is that of the panic if the caller's own chunk panicked, and
// a *Panic if a helper's did. Run also panics if grain is less than 1.
func (p *Pool) Run(n, grain int, t Task) {
	if grain < 1 {
		panic("pool: grain is less than 1")
	}
	if n <= grain || len(p.helpers) == 0 {
		for lo := 0; lo < n; lo += min(grain, n-lo) {
			t.Do(0, lo, lo+min(grain, n-lo))
		}
		return
	}
	j := p.newJob(n, grain, t)
	defer p.finish(j)
	p.invite(j)
	j.claim(0)
}

// A worker gets about chunksPerWorker chunks, so that the others wait for a slow worker by no more than a fraction of its
// share. But a chunk has at least `least` indexes, and at most longest times as many.
const (
	chunksPerWorker = 8
	longest         = 16
)

// Grain returns a grain for a loop of n indexes. least is the number of indexes that take about a microsecond, a few times
// what reaching a polling helper takes. Shorter chunks are hardly faster on two processors, and far slower if the helper has
// to be woken. Below 2·least indexes the loop is one chunk, which the caller computes alone. Otherwise chunks have equal
// lengths, and each worker gets the same number of them, or some workers get one chunk. The length is between least and
// about 32·least. It is rounded up to a multiple of unit if there are several chunks, so that every chunk but the last is a
// whole number of vectors or lines. Grain panics if least or unit is less than 1.
func (p *Pool) Grain(n, least, unit int) int {
	if least < 1 || unit < 1 {
		panic("pool: grain or unit is less than 1")
	}
	if n < 2*least { // without a division, because a short loop may take less time than a few of them
		return max(least, n)
	}
	target := min(max(n/(chunksPerWorker*p.Workers()), least), longest*least)
	chunks := max(n/target, 1)
	if chunks > p.Workers() {
		chunks -= chunks % p.Workers() // else workers would wait for those with one more chunk
	}
	return max(least, ((n-1)/chunks/unit+1)*unit)
}

// A job is one Run. A helper holds a pointer to the job from the moment it takes the job out of its mailbox until it leaves
// the job. Run returns only when no helper holds the pointer.
type job struct {
	task     Task
	n, grain int
	chunks   int64
	done     chan struct{} // receives from the last helper to leave, if the caller is parked

	_    cpu.CacheLinePad
	next atomic.Int64 // first chunk that is not claimed

	_      cpu.CacheLinePad
	open   atomic.Int64 // invitations neither withdrawn nor finished, plus parked while the caller is parked
	failed atomic.Pointer[Panic]
}

// parked is added to job.open by a caller that is about to park.
const parked = 1 << 32

func (p *Pool) newJob(n, grain int, t Task) *job {
	var j *job
	select {
	case j = <-p.spare:
	default:
		j = &job{done: make(chan struct{}, 1)}
	}
	j.task, j.n, j.grain, j.chunks = t, n, grain, int64((n-1)/grain+1)
	j.next.Store(0)
	return j
}

// invite offers the job to helpers, at most one for each chunk but the caller's. Helpers without work come first.
func (p *Pool) invite(j *job) {
	want := min(int(j.chunks)-1, len(p.helpers))
	j.open.Store(int64(want))
	for _, busyToo := range []bool{false, true} {
		for _, h := range p.helpers {
			if want == 0 {
				return
			}
			if (busyToo || !h.busy.Load()) && h.mailbox.CompareAndSwap(nil, j) {
				h.rouse()
				want--
			}
		}
	}
	j.open.Add(-int64(want))
}

// finish stops the claims, withdraws the invitations that no helper has accepted, and waits for the helpers that have. This
// cannot deadlock, because such a helper is computing, or is itself the caller of a younger Run. A helper that was woken and
// has not come may be waiting for the caller's processor, so the caller yields.
func (p *Pool) finish(j *job) {
	j.next.Store(j.chunks)
	withdrawn, late := int64(0), false
	for _, h := range p.helpers {
		if h.mailbox.Load() == j && h.mailbox.CompareAndSwap(j, nil) {
			withdrawn++
			late = late || h.waking.Load()
		}
	}
	if late {
		affinity.Yield()
	}
	if j.open.Add(-withdrawn) > 0 && !poll(finishSpin, true, func() bool { return j.open.Load() == 0 }) {
		if j.open.Add(parked) != parked {
			<-j.done
		}
		j.open.Add(-parked)
	}
	failed := j.failed.Swap(nil)
	j.task = nil
	select {
	case p.spare <- j:
	default:
	}
	if failed != nil {
		panic(failed)
	}
}

// claim computes chunks until none is left.
func (j *job) claim(worker int) {
	for {
		chunk := j.next.Add(1) - 1
		if chunk >= j.chunks {
			return
		}
		lo := int(chunk) * j.grain
		j.task.Do(worker, lo, lo+min(j.grain, j.n-lo))
	}
}

// help is claim on a helper. It keeps a panic for the caller, and then leaves the job.
func (j *job) help(worker int) {
	returned := false
	defer func() {
		if !returned {
			j.failed.CompareAndSwap(nil, newPanic(recover()))
			j.next.Store(j.chunks)
		}
		// After this Add the job may already serve another Run, unless the caller is parked.
		if j.open.Add(-1) == parked {
			j.done <- struct{}{}
		}
	}()
	j.claim(worker)
	returned = true
}

// A helper is one goroutine of the pool.
type helper struct {
	worker int
	wake   chan struct{}

	_       cpu.CacheLinePad
	mailbox atomic.Pointer[job]
	parked  atomic.Bool
	waking  atomic.Bool  // woken, and not yet running
	waker   atomic.Int32 // the processor of the thread that woke it
	busy    atomic.Bool
	_       cpu.CacheLinePad
}

func (p *Pool) start(h *helper) {
	p.running.Go(func() {
		ended := false
		defer func() {
			if !ended { // Do called runtime.Goexit: the helper needs a new goroutine
				h.busy.Store(false)
				p.start(h)
			}
		}()
		for !p.closed.Load() {
			if j := h.mailbox.Swap(nil); j != nil {
				h.busy.Store(true)
				j.help(h.worker)
				h.busy.Store(false)
			} else if !poll(idleSpin, false, func() bool { return h.mailbox.Load() != nil }) {
				h.park(p)
			}
		}
		ended = true
	})
}

// park blocks until rouse. Both rouse and the helper clear parked, and only one of them finds it set. If rouse does, it
// sends a token. If the helper does, no token comes.
func (h *helper) park(p *Pool) {
	h.parked.Store(true)
	if (h.mailbox.Load() != nil || p.closed.Load()) && h.parked.CompareAndSwap(true, false) {
		return
	}
	<-h.wake
	affinity.Leave(int(h.waker.Load()))
	h.waking.Store(false)
}

// rouse wakes the helper if it is parked or about to be.
func (h *helper) rouse() {
	if h.parked.Load() && h.parked.CompareAndSwap(true, false) {
		h.waker.Store(int32(affinity.Current()))
		h.waking.Store(true)
		h.wake <- struct{}{}
	}
}

// poll calls ready again and again, for about d at most, and reports whether ready returned true. If yielding is set, poll
// yields to the system's other threads. It never yields to Go's scheduler, because on a goroutine that is locked to its
// thread that costs as much as parking.
func poll(d time.Duration, yielding bool, ready func() bool) bool {
	for start := time.Now(); ; {
		for range pollsPerClock {
			if ready() {
				return true
			}
		}
		spent := time.Since(start)
		if spent > d {
			return false
		}
		if yielding && spent > yieldAfter {
			affinity.Yield()
		}
	}
}

// Panic is the value with which Run panics if Do panicked on a helper.
type Panic struct {
	Value any    // of the panic in Do, or nil if Do called runtime.Goexit
	Stack []byte // of the helper, as runtime/debug.Stack formats it
}

func newPanic(value any) *Panic { return &Panic{Value: value, Stack: debug.Stack()} }

// Error returns the value and the helper's stack, over several lines.
func (p *Panic) Error() string {
	if p.Value == nil {
		return fmt.Sprintf("pool: a task called runtime.Goexit on a worker\n\n%s", p.Stack)
	}
	return fmt.Sprintf("pool: a task panicked on a worker: %v\n\n%s", p.Value, p.Stack)
}

// Unwrap returns the value that Do panicked with, if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
