package surfaces

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel calls do with 0 to n−1, on all processors.
func inParallel(n int, do func(k int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for k := range n {
			do(k)
		}
		return
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
				do(k)
			}
		})
	}
	wait.Wait()
}
