package sweeps_test

import (
	"errors"
	"testing"
	"time"
)

// An implementation that computes short calls on one core is timed where it divides them, and its counterpart everywhere.
func TestCallsThatAreNotDivided(t *testing.T) {
	const divides = 5000
	parallel := func() implementation {
		of := implementation{name: "go-parallel", cost: linear(1e-5, 1e-9)}
		loops := uint64(7) // of others
		of.run = func(size int) error {
			if size >= divides {
				loops++
			}
			return nil
		}
		of.divided = func() uint64 { return loops }
		return of
	}
	for name, c := range map[string]struct {
		others []implementation
		low    int
	}{
		"beside its counterpart": {[]implementation{quickStarter()}, divides},
		"without a counterpart":  {[]implementation{{name: "fftw", cost: linear(1e-6, 1e-8)}}, 64},
		"a missing counterpart":  {[]implementation{{name: "go", cost: linear(1e-6, 1e-8), missing: errors.New("not here")}}, 64},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			r := m.sweep(t, m.options(60*time.Second), m.newCase("op/x=1", 64, 1<<20, append(c.others, parallel())...))[0]
			low, high := timed(r, "go-parallel")
			if low < c.low || low > 2*c.low || high != 1<<20 {
				t.Errorf("it was timed from %d to %d, want from about %d on", low, high, c.low)
			}
			if c.low == divides {
				if low, high := timed(r, "go"); low != 64 || high != 1<<20 {
					t.Errorf("the counterpart was timed from %d to %d", low, high)
				}
			}
			if s := status(t, r, "go-parallel"); s.Excluded != "" || len(r.Warnings) > 0 {
				t.Errorf("status %+v, warnings %q: nothing failed", s, r.Warnings)
			}
		})
	}
}

// The call that shows whether the pool divides it may fail.
func TestTheSecondCallFails(t *testing.T) {
	m := newMachine()
	calls := 0
	parallel := implementation{name: "go-parallel", cost: linear(1e-5, 1e-9), divided: func() uint64 { return 0 }}
	parallel.run = func(int) error {
		if calls++; calls%2 == 0 {
			return errors.New("no room")
		}
		return nil
	}
	r := m.sweep(t, m.options(20*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), parallel))[0]
	if s := status(t, r, "go-parallel"); s.Excluded == "" {
		t.Errorf("status %+v, want that it failed", s)
	}
}
