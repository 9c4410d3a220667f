package sweeps

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"crossover/pool"
)

// closely compares figures that come from a division.
var closely = cmpopts.EquateApprox(1e-9, 0)

// watched is a machine of two processors with the times of its works, in virtual time.
type watched struct {
	hands
	spin, one, all, handOver time.Duration
}

func quietPair() *watched {
	return &watched{spin: 65 * time.Microsecond, one: 100 * time.Microsecond, all: 104 * time.Microsecond, handOver: 30}
}

func (w *watched) sentinel() sentinel {
	spend := func(d *time.Duration, times time.Duration) func() { return func() { w.now += times * *d } }
	return newSentinel(&w.hands, spend(&w.spin, 1), &Together{
		Processors: 2, All: func() time.Duration { w.now += w.all; return w.all }, One: spend(&w.one, 1), HandOver: spend(&w.handOver, HandOvers),
	}, 2*time.Minute)
}

// Readings are compared with the baseline. Kept is the median of the kept readings. A better reading makes no better
// baseline.
func TestObserved(t *testing.T) {
	m := quietPair()
	s := m.sentinel()
	s.settle(t.Context(), time.Minute)
	for _, handOver := range []time.Duration{40, 28, 40, 41, 35} {
		m.handOver, m.all = handOver, 104*time.Microsecond
		if handOver == 35 {
			m.all = 130 * time.Microsecond
		}
		if !s.quiet() {
			t.Fatalf("%d ns a hand-over is no quiet machine: %s", handOver, s.moved)
		}
		if handOver != 35 {
			s.keep()
		}
	}
	want := Observed{
		Processors: 2, Readings: 4, Epochs: 1, Company: -1,
		Baseline: Figures{OneProcessor: 65e-6, AllRatio: 1.04, HandOver: 30e-9},
		Kept:     Figures{OneProcessor: 65e-6, AllRatio: 1.04, HandOver: 40e-9},
	}
	if diff := cmp.Diff(want, s.observed(), closely); diff != "" {
		t.Error(diff)
	}
	last := s.kept[len(s.kept)-1].at
	if s.forget(0, last); len(s.kept) != 1 {
		t.Errorf("%d readings are left, want the last one", len(s.kept))
	}
	s.forget(last, last+1)
	want.Kept, want.Readings = Figures{}, 0
	if diff := cmp.Diff(want, s.observed(), closely); diff != "" {
		t.Errorf("forgotten (-want +got):\n%s", diff)
	}
}

// Both times of the ratio are of one reading. If the clock of both falls, the ratio stays the same.
func TestARatioIsPaired(t *testing.T) {
	m := quietPair()
	s := m.sentinel()
	s.settle(t.Context(), time.Minute)
	for _, took := range [][2]time.Duration{{100, 100}, {100, 150}, {150, 150}} {
		m.one, m.all = took[0]*time.Microsecond, took[1]*time.Microsecond
		if !s.quiet() {
			t.Fatal(s.moved)
		}
		s.keep()
	}
	if kept := s.observed().Kept; kept.AllRatio != 1 {
		t.Errorf("the ratio is %v", kept.AllRatio)
	}
}

// The time of one of all processors is only a divisor. It never means that the machine is disturbed.
func TestOneOfAllDisturbsNothing(t *testing.T) {
	m := quietPair()
	s := m.sentinel()
	s.settle(t.Context(), time.Minute)
	for _, one := range []time.Duration{time.Second, 10 * time.Microsecond, 0} {
		if m.one = one; !s.quiet() || len(s.pasts) > 0 {
			t.Errorf("%v: %s%v", one, s.moved, s.pasts)
		}
		s.keep()
	}
	if ratio := s.observed().Kept.AllRatio; !(ratio > 0 && ratio < 100) {
		t.Errorf("the ratio is %v", ratio)
	}
}

// If the machine is off a baseline, only the works that were read are known. If a baton does not come back, the hand-over is
// not known.
func TestWhatIsNotKnown(t *testing.T) {
	m := quietPair()
	s := m.sentinel()
	s.settle(t.Context(), time.Minute)
	if !s.quiet() {
		t.Fatal(s.moved)
	}
	m.spin *= 2
	if s.quiet() {
		t.Fatal("twice the time is quiet")
	}
	s.keep()
	s.keep()
	want := Figures{OneProcessor: 130e-6}
	if diff := cmp.Diff(want, s.observed().Kept, closely); diff != "" {
		t.Error(diff)
	}
	m.spin /= 2
	if !s.quiet() {
		t.Fatal(s.moved)
	}
	s.keep()
	want.AllRatio, want.HandOver = 1.04, 30e-9
	if diff := cmp.Diff(want, s.observed().Kept, closely); diff != "" {
		t.Errorf("with one reading of three that was whole (-want +got):\n%s", diff)
	}

	m = quietPair()
	m.handOver = meetWithin / HandOvers
	s = m.sentinel()
	s.settle(t.Context(), time.Minute)
	s.quiet()
	s.keep()
	if o := s.observed(); o.Baseline.HandOver != 0 || o.Kept.HandOver != 0 || o.Kept.AllRatio == 0 {
		t.Errorf("where the baton is given up: %+v", o)
	}

	m = &watched{} // its clock does not advance
	s = m.sentinel()
	s.settle(t.Context(), time.Minute)
	s.quiet()
	s.keep()
	if o := s.observed(); o.Baseline != (Figures{}) || o.Kept != (Figures{}) {
		t.Errorf("where nothing takes any time: %+v", o)
	}
}

// On this machine, busy or not, every work takes some time.
func TestObserveThisMachine(t *testing.T) {
	var f Figures
	for range 5 { // another program may slow one of the readings to half of its speed
		s := newSentinel(SystemClock(), nil, nil, time.Minute)
		s.settle(t.Context(), time.Minute)
		o := s.observed()
		if o.Processors != pool.Shared().Workers() || o.Processors < 1 {
			t.Fatalf("%d processors", o.Processors)
		}
		f = o.Baseline
		if one := f.OneProcessor; !(one > 1e-6 && one < 0.1) {
			t.Fatalf("one processor takes %v s", one)
		}
		if o.Processors < 2 {
			t.Skip("nobody to hand work to")
		}
		if f.AllRatio > 0.5 && f.AllRatio < 100 && f.HandOver < meetWithin.Seconds()/HandOvers {
			return
		}
	}
	t.Errorf("%+v", f)
}
