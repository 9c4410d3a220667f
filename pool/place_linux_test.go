package pool

import (
	"runtime"
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
		here := processor()
		leave(here)
		left = left || processor() != here
	}
	if !left {
		t.Error("the thread stayed where it was, 20 times over")
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("the thread may run on %d processors afterwards, before on %d: %v", after.Count(), before.Count(), err)
	}
}
