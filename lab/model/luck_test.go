package model

import (
	"math"
	"slices"
	"testing"
)

// luck returns the log-ratio of a binding's time to its undisturbed cost, to three digits.
func luck(t *testing.T, m *Machine, p *problem, name string) float64 {
	t.Helper()
	call, err := p.Bind(name)
	if err != nil {
		t.Fatal(err)
	}
	start := m.now
	if err := call.Run(); err != nil {
		t.Fatal(err)
	}
	cost := m.scenario.implementation(name).Cost(float64(p.size))
	return math.Round(1e3*math.Log((m.now-start).Seconds()/cost)) / 1e3
}

// The luck of a visit is one of the measured ones. The twin shares it, and differs by one of the measured twins. A run's
// luck stays the same, and the first implementation has none.
func TestLuckThatWasSeen(t *testing.T) {
	s := Scenarios()[0]
	s.Noise = Noise{Luck: Luck{Visits: []float64{-0.1, 0.3}, Twins: []float64{0.01, 0.02}, Runs: []float64{-2, 1}}}
	seen := map[float64]bool{}
	for seed := range uint64(40) {
		m := New(&s, seed)
		run := math.NaN()
		for range 4 {
			p := m.Problem(s.Implementations, 1<<20).(*problem)
			if l := luck(t, m, p, "cpu"); l != 0 {
				t.Fatalf("the first implementation has a luck of %v", l)
			}
			own := luck(t, m, p, "gpu")
			twin := math.Round(1e3*(luck(t, m, p, "gpu")-own)) / 1e3
			if twin != 0.01 && twin != 0.02 {
				t.Fatalf("the twin is off by %v", twin)
			}
			k := slices.IndexFunc([]float64{-2.1, -1.7, 0.9, 1.3}, func(v float64) bool { return math.Abs(v-own) < 1e-6 })
			if k < 0 {
				t.Fatalf("a luck of %v is none of those that were seen", own)
			}
			if math.IsNaN(run) {
				run = own
			}
			if own < 0 != (run < 0) {
				t.Fatal("the luck of a run changes from visit to visit")
			}
			seen[own] = true
		}
		if own := m.Own(); own.Implementations[0].Cost(1) != s.Implementations[0].Cost(1) || own.Implementations[1].Cost(1) == s.Implementations[1].Cost(1) || own.Noise.Luck.Runs != nil {
			t.Fatal("the machine's own costs are not those of its run")
		}
	}
	if len(seen) != 4 {
		t.Errorf("of four lucks %v were seen", seen)
	}
}

// Replay uses the luck of each case in turn, and no other.
func TestReplay(t *testing.T) {
	s := Scenarios()[1]
	if s.Replay(3) != &s {
		t.Error("without cases it is another scenario")
	}
	s.Noise.Lucks = []Luck{{Runs: []float64{1}}, {Runs: []float64{2}}}
	for n, want := range []float64{1, 2, 1} {
		r := s.Replay(n)
		if got := r.Noise; got.Luck.Runs[0] != want || got.Visit != 0 || got.Run != 0 || got.Jitter != s.Noise.Jitter || got.Lucks != nil {
			t.Errorf("replay %d: %+v", n, got)
		}
	}
}

// The states of TwoStates are 16 % apart, and thresholds lie halfway.
func TestTwoStates(t *testing.T) {
	for k, s := range TwoStates() {
		if truth := s.Truth(); len(truth) != 1-k {
			t.Fatalf("%s: thresholds at %v", s.Name, truth)
		}
		s.Noise.Jitter, s.Noise.Visit, s.Noise.Run = 0, 0, 0
		m := New(&s, 1)
		name := s.Implementations[1].Name
		seen := map[float64]bool{}
		for range 20 {
			p := m.Problem(s.Implementations, 1<<20).(*problem)
			own := luck(t, m, p, name)
			if twin := luck(t, m, p, name); twin != own {
				t.Fatalf("%s: the twin is in another state: %v and %v", s.Name, own, twin)
			}
			seen[own] = true
		}
		if !seen[-0.08] || !seen[0.08] || len(seen) != 2 {
			t.Errorf("%s: states are %v", s.Name, seen)
		}
	}
}
