package sweeps

import (
	"fmt"
	"runtime/debug"
	"time"

	"crossover/timings"
)

// batch times n calls and returns the seconds of one.
func (s *sweep) batch(c *callable, n int) (seconds float64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	run := c.run
	switch {
	case s.State == Cold:
		c.release()
		if s.Forget != nil {
			s.Forget()
		}
		debug.FreeOSMemory()
		run = c.fromNothing
	case s.State == AfterIdle:
		s.Clock.Sleep(IdlePause)
	}
	start := s.Clock.Now()
	if err := run(n); err != nil {
		return 0, err
	}
	return (s.Clock.Now() - start).Seconds() / float64(n), nil
}

const (
	// A batch that is longer than sharedWithin is seldom alone on its core from end to end where cores are shared at all,
	// and dear to repeat.
	sharedWithin = 3 * time.Millisecond
	// sharedTries bounds how often a batch is timed, and sharedShare what looking for a core that nobody uses and timing
	// batches again may take of the time that is spent.
	sharedTries = 6
	sharedShare = 0.3
)

// evenWithin bounds how long the batches of a block are made only because another one is as long. Where one call takes
// longer, its batch lasts longer than the others.
const evenWithin = time.Millisecond

// evenLength returns how long the batches of some implementations should last: as long as the longest of them, so that what
// a batch's length does to a time is not taken for speed. It is in seconds.
func evenLength(callables []*callable) float64 {
	longest := 0.0
	for _, c := range callables {
		longest = max(longest, c.seconds*float64(c.iterations))
	}
	return min(longest, evenWithin.Seconds())
}

// calls draws how many calls of c a batch has. The length that batches should have is seldom a whole number of calls, so
// they have it on average, and one that is long enough in any case.
func (m *measurement) calls(c *callable) int {
	if m.State != Warm || c.behind || c.seconds <= 0 {
		return c.iterations
	}
	n := m.length/c.seconds + m.e.rng.Float64()
	return max(c.iterations, int(min(n, mostIterations)))
}

// timed settles c and times a batch of n calls of it, on a core that nobody else uses where one can be found. It reports whether the
// batch was alone on its core, and whether somebody used the core of another processor that worked on the batch. What is
// hopelessly behind is so on any core. It is called on the goroutine that makes the calls, because the core is that one's.
func (s *sweep) timed(c *callable, n int) (seconds float64, alone, crowded bool, err error) {
	core := s.sentinel.core
	watched := core != nil && s.State == Warm && !c.behind && c.seconds*float64(n) < sharedWithin.Seconds()
	for try := 1; ; try++ {
		patient := watched && !s.Brief && try < sharedTries && s.avoided.Seconds() <= sharedShare*s.elapsed().Seconds()
		start := s.Clock.Now()
		if patient {
			core.seek()
			s.avoided += s.Clock.Now() - start
			start = s.Clock.Now()
		}
		if err := s.settle(c); err != nil {
			return 0, false, false, err
		}
		alone = !watched || !core.shared()
		if alone || !patient {
			seconds, err = s.batch(c, n)
			alone = alone && (!watched || !core.shared())
			crowded = watched && alone && core.crowded(1)
			if err != nil || !patient || alone && !crowded {
				return seconds, alone, crowded, err
			}
		}
		s.avoided += s.Clock.Now() - start
	}
}

// settle makes untimed calls of c, at least one, until it runs as it does in the middle of many. Only a warm call has
// such a state.
func (s *sweep) settle(c *callable) error {
	if s.State != Warm {
		return nil
	}
	made, err := s.wake(c)
	if err != nil || c.seconds > coldAbove.Seconds() {
		return err
	}
	if c.spreads() {
		s.sentinel.gather()
	}
	calls := int(min(max(settleFor.Seconds()/c.seconds, 1), mostIterations))
	return safely(func() error { return c.run(max(calls-made, 0)) })
}

// account makes one call more, timed by the GPU, and returns where its time went. On the processor it
// returns the zero value.
func (s *sweep) account(c *callable) (account timings.GPUTimes, err error) {
	if c.call.GPU == nil || c.call.GPU.Time == nil {
		return account, nil
	}
	if s.State == AfterIdle {
		s.Clock.Sleep(IdlePause)
	}
	err = safely(func() error {
		times, err := c.call.GPU.Time()
		if err != nil {
			return err
		}
		if min(times.Busy, times.Span, times.Encode, times.Gaps) < 0 {
			return fmt.Errorf("the GPU's account of a call has a negative time in it: %+v", times)
		}
		account = timings.GPUTimes{
			Busy: times.Busy.Seconds(), Span: times.Span.Seconds(), Encode: times.Encode.Seconds(),
		}
		if pauses := times.Kernel - 1; pauses > 0 {
			account.Gap = times.Gaps.Seconds() / float64(pauses)
		}
		return nil
	})
	return account, err
}
