package affinity

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLeave(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil || before.Count() < 2 {
		t.Skip("there is no other processor to go to")
	}
	left := false
	for range 20 { // the system may move the thread back at once
		here := Current()
		Leave(here)
		left = left || Current() != here
	}
	if !left {
		t.Error("the thread stayed where it was, 20 times over")
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("the thread may run on %d processors afterwards, before on %d: %v", after.Count(), before.Count(), err)
	}
}

// A goroutine that is not locked to its thread may be moved to another thread at any moment. Afterwards every thread
// may use the processors that it could use before.
func TestLeaveOfManyGoroutines(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() < 2 {
		t.Skip("there is no other processor to go to")
	}
	const enough = 10_000
	var leaving sync.WaitGroup
	var left atomic.Int64
	for range 4 {
		leaving.Go(func() {
			for left.Add(1) < enough {
				Leave(Current())
				runtime.Gosched() // to another thread, often
			}
		})
	}
	leaving.Go(func() {
		for left.Load() < enough {
			runtime.GC() // stops all goroutines, also in the middle of Leave
		}
	})
	leaving.Wait()
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip(err)
	}
	for _, entry := range entries {
		thread, _ := strconv.Atoi(entry.Name())
		var allowed unix.CPUSet
		if err := unix.SchedGetaffinity(thread, &allowed); err == nil && allowed != all {
			t.Errorf("a thread of %d may run on %d of %d processors", len(entries), allowed.Count(), all.Count())
		}
	}
}

func TestKeepOff(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, kept unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() < 2 {
		t.Skip("there is no other processor to go to")
	}
	number, done := make(chan int), make(chan struct{})
	defer close(done)
	go func() {
		runtime.LockOSThread() // without unlocking, so that the thread ends with the goroutine
		number <- unix.Gettid()
		<-done
	}()
	thread := <-number
	for cpu := range len(all) * 64 {
		if !all.IsSet(cpu) {
			continue
		}
		KeepOff(cpu, []int{thread})
		if err := unix.SchedGetaffinity(thread, &kept); err != nil || kept.IsSet(cpu) || kept.Count() != all.Count()-1 {
			t.Errorf("kept off %d, the thread may run on %d of %d processors, there: %t (%v)",
				cpu, kept.Count(), all.Count(), kept.IsSet(cpu), err)
		}
	}
	KeepOff(-1, []int{thread}) // unknown
	if err := unix.SchedGetaffinity(thread, &kept); err != nil || kept.Count() != all.Count()-1 {
		t.Errorf("the thread may run on %d processors after nothing was asked for: %v", kept.Count(), err)
	}
}

func TestNamed(t *testing.T) {
	threads := Named("crossover-test", func() {})
	if len(threads) != 0 {
		t.Errorf("%d threads of nothing", len(threads))
	}
	var name [16]byte
	if err := prctl(unix.PR_GET_NAME, &name); err != nil || string(name[:14]) == "crossover-test" {
		t.Errorf("the thread kept the name: %q, %v", name, err)
	}
}
