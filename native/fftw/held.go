package fftw

import (
	"runtime"
	"sync/atomic"
)

// held holds FFTW's plans of a Plan. It has no reference to the Plan, so it can outlive the Plan.
type held struct {
	lib              *library
	forward, inverse uintptr // 0 if there is none
	destroyed        bool    // planner guards it
}

// destroy frees FFTW's plans. A second call does nothing.
func (h *held) destroy() {
	planner.Lock()
	defer planner.Unlock()
	h.destroyed = true
	for _, plan := range []*uintptr{&h.forward, &h.inverse} {
		if *plan != 0 {
			destroy(h.lib.destroy, *plan)
			*plan = 0
			live.Add(-1)
		}
	}
}

var (
	live  atomic.Int64 // FFTW's plans that exist
	asked atomic.Int64 // number of calls of collect
)

// Live returns the number of FFTW's plans that the process holds: one for each plan that is neither closed nor freed, and
// one more for each Plan that has run in both directions.
func Live() int { return int(live.Load()) }

// plansPerCollection limits the number of plans that are dropped and not freed yet. A collection takes as long as making a
// few plans.
const plansPerCollection = 64

// collect is called once for each plan, and runs the garbage collector every plansPerCollection calls. The collector does
// not see FFTW's memory, which is a hundred kilobytes or more for each plan. A program that drops its plans would fill its
// memory long before the collector ran by itself.
func collect() {
	if asked.Add(1)%plansPerCollection == 0 {
		runtime.GC()
	}
}
