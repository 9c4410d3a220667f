package model

import (
	"testing"
	"time"

	"crossover/kernels"
)

// While the clock of the GPU is down, calls on the processor are not slow, and they do not raise that clock.
func TestRampOfOneProcessor(t *testing.T) {
	noise := Noise{Ramp: 1, RampHalf: time.Millisecond, RampIdle: 5 * time.Millisecond, RampOn: kernels.GPU}
	m := NewMachine(noise, 1)
	cost := func(float64) float64 { return 100e-6 }
	p := m.Problem([]Implementation{onCPU("cpu", cost), onGPU("gpu", cost)}, 1)
	timed := func(name string) time.Duration {
		call, err := p.Bind(name)
		if err != nil {
			t.Fatal(err)
		}
		start := m.now
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		return m.now - start
	}
	m.Sleep(10 * time.Millisecond)
	for range 100 {
		if took := timed("cpu"); took != 100*time.Microsecond {
			t.Fatalf("a call on the processor takes %v", took)
		}
	}
	if took := timed("gpu"); took != 200*time.Microsecond {
		t.Errorf("the first call on the GPU takes %v, want 200 µs", took)
	}
	for range 200 {
		timed("gpu")
	}
	if took := timed("gpu"); took > 101*time.Microsecond {
		t.Errorf("a call on the busy GPU takes %v, want 100 µs", took)
	}
	if _, err := p.Bind("nobody"); err == nil {
		t.Error("nobody was bound")
	}
}
