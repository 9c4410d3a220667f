// Package pool runs data-parallel loops on goroutines that outlive the call. A loop starts no goroutine and allocates
// nothing. It only wakes goroutines.
//
// The package does not schedule a graph of tasks, keep a queue or limit concurrency. If all helpers are busy, the caller
// computes the loop alone. The usual steps are
//
//  1. make, once, a value that holds the slices of the loop and has a Do method;
//  2. call Shared().Run(n, grain, task) as often as needed: it returns when [0, n) is covered.
//
// Each worker has a share of the chunks, and computes them first. Then it helps with the others' shares. If every worker comes in
// time, successive loops of the same length give each worker the same part of the data, which then lies in the caches of its
// processor. On 16 cores of an Intel Xeon, the scale of 82 265 values took 9.7 µs while any worker computed any chunk, and
// takes 3.6.
//
// A helper without work polls its mailbox for 50 µs and then parks. If it is woken within 250 µs of its last work, it polls for
// 250 µs until it has to wait longer than that. A parked pool uses no processor time. On a
// two-core virtual machine that was not quiet, BenchmarkRun gave these medians: reaching a polling helper took 0.3 µs,
// reaching a parked one 90 µs, and up to 2 ms if it had been parked for 10 ms. If caller and helper share one core, reaching
// it takes 90 µs even when it polls. So a Run never waits for a helper that has not come. The caller computes the chunks
// itself and withdraws the invitation.
//
// A helper that wakes on the processor of the thread that woke it moves to another processor: see package affinity.
package pool

import (
	"fmt"
	"math"
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

	// longSpin is how long a helper polls that was woken so soon after its last loop. A caller that computes something else for
	// a little longer than idleSpin would find its helpers parked at every loop, and compute nearly all of it alone. These are
	// medians of BenchmarkAfterWork, for a loop of 32 µs after 60 to 180 µs of other work. On two cores of an EPYC, the loop
	// takes 42 to 66 µs if the helper has parked, and 20 to 22 if it polls. The other work takes 0 to 24 % longer beside it, and
	// both together 9 to 22 % less. On 16 cores of a Xeon, the loop takes 30 to 41 µs and 5 to 8. The other work takes 4 %
	// less to 3 % more. From idleSpin on, the helper lets other goroutines run between its looks.
	longSpin = 250 * time.Microsecond

	// pollsPerTurn is the number of polls between two turns of other goroutines: some 20 µs. More turns would wake threads that
	// look for work in vain.
	pollsPerTurn = 1 << 14

	// finishSpin is how long a caller without work polls for the helpers' last chunks before it parks. Parking is
	// expensive for a caller that is locked to its thread, because two threads must then trade places to resume it.
	finishSpin = 100 * time.Microsecond

	// yieldAfter is how long a caller polls before it offers its processor to other threads between two looks. On a
	// machine that is busy or packs threads to save power, one of those threads may be the helper that the caller waits
	// for. Helpers without work do not yield: a system that sees a thread hardly use its processor may leave the thread
	// on the caller's. They yield to other goroutines only: see longSpin.
	yieldAfter = 2 * time.Microsecond

	// patience is how long a worker without chunks leaves the last chunk of a share to another worker. A short chunk takes
	// longer than that on a processor that does not have its data.
	patience = 2 * time.Microsecond

	// pollsPerClock is the number of polls between two looks at the clock.
	pollsPerClock = 64

	// sparedJobs is the number of finished jobs that a pool keeps. If more loops run at the same time, they allocate.
	sparedJobs = 64
)

// Revision counts the changes after which loops on the pool take other times. How long helpers poll is none: a sweep times a call in
// a row of calls of the same implementation, between which no helper parks. Nor is the number of chunks of a short loop: with it,
// such loops take 7 % less in the mean, and two days differ by as much.
const Revision = 2

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
	divided atomic.Uint64
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

