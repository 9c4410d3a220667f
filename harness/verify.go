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

// Verification tests the choices of an entry on a machine, at sizes and shapes that the entry's run never used.
type Verification struct {
	Entry   *calibration.Host
	Checks  []*Check
	Shapes  []*ShapesCheck          // after AddShapes
	Skipped []string                // cases and operations that cannot be checked, each with the reason
	Now     calibration.Environment // of the machine; Measure adds what the sentinel measured
	States  States                  // differences between then and now, after Measure
}

// Check is the check of one recorded case.
type Check struct {
	Recorded *calibration.Case
	Case     kernels.Case
	Changed  string // why nothing is measured: an implementation is another one than in the calibration; "" if none is

	// The next four are results of Measure.

	// Undrawn says that the budget does not suffice for all cases, and that the random sample does not have this one.
	Undrawn bool
	Result  *sweeps.Result
	Audit   thresholds.Audit
	// Excused says that choices between parallel implementations have drifted, and that the machine is in another state than
	// at calibration. The entry itself has not drifted then.
	Excused bool

	auditor *thresholds.Auditor
}

// NewVerification returns a verification of the recorded cases whose names are asked for. It pairs them with the cases of
// this program. now is the environment of the machine.
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
		case recorded.Axis.From == recorded.Axis.To:
			v.Skipped = append(v.Skipped, fmt.Sprintf("%s: one size was measured, and there is no other one to check (a longer calibration measures more)",
				recorded.Name))
		default:
			// The entry promises only measured sizes, so only those are checked. Anybody may have written the file, so sizes
			// that this program would never measure are not checked either.
			c.Axis.Min, c.Axis.Max = max(c.Axis.Min, recorded.Axis.From), min(c.Axis.Max, recorded.Axis.To)
			c.Implementations = promised(recorded.Implementations, c.Implementations)
			v.Checks = append(v.Checks, &Check{Recorded: recorded, Case: c, Changed: changedSince(recorded.Implementations, &c, entry.Processors())})
		}
	}
	return v
}

// promised returns the implementations that competed in the recorded case. The entry promises nothing about others.
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

// VerifyOptions are the options of a verification. Mode and state are those of the entry.
type VerifyOptions struct {
	Budget   time.Duration // for all cases and shapes together
	Seed     uint64        // of the fresh sizes and shapes, and of the order in blocks
	Progress func(sweeps.Progress)
}

// Measure sweeps every case at fresh sizes, and every operation at fresh shapes, and judges what the dispatcher chooses
// there. If it returns an error, for example because ctx was cancelled, nothing is decided.
func (v *Verification) Measure(ctx context.Context, m Machine, d *dispatch.Dispatcher, options VerifyOptions) error {
	o := m.Sweep()
	again := time.Duration(againShare * float64(options.Budget))
	shapesBudget, casesBudget := v.budgets(options.Budget - again)
	o.Seed, o.Progress = options.Seed, sweeps.Within(options.Progress, 0, shapesBudget+again)
	method := &v.Entry.Method
	o.Mode, o.InFlight, o.State = sweeps.Mode(method.Mode), method.InFlight, sweeps.State(method.State)
	// The recording of the calibration may not be at hand, and no time depends on the sound.
	o.Input = kernels.GeneratedInput()
	o.Observe = func(o sweeps.Observed) { v.Now.Sentinel = sentinel(o) }
	var cases []kernels.Case
	byName := map[string]*Check{}
	for _, check := range v.Checks {
		check.Result = &sweeps.Result{Case: &check.Case}
		check.Undrawn = check.Changed == ""
		if check.Changed == "" {
			cases = append(cases, check.Case)
			byName[check.Case.Name] = check
		}
	}
	o.Ahead = compileUpcoming
	urgent := func(string) bool { return false }
	results, undrawn, err := sweepParts(ctx, parts(cases, casesBudget, groupOf, urgent, options.Seed), o, func(c *kernels.Case) auditor {
		return byName[c.Name].audit(d, options.Seed)
	})
	for _, result := range results {
		check := byName[result.Case.Name]
		check.Result, check.Undrawn = result, undrawn[result.Case.Name]
	}
	if err == nil && len(v.Shapes) > 0 {
		shapes := o
		shapes.Progress = sweeps.Within(options.Progress, casesBudget, again)
		err = v.measureShapes(ctx, d, shapesBudget, shapes)
	}
	for _, check := range v.Checks {
		check.judge()
	}
	if err == nil {
		o.Budget, o.Progress = again, sweeps.Within(options.Progress, casesBudget+shapesBudget, 0)
		err = v.confirm(ctx, d, o)
	}
	if err != nil {
		return err
	}
	worsen(&v.Now, m.Condition())
	v.States = CompareStates(&v.Entry.Environment, &v.Now)
	for _, check := range v.Checks {
		states := CompareStates(&v.Entry.For(check.Recorded).Environment, &v.Now)
		check.excuse(&states)
	}
	for _, check := range v.Shapes {
		check.judge(&v.States)
	}
	return nil
}

// againShare is the part of the budget for a second check of what has drifted.
const againShare = 0.08

