package sweeps

import (
	"math"
	"slices"
	"time"

	"crossover/kernels"
)

// A GPU that has nothing to do lowers its clock, within milliseconds, and raises it again over tens of milliseconds of
// load: reported of Apple's, and while processors are timed it has nothing to do. A program that makes one call after
// another has the risen clock, so before a batch the GPU is kept busy until the device's own times stop falling.
const (
	// wakeShare bounds what that may take of the budget. Blocks that come after it are marked as disturbed where they
	// needed it.
	wakeShare = 0.25
	// wakeLimit and wakeCalls bound one waking.
	wakeLimit = 250 * time.Millisecond
	wakeCalls = 20_000
	// Times have stopped falling where the median of a window is within stillFalling of that of the window before.
	wakeWindow   = 10 * time.Millisecond
	stillFalling = 0.01
	// Where a clock is known to fall, times that stand still at first are waited for: it may rise in steps. So are they in
	// the first thoroughVisits, to get to know it, as far as that takes no more than thoroughShare of the budget.
	riseLeast      = 60 * time.Millisecond
	thoroughVisits = 2
	thoroughShare  = 0.01
	// awakeWithin is how far above its level a time may be, as a share, even where times never scatter so far; of few times
	// nobody knows how far they scatter.
	awakeWithin    = 0.02
	awakeWithinFew = 0.05
	// fellBy is how much the first times of a visit are above the level, as a share, where a clock has risen since, and
	// fellByFew how much where there are few. What is less than ofACall of the whole call matters to nobody.
	fellBy    = 0.1
	fellByFew = 0.15
	ofACall   = 0.01
	// few is how many times are too few to be sure of them: one.
	few = 1
	// A call that is slow after others computed may have lost its caches. One that follows it has them, so only
	// lookTries slow ones in a row tell of a clock.
	lookTries = 3
	// flatVisits in a row without a fall are the sign of a clock that stands still.
	flatVisits = 8
)

// level is how long a device computes one call while its clock is up. The zero value is that of a device that does not
// tell, or of which nobody asked.
type level struct {
	span  float64 // the median, in seconds
	limit float64 // a longer time tells of a clock that has fallen
}

// levelOf reduces spans to a level, and reorders them.
func levelOf(spans []float64) level {
	l := level{span: median(spans)}
	within := awakeWithin
	if len(spans) <= few {
		within = awakeWithinFew
	}
	l.limit = max((1+within)*l.span, spans[len(spans)*9/10])
	return l
}

// waking is what a sweep knows of the clock of the machine's GPU.
type waking struct {
	took  time.Duration // by looks at the clock and by raising it
	rises int           // how often it was raised
	visit time.Duration // what the last visit took for it in which it was raised
	seen  int           // thorough looks so far
	fell  bool          // at least once
	flat  int           // visits since then, or since the beginning
}

// falls reports whether the clock falls between batches, as far as was seen lately.
func (w *waking) falls() bool { return w.fell && w.flat < flatVisits }

// spent reports whether keeping the GPU awake has had its share of the budget, so many seconds more included.
func (s *sweep) spent(more float64) bool {
	return s.waking.took.Seconds()+more > wakeShare*s.Budget.Seconds()
}

// sleeps reports whether a visit to a size has to raise the GPU's clock: it falls, and an implementation on the
// GPU is timed there that is not hopelessly behind.
func (s *sweep) sleeps(e *entry, size int) bool {
	if !s.waking.falls() {
		return false
	}
	fastest, onGPU := math.Inf(1), math.Inf(1)
	for _, i := range e.alive(size) {
		call := e.costs.call(size, i)
		fastest = min(fastest, call)
		if e.implementations[i].Processor == kernels.GPU {
			onGPU = min(onGPU, call)
		}
	}
	return !math.IsInf(onGPU, 1) && onGPU <= hopeless*fastest
}

// wakingOf predicts the seconds that a visit to a size takes to keep the GPU awake.
func (s *sweep) wakingOf(e *entry, size int) float64 {
	if !s.sleeps(e, size) {
		return 0
	}
	return s.waking.visit.Seconds()
}

// tooDrowsy reports whether a size is not visited any more, because the GPU is timed there and may not be woken: times of a
// clock that is down would contradict those that there are.
func (s *sweep) tooDrowsy(e *entry, size int) bool {
	return s.sleeps(e, size) && s.spent(s.waking.visit.Seconds())
}

// tells reports whether the device of c may tell its times. Only warm calls have a clock that is up.
func (s *sweep) tells(c *callable) bool {
	return s.State == Warm && c.call.GPU != nil && c.call.GPU.Time != nil
}

