package sweeps_test

import (
	"slices"
	"testing"
	"time"

	"crossover/sweeps"
)

// Progress says what the sweep waits for, and how long a long visit will take.
func TestProgressSaysWhatIsWaitedFor(t *testing.T) {
	for want, disturb := range map[string]func(m *machine, o *sweeps.Options){
		"": func(*machine, *sweeps.Options) {},
		"a quiet machine": func(m *machine, _ *sweeps.Options) {
			m.speed = func(now float64) float64 {
				if now > 0.1 && now < 0.3 {
					return 1.3
				}
				return 1
			}
		},
		"a cooler machine": func(m *machine, o *sweeps.Options) {
			o.Throttled = func() (string, bool) { return "serious", m.now > 0.1 && m.now < 0.3 }
		},
	} {
		m := newMachine()
		o := m.options(20 * time.Second)
		disturb(m, &o)
		var waits []string
		var last sweeps.Progress
		measured := false // since the last wait
		o.Progress = func(p sweeps.Progress) {
			if p.Waiting != "" && !slices.Contains(waits, p.Waiting) {
				waits = append(waits, p.Waiting)
			}
			measured = p.Waiting == ""
			last = p
		}
		m.sweep(t, o, m.newCase("op/x=1", 64, 1<<20, quickStarter(), slowStarter()))
		expected := []string{"readings of the idle machine"}
		if want != "" {
			expected = append(expected, want)
		}
		if !slices.Equal(waits, expected) || !measured || last.Visit < 5 {
			t.Errorf("it waits for %q, want %q; at last it is %+v", waits, expected, last)
		}
	}
}

// A visit to a known size takes about the time that Progress says beforehand, and Progress is called during it.
func TestProgressForetellsAVisit(t *testing.T) {
	m := newMachine()
	o := m.options(60 * time.Second)
	o.VisitShare = 1
	o.Planner = script{{1000, 5}, {2000, 5}, {4000, 5}}.planner
	var begun []sweeps.Progress
	told := map[int]int{} // by visits
	o.Progress = func(p sweeps.Progress) {
		told[p.Visit]++
		if p.Visit > len(begun) {
			begun = append(begun, p)
		}
	}
	m.sweep(t, o, m.newCase("op/x=1", 64, 4000, implementation{name: "go", cost: linear(0, 1e-4)}))
	if len(begun) != 3 {
		t.Fatalf("%d visits, want 3", len(begun))
	}
	if told[2] < 5 {
		t.Errorf("it is heard of %d times in a visit of 5 blocks", told[2])
	}
	if took := begun[2].Elapsed - begun[1].Elapsed; begun[0].Takes > time.Second || begun[1].Takes < took/2 || begun[1].Takes > 2*took {
		t.Errorf("the first visit was to take %v, and nothing was known; the second %v, and took %v", begun[0].Takes, begun[1].Takes, took)
	}
}

// The budgets of what comes before and after count, so that one bar runs once over all sweeps of a command.
func TestWithin(t *testing.T) {
	var seen sweeps.Progress
	step := sweeps.Within(func(p sweeps.Progress) { seen = p }, 40*time.Second, 20*time.Second)
	step(sweeps.Progress{Case: "a", Elapsed: 3 * time.Second, Budget: 60 * time.Second})
	if want := (sweeps.Progress{Case: "a", Elapsed: 43 * time.Second, Budget: 2 * time.Minute}); seen != want {
		t.Errorf("%+v, want %+v", seen, want)
	}
	if sweeps.Within(nil, 1, 1) != nil {
		t.Error("without a function there is one all the same")
	}
}
