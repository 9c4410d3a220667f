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
		if !s.Virtual {
			debug.FreeOSMemory()
		}
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
	// Batches of sharedWithin and longer are not watched for others on their core. If cores are shared, such a batch is
	// seldom alone from end to end, and takes long to repeat.
	sharedWithin = 3 * time.Millisecond
	// sharedTries is the greatest number of tries at a batch.
	sharedTries = 6
	// sharedShare is the greatest share of the elapsed time for tries in vain and for looking for a core that nobody uses.
	sharedShare = 0.3
)

// evenWithin is the greatest length of a batch that is made longer only because another one is longer. If a single call
// takes more time, its batch lasts longer than the others.
const evenWithin = time.Millisecond

// evenLength returns the seconds that each batch of the callables should last: as long as the longest batch, but at most
// evenWithin. Otherwise effects of a batch's length would look like speed.
func evenLength(callables []*callable) float64 {
	longest := 0.0
	for _, c := range callables {
		longest = max(longest, c.seconds*float64(c.iterations))
	}
	return min(longest, evenWithin.Seconds())
}

// calls draws the number of calls in a batch of c. The wanted length is seldom a whole number of calls. So batches have that
// length on average, and at least c.iterations calls.
func (m *measurement) calls(c *callable) int {
	if m.State != Warm || c.behind || c.seconds <= 0 {
		return c.iterations
	}
	n := m.length/c.seconds + m.e.rng.Float64()
	return max(c.iterations, int(min(n, mostIterations)))
}

// timed settles c and times a batch of n calls, if possible on a core that nobody else uses. It reports whether the batch
// was alone on its core, and whether somebody used the core of another processor that worked on the batch. Batches in usual
// company are not watched, and count as alone. Nor are implementations that are hopelessly slow, because they are slow on any
// core. timed runs on the goroutine that makes the calls, because it watches the core of that goroutine.
func (s *sweep) timed(c *callable, n int) (seconds float64, alone, crowded bool, err error) {
	core := s.sentinel.core
	watched := core != nil && s.State == Warm && !c.behind && c.seconds*float64(n) < sharedWithin.Seconds() && !core.company.usual
	// Helpers that poll after a parallel call may be on the other thread of the caller's core. Of few processors, crowded tells
	// them from somebody else.
	shared := func() bool { return watched && !(c.spreads() && len(core.seen) > 0) && core.shared() }
	for try := 1; ; try++ {
		patient := watched && try < sharedTries && s.avoided.Seconds() <= sharedShare*s.elapsed().Seconds()
		start := s.Clock.Now()
		if patient {
			core.seek()
			s.avoided += s.Clock.Now() - start
			start = s.Clock.Now()
		}
		if err := s.settle(c); err != nil {
			return 0, false, false, err
		}
		alone = !shared()
		if alone || !patient {
			seconds, err = s.batch(c, n)
			alone = alone && !shared()
			crowded = watched && alone && core.crowded(1)
			if err != nil || !patient || alone && !crowded {
				return seconds, alone, crowded, err
			}
		}
		s.avoided += s.Clock.Now() - start
	}
}

// settle makes untimed calls of c before a batch, until c runs as in the middle of many calls. A long call reaches that
// state by itself. Calls that are not warm have no such state.
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
	// The calls that the GPU times, in wake, move their data in another way than the calls of a batch.
	return safely(func() error { return c.run(max(calls-made, 1)) })
}

// account makes one more call, which the GPU times, and returns where its time went. For a call on the processor it returns
// the zero value.
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
