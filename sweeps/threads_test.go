package sweeps_test

import (
	"runtime"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/sweeps"
)

// locked reports whether the calling goroutine is locked to a thread. The first line of its stack says so.
func locked() bool {
	stack := make([]byte, 100)
	first, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), "\n")
	return strings.Contains(first, "locked to thread")
}

// Binding, calls and the sentinel's work happen on goroutines that are locked to no thread, as in a program.
func TestCallsOnNoLockedThread(t *testing.T) {
	runtime.LockOSThread()
	if !locked() {
		t.Error("a locked goroutine does not say so")
	}
	runtime.UnlockOSThread()
	if locked() {
		t.Error("a goroutine that is not locked says that it is")
	}
	cores := map[string]kernels.Cores{"all": kernels.AllCores, "library": kernels.LibraryCores}
	for name, change := range map[string]func(*sweeps.Options){
		"latency":    func(*sweeps.Options) {},
		"throughput": func(o *sweeps.Options) { o.Mode = sweeps.Throughput },
		"cold":       func(o *sweeps.Options) { o.State = sweeps.Cold },
		"after-idle": func(o *sweeps.Options) { o.State = sweeps.AfterIdle },
	} {
		t.Run(name, func(t *testing.T) {
			type of struct {
				name   string
				what   string
				locked bool
			}
			seen := map[of]int{}
			var implementations []implementation
			for _, name := range []string{"go", "all", "library", "cuda"} {
				i := implementation{name: name, cores: cores[name], cost: linear(1e-5, 1e-9)}
				if name == "cuda" {
					i = card(name)
				}
				i.bind = func(int) error { seen[of{name, "bind", locked()}]++; return nil }
				i.run = func(int) error { seen[of{name, "call", locked()}]++; return nil }
				implementations = append(implementations, i)
			}
			quietly(t, func(o *sweeps.Options) {
				o.Virtual = false
				o.Sentinel = func() { seen[of{"sentinel", "call", locked()}]++ }
				change(o)
			}, 64, implementations...)
			for o, n := range seen {
				if o.locked {
					t.Errorf("%d times, %s %s on a goroutine that is locked to a thread", n, o.name, o.what)
				}
			}
			if len(seen) != 2*len(implementations)+1 {
				t.Errorf("seen: %v", seen)
			}
		})
	}
}
