package gpu

import (
	"errors"
	"slices"
	"testing"
)

// A backend has another device after Reopen, and keeps the closed one if there is no other.
func TestReopen(t *testing.T) {
	var drivers []*fakeDriver
	calls, refused := 0, errors.New("refused")
	b := NewBackend("fake", func() (Driver, error) {
		if calls++; calls == 3 {
			return nil, refused
		}
		driver := &fakeDriver{facts: Facts{Name: "fake", SIMDWidth: 32}}
		drivers = append(drivers, driver)
		return driver, nil
	})
	closed := func() (all []int) {
		for _, d := range drivers {
			all = append(all, d.closed)
		}
		return all
	}
	if err := b.Reopen(); err != nil || calls != 0 {
		t.Errorf("before it is opened: %v after %d calls", err, calls)
	}
	first, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Reopen(); err != nil {
		t.Fatal(err)
	}
	second, err := b.Open()
	if err != nil || second == first || b.Opened() != second {
		t.Errorf("%p after %p, %v", second, first, err)
	}
	if err := b.Reopen(); !errors.Is(err, refused) {
		t.Errorf("%v, want %v", err, refused)
	}
	if again, err := b.Open(); err != nil || again != second {
		t.Errorf("%p after a refusal, want %p (%v)", again, second, err)
	}
	if _, err := b.OpenFit(); !errors.Is(err, ErrLost) {
		t.Errorf("to run kernels after a refusal: %v, want ErrLost", err)
	}
	if err := b.Reopen(); err != nil || b.Probe() != nil || b.Opened() == second {
		t.Errorf("after a refusal: %v, and then %v", err, b.Probe())
	}
	if got, want := closed(), []int{1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("devices were closed %v times, want %v", got, want)
	}
}
