package affinity

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Yield lets another thread have this processor if one is waiting for it.
func Yield() { unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// Current returns the number of the processor that the calling thread runs on, or -1 where it is not known. It takes
// about 0.2 µs (a system call).
func Current() int {
	var cpu uint32
	if _, _, failed := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); failed != 0 {
		return -1
	}
	return int(cpu)
}

// Leave moves the calling thread off a processor if it is there and may run elsewhere. Nothing keeps it from coming back:
// the set of processors that it may use is afterwards what it was.
func Leave(cpu int) {
	if cpu < 0 || Current() != cpu {
		return
	}
	// A goroutine that went on elsewhere in between would leave its thread without the processor for good.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if others, all, ok := without(cpu); ok && unix.SchedSetaffinity(0, &others) == nil {
		_ = unix.SchedSetaffinity(0, &all)
	}
}

// KeepOff lets some threads run on every processor that the calling thread may use but one. It leaves them alone where
// that is the only one, and ignores a thread that has ended.
func KeepOff(cpu int, threads []int) {
	if cpu < 0 || len(threads) == 0 {
		return
	}
	if others, _, ok := without(cpu); ok {
		for _, thread := range threads {
			_ = unix.SchedSetaffinity(thread, &others)
		}
	}
}

// without returns the processors that the calling thread may use, with one left out and with all of them. It reports
// false where none would be left.
func without(cpu int) (others, all unix.CPUSet, ok bool) {
	if unix.SchedGetaffinity(0, &all) != nil {
		return others, all, false
	}
	others = all
	others.Clear(cpu)
	return others, all, others.Count() > 0
}

// Named calls start and returns the threads that C code started meanwhile, by their numbers. They bear the name, of 15
// bytes at most, from then on: a thread is born with its parent's, and Go starts no thread from one that a goroutine is
// locked to. Those that end later are not told; threads that may not use the same processors as the caller were placed
// on purpose and are left out.
func Named(name string, start func()) []int {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, during [16]byte
	copy(during[:15], name)
	if prctl(unix.PR_GET_NAME, &before) != nil || prctl(unix.PR_SET_NAME, &during) != nil {
		start()
		return nil
	}
	start()
	mine := unix.Gettid()
	_ = prctl(unix.PR_SET_NAME, &before)

	var free unix.CPUSet
	if unix.SchedGetaffinity(0, &free) != nil {
		return nil
	}
	var threads []int
	entries, _ := os.ReadDir("/proc/self/task")
	for _, entry := range entries {
		comm, err := os.ReadFile(filepath.Join("/proc/self/task", entry.Name(), "comm"))
		thread, notNumber := strconv.Atoi(entry.Name())
		if err != nil || notNumber != nil || thread == mine || string(bytes.TrimSpace(comm)) != name {
			continue
		}
		var allowed unix.CPUSet
		if unix.SchedGetaffinity(thread, &allowed) == nil && allowed == free {
			threads = append(threads, thread)
		}
	}
	return threads
}

func prctl(what int, name *[16]byte) error {
	return unix.Prctl(what, uintptr(unsafe.Pointer(name)), 0, 0, 0)
}
