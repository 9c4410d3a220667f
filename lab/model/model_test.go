package model

import (
	"math"
	"testing"
	"time"

	"crossover/kernels"
)

func TestTruthIsWhereTheCostsCross(t *testing.T) {
	for _, s := range Scenarios() {
		truth := s.Truth()
		if len(truth) == 0 {
			t.Errorf("%s has no crossover", s.Name)
		}
		for _, edge := range truth {
			before, _ := s.Best(edge - 1)
			after, _ := s.Best(edge)
			if before == after {
				t.Errorf("%s: %s wins on both sides of %d", s.Name, after, edge)
			}
			if slow := s.Slowdown(edge, before); slow > 1.01 && s.Name != "padded" {
				t.Errorf("%s: at %d the other one is %.3f times slower; want a crossing", s.Name, edge, slow)
			}
		}
	}
	for _, s := range Same() {
		if truth := s.Truth(); truth != nil {
			t.Errorf("%s: identical implementations cross at %v", s.Name, truth)
		}
	}
}

func TestMoved(t *testing.T) {
	s := Scenarios()[0]
	moved := s.Moved("gpu", 1.5)
	if before, after := s.Truth()[0], moved.Truth()[0]; after <= before {
		t.Errorf("a slower GPU moved the crossover from %d to %d", before, after)
	}
	if s.Slowdown(64, "gpu") == moved.Slowdown(64, "gpu") {
		t.Error("the move changed nothing")
	}
}

// call returns the mean seconds of calls of the first implementation, and the machine.
func call(t *testing.T, n Noise, size, calls int) (float64, *Machine) {
	t.Helper()
	s := Scenarios()[0]
	s.Noise = n
	m := New(&s, 7)
	bound, err := m.Case().Problem(size, kernels.Input{}).Bind("cpu")
	if err != nil {
		t.Fatal(err)
	}
	start := m.now
	for range calls {
		if err := bound.Run(); err != nil {
			t.Fatal(err)
		}
	}
	return (m.now - start).Seconds() / float64(calls), m
}

func TestNoise(t *testing.T) {
	s := Scenarios()[0]
	cost := s.Implementations[0].Cost(4096)
	for name, c := range map[string]struct {
		noise       Noise
		least, most float64 // mean of 20 000 calls divided by the undisturbed cost
	}{
		"none":     {Noise{}, 0.9999, 1.0001},
		"jitter":   {Noise{Jitter: 0.1}, 1.003, 1.007}, // the mean of a log-normal is exp(0.1²/2)
		"bimodal":  {Noise{Bimodal: 0.2, Second: 2}, 1.18, 1.22},
		"spikes":   {Noise{SpikeEvery: 10 * time.Millisecond, SpikeLength: time.Millisecond}, 1.03, 1.08},
		"throttle": {Noise{Throttle: 1, ThrottleEvery: time.Millisecond, ThrottleLength: time.Hour}, 1.9, 2.01},
		"step":     {Noise{Step: 0.5}, 1.4999, 1.5001},
		"no step":  {Noise{Step: 0.5, StepAt: time.Hour}, 0.9999, 1.0001},
		"steps":    {Noise{Step: -0.5, StepFor: time.Millisecond, StepEvery: 4 * time.Millisecond}, 0.78, 0.82}, // in a quarter of the time, two calls take the time of one
		"ramp":     {Noise{Ramp: 1, RampHalf: time.Hour, RampIdle: time.Second}, 1.9, 2.01},
	} {
		if mean, _ := call(t, c.noise, 4096, 20_000); mean/cost < c.least || mean/cost > c.most {
			t.Errorf("%s: a call takes %.4f of its cost, want %v to %v", name, mean/cost, c.least, c.most)
		}
	}
	quiet, _ := call(t, Noise{Drift: 0.1, DriftPeriod: time.Millisecond}, 4096, 20_000)
	if math.Abs(quiet/cost-1) > 0.01 {
		t.Errorf("drift moves the mean by %v", quiet/cost-1)
	}
}

// Each run has a luck of its own. It is the same in all calls of the run.
func TestLuckOfARun(t *testing.T) {
	s := Scenarios()[0]
	cost := s.Implementations[0].Cost(4096)
	s.Noise = Noise{Run: 0.02}
	var squares float64
	const runs = 400
	for seed := range uint64(runs) {
		m := New(&s, seed)
		problem := m.Case().Problem(4096, kernels.Input{})
		var first time.Duration
		for n := range 3 {
			bound, err := problem.Bind("cpu")
			if err != nil {
				t.Fatal(err)
			}
			start := m.now
			if err := bound.Run(); err != nil {
				t.Fatal(err)
			}
			took := m.now - start
			if n == 0 {
				first = took
				luck := math.Log(took.Seconds() / cost)
				squares += luck * luck
			}
			if took != first {
				t.Fatalf("call %d of a run takes %v, its first took %v", n, took, first)
			}
		}
		own := m.Own()
		if got := own.Implementations[0].Cost(4096); math.Abs(got-first.Seconds()) > 1e-9 || own.Noise.Run != 0 {
			t.Fatalf("the machine's own cost is %v with a luck of %v, want %v with none", got, own.Noise.Run, first)
		}
	}
	if sd := math.Sqrt(squares / runs); sd < 0.017 || sd > 0.023 {
		t.Errorf("runs differ by %.4f, want 0.02", sd)
	}
}

func TestTheSameSeedIsTheSameMachine(t *testing.T) {
	a, _ := call(t, shared, 1000, 1000)
	b, _ := call(t, shared, 1000, 1000)
	if a != b {
		t.Errorf("%v and %v", a, b)
	}
}
