package fftw

import (
	"runtime"
	"testing"
	"time"
)

// settled waits until at most the given number of plans exist, and returns their number.
func settled(most int) int {
	for range 1000 {
		if Live() <= most {
			break
		}
		runtime.GC()
		time.Sleep(time.Millisecond) // cleanups run on another goroutine
	}
	return Live()
}

func TestPlansAreFreed(t *testing.T) {
	needLibrary(t)
	before := settled(0)
	made := func() *Plan {
		p, err := NewReal(24, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		p.Forward(make([]complex64, 13), make([]float32, 24))
		return p
	}

	closed := made()
	if got := Live() - before; got != 1 {
		t.Errorf("one plan counts as %d", got)
	}
	closed.InverseUnscaled(make([]float32, 24), make([]complex64, 13))
	if got := Live() - before; got != 2 {
		t.Errorf("a plan and its inverse count as %d", got)
	}
	inverse, err := NewInverseReal(24, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	inverse.InverseUnscaled(make([]float32, 24), make([]complex64, 13))
	if got := Live() - before; got != 3 {
		t.Errorf("a plan of the inverse counts as %d", got-2)
	}
	inverse.Close()
	closed.Close()
	closed.Close()
	if got := Live() - before; got != 0 {
		t.Errorf("%d plans live after Close", got)
	}
	runtime.KeepAlive(closed)

	kept := made()
	for range 10 {
		made()
	}
	if got := settled(before+1) - before; got != 1 {
		t.Errorf("%d plans live, of which one can be reached", got)
	}
	kept.Forward(make([]complex64, 13), make([]float32, 24))
	runtime.KeepAlive(kept)
}

// A program that makes and drops any number of plans holds a bounded number of them.
func TestPlansAreBounded(t *testing.T) {
	needLibrary(t)
	before, most := settled(0), 0
	for n := range 20 * plansPerCollection {
		if _, err := NewReal(1+n%48, 1, 1); err != nil {
			t.Fatal(err)
		}
		most = max(most, Live()-before)
	}
	// Plans that one collection finds are freed while more plans are made, at the latest before the next collection.
	if most > 4*plansPerCollection {
		t.Errorf("%d plans live at a time, want at most %d", most, 4*plansPerCollection)
	}
}
