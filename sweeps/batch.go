package sweeps

import (
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"crossover/kernels"
	"crossover/timings"
)

// bound is a rival bound to the problem of a visit.
type bound struct {
	*rival
	bind       func() (kernels.Call, error)
	call       kernels.Call
	flight     []kernels.Call // the calls in flight in a batch, call first; empty where each is waited for
	least      float64        // seconds that a call takes at least
	seconds    float64        // of one call, from the warm-up
	iterations int            // of one batch
	behind     bool           // hopelessly, by its seconds
	level      level          // of its device; the zero value on the processor
	drowsy     bool           // the device's clock was down in the last batch
}

// release releases what the rival is bound to. What is in flight is waited for.
func (a *bound) release() {
	for _, c := range a.flight {
		c.Release()
	}
	if len(a.flight) == 0 {
		a.call.Release()
	}
	a.call, a.flight = kernels.Call{}, nil
}

// batch times n calls and returns the seconds of one.
func (s *sweep) batch(a *bound, n int) (seconds float64, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	run := a.run
	switch {
	case s.State == Cold:
		a.release()
		if s.Forget != nil {
			s.Forget()
		}
		debug.FreeOSMemory()
		run = a.fromNothing
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

// timed settles a and times a batch of it, on a core that nobody else uses where one can be found. It reports whether it
// was, and whether somebody used that of another processor which worked on the batch. Who is hopelessly behind is so on
// any core.
func (s *sweep) timed(a *bound) (seconds float64, alone, crowded bool, err error) {
	c := s.sentinel.core
	watched := c != nil && s.State == Warm && !a.behind && a.seconds*float64(a.iterations) < sharedWithin.Seconds()
	for try := 1; ; try++ {
		patient := watched && try < sharedTries && s.avoided.Seconds() <= sharedShare*s.elapsed().Seconds()
		start := s.Clock.Now()
		if patient {
			c.seek()
			s.avoided += s.Clock.Now() - start
			start = s.Clock.Now()
		}
		if err := s.settle(a); err != nil {
			return 0, false, false, err
		}
		alone = !watched || !c.shared()
		if alone || !patient {
			seconds, err = s.batch(a, a.iterations)
			alone = alone && (!watched || !c.shared())
			crowded = watched && alone && c.crowded(1)
			if err != nil || !patient || alone && !crowded {
				return seconds, alone, crowded, err
			}
		}
		s.avoided += s.Clock.Now() - start
	}
}

// settle makes untimed calls of a, at least one, until it runs as it does in the middle of many. Only a warm call has
// such a state.
func (s *sweep) settle(a *bound) error {
	if s.State != Warm {
		return nil
	}
	made, err := s.wake(a)
	if err != nil || a.seconds > coldAbove.Seconds() {
		return err
	}
	if a.spreads() {
		s.sentinel.gather()
	}
	calls := int(min(max(settleFor.Seconds()/a.seconds, 1), mostIterations))
	return safely(func() error { return a.run(max(calls-made, 0)) })
}

// spreads reports whether calls may want other processors than the one that makes them. The others are left asleep
// otherwise, as a program leaves them that calls nothing parallel.
func (r *rival) spreads() bool {
	const decidesItself = "accelerate"
	name := r.implementation.Name
	return r.implementation.Processor == kernels.CPU && (kernels.Parallel(name) || strings.HasPrefix(name, decidesItself))
}

// run makes n calls: one after the other, or overlapping where several are to be in flight.
func (a *bound) run(n int) error {
	if len(a.flight) > 0 {
		return a.inFlight(n)
	}
	return a.inSequence(n)
}

// inSequence makes n calls, each of which ends before the next one starts.
func (a *bound) inSequence(n int) error {
	for range n {
		if err := a.call.Run(); err != nil {
			return err
		}
	}
	return nil
}

// inFlight makes n calls, of which as many are under way at a time as there are in flight, and returns when all have
// ended.
func (a *bound) inFlight(n int) error {
	depth := len(a.flight)
	for i := range n {
		c := a.flight[i%depth].GPU
		if i >= depth {
			if err := c.Wait(); err != nil {
				return err
			}
		}
		if err := c.Submit(); err != nil {
			return err
		}
	}
	for i := max(0, n-depth); i < n; i++ {
		if err := a.flight[i%depth].GPU.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// fromNothing binds the rival and makes one call, n times over.
func (a *bound) fromNothing(n int) (err error) {
	for range n {
		a.release()
		if a.call, err = a.bind(); err != nil {
			return err
		}
		if err := a.call.Run(); err != nil {
			return err
		}
	}
	return nil
}

// account makes one call more, timed by the GPU, and returns where its time went; the zero value for a rival on the
// processor.
func (s *sweep) account(a *bound) (account timings.GPUTimes, err error) {
	if a.call.GPU == nil || a.call.GPU.Time == nil {
		return account, nil
	}
	if s.State == AfterIdle {
		s.Clock.Sleep(IdlePause)
	}
	err = safely(func() error {
		times, err := a.call.GPU.Time()
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

// fillFlights binds, in throughput mode, each rival on a GPU as often as calls of it are to be in flight, all of them
// by turns, so that where memory is short none takes what the others need. Where it does not suffice there are fewer,
// and the case says so. A rival that fails otherwise stops competing.
func (s *sweep) fillFlights(e *entry, arms []*bound, size int) {
	short := map[*bound]bool{}
	for growing := true; growing; {
		growing = false
		for _, a := range arms {
			wanted := s.flightOf(e.c, a.implementation.Processor, size)
			if wanted == 0 || a.call.GPU == nil || !a.live(size) || short[a] {
				continue
			}
			if len(a.flight) == 0 {
				a.flight = []kernels.Call{a.call}
			}
			if len(a.flight) == wanted {
				if wanted < s.InFlight {
					e.shallow(a, size, s.InFlight, fmt.Sprintf("their data are held to %d MiB", inFlightBytes>>20))
				}
				continue
			}
			switch call, err := bindAndRun(a.bind); {
			case err == nil:
				a.flight = append(a.flight, call)
				growing = true
			case isOutOfMemory(err):
				short[a] = true
				e.shallow(a, size, s.InFlight, err.Error())
			default:
				s.fail(e, a.rival, size, err)
			}
		}
	}
}

// shallow warns that fewer calls of a rival are in flight at a size than were asked for; sizes above go without saying.
func (e *entry) shallow(a *bound, size, wanted int, why string) {
	if a.shallowFrom > 0 && a.shallowFrom <= size {
		return
	}
	a.shallowFrom = size
	e.warn("%s had %d of %d calls in flight at %d %s, and no more above: %s",
		a.status.Name, len(a.flight), wanted, size, e.c.Axis.Unit, why)
}

// bindAndRun binds a call and makes it once. Where that fails it holds nothing.
func bindAndRun(bind func() (kernels.Call, error)) (call kernels.Call, err error) {
	err = safely(func() (err error) {
		if call, err = bind(); err != nil {
			return err
		}
		return call.Run()
	})
	if err != nil {
		call.Release()
		return kernels.Call{}, err
	}
	return call, nil
}
