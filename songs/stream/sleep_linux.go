package stream

import (
	"syscall"
	"time"
)

// until sleeps in the kernel, as a thread that waits for a sound card does. Go's own timers wake up to a millisecond late, because
// the runtime waits for them in whole milliseconds. A signal ends the sleep early.
func (c systemClock) until(t time.Duration) {
	for left := t - c.now(); left > 0; left = t - c.now() {
		rest := syscall.NsecToTimespec(int64(left))
		syscall.Nanosleep(&rest, nil)
	}
}
