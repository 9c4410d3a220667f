package harness

import (
	"math"
	"testing"
	"time"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/thresholds/surfaces"
	"crossover/timings"
)

// shapesCheck returns a check of twenty shapes with a given regret and its 95 % interval. The file promises a regret of at
// most promised. One implementation is chosen at every shape, and another one is the best.
func shapesCheck(lower, mean, promised float64, chosen, best string) *ShapesCheck {
	c := &ShapesCheck{
		Recorded: &calibration.Operation{HeldOut: calibration.HeldOut{Shapes: 10, RegretUpper: promised}},
		Result: &sweeps.Result{Samples: timings.Set{Implementations: []string{chosen, best}}, Case: &kernels.Case{
			Implementations: []kernels.Implementation{{Name: "fftw"}, {Name: "go-parallel", Cores: kernels.AllCores}, {Name: "go"}},
		}},
	}
	c.Audit.Lower, c.Audit.Mean, c.Audit.Upper = math.Log1p(lower), math.Log1p(mean), math.Log1p(2*mean)
	for range 20 {
		c.Audit.Audited = append(c.Audit.Audited, surfaces.ShapeAudit{Shape: []int{1}, Chosen: 0, Best: 1, Loss: c.Audit.Mean, Weight: 1})
	}
	return c
}

// The finding follows from the regret of the choices, its bound, and the bound that the file promises.
func TestFindingOfShapes(t *testing.T) {
	moved := &States{Moved: []string{"for a test"}}
	still := &States{}
	for name, c := range map[string]struct {
		check  *ShapesCheck
		change func(c *ShapesCheck)
		states *States
		want   thresholds.Finding
		broken bool
	}{
		"nothing lost":                  {shapesCheck(-0.01, 0, 0.01, "go", "fftw"), nil, still, thresholds.Holds, false},
		"less than promised":            {shapesCheck(0.01, 0.03, 0.02, "go", "fftw"), nil, still, thresholds.Holds, false},
		"above the limit":               {shapesCheck(0.06, 0.1, 0.2, "go", "fftw"), nil, still, thresholds.Drifted, false},
		"above the limit, by luck":      {shapesCheck(0.02, 0.1, 0.2, "go", "fftw"), nil, still, thresholds.Ambiguous, false},
		"more than promised":            {shapesCheck(0.035, 0.045, 0.01, "go", "fftw"), nil, still, thresholds.Drifted, true},
		"more than promised, and a tie": {shapesCheck(0.02, 0.025, 0.01, "go", "fftw"), nil, still, thresholds.Ambiguous, true},
		"nothing promised": {shapesCheck(0.035, 0.045, 0.01, "go", "fftw"), func(c *ShapesCheck) {
			c.Recorded.HeldOut = calibration.HeldOut{}
		}, still, thresholds.Holds, false},
		"seven shapes": {shapesCheck(0, 0, 0.01, "go", "fftw"), func(c *ShapesCheck) {
			c.Audit.Audited = c.Audit.Audited[:7]
		}, still, thresholds.Unmeasured, false},
		"a third too dear": {shapesCheck(0, 0, 0.01, "go", "fftw"), func(c *ShapesCheck) {
			c.Audit.Dear = 10
		}, still, thresholds.Unmeasured, false},
		"drifted, and a third too dear": {shapesCheck(0.2, 0.3, 0.01, "go", "fftw"), func(c *ShapesCheck) {
			c.Audit.Dear = 10
		}, still, thresholds.Drifted, true},
		"beside other programs": {shapesCheck(0.2, 0.3, 0.01, "go", "fftw"), func(c *ShapesCheck) {
			c.Result.Degraded = true
		}, still, thresholds.Ambiguous, true},
		"in another state, parallel": {shapesCheck(0.2, 0.3, 0.01, "go-parallel", "fftw"), nil, moved, thresholds.Ambiguous, true},
		"in another state, serial":   {shapesCheck(0.2, 0.3, 0.01, "go", "fftw"), nil, moved, thresholds.Drifted, true},
	} {
		if c.change != nil {
			c.change(c.check)
		}
		c.check.decide(c.states)
		if c.check.Finding != c.want || c.check.Broken != c.broken {
			t.Errorf("%s: %v, broken: %v; want %v, %v", name, c.check.Finding, c.check.Broken, c.want, c.broken)
		}
		if excused := c.states == moved && c.want == thresholds.Ambiguous; c.check.Excused != excused {
			t.Errorf("%s: excused: %v", name, c.check.Excused)
		}
	}
	if all := (&ShapesCheck{}); all.Untold() != 1 {
		t.Errorf("of no shape %v is untold", all.Untold())
	}
}

// Without shapes to check, the cases have the whole budget.
func TestBudgetOfShapes(t *testing.T) {
	v := &Verification{}
	if shapes, cases := v.budgets(time.Minute); shapes != 0 || cases != time.Minute {
		t.Errorf("shapes have %v, cases %v", shapes, cases)
	}
	v.Shapes = append(v.Shapes, &ShapesCheck{})
	if shapes, cases := v.budgets(100 * time.Second); shapes != 40*time.Second || cases != 60*time.Second {
		t.Errorf("shapes have %v, cases %v", shapes, cases)
	}
}
