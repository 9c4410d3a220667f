package pool

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cover counts how often each index is computed, and notices if two goroutines use a worker index at the same time.
type cover struct {
	t       *testing.T
	visits  []atomic.Int32
	workers []atomic.Int32
	grain   int
}

func newCover(t *testing.T, p *Pool, n, grain int) *cover {
	return &cover{t: t, visits: make([]atomic.Int32, n), workers: make([]atomic.Int32, p.Workers()), grain: grain}
}

func (c *cover) Do(worker, lo, hi int) {
	if worker < 0 || worker >= len(c.workers) {
		c.t.Errorf("worker %d of %d", worker, len(c.workers))
		return
	}
	if c.workers[worker].Add(1) != 1 {
		c.t.Errorf("worker %d is in use twice", worker)
	}
	if lo >= hi || hi-lo > c.grain {
		c.t.Errorf("chunk [%d, %d) at grain %d", lo, hi, c.grain)
	}
	for i := lo; i < hi; i++ {
		c.visits[i].Add(1)
	}
	c.workers[worker].Add(-1)
}

func (c *cover) check() {
	c.t.Helper()
	for i := range c.visits {
		if got := c.visits[i].Load(); got != 1 {
			c.t.Fatalf("n %d grain %d: index %d was computed %d times", len(c.visits), c.grain, i, got)
		}
	}
}

func TestRunCoversEveryIndexOnce(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 2, 3, 8} {
		p := New(workers)
		for _, n := range []int{0, 1, 2, 7, 8, 9, 1000} {
			for _, grain := range []int{1, 3, 8, 1000, math.MaxInt} {
				c := newCover(t, p, n, grain)
				p.Run(n, grain, c)
				c.check()
			}
		}
		p.Close()
	}
}

func TestRunOfNegativeLengthDoesNothing(t *testing.T) {
	p := New(2)
	defer p.Close()
	p.Run(-5, 1, taskFunc(func(int, int, int) { t.Error("Do was called") }))
}

type taskFunc func(worker, lo, hi int)

func (f taskFunc) Do(worker, lo, hi int) { f(worker, lo, hi) }

func TestSmallRunStaysOnCaller(t *testing.T) {
	p := New(4)
	defer p.Close()
	calls := 0 // under -race the test fails if a helper computes, because of the data race
	for range 100 {
		p.Run(8, 8, taskFunc(func(worker, lo, hi int) {
			if calls++; worker != 0 || lo != 0 || hi != 8 {
				t.Errorf("Do(%d, %d, %d), want Do(0, 0, 8)", worker, lo, hi)
			}
		}))
	}
	if calls != 100 {
		t.Errorf("%d calls, want 100", calls)
	}
}

// Every worker must take part. The chunks of a meeting wait for each other, so the test hangs if a worker does not come.
func TestEveryWorkerTakesPart(t *testing.T) {
	p := New(4)
	defer p.Close()
	for round := range 600 { // without a pause, so that helpers are invited while they leave the Run before
		if round%120 == 0 {
			time.Sleep(time.Millisecond) // long enough to park
		}
		m := &yieldingMeeting{n: 4}
		p.Run(4, 1, m)
	}
}

// yieldingMeeting is a meeting that works even with more workers than processors.
type yieldingMeeting struct {
	n       int32
	arrived atomic.Int32
}

func (m *yieldingMeeting) Do(int, int, int) {
	m.arrived.Add(1)
	for m.arrived.Load() < m.n {
		runtime.Gosched()
	}
}

// If all workers come, each begins with the first chunk of its share.
func TestWorkersBeginWithTheirShares(t *testing.T) {
	p := New(4)
	defer p.Close()
	m := &yieldingMeeting{n: 4}
	var begun [4]atomic.Bool
	var first [4]atomic.Int32
	p.Run(32, 1, taskFunc(func(worker, lo, hi int) {
		if !begun[worker].Swap(true) {
			first[worker].Store(int32(lo))
			m.Do(worker, lo, hi)
		}
	}))
	found := map[int32]bool{}
	for i := range first {
		found[first[i].Load()] = true
	}
	for _, want := range []int32{0, 8, 16, 24} {
		if !found[want] {
			t.Errorf("no worker began at %d: %v", want, found)
		}
	}
}

