package fftw

import (
	"runtime"
	"sync/atomic"
)

// held is what a Plan holds of FFTW's. It has no reference to the Plan, so that it can outlive the Plan.
type held struct {
	lib              *library
	forward, inverse uintptr // 0 where there is none
}

// destroy frees the plans of FFTW. Doing so twice does nothing.
func (h *held) destroy() {
	planner.Lock()
	defer planner.Unlock()
	for _, plan := range []*uintptr{&h.forward, &h.inverse} {
		if *plan != 0 {
			destroy(h.lib.destroy, *plan)
			*plan = 0
			live.Add(-1)
		}
	}
}

var (
	live  atomic.Int64 // plans of FFTW's that exist
	asked atomic.Int64 // plans that were asked for
)

// Live returns how many plans of FFTW's the process holds: one for each Plan that is neither closed nor freed, and one
// more for each that has run an inverse.
func Live() int { return int(live.Load()) }

// plansPerCollection bounds the plans that are dropped and not freed yet. A collection takes as long as making a few
// plans.
const plansPerCollection = 64

// collect runs the garbage collector once every plansPerCollection plans. The collector does not see the memory of
// FFTW, a hundred kilobytes a plan and more. A program that drops its plans would fill its memory long before the
// collector ran by itself.
func collect() {
	if asked.Add(1)%plansPerCollection == 0 {
		runtime.GC()
	}
}