// confirm looks once more at the sizes at which cases have drifted. If a choice does not lose half as much there as before, the case is
// ambiguous. Among a thousand sizes a few are slow at each of some looks, because a state of the machine lasted as long. The
// second check comes a minute later, after the shapes. Without it, three checks of one file on two cores found one or two of 76
// cases drifted, and each found others.
func (v *Verification) confirm(ctx context.Context, d *dispatch.Dispatcher, o sweeps.Options) error {
	byName := map[string]*Check{}
	var cases []kernels.Case
	for _, check := range v.Checks {
		if check.Audit.Finding == thresholds.Drifted {
			byName[check.Case.Name] = check
			cases = append(cases, check.Case)
		}
	}
	if len(cases) == 0 {
		return nil
	}
	auditors := map[string]*thresholds.Auditor{}
	o.Planner = func(c *kernels.Case) sweeps.Planner {
		auditors[c.Name] = byName[c.Name].auditAgain(d, o.Seed)
		return auditors[c.Name]
	}
	o.Observe = nil
	results, err := sweeps.Run(ctx, cases, o)
	for _, result := range results {
		check, again := byName[result.Case.Name], auditors[result.Case.Name].Judge(&result.Samples)
		if !check.losesAgain(&again) {
			check.Audit.Finding = thresholds.Ambiguous
		}
	}
	return err
}

// auditAgain returns an auditor of the sizes at which the case has drifted.
func (c *Check) auditAgain(d *dispatch.Dispatcher, seed uint64) *thresholds.Auditor {
	var sizes []int
	for _, s := range c.Audit.Sizes {
		if s.Finding == thresholds.Drifted {
			sizes = append(sizes, s.Size)
		}
	}
	fresh, choice := c.fresh(seed), d.Case(c.Case.Name, available(&c.Case)...)
	return thresholds.NewAuditor(sizes, choice.Choose, fresh.Near, c.Recorded.TieBand, unsure(c.Recorded))
}

// losesAgain reports whether the choices at the drifted sizes lose at least half as much as before, in the mean of those at which
// the machine was quiet.
func (c *Check) losesAgain(again *thresholds.Audit) bool {
	before, now := 0.0, 0.0
	for _, s := range again.Sizes {
		k := slices.IndexFunc(c.Audit.Sizes, func(f thresholds.SizeAudit) bool { return f.Size == s.Size && f.Finding == thresholds.Drifted })
		if k >= 0 && !s.Disturbed {
			before += math.Log(c.Audit.Sizes[k].Slowdown)
			now += math.Log(s.Slowdown)
		}
	}
	return before > 0 && now >= before/2
}

// fresh returns the source of the case's fresh sizes. Each call returns the same one.
func (c *Check) fresh(seed uint64) *thresholds.Fresh {
	rng := rand.New(rand.NewPCG(seed, numberOf(c.Case.Name)))
	return thresholds.NewFresh(c.Case.Axis.Min, c.Case.Axis.Max, c.Case.Axis.Round, c.Recorded.Sizes, rng)
}

// numberOf returns a number that depends on a name alone. With it, cases and operations have different seeds.
func numberOf(name string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(name))
	return hash.Sum64()
}

// audit returns a new auditor of the case. Each call gives the same fresh sizes.
func (c *Check) audit(d *dispatch.Dispatcher, seed uint64) *thresholds.Auditor {
	fresh := c.fresh(seed)
	var edges []int
	for _, s := range c.Recorded.Segments[1:] {
		edges = append(edges, s.From)
	}
	choice := d.Case(c.Case.Name, available(&c.Case)...)
	c.auditor = thresholds.NewAuditor(fresh.Sizes(edges), choice.Choose, fresh.Near, c.Recorded.TieBand, unsure(c.Recorded))
	return c.auditor
}

// unsure returns the intervals of sizes at which the entry does not know the answer: its doubts other than ties, and the
// intervals of the thresholds of an unresolved case.
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

// UnsureShare returns the share of a case's axis, in log-size, on which the calibration does not know the answer. An audit
// excuses slow choices there.
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

// available returns the names of the implementations that can run here.
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
func (c *Check) judge() {
	if c.Changed != "" || c.Undrawn {
		c.Audit = thresholds.Audit{Regret: math.NaN(), Upper: math.NaN()}
		return
	}
	c.Audit = c.auditor.Judge(&c.Result.Samples)
	if c.Result.Degraded {
		c.Audit.Finding = min(c.Audit.Finding, thresholds.Ambiguous) // a disturbed machine proves no drift
	}
}

// excuse makes a drift ambiguous that these differences of the machine's states may explain.
func (c *Check) excuse(states *States) {
	if c.Audit.Finding == thresholds.Drifted && states.excuse(&c.Audit, onAllCores(c.Result)) {
		c.Audit.Finding, c.Excused = thresholds.Ambiguous, true
	}
}

// onAllCores says of each implementation in the samples whether it is declared to use all cores.
func onAllCores(r *sweeps.Result) []bool {
	parallel := make([]bool, len(r.Samples.Implementations))
	for _, i := range r.Case.Implementations {
		if at := slices.Index(r.Samples.Implementations, i.Name); at >= 0 {
			parallel[at] = i.Cores == kernels.AllCores
		}
	}
	return parallel
}

// excuse reports whether another state of the machine may be the only cause of a drift. It may be if, at every drifted size,
// the chosen or the best implementation is declared to use all cores. Serial implementations do not depend on other processors.
// A library that decides on its cores is no excuse. parallel has the implementations in the order of the samples.
func (s *States) excuse(audit *thresholds.Audit, parallel []bool) bool {
	if len(s.Moved) == 0 {
		return false
	}
	for _, size := range audit.Sizes {
		if size.Finding == thresholds.Drifted && !parallel[size.Chosen] && !parallel[size.Best] {
			return false
		}
	}
	return true
}
