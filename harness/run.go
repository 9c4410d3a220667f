package harness

import (
	"context"
	"math"
	"slices"
	"time"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// Options say what a run measures, and how.
type Options struct {
	Budget    time.Duration // for all cases together
	Seed      uint64        // of everything random
	Precision float64       // wanted half width of a threshold's interval, relative to the threshold; 0 means 0.1
	Mode      sweeps.Mode   // "" means sweeps.Latency
	State     sweeps.State  // "" means sweeps.Warm
	InFlight  int           // number of calls on a GPU that are in flight in throughput mode; 0 means sweeps.DefaultInFlight
	Ratio     float64       // ratio of neighbouring sizes among the first sizes; 0 means the planner's default
	Input     kernels.Input // of the audio operations

	Include  func(implementation string) bool // says which implementations are timed; nil means all
	Progress func(sweeps.Progress)            // is called between blocks; may be nil
}

// Run is one calibration, from start to end.
type Run struct {
	Entry     calibration.Host             // entry of the calibration file; it has no segments before Fit
	Timings   map[string]*timings.Set      // by case
	Earlier   map[string][]*timings.Set    // by case; timings of the runs in calibration.Case.Earlier, in that order
	Fits      map[string]thresholds.Result // by case, after Fit
	Results   []*sweeps.Result             // of Measure, in the order of the cases; a loaded run has none
	Spaces    []*kernels.Space             // whose shapes are measured too; set before Measure
	Asked     []Asked                      // shapes that are measured first; set before Measure
	Alone     bool                         // whether only asked shapes of the spaces are measured
	Shapes    map[string]*timings.Set      // by the name of a space's case: the operation with its placement
	Before    *Run                         // of the host, with earlier ones; guides the planners; set before Measure; nil if there is none
	Folder    string                       // where Measure saves the run; "" means that it is not saved
	Changes   []string                     // by Join: which implementations have changed since earlier runs, a line for each operation
	Resamples int                          // of the bootstrap behind the intervals; 0 means the default of thresholds

	cases   []kernels.Case
	options Options
}

// NewRun returns a run over cases. of has the id, facts and environment of the host, and says whether the host is simulated.
func NewRun(of calibration.Host, cases []kernels.Case, o Options) *Run {
	if o.Precision == 0 {
		o.Precision = 0.1
	}
	if o.Mode == "" {
		o.Mode = sweeps.Latency
	}
	if o.State == "" {
		o.State = sweeps.Warm
	}
	if o.InFlight == 0 {
		o.InFlight = sweeps.DefaultInFlight
	}
	of.Created, of.Method = time.Now().UTC().Truncate(time.Second), o.method(cases)
	return &Run{Entry: of, Timings: map[string]*timings.Set{}, Shapes: map[string]*timings.Set{}, cases: cases, options: o}
}

// method returns the method of a run over cases, as far as it is known before the run.
func (o *Options) method(cases []kernels.Case) calibration.Method {
	m := calibration.Method{
		Seed: o.Seed, BudgetSeconds: o.Budget.Seconds(), Precision: o.Precision,
		Mode: string(o.Mode), State: string(o.State), TieBand: thresholds.MinTieBand, Audio: o.Input.Name,
	}
	onGPU := func(i kernels.Implementation) bool {
		return i.Processor == kernels.GPU && o.includes(i.Name) && i.Missing() == nil
	}
	if o.Mode == sweeps.Throughput && slices.ContainsFunc(cases, func(c kernels.Case) bool {
		return slices.ContainsFunc(c.Implementations, onGPU)
	}) {
		m.InFlight = o.InFlight
	}
	return m
}

func (o *Options) includes(implementation string) bool {
	return o.Include == nil || o.Include(implementation)
}

// isElsewhere reports whether the run has cases in other placements than caller, beside those.
func (r *Run) isElsewhere() bool {
	caller, others := false, false
	for i := range r.cases {
		if r.cases[i].Placement.Elsewhere() {
			others = true
		} else {
			caller = true
		}
	}
	return caller && others
}

// elsewhereRatio is the ratio of the work of the first sizes of cases in other placements than caller. Such cases are two thirds
// of all if there is a GPU, and few programs have their data there, so they begin with a third as many sizes.
const elsewhereRatio = 64

// ratioElsewhere returns the ratio of the sizes. The work of a product of square matrices grows with the cube of their size. A
// size of 64 times as many rows would take too long for any budget, and the case would be left with its least size.
func ratioElsewhere(axis *kernels.Axis, work func(size int) float64) float64 {
	if work == nil || axis.Max <= axis.Min {
		return elsewhereRatio
	}
	power := math.Log(work(axis.Max)/work(axis.Min)) / math.Log(float64(axis.Max)/float64(axis.Min))
	return math.Pow(elsewhereRatio, 1/max(power, 1))
}

// Weights of cases, beside 1. The first sizes of cases that are all that programs choose by come before those of others. First
// sizes elsewhere come together with the last ones of the placement caller, so that neither has all where the other has none.
// They come later if shapes are measured in that placement, by which all sizes of the case are predicted.
const (
	weightAlone     = 1.25
	weightElsewhere = 0.9996
	weightPredicted = 0.75
)

// predicted reports whether the run measures shapes of a case's operation in the placement of the case.
func (r *Run) predicted(c *kernels.Case) bool {
	return slices.ContainsFunc(r.Spaces, func(s *kernels.Space) bool {
		return s.Operation == c.Operation && s.Placement == c.Placement
	})
}

// planner returns the planner of a case.
func (r *Run) planner(c *kernels.Case) *thresholds.Planner {
	var work func(size int) float64
	if c.Work != nil {
		work = func(size int) float64 {
			w := c.Work(size, "")
			return max(w.Flops, w.Bytes, 1)
		}
	}
	ratio, weight := r.options.Ratio, 1.0
	switch {
	case c.Placement.Elsewhere():
		weight = weightElsewhere
		if r.predicted(c) {
			weight = weightPredicted
		}
		if ratio == 0 {
			ratio = ratioElsewhere(&c.Axis, work)
		}
	case c.Alone:
		weight = weightAlone
	}
	return thresholds.NewPlanner(thresholds.PlannerOptions{
		Low: c.Axis.Min, High: c.Axis.Max, Round: c.Axis.Round, Ratio: ratio, Weight: weight, Work: work, Earlier: r.before(c),
		Fit: thresholds.Options{Seed: r.options.Seed, Precision: r.options.Precision},
	})
}

// before returns the timings of a case by earlier runs, without times of implementations that have changed since. If they lack
// an implementation that can run, it returns none: thresholds without it say little of those with it.
func (r *Run) before(c *kernels.Case) []*timings.Set {
	if r.Before == nil || r.Before.Timings[c.Name] == nil {
		return nil
	}
	var earlier []*timings.Set
	for _, set := range r.Before.History(c.Name) {
		if set = thresholds.Since(set, set.Changes(revisionOf(c), holdsIn(c, set, revisionOf(c), r.Before.Entry.Processors()))); len(set.Blocks) > 0 {
			earlier = append(earlier, set)
		}
	}
	for _, i := range c.Implementations {
		if r.options.includes(i.Name) && i.Missing() == nil && !slices.ContainsFunc(earlier, func(set *timings.Set) bool { return set.Knows(i.Name) }) {
			return nil
		}
	}
	return earlier
}

// FirstSizes returns the sizes of a case that are measured first, before any time is known.
func (r *Run) FirstSizes(c *kernels.Case) []int { return r.planner(c).Rungs() }

// Measure sweeps the cases, and the shapes of the spaces. If it returns an error, for example because ctx was cancelled, the
// run still has what was measured before, and has saved it.
func (r *Run) Measure(ctx context.Context, m Machine) error {
	o := m.Sweep()
	shapesBudget, casesBudget := r.budgets()
	if ahead := r.compileAhead(ctx, o.Clock); ahead > 0 {
		left := 1 - ahead.Seconds()/r.options.Budget.Seconds()
		shapesBudget = time.Duration(left * float64(shapesBudget))
		casesBudget = time.Duration(left * float64(casesBudget))
	}
	o.Budget, o.Seed, o.Input = casesBudget, r.options.Seed, r.options.Input
	o.Mode, o.State, o.InFlight = r.options.Mode, r.options.State, r.options.InFlight
	o.Include, o.Progress = r.options.Include, r.options.Progress
	if r.isElsewhere() {
		o.Short = func(c *kernels.Case) bool { return c.Placement.Elsewhere() }
	}
	o.Planner = func(c *kernels.Case) sweeps.Planner {
		return planFirst(c.Name, r.askedIn(c.Name), newAskedTimes(), onlyValue, r.planner(c))
	}
	o.Observe = func(o sweeps.Observed) { r.Entry.Environment.Sentinel = sentinel(o) }
	whole := true
	if r.Folder != "" {
		note := func(err error) error {
			whole = whole && err == nil
			return err
		}
		o.Save = func(result *sweeps.Result) error { return note(r.save(result)) }
		o.Saved = func() error { return note(r.saveEntry(r.Folder)) }
	}
	start := o.Clock.Now()
	ofShapes := o
	ofShapes.Budget = shapesBudget
	if len(r.cases) == 0 {
		casesBudget = 0
	}
	if shapesFirst := len(r.Asked) > 0; shapesFirst {
		ofShapes.Progress = sweeps.Within(o.Progress, 0, casesBudget)
		o.Progress = sweeps.Within(o.Progress, shapesBudget, 0)
	} else {
		ofShapes.Progress = sweeps.Within(o.Progress, casesBudget, 0)
		o.Progress = sweeps.Within(o.Progress, 0, shapesBudget)
	}
	var results []*sweeps.Result
	measureCases := func() (err error) {
		if len(r.cases) > 0 {
			results, err = sweeps.Run(ctx, r.cases, o)
		}
		for _, result := range results {
			result.Samples.Simulated = r.Entry.Simulated
			r.Timings[result.Case.Name] = &result.Samples
			r.describe(result)
		}
		return err
	}
	measureShapes := func() error {
		if shapesBudget == 0 {
			return nil
		}
		return r.measureShapes(ctx, ofShapes)
	}
	steps := []func() error{measureCases, measureShapes}
	if len(r.Asked) > 0 {
		slices.Reverse(steps)
	}
	err := steps[0]()
	if err == nil {
		err = steps[1]()
	}
	worsen(&r.Entry.Environment, m.Condition())
	r.Entry.Method.SpentSeconds = float64((o.Clock.Now() - start).Round(time.Millisecond)) / float64(time.Second)
	r.Results = results
	if r.Folder == "" || !whole { // an entry with the duration of the run would say that all samples were saved
		return err
	}
	if saveErr := r.saveEntry(r.Folder); err == nil {
		err = saveErr
	}
	return err
}

// describe puts a case into the entry, as far as it is known before the fit.
func (r *Run) describe(result *sweeps.Result) {
	described := describe(result)
	k := slices.IndexFunc(r.Entry.Cases, func(c calibration.Case) bool { return c.Name == described.Name })
	if k < 0 {
		r.Entry.Cases = append(r.Entry.Cases, described)
		return
	}
	r.Entry.Cases[k] = described
}

// describe returns the part of a case that is known before the fit, from the result of a sweep.
func describe(r *sweeps.Result) calibration.Case {
	c := calibration.Case{
		Name:       r.Case.Name,
		Operation:  r.Case.Operation,
		Parameters: map[string]int{},
		Axis:       calibration.Axis{Name: r.Case.Axis.Name, Unit: r.Case.Axis.Unit, From: r.Case.Axis.Min, To: r.Case.Axis.Max},
		Verdict:    calibration.Unresolved,
		Reason:     r.Case.OneWinner,
		Degraded:   r.Degraded,
		TieBand:    thresholds.MinTieBand,
		Warnings:   slices.Clone(r.Warnings),
	}
	for _, p := range r.Case.Params {
		c.Parameters[p.Name] = p.Value
	}
	for _, status := range r.Implementations {
		c.Implementations = append(c.Implementations, calibration.Implementation{
			Name: status.Name, Processor: string(status.Processor), Version: status.Version, Revision: status.Revision,
			RelativeError: status.RelativeError, ErrorBound: status.ErrorBound, Excluded: status.Excluded, Wrong: status.Wrong,
		})
	}
	if sizes := r.Samples.Sizes(); len(sizes) > 0 {
		c.Axis.From, c.Axis.To = sizes[0], sizes[len(sizes)-1]
		c.Sizes = sizes
		c.Blocks = len(r.Samples.Blocks)
	}
	return c
}