// wake brings the GPU's clock up for a batch of c, and notes in c.drowsy where it may not take the time that this takes. It
// returns how many calls it made in place of the untimed ones that come before a batch anyway.
func (s *sweep) wake(c *callable) (calls int, err error) {
	c.drowsy = false
	long := c.seconds > coldAbove.Seconds()
	if !s.tells(c) || c.behind || long && s.waking.flat >= flatVisits {
		return 0, nil
	}
	if s.spent(0) && (long || c.level == (level{})) {
		c.drowsy = s.waking.falls()
		return 0, nil
	}
	if c.level == (level{}) {
		return 0, nil
	}
	tries, extra := lookTries, s.Clock.Now()
	if long {
		tries = 1
	}
	defer func() { s.count(extra) }()
	for calls < tries {
		account, err := s.account(c)
		if calls++; calls == 1 && !long {
			extra = s.Clock.Now()
		}
		if err != nil || account.Span <= c.level.limit {
			return calls, err
		}
	}
	if s.spent(0) {
		c.drowsy = true
		return calls, nil
	}
	return calls, s.rise(c, false)
}

// count adds the time since start to what keeping the GPU awake took.
func (s *sweep) count(start time.Duration) { s.waking.took += s.Clock.Now() - start }

// rise makes calls of c until they take the device no longer than c.level allows, or stop falling: then that is the level.
// Where it is to be thorough, or a clock is known to fall, it does not take the first standstill for the last one.
func (s *sweep) rise(c *callable, thorough bool) error {
	const lately = 5
	s.waking.rises++
	var window []float64
	var recent [lately]float64
	before, least := 0.0, time.Duration(0)
	if thorough || s.waking.falls() {
		least = riseLeast
	}
	start := s.Clock.Now()
	opened := start
	for calls := 1; ; calls++ {
		account, err := s.account(c)
		if err != nil {
			return err
		}
		window = append(window, account.Span)
		now := s.Clock.Now()
		last := recent[:copy(recent[:], window[max(0, len(window)-lately):])]
		if median(last) <= c.level.limit {
			return nil
		}
		over := now-start >= wakeLimit || calls == wakeCalls
		if now-opened < wakeWindow && !over {
			continue
		}
		at := levelOf(window)
		if over || before > 0 && at.span > (1-stillFalling)*before && now-start >= least {
			c.level = at
			return nil
		}
		before, window, opened = at.span, window[:0], now
	}
}

// rouse warms c up like warm, and learns how long the device computes a call while its clock is up. fastest is what a call
// of the others takes: who is hopelessly behind even with a device that computes in no time is not worth a waking.
func (s *sweep) rouse(c *callable, target, expected, fastest float64) error {
	if !s.tells(c) || s.spent(0) || expected > coldAbove.Seconds() && s.waking.flat >= flatVisits {
		return s.warm(c, target)
	}
	first, err := s.spans(c, lookTries)
	if err != nil {
		return err
	}
	if err := s.warm(c, target); err != nil || first[0] == 0 {
		return err
	}
	const enough = 9
	later, err := s.spans(c, enough)
	if err != nil {
		return err
	}
	c.level = levelOf(later)
	by := fellBy
	if len(first) <= few {
		by = fellByFew
	}
	fell := func() bool {
		return slices.Min(first) > max(c.level.limit, (1+by)*c.level.span, c.level.span+ofACall*c.seconds)
	}
	thorough := s.waking.seen < thoroughVisits &&
		float64(s.waking.seen+1)*riseLeast.Seconds() <= thoroughShare*s.Budget.Seconds()
	switch {
	case fell():
		s.waking.fell, s.waking.flat = true, 0
		if c.seconds-c.level.span > hopeless*fastest {
			return nil
		}
	case !thorough:
		return nil
	}
	defer s.count(s.Clock.Now())
	s.waking.seen++
	c.level = level{}
	if err := s.rise(c, thorough); err != nil {
		return err
	}
	if fell() {
		s.waking.fell, s.waking.flat = true, 0
	}
	return s.warm(c, target)
}

// spans returns the device's times of so many calls, of fewer where these take long, of one at least.
func (s *sweep) spans(c *callable, most int) (spans []float64, err error) {
	const enough = time.Millisecond
	start := s.Clock.Now()
	defer s.count(start)
	for len(spans) == 0 || len(spans) < most && s.Clock.Now()-start < enough {
		account, err := s.account(c)
		if err != nil {
			return nil, err
		}
		spans = append(spans, account.Span)
	}
	return spans, nil
}
