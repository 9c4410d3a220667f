//go:build darwin || linux

package loadable

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ebitengine/purego"
)

// The loader keeps the cause for each thread, and a goroutine may change threads at any time. With many goroutines this
// happens often.
func TestOpenKeepsItsOwnCause(t *testing.T) {
	const goroutines, times = 64, 100
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			for n := range times {
				name := fmt.Sprintf("libmissing-%d-%d.so", g, n)
				if _, err := Open(name, purego.RTLD_NOW); err == nil || strings.Count(err.Error(), name) < 2 {
					t.Errorf("%s: the error is %v, want one that holds the loader's own words", name, err)
					return
				}
			}
		})
	}
	wait.Wait()
}
