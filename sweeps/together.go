package sweeps

import (
	"slices"
	"sync/atomic"
	"time"

	"crossover/pool"
	"crossover/pool/affinity"
)

// Together is work of several processors for a caller's own Sentinel.
type Together struct {
	Processors int                  // 2 or more
	All        func() time.Duration // fixed work on each of them at once; how long that took, from when all of them were there
	One        func()               // the same work on one of them alone
	HandOver   func()               // a baton that goes from one to the next, HandOvers times
}

// HandOvers is the number of times that Together.HandOver hands its baton over.
const HandOvers = 200

// pooled returns the work of this machine's processors.
func pooled() *Together {
	workers := pool.Shared().Workers()
	all := &crowd{took: make([]time.Duration, workers)}
	return &Together{Processors: workers, All: all.run, One: multiply, HandOver: new(relay).run}
}

// meetWithin is the longest time in which a worker waits for the others, or for the baton.
const meetWithin = time.Millisecond

// crowd is work of all workers at once. They wait for one another before they begin, so it takes twice as long if processors
// are threads of one core, and no longer if helpers are slow to wake up.
type crowd struct {
	took  []time.Duration // of each worker, since the last one came
	start time.Time

	come     atomic.Int64
	released atomic.Int64 // when the last worker came, since start; 0 if it has not
	missed   atomic.Bool  // whether a worker waited in vain
}

// run returns how long the work took, or the time since the call if a worker did not come.
func (c *crowd) run() time.Duration {
	c.come.Store(0)
	c.released.Store(0)
	c.missed.Store(false)
	c.start = time.Now()
	pool.Shared().Run(len(c.took), 1, c)
	if c.missed.Load() {
		return time.Since(c.start)
	}
	return together(c.took)
}

// together returns how long processors took together. Of few processors that is the time of the slowest, for which a loop waits.
// Of many it is the mean, because a loop has more chunks than processors, and the others compute what a slow one leaves.
func together(took []time.Duration) time.Duration {
	if len(took) < manyProcessors {
		return slices.Max(took)
	}
	sum := time.Duration(0)
	for _, t := range took {
		sum += t
	}
	return sum / time.Duration(len(took))
}

func (c *crowd) Do(_, lo, _ int) {
	if c.come.Add(1) == int64(len(c.took)) {
		c.released.Store(int64(time.Since(c.start)))
	}
	c.meet()
	multiply()
	c.took[lo] = time.Since(c.start) - time.Duration(c.released.Load())
}

// meet waits for the last worker, for meetWithin at most. Workers that share a processor let each other come.
func (c *crowd) meet() {
	for polls := 1; c.released.Load() == 0; polls++ {
		if polls%64 == 0 {
			if time.Since(c.start) > meetWithin {
				c.missed.Store(true)
				return
			}
			affinity.Yield()
		}
	}
}

// multiply keeps the multiplier of a processor busy, for about 100 µs. Unlike SpinWork, which mostly waits for its own
// results, it takes twice as long if two processors are threads of one core.
func multiply() {
	const factor = 6364136223846793005
	x := multiplySink.Load() | 1
	a, b, c, d, e, f, g, h := x, x+2, x+4, x+6, x+8, x+10, x+12, x+14
	for range 35_000 {
		a, b, c, d = a*factor+1, b*factor+1, c*factor+1, d*factor+1
		e, f, g, h = e*factor+1, f*factor+1, g*factor+1, h*factor+1
	}
	multiplySink.Store(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h)
}

// multiplySink takes part in the chains, so that the compiler cannot leave them out.
var multiplySink atomic.Uint64

// relay hands a baton from worker to worker, HandOvers times. It ends after meetWithin even if one of them does not come.
type relay struct {
	baton atomic.Int64
	start time.Time
}

func (r *relay) run() {
	r.baton.Store(0)
	r.start = time.Now()
	pool.Shared().Run(pool.Shared().Workers(), 1, r)
}

func (r *relay) Do(_, lo, _ int) {
	workers := int64(pool.Shared().Workers())
	for polls := 1; ; polls++ {
		switch baton := r.baton.Load(); {
		case baton >= HandOvers:
			return
		case baton%workers == int64(lo):
			r.baton.Store(baton + 1)
		case polls%256 == 0 && time.Since(r.start) > meetWithin:
			return
		}
	}
}
