package harness

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
)

// Verification holds the choices of an entry against a machine, at sizes that the entry's run never used.
type Verification struct {
	Entry   *calibration.Host
	Checks  []*Check
	Shapes  []*ShapesCheck          // after AddShapes
	Skipped []string                // what cannot be checked of the entry, each with the reason
	Now     calibration.Environment // of the machine; Measure adds what it saw
	States  States                  // then and now, after Measure
}

// Check is one recorded case under verification.
type Check struct {
	Recorded *calibration.Case
	Case     kernels.Case

	// What Measure found.
	Result *sweeps.Result
	Audit  thresholds.Audit
	// Excused says that the choices drifted, that it concerns parallel implementations, and that the machine is in another
	// state than at calibration: that is no drift of the entry.
	Excused bool

	auditor *thresholds.Auditor
}

// NewVerification pairs the recorded cases whose names are asked for with those of this program. now is the machine's
// environment.
func NewVerification(entry *calibration.Host, all []kernels.Case, asked func(name string) bool, now calibration.Environment) *Verification {
	v := &Verification{Entry: entry, Now: now}
	known := map[string]kernels.Case{}
	for _, c := range all {
		known[c.Name] = c
	}
	for k := range entry.Cases {
		recorded := &entry.Cases[k]
		c, ok := known[recorded.Name]
		switch {
		case !asked(recorded.Name):
		case !ok:
			v.Skipped = append(v.Skipped, fmt.Sprintf("%s: not in the catalogue of this version", recorded.Name))
		case len(recorded.Segments) == 0:
			v.Skipped = append(v.Skipped, fmt.Sprintf("%s: the file chooses nothing (%s)", recorded.Name, recorded.Reason))
		case recorded.Axis.From > c.Axis.Max || recorded.Axis.To < c.Axis.Min:
			v.Skipped = append(v.Skipped, fmt.Sprintf("%s: the file has sizes from %d to %d, and this version takes %d to %d",
				recorded.Name, recorded.Axis.From, recorded.Axis.To, c.Axis.Min, c.Axis.Max))
		default:
			// Only what was measured is promised, so only that is checked. A file may have been written by anybody: what it
			// says does not lead to sizes that this program would never measure.
			c.Axis.Min, c.Axis.Max = max(c.Axis.Min, recorded.Axis.From), min(c.Axis.Max, recorded.Axis.To)
			c.Implementations = promised(recorded.Implementations, c.Implementations)
			v.Checks = append(v.Checks, &Check{Recorded: recorded, Case: c})
		}
	}
	return v
}

// promised leaves out implementations that the entry does not know or that did not compete: it promises nothing about
// them.
func promised(recorded []calibration.Implementation, all []kernels.Implementation) []kernels.Implementation {
	var kept []kernels.Implementation
	for _, implementation := range all {
		for _, r := range recorded {
			if r.Name == implementation.Name && r.Excluded == "" {
				kept = append(kept, implementation)
			}
		}
	}
	return kept
}

// VerifyOptions say how a verification is made. Its mode and state are those of the entry.
type VerifyOptions struct {
	Budget   time.Duration // for all cases and shapes together
	Seed     uint64        // of the fresh sizes and shapes, and the order
	Progress func(sweeps.Progress)
}

// Measure sweeps every case at fresh sizes, and every operation at fresh shapes, and judges what the dispatcher chooses there.
// Where it returns an error, as when ctx is cancelled, nothing is decided.
func (v *Verification) Measure(ctx context.Context, m Machine, d *dispatch.Dispatcher, options VerifyOptions) error {
	o := m.sweep()
	shapesBudget, casesBudget := v.budgets(options.Budget)
	o.Budget, o.Seed, o.Progress = casesBudget, options.Seed, options.Progress
	method := &v.Entry.Method
	o.Mode, o.InFlight, o.State = sweeps.Mode(method.Mode), method.InFlight, sweeps.State(method.State)
	// A recording that the calibration was made on need not be at hand, and no operation's time depends on what it sounds
	// like.
	o.Input = kernels.GeneratedInput()
	o.Observe = func(o sweeps.Observed) { v.Now.Sentinel = sentinel(o) }
	o.Uncollected = v.Entry.Simulated
	cases := make([]kernels.Case, len(v.Checks))
	byName := map[string]*Check{}
	for k, check := range v.Checks {
		cases[k] = check.Case
		byName[check.Case.Name] = check
	}
	o.Planner = func(c *kernels.Case) sweeps.Planner { return byName[c.Name].audit(d, options.Seed) }
	results, err := sweeps.Run(ctx, cases, o)
	if err == nil && len(v.Shapes) > 0 {
		o.Budget = shapesBudget
		err = v.measureShapes(ctx, d, o)
	}
	if err != nil {
		return err
	}
	worsen(&v.Now, m.Condition())
	v.States = CompareStates(&v.Entry.Environment, &v.Now)
	for k, check := range v.Checks {
		check.Result = results[k]
		states := CompareStates(&v.Entry.For(check.Recorded).Environment, &v.Now)
		check.judge(&states)
	}
	for _, check := range v.Shapes {
		check.judge(&v.States)
	}
	return nil
}