// The caller computes the chunks of a worker that is held up in its first one, and the last of them, too. Otherwise the test
// hangs.
func TestCallerRelievesSlowHelper(t *testing.T) {
	p := New(2)
	defer p.Close()
	m := &yieldingMeeting{n: 2}
	var byCaller atomic.Int32
	p.Run(16, 1, taskFunc(func(worker, lo, hi int) {
		if lo%8 == 0 {
			m.Do(worker, lo, hi)
		}
		if worker == 0 {
			byCaller.Add(1)
			return
		}
		for byCaller.Load() < 15 {
			runtime.Gosched()
		}
	}))
	if got := byCaller.Load(); got != 15 {
		t.Errorf("the caller computed %d chunks, want 15", got)
	}
}

func TestConcurrentRuns(t *testing.T) {
	p := New(4)
	defer p.Close()
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			if g%2 == 0 {
				runtime.LockOSThread()
			}
			for i := range 150 {
				c := newCover(t, p, 64+i, 5)
				p.Run(64+i, 5, c)
				c.check()
			}
		})
	}
	wg.Wait()
}

func TestNestedRuns(t *testing.T) {
	p := New(3)
	defer p.Close()
	var leaves atomic.Int32
	var nest func(depth int) Task
	nest = func(depth int) Task {
		return taskFunc(func(_, lo, hi int) {
			if depth == 0 {
				leaves.Add(int32(hi - lo))
				return
			}
			for range hi - lo {
				p.Run(4, 1, nest(depth-1))
			}
		})
	}
	p.Run(4, 1, nest(4))
	if got := leaves.Load(); got != 1024 {
		t.Errorf("%d leaves, want 1024", got)
	}
}

// failing waits until a helper has the other chunk, and then fails on the helper or on the caller.
type failing struct {
	meeting  yieldingMeeting
	onHelper bool
	fail     func()
}

func (f *failing) Do(worker, lo, hi int) {
	f.meeting.Do(worker, lo, hi)
	if (worker != 0) == f.onHelper {
		f.fail()
	}
}

