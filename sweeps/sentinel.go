package sweeps

import (
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// sentinelTolerance is how far a reading may be off the baseline before the machine counts as disturbed.
const sentinelTolerance = 0.05

// sentinel watches the machine: it times a fixed piece of work and compares.
type sentinel struct {
	clock    Clock
	work     func()
	baseline float64 // seconds; 0 before the first reading
}

// SpinWork is the default sentinel: a chain of dependent multiply-adds, about 100 µs of one core, which feels the
// clock rate and whoever else wants the core, and nothing of the memory that the implementations leave behind.
func SpinWork() {
	x := 1.0
	for range 40_000 {
		x = x*0.999999 + 1e-6
	}
	spinSink.Store(math.Float64bits(x))
}

// spinSink keeps the compiler from leaving the work out.
var spinSink atomic.Uint64

// read times the work: the least of three, because a single spike is not a state of the machine.
func (s *sentinel) read() float64 {
	least := math.Inf(1)
	for range 3 {
		start := s.clock.Now()
		s.work()
		least = min(least, (s.clock.Now() - start).Seconds())
	}
	return least
}

// settle takes a new baseline: once the readings have stopped falling, because an idle machine's clock ramps up first,
// the median of several.
func (s *sentinel) settle() {
	const steadyAfter, atMost, count = 5, 200, 9
	least, steady := math.Inf(1), 0
	for n := 0; n < atMost && steady < steadyAfter; n++ {
		reading := s.read()
		steady++
		if reading < 0.99*least {
			steady = 0
		}
		least = min(least, reading)
	}
	readings := make([]float64, count)
	for i := range readings {
		readings[i] = s.read()
	}
	slices.Sort(readings)
	s.baseline = readings[count/2]
}

// quiet reports whether the machine is as it was at the baseline.
func (s *sentinel) quiet() bool {
	return math.Abs(s.read()-s.baseline) <= sentinelTolerance*s.baseline
}

// backOff waits for the machine to become quiet again, longer each time, and reports whether it did.
func (s *sentinel) backOff(attempts int) bool {
	wait := 10 * time.Millisecond
	for range attempts {
		s.clock.Sleep(wait)
		if s.quiet() {
			return true
		}
		wait *= 2
	}
	return false
}