// Divided returns how many loops the pool has offered to helpers so far. A call during which the number stays the same was
// computed on one core, if nobody else uses the pool meanwhile.
func (p *Pool) Divided() uint64 { return p.divided.Load() }

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
	p.divided.Add(1)
	j := p.newJob(n, grain, t)
	defer p.finish(j)
	p.invite(j)
	j.shares[0].compute(0)
	for _, s := range j.shares[1:] {
		if s.helper == nil || atomic.LoadInt32(&s.state) == offered {
			s.compute(0) // together with the helper, should it come
		}
	}
	j.relieve(0, 0)
	j.complete = true
}

// A worker gets about chunksPerWorker chunks, so that the others wait for a slow worker by no more than a fraction of its
// share. But a chunk takes at least about a microsecond, and at most longest times as long.
const (
	chunksPerWorker = 8
	longest         = 16
)

// worthDividing is how many microseconds a loop takes at least if it is divided. Handing a part of it to a polling helper
// takes 0.3 to 1.3 µs, and what the helper computes then lies in the caches of another processor. If two processors are far
// apart, a loop of 2 µs takes twice as long on both of them as on one. If they are close, a loop of 4 µs takes two thirds of
// its time.
const worthDividing = 4

// A loop that takes less than short microseconds has at most one chunk for each worker. A worker that is done early would compute chunks
// of another, whose data lie in the other's cache. On two cores of an EPYC of family 26, loops of 4 to 16 µs take 7 % less in the mean,
// and up to 20 %.
const short = 16

// Grain returns a grain for a loop of n indexes. perMicrosecond is the number of indexes that take about a microsecond. It
// is below 1 if an index takes longer. A loop that takes less than worthDividing is one chunk, which the caller computes
// alone. Otherwise chunks have equal lengths, and each worker gets the same number of them, or at most one if the loop is
// short. A chunk takes about 1 µs to 32 µs. Its length is rounded up to a multiple of unit if there are several chunks, so
// that every chunk but the last is a whole number of vectors or lines. Grain panics if perMicrosecond is not above 0 or unit
// is less than 1.
func (p *Pool) Grain(n int, perMicrosecond float64, unit int) int {
	if !(perMicrosecond > 0) || unit < 1 {
		panic(fmt.Sprintf("pool: %g indexes take a microsecond, in units of %d (want more than 0, and at least 1)", perMicrosecond, unit))
	}
	if float64(n) < worthDividing*perMicrosecond { // without a division, because a short loop may take less time than a few of them
		return max(1, n)
	}
	least := max(1, int(min(perMicrosecond, math.MaxInt32)))
	if float64(n) < short*perMicrosecond {
		return (max(least-1, (n-1)/p.Workers())/unit + 1) * unit
	}
	target := min(max(n/(chunksPerWorker*p.Workers()), least), longest*least)
	chunks := max(n/target, 1)
	if chunks > p.Workers() {
		chunks -= chunks % p.Workers() // else workers would wait for those with one more chunk
	}
	return max(least, ((n-1)/chunks/unit+1)*unit)
}

// A job is one Run.
type job struct {
	shares   []*share      // of the caller and of each helper that is invited; at most one for each worker
	complete bool          // whether the caller found no chunk any more, and did not panic
	done     chan struct{} // receives from a helper that leaves while the caller is parked
	failed   atomic.Pointer[Panic]
}

// A share is the successive chunks of a job that one worker computes first.
//
// All that a worker needs lies in one line of memory, because fetching a line that another processor has written takes a
// good part of the time that a short Run takes.
type share struct {
	task     Task
	next     int64 // first chunk that is not claimed; atomic once the job is offered
	end      int64 // of the share
	n, grain int
	job      *job
	number   int32 // its index in job.shares
	state    int32 // atomic once the job is offered

	helper *helper // to whom it was offered, or nil
	behind *share  // what lay in the helper's mailbox before: nil, or busy
	_      cpu.CacheLinePad
}

