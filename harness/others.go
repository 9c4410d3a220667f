package harness

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"crossover/sweeps"
)

const (
	// lookFor is how long the machine is looked at for other programs: 25 of the hundredths of a second that Linux counts in.
	lookFor = 250 * time.Millisecond
	// atWork is how much of a processor a program takes that is at work.
	atWork = 0.5
	// busyLoad is the load of each processor that one calibration after another does not reach: most of what they do is
	// done on one processor.
	busyLoad = 0.5
)

// Beside says, in a line, that other programs are at work beside this one, "" where none are. It looks for lookFor. Where the
// system does not tell who computes, the load of the last minute has to do, in which an earlier run of this program has its
// part.
func (m Machine) Beside(load float64) string {
	switch taken := m.othersNow(); {
	case taken > atWork:
		return fmt.Sprintf("other programs keep %.1f processors busy, and their share ends up in the times", taken)
	case math.IsNaN(taken) && load > busyLoad*float64(runtime.NumCPU()):
		return fmt.Sprintf("the load average of the last minute was %.1f on %d processors: if other programs still run, "+
			"their share ends up in the times", load, runtime.NumCPU())
	}
	return ""
}

// othersNow returns how many processors other programs keep busy at the moment; NaN where the system does not tell.
func (m Machine) othersNow() float64 {
	if m.Others == nil || math.IsNaN(m.Others()) {
		return math.NaN()
	}
	clock := m.Clock
	if clock == nil {
		clock = sweeps.SystemClock()
	}
	before, start := m.Others(), clock.Now()
	clock.Sleep(lookFor)
	return (m.Others() - before) / (clock.Now() - start).Seconds()
}
