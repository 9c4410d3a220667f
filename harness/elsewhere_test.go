package harness_test

import (
	"slices"
	"testing"
	"time"

	"crossover/harness"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/timings"
)

// Cases of other placements than caller have short visits if there are cases of that placement. Alone they have long ones, as
// whoever asks for them expects. Both have several sizes.
func TestCasesElsewhere(t *testing.T) {
	for _, placements := range [][]kernels.Placement{
		{kernels.Caller, kernels.Shared, kernels.Resident},
		{kernels.Resident},
	} {
		machine := model.New(launch(), 1)
		var cases []kernels.Case
		for _, placement := range placements {
			c := machine.Case()
			c.Name, c.Placement = c.Name+string(placement), placement
			cases = append(cases, c)
		}
		r := harness.NewRun(anywhere(), cases, harness.Options{Budget: 5 * time.Second, Seed: 1})
		if err := r.Measure(t.Context(), on(machine)); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			set := r.Timings[c.Name]
			long := slices.ContainsFunc(set.Blocks, func(b timings.Block) bool { return b.Twin >= 0 })
			if want := c.Placement == kernels.Caller || len(placements) == 1; long != want {
				t.Errorf("%v: visits in placement %q are long: %v, want %v", placements, c.Placement, long, want)
			}
			if n := len(set.Sizes()); n < 3 {
				t.Errorf("%v: %d sizes in placement %q", placements, n, c.Placement)
			}
		}
	}
}
