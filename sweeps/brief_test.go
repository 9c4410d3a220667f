package sweeps_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
)

// manyVisits are visits of three blocks each, to sizes that differ.
func manyVisits() script {
	var s script
	for k := range 20 {
		s = append(s, visit{1000 + 100*k, 3})
	}
	return s
}

// Brief visits take a small part of the time of others, have no twin, and are not waited for on a machine that is not quiet.
func TestBriefVisits(t *testing.T) {
	took := map[bool]float64{}
	for _, brief := range []bool{false, true} {
		m := newMachine()
		o := m.options(100 * time.Second)
		o.Planner, o.Brief = manyVisits().planner, brief
		r := m.sweep(t, o, m.newCase("fft", 1, 1<<20, quickStarter(), slowStarter()))[0]
		took[brief] = m.now - m.slept
		if n := len(r.Samples.Sizes()); n != 20 {
			t.Errorf("brief %v: %d sizes were visited, want 20", brief, n)
		}
		for _, b := range r.Samples.Blocks {
			if brief != (b.Twin < 0) {
				t.Fatalf("brief %v: a block has the twin %d", brief, b.Twin)
			}
		}
	}
	if !(took[true] < 0.6*took[false]) {
		t.Errorf("brief visits took %.3f s, others %.3f s", took[true], took[false])
	}
}

// thorough is a planner that wants long visits to some sizes.
type thorough struct {
	sweeps.Planner
	long func(size int) bool
}

func (t thorough) Full(size int) bool { return t.long(size) }

// A planner may want long visits in a brief sweep. They have a twin, as others have.
func TestLongVisitsOfABriefSweep(t *testing.T) {
	m := newMachine()
	o := m.options(100 * time.Second)
	long := func(size int) bool { return size%300 == 0 }
	o.Planner, o.Brief = func(c *kernels.Case) sweeps.Planner { return thorough{manyVisits().planner(c), long} }, true
	r := m.sweep(t, o, m.newCase("fft", 1, 1<<20, quickStarter(), slowStarter()))[0]
	if n := len(r.Samples.Sizes()); n != 20 {
		t.Errorf("%d sizes were visited, want 20", n)
	}
	for _, b := range r.Samples.Blocks {
		if long(b.Size) == (b.Twin < 0) {
			t.Errorf("a block at %d has the twin %d", b.Size, b.Twin)
		}
	}
}

// On a machine that does not come to rest, brief visits go on at once, and their blocks are kept as disturbed ones.
func TestBriefVisitsDoNotWait(t *testing.T) {
	slept := map[bool]float64{}
	for _, brief := range []bool{false, true} {
		m := newMachine()
		from := -1.0
		m.speed = func(now float64) float64 {
			if from > 0 && math.Mod(now-from, 0.12) < 0.09 { // longer than a block, shorter than a wait
				return 1.5
			}
			return 1
		}
		e := quickStarter()
		e.bind = func(int) error {
			if from < 0 {
				from = m.now + 0.02
			}
			return nil
		}
		o := m.options(100 * time.Second)
		o.Planner, o.Brief = manyVisits().planner, brief
		before := m.slept
		r := m.sweep(t, o, m.newCase("fft", 1, 1<<20, e, slowStarter()))[0]
		slept[brief] = m.slept - before
		if n := len(r.Samples.Sizes()); n != 20 {
			t.Errorf("brief %v: %d sizes have blocks, want 20", brief, n)
		}
	}
	if !(slept[true] < slept[false]/4) {
		t.Errorf("brief visits waited %.3f s, others %.3f s", slept[true], slept[false])
	}
}

// selective is a planner that leaves one implementation out above a size.
type selective struct {
	sweeps.Planner
	name  string
	above int
}

func (s selective) Skips(size int, implementation string) bool {
	return implementation == s.name && size > s.above
}

// What a planner leaves out is neither bound nor timed there, and is timed elsewhere.
func TestSelectivePlanner(t *testing.T) {
	m := newMachine()
	var bound []int
	slow := slowStarter()
	slow.bind = func(size int) error {
		bound = append(bound, size)
		return nil
	}
	o := m.options(100 * time.Second)
	o.Planner = func(c *kernels.Case) sweeps.Planner { return selective{manyVisits().planner(c), slow.name, 2000} }
	r := m.sweep(t, o, m.newCase("fft", 1, 1<<20, quickStarter(), slow))[0]
	if low, high := timed(r, slow.name); low != 1000 || high != 2000 {
		t.Errorf("it was timed from %d to %d, want 1000 to 2000", low, high)
	}
	if _, high := timed(r, "go"); high != 2900 {
		t.Errorf("the other one was timed up to %d, want 2900", high)
	}
	if len(bound) == 0 || slices.Max(bound) > 2000 {
		t.Errorf("it was bound at %v", bound)
	}
	if why := status(t, r, slow.name).Excluded; why != "" {
		t.Errorf("it was excluded: %s", why)
	}
}
