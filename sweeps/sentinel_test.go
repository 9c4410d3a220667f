package sweeps

import (
	"strings"
	"testing"
	"time"

	"crossover/timings"
)

// hands is a clock that only work advances.
type hands struct{ now time.Duration }

func (h *hands) Now() time.Duration        { return h.now }
func (h *hands) Resolution() time.Duration { return 1 }
func (h *hands) Sleep(d time.Duration)     { h.now += d }

// The sentinel waits for threads that share a processor until the system has moved them. If that never happens, it waits
// less and less.
func TestGather(t *testing.T) {
	clock := &hands{}
	movedAt := time.Duration(0)
	crowd := &work{of: "all", tolerance: crowdTolerance, tries: 1, slowerOnly: true, gathers: true, patience: newPatience(gatherWithin), baseline: 100e-6}
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

// Blocks of a disturbed machine count until there are better ones, and degrade the case as long as they count.
func TestDisturbedBlocks(t *testing.T) {
	blocks := func(size, visit int) []timings.Block {
		return []timings.Block{{Size: size, Visit: visit}, {Size: size, Visit: visit}}
	}
	e := &entry{result: &Result{}}
	restless := blocks(64, 1)
	e.disturb(restless, "the machine took its time")
	e.keep(restless, 64)
	e.keep(blocks(128, 2), 128)
	if n := len(e.result.Samples.Blocks); n != 4 || !e.disturbed() {
		t.Fatalf("%d blocks, disturbed %t; want 4 of which two are", n, e.disturbed())
	}
	if e.quietAt(64) || !e.quietAt(128) {
		t.Errorf("quiet at 64: %t, at 128: %t; want the second only", e.quietAt(64), e.quietAt(128))
	}
	e.keep(blocks(64, 3), 64)
	if n := len(e.result.Samples.Blocks); n != 4 || e.disturbed() || e.result.Discarded.Total() != 2 {
		t.Errorf("%d blocks, disturbed %t, %d discarded; want quiet ones in place of two", n, e.disturbed(), e.result.Discarded.Total())
	}
	mixed := blocks(512, 4)
	e.disturb(mixed[:1], "somebody came by")
	e.keep(mixed, 512)
	if n := len(e.result.Samples.Blocks); n != 5 || e.disturbed() || e.result.Discarded.Total() != 3 {
		t.Errorf("%d blocks, disturbed %t, %d discarded; want the quiet one of two", n, e.disturbed(), e.result.Discarded.Total())
	}
	e.blame()
	if e.result.Degraded {
		t.Errorf("degraded: %q", e.result.Warnings)
	}
	last := blocks(256, 5)
	e.disturb(last, "the machine took its time")
	e.keep(last, 256)
	e.blame()
	if !e.result.Degraded || !strings.Contains(strings.Join(e.result.Warnings, ""), "took its time") {
		t.Errorf("degraded %t, %q: two blocks of a disturbed machine are left", e.result.Degraded, e.result.Warnings)
	}
}

// Blocks beside a neighbour of another processor count until there are enough others. They degrade a case that mostly
// consists of them.
func TestCrowdedBlocks(t *testing.T) {
	blocks := func(size, visit, quiet, crowded int) []timings.Block {
		var out []timings.Block
		for n := range quiet + crowded {
			out = append(out, timings.Block{Size: size, Visit: visit, Crowded: n >= quiet})
		}
		return out
	}
	e := &entry{result: &Result{}}
	e.keep(blocks(64, 1, leastQuiet-1, 4), 64)
	if n := len(e.result.Samples.Blocks); n != leastQuiet+3 {
		t.Fatalf("%d blocks, want all of them: the quiet ones are few", n)
	}
	e.keep(blocks(128, 2, 0, 2), 128)
	if e.blame(); !e.result.Degraded || !strings.Contains(e.result.Warnings[0], "another processor in 6 of 8 blocks") {
		t.Errorf("degraded %t, %q", e.result.Degraded, e.result.Warnings)
	}
	e.result.Degraded = false
	e.keep(blocks(64, 3, 1, 0), 64)
	if n := len(e.result.Samples.Blocks); n != leastQuiet+2 || e.result.Discarded.Total() != 4 || e.disturbed() {
		t.Errorf("%d blocks, %d discarded; want the crowded ones of that size to go", n, e.result.Discarded.Total())
	}
	if e.blame(); e.result.Degraded {
		t.Errorf("degraded: %q", e.result.Warnings)
	}
}

// After parallel work a core gets time for its clock to recover. A disturbance that lasts, slows more, or does not come
// after such work is noticed as usual.
func TestARestAfterParallelWork(t *testing.T) {
	for name, c := range map[string]struct {
		spread time.Duration // time since the end of parallel work; 0 for none
		took   time.Duration // the reading
		lasts  time.Duration
		quiet  bool
		spent  time.Duration // at most
	}{
		"a clock that comes back":      {time.Millisecond, 106 * time.Microsecond, 4 * time.Millisecond, true, 5 * time.Millisecond},
		"nothing":                      {time.Millisecond, 100 * time.Microsecond, time.Hour, true, time.Millisecond},
		"a clock that does not":        {time.Millisecond, 106 * time.Microsecond, time.Hour, false, spreadRest + time.Millisecond},
		"a disturbance that is slower": {time.Millisecond, 115 * time.Microsecond, 4 * time.Millisecond, false, time.Millisecond},
		"no parallel work lately":      {20 * time.Millisecond, 106 * time.Microsecond, 4 * time.Millisecond, false, time.Millisecond},
		"no parallel work":             {0, 106 * time.Microsecond, 4 * time.Millisecond, false, time.Millisecond},
		"a machine that is faster":     {time.Millisecond, 94 * time.Microsecond, 4 * time.Millisecond, false, time.Millisecond},
	} {
		clock := &hands{}
		slow, until := 100*time.Microsecond, time.Duration(0)
		w := &work{of: "it", tolerance: sentinelTolerance, tries: spinTries, lasts: lasting}
		w.run = func() {
			if clock.now < until {
				clock.now += slow
			} else {
				clock.now += 100 * time.Microsecond
			}
		}
		s := sentinel{clock: clock, works: []*work{w}}
		s.settle(t.Context(), time.Minute)
		if c.spread > 0 {
			s.spread = clock.now
			clock.now += c.spread
		}
		slow, until = c.took, clock.now+c.lasts
		start := clock.now
		if quiet := s.quiet(); quiet != c.quiet || clock.now-start > c.spent {
			t.Errorf("%s: quiet %t after %v, want %t within %v", name, quiet, clock.now-start, c.quiet, c.spent)
		}
	}
}

// Waits in vain get shorter, but a machine that is quiet again is noticed after any number of them.
func TestBackOffsGetShorter(t *testing.T) {
	clock := &hands{}
	took := 100 * time.Microsecond
	w := &work{of: "it", tolerance: 0.05, tries: 1, slowerOnly: true, lasts: time.Hour, run: func() { clock.now += took }}
	s := &sweep{sentinel: sentinel{clock: clock, works: []*work{w}}, patience: newPatience(backOffFor)}
	s.Clock = clock
	s.sentinel.settle(t.Context(), time.Minute)
	took *= 2
	if s.backOff(t.Context()) || s.waited < backOffFor {
		t.Errorf("it waited for %v, want %v at first", s.waited, backOffFor)
	}
	for range 80 {
		s.backOff(t.Context())
	}
	if s.waited > 3*backOffFor {
		t.Errorf("it waited for %v in vain", s.waited)
	}
	took /= 2
	if !s.backOff(t.Context()) {
		t.Error("it does not look any more")
	}
	if s.patience.now == 0 {
		t.Error("it has no patience left although that helped")
	}
}
