package harness

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"crossover/sweeps"
)

const (
	// lookFor is how long othersNow watches for other programs. Linux counts processor time in hundredths of a second.
	lookFor = 250 * time.Millisecond
	// atWork is the part of a processor from which another program counts as at work.
	atWork = 0.5
	// busyLoad is a load of each processor that one calibration after another does not reach, because most of their work is
	// on one processor.
	busyLoad = 0.5
)

// Beside says in one line that other programs or virtual machines compute now. It returns "" if none do. It watches for lookFor.
// If the system does not report them, Beside uses the load of the last minute, to which an earlier run of this program may have
// added.
func (m Machine) Beside(load float64) string {
	switch taken := m.othersNow(); {
	case taken > atWork:
		return fmt.Sprintf("other programs or virtual machines keep %.1f processors busy, and their share ends up in the times", taken)
	case math.IsNaN(taken) && load > busyLoad*float64(runtime.NumCPU()):
		return fmt.Sprintf("the load average of the last minute was %.1f on %d processors: if other programs still run, "+
			"their share ends up in the times", load, runtime.NumCPU())
	}
	return ""
}

// othersNow returns the number of processors that others keep busy now, or NaN if the system does not report it.
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
