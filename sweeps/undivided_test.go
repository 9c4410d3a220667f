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
			if got, want := r.Samples.Divides["go-parallel"], map[bool]int{true: divides}[c.low == divides]; got != want {
				t.Errorf("it divides calls from %d on, want %d", got, want)
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

// A call that is not divided at a size above a divided one leaves it open where the implementation begins to divide. So does a
// failure, which costs no times.
func TestNoSizeFromWhichOnCallsAreDivided(t *testing.T) {
	for name, divides := range map[string]func(size int) (bool, error){
		"now and then": func(size int) (bool, error) { return size >= 5000 && size%2 == 0 || size == 64, nil },
		"it fails": func(size int) (bool, error) {
			if size > 1024 && size < 4096 && size != 2048 {
				return false, errors.New("no room")
			}
			return size >= 4096, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			loops := uint64(0)
			parallel := implementation{name: "go-parallel", cost: linear(1e-5, 1e-9), divided: func() uint64 { return loops }}
			parallel.run = func(size int) error {
				divided, err := divides(size)
				if divided {
					loops++
				}
				return err
			}
			m := newMachine()
			r := m.sweep(t, m.options(20*time.Second), m.newCase("op/x=1", 64, 1<<20, quickStarter(), parallel))[0]
			if size, found := r.Samples.Divides["go-parallel"]; found {
				t.Errorf("calls are divided from %d on", size)
			}
			if _, high := timed(r, "go-parallel"); high < 1<<20 && name == "now and then" {
				t.Errorf("it was timed to %d", high)
			}
		})
	}
}
