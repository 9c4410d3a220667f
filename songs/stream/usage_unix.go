//go:build linux || darwin

package stream

import (
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func processorSeconds() float64 {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return math.NaN()
	}
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
}

// residentBytes reads /proc, which a Mac lacks.
// Format: https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return -1
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return -1
	}
	pages, err := strconv.ParseInt(fields[1], 10, 40)
	if err != nil {
		return -1
	}
	return pages * int64(os.Getpagesize())
}
