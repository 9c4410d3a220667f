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

type task func()

func (t task) Do(int, int, int) { t() }