// The states of a share. Its helper holds the share, and so the job, until it has left.
const (
	offered = iota // in its helper's mailbox, or just taken out
	held           // by its helper
	awaited        // held, and the caller is parked until the helper leaves
	left           // its helper has left, or was never invited
)

// busy lies in the mailbox of a helper that computes.
var busy = new(share)

func (p *Pool) newJob(n, grain int, t Task) *job {
	var j *job
	select {
	case j = <-p.spare:
	default:
		j = &job{done: make(chan struct{}, 1)}
		for i := range p.Workers() {
			j.shares = append(j.shares, &share{job: j, number: int32(i)})
		}
	}
	chunks := (n-1)/grain + 1
	j.shares, j.complete = j.shares[:min(chunks, p.Workers())], false
	from := 0
	for i, s := range j.shares {
		to := chunks * (i + 1) / len(j.shares)
		s.task, s.n, s.grain, s.next, s.end, s.state, s.helper = t, n, grain, int64(from), int64(to), left, nil
		from = to
	}
	return j
}

// invite offers each share but the caller's to a helper of its own. Helpers without work come first. A helper that computed at
// the first look may have no work at the second, so the last look is for such helpers again.
func (p *Pool) invite(j *job) {
	shares := j.shares[1:]
	for look, before := range [...]*share{nil, busy, nil} {
		for _, h := range p.helpers {
			if len(shares) == 0 {
				return
			}
			if look > 0 && j.invited(h, len(j.shares)-len(shares)) {
				continue
			}
			s := shares[0]
			s.state, s.helper, s.behind = offered, h, before
			if h.mailbox.CompareAndSwap(before, s) {
				h.rouse()
				shares = shares[1:]
			} else {
				s.state, s.helper = left, nil
			}
		}
	}
}

// invited reports whether one of the first n shares was offered to a helper.
func (j *job) invited(h *helper, n int) bool {
	for _, s := range j.shares[1:n] {
		if s.helper == h {
			return true
		}
	}
	return false
}

// finish stops the claims, withdraws the invitations that no helper has accepted, and waits for the helpers that have. This
// cannot deadlock, because such a helper is computing, or is itself the caller of a younger Run. A helper that was woken and
// has not come may be waiting for the caller's processor, so the caller yields.
func (p *Pool) finish(j *job) {
	if !j.complete {
		j.stop()
	}
	late := false
	for _, s := range j.shares[1:] {
		if s.helper != nil && atomic.LoadInt32(&s.state) == offered && s.helper.mailbox.CompareAndSwap(s, s.behind) {
			late = late || s.helper.waking.Load()
			s.state = left
		}
	}
	if late {
		affinity.Yield()
	}
	waiting := j.shares[1:]
	allLeft := func() bool {
		for len(waiting) > 0 && waiting[0].left() {
			waiting = waiting[1:]
		}
		return len(waiting) == 0
	}
	if !allLeft() && !poll(finishSpin, true, allLeft) {
		for _, s := range waiting {
			for !s.left() { // again if its helper takes it out of the mailbox just now
				if atomic.CompareAndSwapInt32(&s.state, held, awaited) || atomic.CompareAndSwapInt32(&s.state, offered, awaited) {
					<-j.done
				}
			}
		}
	}
	failed := j.failed.Swap(nil)
	for _, s := range j.shares {
		s.task = nil
	}
	select {
	case p.spare <- j:
	default:
	}
	if failed != nil {
		panic(failed)
	}
}

// stop lets nobody claim another chunk.
func (j *job) stop() {
	for _, s := range j.shares {
		atomic.StoreInt64(&s.next, s.end)
	}
}

// left reports whether no helper holds the share.
func (s *share) left() bool { return atomic.LoadInt32(&s.state) == left }

// compute computes the chunks of the share that nobody has claimed.
func (s *share) compute(worker int) {
	for s.claim(worker) {
	}
}

