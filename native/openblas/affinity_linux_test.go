package openblas

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"crossover/pool/affinity"
)

// OpenBLAS's threads must not wake on the processor of the thread that waits for them.
func TestThreadsKeepOffTheCaller(t *testing.T) {
	needLibrary(t)
	if Threads() < 2 || runtime.NumCPU() < 2 {
		t.Skip("one thread only, or nowhere else to go")
	}
	lib, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	if len(lib.helpers) != lib.threads-1 {
		t.Errorf("%d helpers were found of %d threads", len(lib.helpers), lib.threads)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const n = 64
	x, y := make([]float32, n*n), make([]float32, n*n)
	for try := 0; ; try++ {
		here := affinity.Current()
		Gemm(Threads(), false, false, n, n, n, 1, x, n, x, n, 0, y, n)
		if affinity.Current() != here && try < 100 {
			continue // the system moved the caller meanwhile
		}
		for _, helper := range lib.helpers {
			var allowed unix.CPUSet
			if err := unix.SchedGetaffinity(helper, &allowed); err != nil || allowed.IsSet(here) {
				t.Errorf("thread %d may run on processor %d, the caller's (%v)", helper, here, err)
			}
		}
		return
	}
}
