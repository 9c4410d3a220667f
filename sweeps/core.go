package sweeps

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"crossover/pool"
	"crossover/pool/affinity"
)

// core watches the core that the calling thread runs on. The processors of a virtual machine are threads of cores, whose
// other threads belong to whoever the host gives them to. While somebody computes there, code that keeps a core busy takes
// 1.4 to 2.1 times as long, for a millisecond or for seconds, and no counter of the guest shows it. So a short piece of
// work that fills every issue slot of the core is timed, and beside it a chain of dependent operations, which leaves most
// of them empty: both feel the clock rate, and only the first one feels a neighbour.
type core struct {
	clock       Clock
	full, chain func()
	// What each took at best, in seconds.
	leastFull, leastChain float64
	began                 float64 // leastFull / leastChain when the sweep began or started over
	patience              patience

	all  func(t pool.Task) // has every processor that is awake do its part of a task
	seen []probe           // the last one of each processor; none where there are too many
	// ownCrowd says that the processors of this machine slow one another when all of them compute. Then nothing tells a
	// neighbour of one of them from another one of them.
	ownCrowd bool
}

// manyProcessors are so many that some of them are always shared where any is.
const manyProcessors = 5

// probe is what the two pieces of work took, in seconds; 0 before they were done.
type probe struct{ full, chain float64 }

// sharedAbove is how many times as long as alone the full work takes at least where the core is shared. It is 1.6 to 1.8
// times on the processors that this was tried on (EPYC 9004, Xeon 8500), and within 1.1 where nobody is there.
const sharedAbove = 1.25

func newCore(clock Clock) *core {
	c := &core{
		clock: clock, full: issueWork, chain: func() { chainWork(500) }, leastFull: math.Inf(1), leastChain: math.Inf(1),
		patience: newPatience(seekFor),
	}
	if workers := pool.Shared().Workers(); workers < manyProcessors {
		c.all = func(t pool.Task) { pool.Shared().Run(workers, 1, t) }
		c.seen = make([]probe, workers)
	}
	return c
}

// settle finds out what the work takes at best, within a time.
func (c *core) settle(ctx context.Context, within time.Duration) {
	const looks, rounds = 200, 20
	start := c.clock.Now()
	for n := 0; n == 0 || n < rounds && ctx.Err() == nil && c.clock.Now()-start < within; n++ {
		for range looks / rounds {
			c.shared()
		}
		c.move()
	}
	c.began = c.leastFull / c.leastChain
}

// shared reports whether somebody else computes on the core of the calling thread.
func (c *core) shared() bool { return c.excess(c.probe()) > sharedAbove }

func (c *core) probe() probe {
	start := c.clock.Now()
	c.chain()
	between := c.clock.Now()
	c.full()
	return probe{full: (c.clock.Now() - between).Seconds(), chain: (between - start).Seconds()}
}

// excess returns how many times as long as alone the full work took. A clock that is too coarse for it says NaN.
func (c *core) excess(p probe) float64 {
	c.leastFull, c.leastChain = min(c.leastFull, p.full), min(c.leastChain, p.chain)
	return p.full * c.leastChain / (p.chain * c.leastFull)
}

// Do probes one processor.
func (c *core) Do(worker, _, _ int) { c.seen[worker] = c.probe() }

// crowded reports whether the core of any processor is shared, as far as they are awake after so many tries. All probe at
// the same time, so it is also crowded where two of them have become threads of one core, until that is known to last.
func (c *core) crowded(tries int) bool {
	if c.ownCrowd {
		return false
	}
	clear(c.seen)
	for range tries {
		if !slices.Contains(c.seen, probe{}) {
			break
		}
		c.all(c)
	}
	return slices.ContainsFunc(c.seen, func(p probe) bool { return p != probe{} && c.excess(p) > sharedAbove })
}

// better says so where the core turns out to have been shared when the sweep began, and ever since; else it returns "".
func (c *core) better() string {
	ratio := c.leastFull / c.leastChain
	if !(sharedAbove*ratio < c.began) { // nor where the clock is too coarse for either
		return ""
	}
	was := c.began / ratio
	c.began = ratio
	return fmt.Sprintf("work that fills a core had taken %.2f times as long before, because somebody else used it", was)
}

// seekFor bounds the wait for a core that nobody else uses.
const seekFor = 4 * time.Millisecond

// seek looks for a processor whose core nobody else is using, and where there are few of them for a moment in which the
// others are alone too, until its patience ends. The goroutine keeps its thread meanwhile, because what is found out is
// true of that thread. Locked to it or not, it still runs there when the search ends.
func (c *core) seek() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := c.clock.Now(); ; c.clock.Sleep(seekPause) {
		for range runtime.NumCPU() {
			if !c.shared() {
				break
			}
			c.move()
		}
		if !c.shared() && !c.crowded(wakeTries) {
			c.patience.rewarded()
			return
		}
		if c.clock.Now()-start >= c.patience.now {
			c.patience.disappointed()
			return
		}
	}
}

// wakeTries is how often the processors are asked to probe until all are awake: some 100 µs on two of them.
const wakeTries = 30

// seekPause is how long all cores are left alone before another look at them.
const seekPause = 200 * time.Microsecond

// move goes to another processor where the system lets a thread choose.
func (c *core) move() { affinity.Leave(affinity.Current()) }

// issueWork is about 2 µs of independent additions and logic: more of them than a core has units for.
func issueWork() {
	x := issueSink.Load() | 1
	a, b, c, d, e, f, g, h := x, x+2, x+4, x+6, x+8, x+10, x+12, x+14
	for range 2000 {
		a, b, c, d = a+h, b^e, c+f, d^g
		e, f, g, h = e+1, f^a, g+3, h^b
		a, b, c, d = a^c, b+3, c^d, d+5
		e, f, g, h = e^9, f+7, g^a, h+c
	}
	issueSink.Store(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h)
}

// issueSink is where the work begins and ends, so that the compiler cannot leave it out.
var issueSink atomic.Uint64
