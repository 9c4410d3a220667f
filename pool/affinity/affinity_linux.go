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

// Current returns the number of the processor that the calling thread runs on, or -1 if it is not known. The system
// call takes about 0.2 µs.
func Current() int {
	var cpu uint32
	if _, _, failed := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); failed != 0 {
		return -1
	}
	return int(cpu)
}

// Leave moves the calling thread off a processor, if the thread is there and may run elsewhere. The thread may come
// back at any time: afterwards it may use the same processors as before.
func Leave(cpu int) {
	if cpu < 0 || Current() != cpu {
		return
	}
	// If the goroutine changed threads in between, it would leave the first thread without the processor for good.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if others, all, ok := without(cpu); ok && unix.SchedSetaffinity(0, &others) == nil {
		_ = unix.SchedSetaffinity(0, &all)
	}
}

// KeepOff lets some threads run on every processor that the calling thread may use, except one. It does nothing if that
// is the only one. It ignores a thread that has ended.
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

// without returns the processors that the calling thread may use: without the given one, and all of them. It reports
// false if the first set is empty.
func without(cpu int) (others, all unix.CPUSet, ok bool) {
	if unix.SchedGetaffinity(0, &all) != nil {
		return others, all, false
	}
	others = all
	others.Clear(cpu)
	return others, all, others.Count() > 0
}

// Named calls start and returns the threads that C code started meanwhile, by their numbers. From then on these threads
// bear the name, of at most 15 bytes. Named finds them by their name: a thread is born with its parent's name, and Go
// starts no thread from one that a goroutine is locked to. The caller is not told when one of them ends. Threads that
// may not use the same processors as the caller were placed on purpose and are left out.
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
