package pool

import "syscall"

// yield lets another thread have this processor if one is waiting for it.
func yield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }
