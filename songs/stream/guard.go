package stream

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"crossover/dispatch"
	"crossover/host"
)

// Cause is a reason for which streams leave the GPU, or several of them: each is a bit.
type Cause uint32

// The causes.
const (
	Heat   Cause = 1 << iota // the thermal state is serious or critical
	Memory                   // memory pressure is critical
	Busy                     // another program keeps the GPU busy, or a call to it does not return in time
	Lost                     // an implementation on the GPU failed
)

const causes = 4

// String returns the causes in words: "heat, busy GPU".
func (c Cause) String() string {
	var words []string
	for i, word := range [causes]string{"heat", "memory pressure", "busy GPU", "lost GPU"} {
		if c>>i&1 == 1 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// How long a cause must be over before streams go back. Leaving the GPU costs a block at most, and so does going back. With the
// least hold that is two blocks in five seconds, of about 430. If the cause comes back within a relapse, the hold doubles, up to
// the longest one: a machine that is on the edge changes over every five minutes. The states that the system reports are means
// of some seconds (memory pressure of ten), so a shorter hold would follow their noise.
const (
	leastHold   = 5 * time.Second
	longestHold = 5 * time.Minute
	relapse     = time.Minute
)

// A GPU counts as busy if the median of the last calls is busyFactor times the usual one, and above the processor's. Then it is idle
// again below idleFactor or below the processor's, because a GPU on the edge would else come and go.
const (
	busyCalls  = 8
	busyFactor = 2
	idleFactor = 1.5
)

// Guard watches the machine from outside of the audio goroutine, keeps streams off the GPU while a [Cause] lasts, and tells the
// dispatcher: the thermal state, memory pressure, and how long calls wait for the GPU. A cause acts at once. It ends when it has
// been absent for five seconds, or for longer if it keeps coming back.
//
// A Guard serves one Run at a time, which calls it.
type Guard struct {
	dispatcher *dispatch.Dispatcher
	observe    func() host.Condition
	told       atomic.Uint32 // causes that a fault tells of, beside those that are observed

	// What the audio goroutine writes. Neither side waits.
	away   atomic.Uint32 // causes in force
	missed atomic.Bool
	lost   atomic.Bool
	took   [busyCalls]atomic.Int64 // by the last calls on the GPU
	calls  atomic.Uint64

	state     [causes]state
	thermal   string
	read      uint64        // of calls
	usual     time.Duration // of a callback on the GPU
	known     bool          // usual has been seen in the stream
	processor time.Duration // of a callback on the processor
	current   time.Duration // of one there, when it was last timed because the GPU was slow
	timed     time.Duration // when that was
	probed    time.Duration // when the GPU was last tried
	change    sync.Mutex    // of changes
	changes   []Change
}

// state is a cause.
type state struct {
	on   bool
	seen time.Duration // when it was last there
	hold time.Duration
	left time.Duration // when it last ended
}

// Change is a cause that began or ended.
type Change struct {
	Seconds float64 `json:"seconds"` // since the stream began
	Cause   string  `json:"cause"`
	Begins  bool    `json:"begins"`
}

// mostChanges is how many changes a guard keeps.
const mostChanges = 1000

// NewGuard returns a guard that tells a dispatcher, which may be nil. observe is [host.Observe], or a test's.
func NewGuard(d *dispatch.Dispatcher, observe func() host.Condition) *Guard {
	return &Guard{dispatcher: d, observe: observe}
}

// Away returns the causes for which streams stay off the GPU now. Any goroutine may call it.
func (g *Guard) Away() Cause { return Cause(g.away.Load()) }

// begin forgets the calls of another run. usual is what a callback takes on the idle GPU, and processor what it takes there.
func (g *Guard) begin(usual, processor time.Duration) {
	g.usual, g.processor = usual, processor
	g.change.Lock()
	g.changes = nil
	g.change.Unlock()
	g.read, g.known, g.probed, g.timed = g.calls.Load(), false, 0, -betweenProbes
	g.missed.Store(false)
	g.lost.Store(false)
	g.away.Store(0)
	for i := range g.state {
		s := &g.state[i]
		s.seen, s.left = 0, -relapse
		if s.on {
			g.away.Or(1 << i)
		}
	}
}

// onGPU notes a callback on the GPU, and whether it was in time or could not be. The audio goroutine calls it.
func (g *Guard) onGPU(took time.Duration, inTime bool) {
	g.took[g.calls.Load()%busyCalls].Store(int64(took))
	g.calls.Add(1)
	if !inTime {
		g.hangs()
	}
}

// hangs notes that a callback on the GPU is not over when the next one's time has come. The audio goroutine calls it.
func (g *Guard) hangs() {
	g.missed.Store(true)
	g.away.Or(uint32(Busy))
}

// failed notes that an implementation on the GPU failed. Any goroutine may call it.
func (g *Guard) failed() {
	g.lost.Store(true)
	g.away.Or(uint32(Lost))
}

// look observes the machine once. While the GPU is busy or lost, and nothing else keeps streams away, probe computes callbacks on
// it outside of the audio goroutine, once a second. processor computes them on the processor.
func (g *Guard) look(at time.Duration, probe, processor func() (time.Duration, error)) {
	c := g.condition()
	g.set(Heat, hot(c), at)
	g.set(Memory, c.Memory == "critical", at)

	missed, lost, recent := g.missed.Swap(false), g.lost.Swap(false), g.recent()
	if !g.known && recent > 0 {
		g.known, g.usual = true, max(g.usual, recent) // a stream's calls may take longer than the probe before the first block
	}
	away := g.Away()
	switch {
	case missed || lost || away&(Busy|Lost) == 0: // the stream has shown it
		g.set(Busy, missed || g.slow(at, recent, busyFactor, processor), at)
		g.set(Lost, lost, at)
	case away&(Heat|Memory) == 0 && at-g.probed >= betweenProbes:
		var err error
		g.probed = at
		if recent, err = probe(); errors.Is(err, errEnded) {
			return // it says nothing of the GPU
		}
		g.set(Busy, away&Busy != 0 && (err != nil || g.slow(at, recent, idleFactor, processor)), at)
		g.set(Lost, err != nil, at)
	}
	g.tell(c, recent)
}

const betweenProbes = time.Second

// condition returns the condition of the machine, made worse by what a fault tells of.
func (g *Guard) condition() host.Condition {
	c, told := g.observe(), Cause(g.told.Load())
	if told&Heat != 0 {
		c.Thermal = "serious"
	}
	if told&Memory != 0 {
		c.Memory = "critical"
	}
	return c
}

// tellOf returns what begins a fault that the guard is told of.
func (g *Guard) tellOf(c Cause) func(context.Context) (end func() error, err error) {
	return func(context.Context) (func() error, error) {
		g.told.Or(uint32(c))
		return func() error {
			g.told.And(^uint32(c))
			return nil
		}, nil
	}
}

// hot reports whether streams leave the GPU because of the thermal state.
func hot(c host.Condition) bool { return c.Thermal == "serious" || c.Thermal == "critical" }

// slow reports whether a callback on the GPU has taken so long that another program must keep it busy: so many times as long as usual,
// and longer than on the processor now. Where everything is slow, the GPU is no worse than the processor, and streams stay.
func (g *Guard) slow(at, took time.Duration, factor float64, processor func() (time.Duration, error)) bool {
	if took <= time.Duration(factor*float64(g.usual)) || took <= g.processor {
		return false
	}
	if at-g.timed >= betweenProbes {
		g.timed, g.current = at, g.processor
		switch d, err := processor(); {
		case errors.Is(err, errEnded):
			return false // nobody knows
		case err == nil:
			g.current = d
		}
	}
	return took > g.current
}

// recent returns the median of the last calls on the GPU, or 0 if there are not enough new ones.
func (g *Guard) recent() time.Duration {
	n := g.calls.Load()
	if n-g.read < busyCalls {
		return 0
	}
	g.read = n
	var took [busyCalls]time.Duration
	for i := range took {
		took[i] = time.Duration(g.took[i].Load())
	}
	return median(took[:])
}

func median(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)/2]
}

