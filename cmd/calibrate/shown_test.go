package main

import (
	"testing"

	"crossover/calibration"
)

// Cases that another run measured are other ones than those that no run has measured.
func TestPartOf(t *testing.T) {
	segments := []calibration.Segment{{From: 1, To: 8, Implementation: "go"}}
	whole := &calibration.Host{Cases: []calibration.Case{
		{Name: "now", Blocks: 3, Segments: segments}, {Name: "before", Blocks: 3, Segments: segments}, {Name: "by an older version", Segments: segments},
		{Name: "never"}, {Name: "not reached"},
	}}
	measured := &calibration.Host{Cases: []calibration.Case{{Name: "now", Blocks: 3}, {Name: "not reached"}}}
	part, others, unmeasured := partOf(measured, whole)
	if len(part.Cases) != 1 || part.Cases[0].Name != "now" || others != "2 other cases" || unmeasured != 2 {
		t.Errorf("%d cases, %q, and %d unmeasured", len(part.Cases), others, unmeasured)
	}
}
