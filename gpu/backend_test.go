package gpu

import (
	"errors"
	"testing"
)

// A backend has another device after Reopen, and keeps the one that it has if there is no other.
func TestReopen(t *testing.T) {
	calls, refused := 0, errors.New("refused")
	b := NewBackend("fake", func() (Driver, error) {
		if calls++; calls == 3 {
			return nil, refused
		}
		return &fakeDriver{facts: Facts{Name: "fake", SIMDWidth: 32}}, nil
	})
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
}
