package sweeps

import (
	"math"
	"slices"
	"time"

	"crossover/kernels"
)

// An idle GPU lowers its clock within milliseconds, and raises it again over tens of milliseconds of load, as reported of
// Apple's. While processors are timed, the GPU is idle. A program that makes one call after another has the risen clock. So
// before a batch the GPU is kept busy until the device's own times stop falling.
const (
	// wakeShare is the greatest share of the budget for that. After that, blocks that would need it are marked as disturbed.
	wakeShare = 0.25
	// wakeLimit and wakeCalls limit one waking.
	wakeLimit = 250 * time.Millisecond
	wakeCalls = 20_000
	// Times have stopped falling when the median of a window is within stillFalling of that of the window before.
	wakeWindow   = 10 * time.Millisecond
	stillFalling = 0.01
	// If a clock is known to fall, a waking goes on although times stand still at first, because the clock may rise in
	// steps. The same is true in the first thoroughVisits, to get to know the clock, as long as that takes at most
	// thoroughShare of the budget.
	riseLeast      = 60 * time.Millisecond
	thoroughVisits = 2
	thoroughShare  = 0.01
	// awakeWithin is how far above its level a time may be, as a share, even if times scatter less. With few times the
	// scatter is not known.
	awakeWithin    = 0.02
	awakeWithinFew = 0.05
	// fellBy is how far above the level the first times of a visit are, as a share, if a clock has risen since, and
	// fellByFew is the same for few times. A difference below ofACall of the whole call does not matter.
	fellBy    = 0.1
	fellByFew = 0.15
	ofACall   = 0.01
	// few is the number of times that is too small to be certain: one.
	few = 1
	// A call that is slow after other implementations computed may have lost its caches. The call after it has them. So only
	// lookTries slow calls in a row mean that the clock has fallen.
	lookTries = 3
	// flatVisits is the number of visits in a row without a fall after which a clock counts as constant.
	flatVisits = 8
)

// level is how long a device computes one call while its clock is up. It is the zero value if the device does not measure
// its times, or was not asked.
type level struct {
	span  float64 // the median, in seconds
	limit float64 // a longer time means that the clock has fallen
}

// levelOf returns the level of spans, and reorders them.
func levelOf(spans []float64) level {
	l := level{span: median(spans)}
	within := awakeWithin
	if len(spans) <= few {
		within = awakeWithinFew
	}
	l.limit = max((1+within)*l.span, spans[len(spans)*9/10])
	return l
}

// waking is what a sweep knows about the clock of the machine's GPU.
type waking struct {
	took  time.Duration // time spent on looking at the clock and raising it
	rises int           // how often the clock was raised
	visit time.Duration // time spent in the last visit that raised it
	seen  int           // number of thorough looks so far
	fell  bool          // whether the clock fell at least once
	flat  int           // number of visits since then, or since the beginning
}

// falls reports whether the clock falls between batches, by recent visits.
func (w *waking) falls() bool { return w.fell && w.flat < flatVisits }

// spent reports whether keeping the GPU awake has taken its share of the budget, or would with more seconds.
func (s *sweep) spent(more float64) bool {
	return s.waking.took.Seconds()+more > wakeShare*s.Budget.Seconds()
}

// sleeps reports whether a visit to a size must raise the GPU's clock: whether the clock falls, and an implementation on the
// GPU is timed there that is not hopelessly slow.
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

// wakingOf predicts the seconds that a visit to a size takes for keeping the GPU awake.
func (s *sweep) wakingOf(e *entry, size int) float64 {
	if !s.sleeps(e, size) {
		return 0
	}
	return s.waking.visit.Seconds()
}

// tooDrowsy reports whether a size is not visited any more, because the GPU is timed there and may not be woken. Times at a
// low clock would contradict the earlier ones.
func (s *sweep) tooDrowsy(e *entry, size int) bool {
	return s.sleeps(e, size) && s.spent(s.waking.visit.Seconds())
}

// tells reports whether the device of c may measure its times. Only warm calls have a raised clock.
func (s *sweep) tells(c *callable) bool {
	return s.State == Warm && c.call.GPU != nil && c.call.GPU.Time != nil
}

// wake raises the GPU's clock for a batch of c. If there is no time left for that, it sets c.drowsy. It returns the number
// of its calls, which replace untimed calls before the batch.
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

// count adds the time since start to the time of keeping the GPU awake.
func (s *sweep) count(start time.Duration) { s.waking.took += s.Clock.Now() - start }

// rise makes calls of c until the device takes no longer than c.level allows, or until its times stop falling, which sets
// the level. If thorough, or if the clock is known to fall, rise continues after the first standstill.
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

// rouse warms c up like warm, and learns how long the device computes a call while its clock is up. fastest is the least
// time of a call of the others. An implementation that would be hopelessly slow even if its device took no time is not
// woken.
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

// spans returns the device's times of up to most calls. There are fewer if they take long, and at least one.
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
