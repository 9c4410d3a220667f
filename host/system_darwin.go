package host

import (
	"runtime"
	"syscall"
)

func identify() Facts { return appleFacts(syscall.Sysctl, runtime.GOARCH, runtime.NumCPU()) }

func observe() Condition { return appleCondition(syscall.Sysctl) }