// audit begins the check, at the same fresh sizes each time.
func (c *Check) audit(d *dispatch.Dispatcher, seed uint64) *thresholds.Auditor {
	hash := fnv.New64a()
	hash.Write([]byte(c.Case.Name))
	rng := rand.New(rand.NewPCG(seed, hash.Sum64()))
	fresh := thresholds.NewFresh(c.Case.Axis.Min, c.Case.Axis.Max, c.Case.Axis.Round, c.Recorded.Sizes, rng)
	var edges []int
	for _, s := range c.Recorded.Segments[1:] {
		edges = append(edges, s.From)
	}
	choice := d.Case(c.Case.Name, available(&c.Case)...)
	c.auditor = thresholds.NewAuditor(fresh.Sizes(edges), choice.Choose, fresh.Near, c.Recorded.TieBand, unsure(c.Recorded))
	return c.auditor
}

// unsure returns where the entry says that it does not know: the intervals of the thresholds of an unresolved case.
func unsure(recorded *calibration.Case) [][2]int {
	var all [][2]int
	for _, s := range recorded.Segments {
		if s.Interval != nil && recorded.Verdict == calibration.Unresolved {
			all = append(all, [2]int{s.Interval.Low, s.Interval.High})
		}
		for _, d := range s.Doubts {
			if !d.Tie {
				all = append(all, [2]int{d.From, d.To})
			}
		}
	}
	return all
}

// UnsureShare returns the share of a case's axis, in log-size, on which its calibration does not know the answer and an
// audit excuses slow choices.
func UnsureShare(c *calibration.Case) float64 {
	parts := unsure(c)
	slices.SortFunc(parts, func(a, b [2]int) int { return a[0] - b[0] })
	sum, covered := 0.0, c.Axis.From
	for _, p := range parts {
		if from := max(p[0], covered); p[1] > from {
			sum += math.Log(float64(p[1]) / float64(from))
			covered = p[1]
		}
	}
	if axis := math.Log(float64(c.Axis.To) / float64(c.Axis.From)); axis > 0 {
		return sum / axis
	}
	return 0
}

// available names the implementations that are there.
func available(c *kernels.Case) []string {
	var names []string
	for _, implementation := range c.Implementations {
		if implementation.Missing() == nil {
			names = append(names, implementation.Name)
		}
	}
	return names
}

// judge audits what was measured.
func (c *Check) judge(states *States) {
	c.Audit = c.auditor.Judge(&c.Result.Samples)
	if c.Result.Degraded {
		c.Audit.Finding = min(c.Audit.Finding, thresholds.Ambiguous) // a disturbed machine says nothing of the entry
	}
	if c.Audit.Finding == thresholds.Drifted && states.excuse(&c.Audit, c.Result.Samples.Implementations) {
		c.Audit.Finding, c.Excused = thresholds.Ambiguous, true
	}
}

// excuse reports whether another state of the machine may be all that is behind a drift: it is where at every drifted size
// the choice or what beats it spreads over the processors. What one processor computes knows nothing of the others, and
// what a library does inside a call is no excuse.
func (s *States) excuse(audit *thresholds.Audit, names []string) bool {
	if len(s.Moved) == 0 {
		return false
	}
	for _, size := range audit.Sizes {
		if size.Finding == thresholds.Drifted && !kernels.Parallel(names[size.Chosen]) && !kernels.Parallel(names[size.Best]) {
			return false
		}
	}
	return true
}