func TestPanicSurfacesOnCaller(t *testing.T) {
	cause := errors.New("broken")
	p := New(2)
	defer p.Close()
	for _, test := range []struct {
		name     string
		onHelper bool
		fail     func()
		check    func(t *testing.T, got any)
	}{
		{"caller", false, func() { panic(cause) }, func(t *testing.T, got any) {
			if got != any(cause) {
				t.Errorf("panic(%v), want %v as it was", got, cause)
			}
		}},
		{"helper", true, func() { panic(cause) }, func(t *testing.T, got any) {
			if err, _ := got.(*Panic); err == nil || !errors.Is(err, cause) || len(err.Stack) == 0 {
				t.Errorf("panic(%v), want a *Panic that wraps %v", got, cause)
			}
		}},
		{"helper exits", true, runtime.Goexit, func(t *testing.T, got any) {
			if err, _ := got.(*Panic); err == nil || err.Value != nil {
				t.Errorf("panic(%v), want a *Panic without a value", got)
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			func() {
				defer func() { test.check(t, recover()) }()
				p.Run(2, 1, &failing{meeting: yieldingMeeting{n: 2}, onHelper: test.onHelper, fail: test.fail})
			}()
			p.Run(2, 1, &yieldingMeeting{n: 2}) // the helper is still there
		})
	}
}

// After a panic, chunks that are not claimed are not computed.
func TestPanicEndsLoop(t *testing.T) {
	p := New(2)
	defer p.Close()
	computed := 0
	func() {
		defer func() { recover() }()
		m := &yieldingMeeting{n: 2}
		p.Run(200, 1, taskFunc(func(worker, lo, hi int) {
			if lo%100 == 0 { // the first chunks of both workers
				m.Do(worker, lo, hi)
			}
			if worker != 0 {
				panic("helper")
			}
			computed++
			time.Sleep(time.Millisecond)
		}))
	}()
	if computed > 100 {
		t.Errorf("%d of 200 chunks were computed after the panic", computed)
	}
}

// A panic must not release the caller while a helper still writes to its memory.
func TestPanicWaitsForHelpers(t *testing.T) {
	p := New(2)
	defer p.Close()
	written := 0
	func() {
		defer func() { recover() }()
		m := &yieldingMeeting{n: 2}
		p.Run(2, 1, taskFunc(func(worker, lo, hi int) {
			m.Do(worker, lo, hi)
			if worker == 0 {
				panic("caller")
			}
			time.Sleep(5 * time.Millisecond)
			written = 1
		}))
	}()
	if written != 1 {
		t.Error("Run returned before the helper did")
	}
}

// The caller parks when a helper's last chunk takes longer than the spin, and is woken.
func TestCallerParksForSlowHelper(t *testing.T) {
	p := New(2)
	defer p.Close()
	for range 5 {
		slow := false
		m := &yieldingMeeting{n: 2}
		p.Run(2, 1, taskFunc(func(worker, lo, hi int) {
			m.Do(worker, lo, hi)
			if worker != 0 {
				time.Sleep(4 * finishSpin)
				slow = true
			}
		}))
		if !slow {
			t.Fatal("Run returned before the helper did")
		}
	}
}

func TestRunAfterClose(t *testing.T) {
	p := New(3)
	p.Close()
	c := newCover(t, p, 100, 7)
	p.Run(100, 7, c)
	c.check()
}

func TestCloseEndsHelpers(t *testing.T) {
	before := runtime.NumGoroutine()
	p := New(5)
	p.Run(100, 1, newCover(t, p, 100, 1))
	p.Close()
	for range 100 { // a goroutine still counts for a moment after WaitGroup.Done
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestRunPanicsWithoutGrain(t *testing.T) {
	defer func() {
		if got := recover(); got != "pool: grain is less than 1" {
			t.Errorf("panic(%v)", got)
		}
	}()
	New(1).Run(1, 0, taskFunc(func(int, int, int) {}))
}

func TestRunDoesNotAllocate(t *testing.T) {
	p := New(4)
	defer p.Close()
	c := newCover(t, p, 256, 8)
	if got := testing.AllocsPerRun(200, func() { p.Run(256, 8, c) }); got != 0 {
		t.Errorf("%v allocations per Run", got)
	}
}

func TestShared(t *testing.T) {
	p := Shared()
	if Shared() != p {
		t.Error("two shared pools")
	}
	if got, want := p.Workers(), runtime.GOMAXPROCS(0); got != want {
		t.Errorf("%d workers, want %d", got, want)
	}
}

func TestGrain(t *testing.T) {
	p := New(2)
	defer p.Close()
	for _, test := range []struct {
		n              int
		perMicrosecond float64
		unit, want     int
	}{
		{0, 100, 8, 1},
		{1, 100, 8, 1},
		{399, 100, 8, 399}, // less than 4 µs
		{400, 100, 1, 200}, // less than 16 µs: a chunk for each worker
		{402, 100, 8, 208},
		{1599, 100, 1, 800},
		{1600, 100, 1, 100},
		{3200, 100, 1, 200},             // 8 chunks for each worker
		{1 << 24, 1 << 10, 64, 1 << 14}, // no longer than 16 µs
		{3, 1, 1, 3},
		{2, 0.4, 1, 1}, // 5 µs
		{2, 0.6, 1, 2},
		{64, 0.001, 1, 4},
	} {
		if got := p.Grain(test.n, test.perMicrosecond, test.unit); got != test.want {
			t.Errorf("Grain(%d, %g, %d) = %d, want %d", test.n, test.perMicrosecond, test.unit, got, test.want)
		}
	}
	many := New(16)
	defer many.Close()
	if got := many.Grain(402, 100, 8); got != 104 {
		t.Errorf("Grain(402, 100, 8) = %d of 16 workers, want 104, a multiple of 8", got)
	}
	for _, bad := range []float64{0, -1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Grain(1, %g, 1) did not panic", bad)
				}
			}()
			p.Grain(1, bad, 1)
		}()
	}
}

// A helper that was woken just after it had parked polls longer from then on, and one that was not needed for long polls as at first.
func TestHowLongHelpersPoll(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{
		idleSpin + time.Microsecond: longSpin, longSpin - 1: longSpin, longSpin: idleSpin, 10 * time.Millisecond: idleSpin,
	} {
		if got := spinAfter(waited); got != want {
			t.Errorf("woken after %v: %v, want %v", waited, got, want)
		}
	}
}

// A helper that is woken soon after it has parked polls longer, comes to the next loop, and parks if there is none. All workers of a
// meeting wait for each other. On a busy machine, few helpers are woken soon.
func TestLongPoll(t *testing.T) {
	p := New(2)
	defer p.Close()
	h, long := p.helpers[0], 0
	for n := 0; n < 100 || long == 0 && n < 10_000; n++ {
		p.Run(2, 1, &yieldingMeeting{n: 2})
		for !h.parked.Load() {
			runtime.Gosched()
		}
		if h.spin == longSpin {
			long++
		}
	}
	if long == 0 {
		t.Error("the helper never polled longer")
	}
}
