package sweeps

import (
	"testing"
	"time"
)

// hands is a clock that moves when work is done.
type hands struct{ now time.Duration }

func (h *hands) Now() time.Duration        { return h.now }
func (h *hands) Resolution() time.Duration { return 1 }
func (h *hands) Sleep(d time.Duration)     { h.now += d }

// Threads that share a processor are waited for until the system has moved them; where that never happens, less and less.
func TestGather(t *testing.T) {
	clock := &hands{}
	movedAt := time.Duration(0)
	crowd := &work{of: "all", tolerance: crowdTolerance, tries: 1, slowerOnly: true, gathers: true, patience: gatherWithin, baseline: 100e-6}
	crowd.run = func() {
		clock.now += 100 * time.Microsecond
		if clock.now <= movedAt {
			clock.now += 100 * time.Microsecond
		}
	}
	s := sentinel{clock: clock, works: []*work{crowd}}
	spent := func(movesAfter time.Duration) time.Duration {
		start := clock.now
		movedAt = start + movesAfter
		s.gather()
		return clock.now - start
	}
	if took := spent(0); took > 200*time.Microsecond {
		t.Errorf("it takes %v where nothing is to be waited for", took)
	}
	if took := spent(8 * time.Millisecond); took < 8*time.Millisecond || took > 9*time.Millisecond {
		t.Errorf("it takes %v where threads are moved after 8 ms", took)
	}
	var vain time.Duration
	for range 100 {
		vain += spent(time.Hour)
	}
	if least := 20 * time.Millisecond; vain < least || vain > 2*gatherWithin+100*300*time.Microsecond {
		t.Errorf("100 waits in vain take %v", vain)
	}
	for range 10 {
		spent(0)
	}
	if took := spent(8 * time.Millisecond); took < 8*time.Millisecond {
		t.Errorf("it takes %v: the patience did not come back", took)
	}
}