// relieve computes chunks of the shares behind a share and before it. It leaves the last chunk of a share to its worker,
// which has the data, unless that worker does not come to it soon.
func (j *job) relieve(worker, own int) {
	others := func(yield func(s *share) bool) {
		for i := range j.shares[1:] {
			if !yield(j.shares[(own+1+i)%len(j.shares)]) {
				return
			}
		}
	}
	allClaimed := func() bool {
		for s := range others {
			if s.unclaimed() > 0 {
				return false
			}
		}
		return true
	}
	for s := range others {
		for s.unclaimed() > 1 && s.claim(worker) {
		}
	}
	if allClaimed() || poll(patience, false, allClaimed) {
		return
	}
	for s := range others {
		s.compute(worker)
	}
}

// unclaimed returns how many chunks of a share nobody has claimed.
func (s *share) unclaimed() int64 { return s.end - atomic.LoadInt64(&s.next) }

// claim computes the next chunk, and reports whether there was one.
func (s *share) claim(worker int) bool {
	chunk := atomic.AddInt64(&s.next, 1) - 1
	if chunk >= s.end {
		return false
	}
	lo := int(chunk) * s.grain
	s.task.Do(worker, lo, lo+min(s.grain, s.n-lo))
	return true
}

// help computes the helper's share, relieves other workers, keeps a panic for the caller, and then leaves the job. If each
// worker has one chunk, there is nothing to relieve.
func (s *share) help(worker int) {
	returned := false
	defer func() {
		if !returned {
			s.job.failed.CompareAndSwap(nil, newPanic(recover()))
			s.job.stop()
		}
		// After this Swap the job may already serve another Run, unless the caller is parked.
		if atomic.SwapInt32(&s.state, left) == awaited {
			s.job.done <- struct{}{}
		}
	}()
	atomic.CompareAndSwapInt32(&s.state, offered, held)
	several := s.unclaimed() > 1
	s.compute(worker)
	if several {
		s.job.relieve(worker, int(s.number))
	}
	returned = true
}

// A helper is one goroutine of the pool.
type helper struct {
	worker int
	wake   chan struct{}
	spin   time.Duration // how long it polls for work, if longer than idleSpin
	asked  time.Time     // when it was last asked to wake; of who has cleared parked

	_       cpu.CacheLinePad
	mailbox atomic.Pointer[share]
	parked  atomic.Bool
	waking  atomic.Bool  // woken, and not yet running
	waker   atomic.Int32 // the processor of the thread that woke it
	_       cpu.CacheLinePad
}

func (p *Pool) start(h *helper) {
	p.running.Go(func() {
		ended := false
		defer func() {
			if !ended { // Do called runtime.Goexit: the helper needs a new goroutine
				p.start(h)
			}
		}()
		for !p.closed.Load() {
			switch s := h.mailbox.Load(); {
			case s == nil:
				h.wait(p)
			case s == busy: // no longer
				h.mailbox.CompareAndSwap(busy, nil)
			case h.mailbox.CompareAndSwap(s, busy):
				s.help(h.worker)
			}
		}
		ended = true
	})
}

// wait polls for work, and parks if none comes. How long it takes to wake is no part of the wait.
func (h *helper) wait(p *Pool) {
	began := time.Now()
	invited := func() bool { return h.mailbox.Load() != nil }
	if poll(idleSpin, false, invited) {
		return
	}
	for time.Since(began) < h.spin {
		for range pollsPerTurn {
			if invited() {
				return
			}
		}
		runtime.Gosched()
	}
	h.park(p)
	h.spin = spinAfter(h.asked.Sub(began))
}

// spinAfter returns how long a helper polls that was asked to wake so long after it began to wait.
func spinAfter(waited time.Duration) time.Duration {
	if waited < longSpin {
		return longSpin
	}
	return idleSpin
}

// park blocks until rouse. Both rouse and the helper clear parked, and only one of them finds it set. If rouse does, it
// sends a token. If the helper does, no token comes.
func (h *helper) park(p *Pool) {
	h.asked = time.Now() // unless rouse asks later
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
		h.asked = time.Now()
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
