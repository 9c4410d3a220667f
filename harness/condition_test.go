package harness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"crossover/calibration"
	"crossover/host"
)

// environment returns an environment with the condition of a machine.
func environment(c host.Condition) calibration.Environment {
	return calibration.Environment{Power: c.Power, PowerMode: c.PowerMode, Priority: c.Priority}
}

func TestDoubts(t *testing.T) {
	for name, c := range map[string]struct {
		condition host.Condition
		want      []string // beginnings of the lines
	}{
		"nothing known":       {Machine{}.Condition(), nil},
		"nothing to doubt":    {host.Condition{Power: "mains", PowerMode: "normal", Priority: "normal"}, nil},
		"battery":             {host.Condition{Power: "battery"}, []string{"running on battery; "}},
		"low power, on mains": {host.Condition{Power: "mains", PowerMode: "low"}, []string{"running in low-power mode; "}},
		"background":          {host.Condition{Priority: "background"}, []string{"running in the background; "}},
		"nice":                {host.Condition{Priority: "lowered"}, []string{"running at a lowered priority; "}},
		"all": {host.Condition{Power: "battery", PowerMode: "low", Priority: "background"},
			[]string{"running on battery", "running in low-power mode", "running in the background"}},
	} {
		e := environment(c.condition)
		got := Doubts(&e)
		for i := range got {
			if i < len(c.want) && strings.HasPrefix(got[i], c.want[i]) {
				got[i] = c.want[i]
			}
			if strings.Contains(got[i], "\n") {
				t.Errorf("%s: %q is more than a line", name, got[i])
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The entry has the worse of the conditions before and after, in either order.
func TestWorsen(t *testing.T) {
	good := host.Condition{Power: "mains", PowerMode: "normal", Priority: "normal"}
	lowered := host.Condition{Power: "mains", PowerMode: "normal", Priority: "lowered"}
	bad := host.Condition{Power: "battery", PowerMode: "low", Priority: "background"}
	for _, c := range []struct{ before, after, want host.Condition }{
		{good, good, good}, {good, bad, bad}, {bad, good, bad}, {bad, bad, bad},
		{good, lowered, lowered}, {lowered, good, lowered}, {bad, lowered, bad}, {lowered, bad, bad},
		{good, Machine{}.Condition(), good}, {bad, Machine{}.Condition(), bad},
	} {
		got := environment(c.before)
		worsen(&got, c.after)
		if diff := cmp.Diff(environment(c.want), got); diff != "" {
			t.Errorf("%+v, then %+v (-want +got):\n%s", c.before, c.after, diff)
		}
	}
}

func TestCompareConditions(t *testing.T) {
	mains := calibration.Environment{Power: "mains", PowerMode: "normal", Priority: "normal"}
	for name, c := range map[string]struct {
		then, now calibration.Environment
		want      []string
	}{
		"the same":    {mains, mains, []string{}},
		"an old file": {calibration.Environment{Power: "unknown"}, mains, []string{}},
		"not told":    {mains, environment(Machine{}.Condition()), []string{}},
		"all": {mains, calibration.Environment{Power: "battery", PowerMode: "low", Priority: "background"},
			[]string{"power is battery now, mains then", "power mode is low now, normal then", "priority is background now, normal then"}},
	} {
		if diff := cmp.Diff(c.want, CompareStates(&c.then, &c.now).Conditions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