// set notes whether a cause is there.
func (g *Guard) set(c Cause, present bool, at time.Duration) {
	s := &g.state[bits.TrailingZeros32(uint32(c))]
	switch {
	case present && s.on:
		s.seen = at
		return
	case present:
		if s.hold > 0 && at-s.left < relapse {
			s.hold = min(2*s.hold, longestHold)
		} else {
			s.hold = leastHold
		}
		s.on, s.seen = true, at
		g.away.Or(uint32(c))
	case s.on && at-s.seen >= s.hold:
		s.on, s.left = false, at
		g.away.And(^uint32(c))
		if c == Lost {
			g.dispatcher.Retry()
		}
	default:
		return
	}
	g.change.Lock()
	if len(g.changes) < mostChanges {
		g.changes = append(g.changes, Change{at.Seconds(), c.String(), present})
	}
	g.change.Unlock()
	if c == Memory && present {
		g.askForMemory()
	}
}

// until returns the changes until now.
func (g *Guard) until() []Change {
	g.change.Lock()
	defer g.change.Unlock()
	return slices.Clone(g.changes)
}

// askForMemory makes the dispatcher ask for memory.
func (g *Guard) askForMemory() {
	g.dispatcher.SetMemoryPressure("critical") // which a dispatcher accepts
}

// tell tells the dispatcher what is new. A thermal state that has just become better is told when it has held.
func (g *Guard) tell(c host.Condition, recent time.Duration) {
	thermal := c.Thermal
	if g.Away()&Heat != 0 && !hot(c) {
		thermal = g.thermal
	}
	if thermal != g.thermal {
		g.thermal = thermal
		g.dispatcher.SetThermal(thermal) // a word that it does not know changes nothing
	}
	switch {
	case g.Away()&Busy == 0:
		g.dispatcher.SetGPUWait(0)
	case recent > 0:
		g.dispatcher.SetGPUWait(max(1, recent-g.usual))
	}
}
