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

// Yield lets another thread run on this processor if one is waiting for it.
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

// Leave moves the calling thread off a processor, if the thread is there and may run elsewhere. Afterwards the thread may
// use the same processors as before, so it may come back at any time.
func Leave(cpu int) {
	if cpu < 0 || Current() != cpu {
		return
	}
	// Without the lock, the goroutine might change threads in between. The first thread could then never use the processor
	// again.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if others, all, ok := without(cpu); ok && unix.SchedSetaffinity(0, &others) == nil {
		_ = unix.SchedSetaffinity(0, &all)
	}
}

// KeepOff lets the given threads run on every processor that the calling thread may use, except cpu. It does nothing if cpu
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

// without returns the processors that the calling thread may use: all except the given one, and all. ok is false if the
// first set is empty.
func without(cpu int) (others, all unix.CPUSet, ok bool) {
	if unix.SchedGetaffinity(0, &all) != nil {
		return others, all, false
	}
	others = all
	others.Clear(cpu)
	return others, all, others.Count() > 0
}

// Named calls start and returns the numbers of the threads that C code started meanwhile. These threads keep the given name,
// of at most 15 bytes. Named recognises them by the name: a new thread inherits the name of the thread that starts it, and
// Go starts no thread from one to which a goroutine is locked. Threads that may not use the same processors as the caller
// are left out, because somebody placed them on purpose. Nothing tells the caller when one of the threads ends.
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
