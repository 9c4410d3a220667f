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

// core watches the core of the calling thread. The processors of a virtual machine are threads of cores, and the host may
// give the other thread of a core to another guest. While that guest computes, code that keeps a core busy takes 1.4 to 2.1
// times as long, for a millisecond or for seconds, and no counter of our guest shows it. So core times a short piece of work
// that fills every issue slot of the core, and a chain of dependent operations that leaves most slots empty. Both depend on
// the clock rate, and only the first one depends on a neighbour.
type core struct {
	clock       Clock
	full, chain func()
	// The least seconds of each.
	leastFull, leastChain float64
	began                 float64 // leastFull / leastChain when the sweep began, or when the core was last found faster than ever
	company               company
	// improved is when the core was last found faster than ever; 0 if it was not, or once it is known why. was is by how much.
	improved time.Duration
	was      float64
	pasts    []past // ended, and not fetched yet
	patience patience

	all  func(t pool.Task) // makes every processor that is awake do its part of a task
	seen []probe           // the last probe of each processor; empty if there are too many
	// ownCrowd says that the processors of this machine slow one another when all of them compute. Then a neighbour of one
	// cannot be distinguished from another one of them.
	ownCrowd bool
}

// manyProcessors is a number of processors of which some are always shared, if any are.
const manyProcessors = 5

// probe has the seconds of the two pieces of work; 0 before they ran.
type probe struct{ full, chain float64 }

// sharedAbove is the least ratio of the full work's time to its time alone that means that the core is shared. The ratio is
// 1.6 to 1.8 on the processors that we tried (EPYC 9004, Xeon 8500), and at most 1.1 without a neighbour.
const sharedAbove = 1.25

func newCore(clock Clock, budget time.Duration) *core {
	c := &core{
		clock: clock, full: issueWork, chain: func() { chainWork(500) }, leastFull: math.Inf(1), leastChain: math.Inf(1),
		patience: newPatience(seekFor), company: newCompany(budget),
	}
	if workers := pool.Shared().Workers(); workers < manyProcessors {
		c.company.possible = true // with more processors, one of them has no neighbour
		c.all = func(t pool.Task) { pool.Shared().Run(workers, 1, t) }
		c.seen = make([]probe, workers)
	}
	return c
}

// settle measures the least times of the work, within a time.
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
	c.meet(ctx, within)
}

// The first looks take meetLeast, and meetMost if company is found by most of them, with meetPause between two.
const (
	meetLeast = 300 * time.Millisecond
	meetMost  = 3 * time.Second
	meetPause = 2 * time.Millisecond
)

// meet finds out, within a time, whether there is usual company from the start.
func (c *core) meet(ctx context.Context, within time.Duration) {
	if !c.company.possible {
		return
	}
	var seen []probe
	share := func() float64 {
		met := 0
		for _, p := range seen {
			if c.excess(p) > sharedAbove {
				met++
			}
		}
		return float64(met) / float64(len(seen))
	}
	start, took := c.clock.Now(), time.Duration(0)
	for took < min(within, meetMost) && ctx.Err() == nil {
		p := c.probe()
		c.excess(p) // any of them may be the fastest
		seen = append(seen, p)
		c.clock.Sleep(meetPause)
		if took = c.clock.Now() - start; took >= meetLeast && share() <= usualAbove {
			break
		}
	}
	if len(seen) == 0 {
		return
	}
	c.began = c.leastFull / c.leastChain
	c.company.set(c.clock.Now(), share())
	if took < companyLeast {
		c.company.share = 0 // too little was seen
	}
	c.company.usual = c.company.share > usualAbove
	c.company.high = c.clock.Now()
}

// alonePause is the time after which the pool's helpers have parked. Until then they may be the company of a core.
const alonePause = 400 * time.Microsecond

// look looks at the core, for how much of the time somebody else uses it.
func (c *core) look() {
	if !c.company.possible {
		return
	}
	c.clock.Sleep(alonePause)
	since := c.company.since
	if c.company.note(c.clock.Now(), c.shared()) {
		c.pasts = append(c.pasts, past{from: since, until: c.company.high, was: "for some time, somebody else mostly used the core", company: true})
	}
}

// shared reports whether another guest computes on the core of the calling thread.
func (c *core) shared() bool { return c.excess(c.probe()) > sharedAbove }

// probe times the two pieces of work.
func (c *core) probe() probe {
	start := c.clock.Now()
	c.chain()
	between := c.clock.Now()
	c.full()
	return probe{full: (c.clock.Now() - between).Seconds(), chain: (between - start).Seconds()}
}

// excess returns the ratio of the full work's time to its time alone. It is NaN if the clock is too coarse.
func (c *core) excess(p probe) float64 {
	c.leastFull, c.leastChain = min(c.leastFull, p.full), min(c.leastChain, p.chain)
	return p.full * c.leastChain / (p.chain * c.leastFull)
}

// Do probes one processor.
func (c *core) Do(worker, _, _ int) { c.seen[worker] = c.probe() }

// crowded reports whether the core of any processor is shared, of those that are awake after a number of tries. All probe at
// the same time. So crowded is also true if two of them have become threads of one core, until that is known to last.
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

// tolerance returns the tolerance of work on one processor.
func (c *core) tolerance() float64 {
	if c.company.usual {
		return companyTolerance
	}
	return sentinelTolerance
}

// pastTimes returns the times that have ended since the last call, in which the core was shared, and is not any more. If the core is
// found faster than ever, it was shared from the beginning of the sweep until now. Then the looks of the recent time decide whether
// somebody else usually uses it, and was away for a moment.
func (c *core) pastTimes() (pasts []past) {
	now, ratio := c.clock.Now(), c.leastFull/c.leastChain
	if sharedAbove*ratio < c.began { // not if the clock is too coarse for either
		c.was = c.began / ratio
		c.began, c.improved = ratio, now
		c.company.set(now, unusualBelow)
	}
	if c.improved > 0 && c.company.usual {
		c.improved, c.company.since = 0, 0
	}
	if c.improved > 0 && (!c.company.possible || c.company.watched >= c.company.recent) {
		c.pasts = append(c.pasts, past{until: c.improved, seen: true, was: fmt.Sprintf(
			"until then, work that fills a core took %.2f times as long as afterwards, because somebody else used the core", c.was)})
		c.improved = 0
	}
	pasts, c.pasts = c.pasts, nil
	return pasts
}

// seekFor is the longest wait for a core without a neighbour.
const seekFor = 4 * time.Millisecond

// seek looks for a processor whose core has no neighbour, until its patience ends. On machines with few processors it also
// waits for a moment in which the others have none. The goroutine keeps its thread meanwhile, because the result is about
// that thread. It still runs there after the search, locked or not.
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

// wakeTries is how often the processors are asked to probe until all are awake: for some 100 µs with two processors.
const wakeTries = 30

// seekPause is the pause of all cores between two looks.
const seekPause = 200 * time.Microsecond

// move moves to another processor, if the system lets a thread choose.
func (c *core) move() { affinity.Leave(affinity.Current()) }

// issueWork is about 2 µs of independent additions and logic operations, more than a core has units for.
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

// issueSink takes part in the work, so that the compiler cannot leave the work out.
var issueSink atomic.Uint64
