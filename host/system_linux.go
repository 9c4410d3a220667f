package host

import (
	"math"
	"os"
	"runtime"
	"syscall"
	"time"
)

func identify() Facts { return linuxFacts(os.DirFS("/"), runtime.GOARCH, runtime.NumCPU()) }

func observe() Condition { return linuxCondition(os.DirFS("/")) }

func others() float64 {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return math.NaN()
	}
	return busySeconds(os.DirFS("/")) - (time.Duration(own.Utime.Nano() + own.Stime.Nano())).Seconds()
}

func undriven() string { return undrivenGPU(os.DirFS("/")) }
