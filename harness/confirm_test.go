package harness

import (
	"testing"

	"crossover/thresholds"
)

// A drift is confirmed if the choices lose at least half as much at the sizes of the drift, later. Other sizes do not count, nor do
// sizes at which the machine was not quiet then.
func TestDriftIsConfirmed(t *testing.T) {
	c := Check{Audit: thresholds.Audit{Sizes: []thresholds.SizeAudit{
		{Size: 100, Slowdown: 1.4, Finding: thresholds.Drifted}, {Size: 200, Slowdown: 1.2, Finding: thresholds.Drifted},
		{Size: 300, Slowdown: 3, Finding: thresholds.Ambiguous},
	}}}
	for name, test := range map[string]struct {
		again []thresholds.SizeAudit
		want  bool
	}{
		"the same":         {[]thresholds.SizeAudit{{Size: 100, Slowdown: 1.4}, {Size: 200, Slowdown: 1.2}}, true},
		"one of two":       {[]thresholds.SizeAudit{{Size: 100, Slowdown: 1.4}, {Size: 200, Slowdown: 1}}, true},
		"over":             {[]thresholds.SizeAudit{{Size: 100, Slowdown: 1.05}, {Size: 200, Slowdown: 0.97}}, false},
		"a size apart":     {[]thresholds.SizeAudit{{Size: 100, Slowdown: 1}, {Size: 200, Slowdown: 1}, {Size: 300, Slowdown: 3}, {Size: 101, Slowdown: 3}}, false},
		"a disturbed size": {[]thresholds.SizeAudit{{Size: 100, Slowdown: 1.4, Disturbed: true}, {Size: 200, Slowdown: 1}}, false},
		"nothing measured": {nil, false},
	} {
		if got := c.losesAgain(&thresholds.Audit{Sizes: test.again}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
