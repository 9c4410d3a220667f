package sweeps_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"crossover/kernels"
	"crossover/pool"
	"crossover/sweeps"
)

// A sweep moves its thread from core to core by narrowing the set of its allowed processors. A thread that is created then
// would inherit that set, but calls must be made on threads that may use every processor. After the search for a quiet core,
// the goroutine of a parallel call is still not locked.
func TestProcessorsOfTheCalls(t *testing.T) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Skip(err)
	}
	var m sync.Mutex
	narrow, kept, calls := 0, 0, map[string]int{}
	look := func(name string) {
		var mine unix.CPUSet
		err := unix.SchedGetaffinity(0, &mine)
		m.Lock()
		defer m.Unlock()
		calls[name]++
		if err != nil || mine != all {
			narrow++
		}
	}
	machine := newMachine()
	names := []string{"go", "go-parallel"}
	var implementations []implementation
	for k, name := range names {
		cores := []kernels.Cores{kernels.OneCore, kernels.AllCores}[k]
		implementations = append(implementations, implementation{name: name, cores: cores, cost: linear(0, 0), run: func(int) error {
			look(name)
			sweeps.SpinWork() // in both, so that neither is hopelessly slow: a sweep seeks no core for such an implementation
			if cores == kernels.AllCores {
				if locked() {
					kept++
				}
				pool.Shared().Run(pool.Shared().Workers(), 1, task(func() { look("pool") }))
			}
			return nil
		}})
	}
	o := machine.options(10 * time.Second)
	o.Clock, o.Sentinel = nil, nil // the real ones
	c := machine.newCase("op/x=1", 64, 1<<10, implementations...)
	o.Planner = script{{64, 20}, {128, 20}, {256, 20}}.planner
	if _, err := sweeps.Run(t.Context(), []kernels.Case{c}, o); err != nil {
		t.Fatal(err)
	}
	if narrow > 0 {
		t.Errorf("%d of the looks %v were on threads that may not use every processor", narrow, calls)
	}
	if kept > 0 {
		t.Errorf("%d of %d parallel calls were made by a goroutine that kept its thread", kept, calls["go-parallel"])
	}
	for _, name := range slices.Concat(names, []string{"pool"}) {
		if calls[name] == 0 {
			t.Errorf("no look at %s: %v", name, calls)
		}
	}
}

// Serial calls, parallel calls and the sentinel's work run on the same threads. If serial calls had a thread of their own, a
// guest beside its processor would look like a difference between implementations.
func TestOneThread(t *testing.T) {
	machine := newMachine()
	threads := map[string]map[int]int{}
	on := func(name string) {
		if threads[name] == nil {
			threads[name] = map[int]int{}
		}
		threads[name][unix.Gettid()]++
	}
	var implementations []implementation
	for name, cores := range map[string]kernels.Cores{"go": kernels.OneCore, "go-parallel": kernels.AllCores} {
		implementations = append(implementations, implementation{name: name, cores: cores, cost: linear(0, 0), run: func(int) error {
			on(name)
			sweeps.SpinWork()
			return nil
		}})
	}
	o := machine.options(10 * time.Second)
	o.Virtual, o.Clock, o.Sentinel = false, nil, func() { on("sentinel") }
	c := machine.newCase("op/x=1", 64, 1<<10, implementations...)
	o.Planner = script{{64, 20}, {128, 20}}.planner
	if _, err := sweeps.Run(t.Context(), []kernels.Case{c}, o); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go-parallel", "sentinel"} {
		together := 0
		for thread, calls := range threads["go"] {
			together += min(calls, threads[name][thread])
		}
		if together == 0 {
			t.Errorf("the calls of go were made on the threads %v, and %s ran on %v", threads["go"], name, threads[name])
		}
	}
}

type task func()

func (t task) Do(int, int, int) { t() }
