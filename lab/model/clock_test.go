package model

import (
	"math"
	"testing"
	"time"

	"crossover/gpu"
	"crossover/kernels"
)

// After a long pause a GPU takes three times as long to compute. Its clock is up after some time constants. The clock stays
// up in a short pause and falls in a long one. The GPU's times show this.
func TestAClockThatRises(t *testing.T) {
	m := NewMachine(Noise{GPU: Asleep}, 1)
	const roundTrip, computing = 130 * time.Microsecond, 70 * time.Microsecond
	gpu := Implementation{
		Name: "metal", Processor: kernels.GPU,
		Cost:    func(float64) float64 { return (roundTrip + computing).Seconds() },
		Account: func(float64) gpu.Times { return gpu.Times{Span: computing, Busy: computing, Kernel: 1} },
	}
	call, err := m.Problem([]Implementation{gpu}, 1).Bind("metal")
	if err != nil {
		t.Fatal(err)
	}
	hold := func(what string, want float64) { // as a multiple of the time at full clock
		t.Helper()
		start := m.now
		times, err := call.GPU.Time()
		if err != nil {
			t.Fatal(err)
		}
		took := m.now - start - roundTrip
		if off := math.Abs(times.Span.Seconds()/computing.Seconds()/want - 1); off > 0.02 || times.Busy != times.Span {
			t.Errorf("%s it computes for %v (%v), want %v times %v", what, times.Span, times.Busy, want, computing)
		}
		if (took - times.Span).Abs() > 2 {
			t.Errorf("%s the call takes %v beside the round trip, of which the GPU says %v", what, took, times.Span)
		}
	}
	run := func(d time.Duration) {
		for end := m.now + d; m.now < end; {
			if err := call.Run(); err != nil {
				t.Fatal(err)
			}
		}
	}
	hold("at first", 2.99)
	run(20 * time.Millisecond)
	hold("after a time constant", 1+2/math.E)
	run(150 * time.Millisecond)
	hold("after many", 1)
	m.Sleep(2 * time.Millisecond)
	hold("after a short pause", 1)
	m.Sleep(4 * time.Millisecond)
	hold("after a longer one", 3-2/math.E)
	m.Sleep(time.Second)
	hold("after a long one", 2.99)
}

// The clock also rises within a long computation.
func TestAClockRisesWithinACall(t *testing.T) {
	c := clocked{Clock: Asleep}
	const full = 0.1
	took, done := c.stretched(full, 0), 0.0
	const step = 1e-6
	for at := 0.0; at < took; at += step {
		done += step / (1 + Asleep.Slow*math.Exp(-at/Asleep.Rise.Seconds()))
	}
	if math.Abs(done/full-1) > 1e-3 {
		t.Errorf("in %v s it does what takes %v s at the full clock, want %v", took, done, full)
	}
}

// Parallel calls lower the clock of the processor's cores while they run and for some time after.
func TestAllCoresAtWork(t *testing.T) {
	m := NewMachine(Noise{AllCore: 0.06, AllCoreFor: 4 * time.Millisecond}, 1)
	cost := func(float64) float64 { return 1e-3 }
	parallel := onCPU("go-parallel", cost)
	parallel.Cores = kernels.AllCores
	p := m.Problem([]Implementation{onCPU("go", cost), parallel}, 1)
	for k, step := range []struct {
		name string
		want time.Duration
	}{
		{"go", 1000}, {"go-parallel", 1060}, {"go", 1060}, {"go", 1060}, {"go", 1060}, {"go", 1060}, {"go", 1000},
	} {
		call, err := p.Bind(step.name)
		if err != nil {
			t.Fatal(err)
		}
		start := m.now
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		if took := m.now - start; took.Round(time.Microsecond) != step.want*time.Microsecond {
			t.Errorf("call %d, %s, takes %v, want %v µs", k, step.name, took, int(step.want))
		}
	}
}
