package harness

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"
)

// moments is a clock that only Sleep advances.
type moments struct{ now time.Duration }

func (m *moments) Now() time.Duration        { return m.now }
func (m *moments) Resolution() time.Duration { return 1 }
func (m *moments) Sleep(d time.Duration)     { m.now += d }

// Beside reports programs that compute now. The load average after an earlier run is not such a program.
func TestBeside(t *testing.T) {
	processors := float64(runtime.NumCPU())
	for name, c := range map[string]struct {
		others float64 // processors that others keep busy; NaN if the system does not report them
		load   float64 // of each processor; -1 if it is not known
		want   string  // beginning of the line
	}{
		"a quiet machine":                 {0, 0.01, ""},
		"after an earlier run":            {0, 0.3, ""},
		"after a parallel one":            {0.02, 1, ""},
		"housekeeping":                    {0.1, 0.1, ""},
		"a program beside it":             {0.96, 0.01, "other programs or virtual machines keep 1.0 processors busy"},
		"a compile job":                   {1.9, 1, "other programs or virtual machines keep 1.9 processors busy"},
		"a Mac after an earlier run":      {math.NaN(), 0.3, ""},
		"a Mac with a compile job":        {math.NaN(), 1.1, "the load average of the last minute was "},
		"a system that tells nothing":     {math.NaN(), -1, ""},
		"a load that nobody computes for": {0, 3, ""},
	} {
		clock := &moments{}
		m := Machine{Clock: clock, Others: func() float64 { return 1000 + c.others*clock.now.Seconds() }}
		got := m.Beside(c.load * processors)
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if told := !math.IsNaN(c.others); (clock.now > 0) != told || clock.now > time.Second/2 {
			t.Errorf("%s: it looked for %v", name, clock.now)
		}
	}
	if got := (Machine{Clock: &moments{}}).Beside(0.1); got != "" {
		t.Errorf("beside a machine without others: %q", got)
	}
}
