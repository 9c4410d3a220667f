package pool

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// yield lets another thread have this processor if one is waiting for it.
func yield() { syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

// processor returns the number of the processor that the calling thread runs on, or -1.
func processor() int {
	var cpu uint32
	if _, _, failed := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); failed != 0 {
		return -1
	}
	return int(cpu)
}

// leave moves the calling thread off a processor if it is there and may run elsewhere. Nothing keeps it from coming back:
// the set of processors that it may use is afterwards what it was.
func leave(cpu int) {
	if cpu < 0 || processor() != cpu {
		return
	}
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil || allowed.Count() < 2 {
		return
	}
	others := allowed
	others.Clear(cpu)
	if unix.SchedSetaffinity(0, &others) == nil {
		_ = unix.SchedSetaffinity(0, &allowed)
	}
}
