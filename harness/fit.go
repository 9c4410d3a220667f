package harness

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"crossover/calibration"
	"crossover/kernels"
	"crossover/thresholds"
	"crossover/timings"
)

// Fit fits the timings and puts the fits into the entry. It reads only what a saved entry has, so that a loaded run gives
// the same entry as a measured run. Cases are fitted on all processors at a time, and none depends on another. Fit may be called
// only once. If ctx is cancelled, Fit returns the error of ctx after the current cases, and the run must not be used any more.
func (r *Run) Fit(ctx context.Context) error {
	entry := &r.Entry
	entry.Warnings = warnings(entry)
	bands := make([]float64, 1+len(entry.Runs)) // by Case.Run
	known := r.processors()
	fits := make([]thresholds.Result, len(entry.Cases))
	if err := each(ctx, len(entry.Cases), func(k int) {
		c := &entry.Cases[k]
		method := entry.RunOf(c).Method
		o := thresholds.Options{Seed: method.Seed, Precision: method.Precision, Resamples: r.Resamples, Processors: known}
		fits[k] = thresholds.Fit(r.History(c.Name), o)
		fill(c, r.Timings[c.Name], &fits[k])
		c.Within = r.within(c, o)
		if r.Folder != "" {
			c.Samples = r.Timings[c.Name].Digest()
		}
	}); err != nil {
		return err
	}
	r.Fits = make(map[string]thresholds.Result, len(entry.Cases))
	for k, c := range entry.Cases {
		r.Fits[c.Name] = fits[k]
		bands[c.Run] = max(bands[c.Run], c.TieBand)
	}
	if err := r.fitShapes(ctx); err != nil {
		return err
	}
	entry.Method.TieBand = max(bands[0], thresholds.MinTieBand)
	for k := range entry.Runs {
		entry.Runs[k].Method.TieBand = max(bands[1+k], thresholds.MinTieBand)
	}
	return nil
}

// each calls f with 0 to n−1, as many at a time as there are processors. If ctx is cancelled, each makes no further calls, and
// returns the error of ctx.
func each(ctx context.Context, n int, f func(k int)) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for ctx.Err() == nil {
				k := int(next.Add(1)) - 1
				if k >= n {
					return
				}
				f(k)
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// History returns the timings of a case by runs, the newest first. They are those of the implementations that the newest run
// has. If the newest run excludes an implementation, for example for wrong values, the earlier runs have no times of it
// either.
func (r *Run) History(name string) []*timings.Set {
	newest := r.Timings[name]
	all := []*timings.Set{newest}
	competing := newest.Implementations
	if c := caseOf(&r.Entry, name); c != nil {
		competing = competingOf(c.Implementations, competing)
	}
	for _, earlier := range r.Earlier[name] {
		all = append(all, earlier.For(competing).For(newest.Implementations))
	}
	return timings.ShareDivides(all)
}

// EarlierThresholds returns the thresholds that each earlier run of a case gives alone, in the order of Run.Earlier.
func (r *Run) EarlierThresholds(c *calibration.Case) [][]int {
	var all [][]int
	for k, set := range r.History(c.Name)[1:] {
		all = append(all, thresholds.Of(set, r.Entry.EarlierRun(c.Earlier[k]).Method.Seed))
	}
	return all
}

// processors returns what the cases together show of the machine's processors.
func (r *Run) processors() *thresholds.Processors {
	of := map[string]string{}
	var all [][]*timings.Set
	for _, c := range r.Entry.Cases {
		for _, i := range c.Implementations {
			of[i.Name] = i.Processor
		}
		all = append(all, r.History(c.Name))
	}
	return thresholds.StudyProcessors(of, all)
}

// warnings returns the warnings about the calibration as a whole.
func warnings(entry *calibration.Host) []string {
	var lines []string
	var sentinels []*calibration.Sentinel
	add := func(e *calibration.Environment) {
		of := Doubts(e)
		if s := e.Sentinel; s != nil && s.Processors > 0 && s.Processors < entry.Facts.Cores {
			of = append(of, fmt.Sprintf("Go used %d of %d processors (GOMAXPROCS, or a limit on the process): parallel implementations had no more",
				s.Processors, entry.Facts.Cores))
		}
		for _, line := range of {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
		if e.Sentinel != nil {
			sentinels = append(sentinels, e.Sentinel)
		}
	}
	add(&entry.Environment)
	for k := range entry.Runs {
		add(&entry.Runs[k].Environment)
	}
	for _, line := range []string{crowded(sentinels), company(sentinels)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// fill puts a fit into a case.
func fill(c *calibration.Case, set *timings.Set, r *thresholds.Result) {
	c.TieBand, c.Regret = rounded(r.TieBand), regret(r.Regret)
	if c.Regret != nil {
		c.ExpectedRegret = max(0, c.Regret.Mean)
	}
	c.Sizes, c.Blocks = r.Curves.Sizes, len(set.Blocks)
	if len(c.Sizes) > 0 {
		c.Axis.From, c.Axis.To = c.Sizes[0], c.Sizes[len(c.Sizes)-1]
	}
	c.Warnings = append(c.Warnings, r.Warnings...)
	c.Verdict = verdicts[r.Verdict]
	for k := range c.Implementations {
		implementation := &c.Implementations[k]
		implementation.RelativeError = rounded(implementation.RelativeError)
		i := slices.Index(set.Implementations, implementation.Name)
		if i < 0 {
			continue
		}
		if i < len(r.Costs) && r.Costs[i].Valid() {
			cost := r.Costs[i]
			implementation.Cost = &calibration.Cost{
				FixedSeconds: rounded(cost.Fixed), SizeSeconds: rounded(cost.PerSize),
				Exponent: rounded(cost.Exponent), Residual: rounded(cost.Residual),
			}
		}
		implementation.GPUTimes = gpuTimes(set, i)
	}
	c.Segments = segments(set, r)
	if c.Verdict != calibration.Always || r.Reason != "" || !onOneCore(c, c.Segments[0].Implementation) {
		// Before the fit, the reason says why one core is fastest everywhere. Here it is not, or too few sizes say so.
		c.Reason = r.Reason
	}
}

// onOneCore reports whether an implementation of a case computes on one core.
func onOneCore(c *calibration.Case, name string) bool {
	k := slices.IndexFunc(c.Implementations, func(i calibration.Implementation) bool { return i.Name == name })
	return k >= 0 && c.Implementations[k].Processor == string(kernels.CPU) && timings.OnOne(name) == name
}

// within fits a case once more for each of its error bounds, to the times of those implementations alone that promise the
// bound. So thresholds between accurate implementations are as good as those between the fastest ones. The case must be
// filled in before.
func (r *Run) within(c *calibration.Case, o thresholds.Options) []calibration.Within {
	var all []calibration.Within
	for _, most := range c.Bounds() {
		var names []string
		for _, m := range c.Implementations {
			if m.Excluded == "" && m.ErrorBound > 0 && m.ErrorBound <= most {
				names = append(names, m.Name)
			}
		}
		var sets []*timings.Set
		for _, set := range r.History(c.Name) {
			sets = append(sets, set.For(names))
		}
		fit := thresholds.Fit(sets, o)
		parts := segments(sets[0], &fit)
		if len(parts) == 0 {
			continue
		}
		// At sizes where none of these implementations was timed, the nearest segment decides.
		parts[0].From, parts[len(parts)-1].To = c.Axis.From, c.Axis.To
		all = append(all, calibration.Within{MaxError: most, Verdict: verdicts[fit.Verdict], Reason: fit.Reason, Segments: parts})
	}
	return all
}

// segments returns the segments of a fit, as the file has them.
func segments(set *timings.Set, r *thresholds.Result) []calibration.Segment {
	var all []calibration.Segment
	for n, s := range r.Segments {
		segment := calibration.Segment{From: s.From, To: s.To, Implementation: set.Implementations[s.Implementation]}
		if n > 0 {
			segment.Interval = &calibration.Interval{Low: s.Low, High: s.High, AssumedBetweenRuns: s.Assumed}
		}
		for _, d := range s.Doubts {
			segment.Doubts = append(segment.Doubts, calibration.Doubt{
				From: d.From, To: d.To, Implementation: set.Implementations[d.Implementation], Tie: d.Tie,
			})
		}
		for _, a := range s.Next {
			segment.Next = append(segment.Next, calibration.Alternative{
				Implementation: set.Implementations[a.Implementation], Slowdown: rounded(a.Slowdown),
			})
		}
		all = append(all, segment)
	}
	return all
}

// regret returns a regret as the file has it. It returns nil if there is none.
func regret(r thresholds.Regret) *calibration.Regret {
	if r.Parts == 0 {
		return nil
	}
	out := &calibration.Regret{Mean: rounded(r.Mean), Parts: r.Parts}
	if !math.IsNaN(r.Upper) {
		out.Upper = new(rounded(r.Upper))
	}
	return out
}

// gpuTimes returns where the time of implementation i on a GPU goes, as the file has it.
func gpuTimes(set *timings.Set, i int) []calibration.GPUTimes {
	var times []calibration.GPUTimes
	for _, use := range thresholds.GPUUses(set, i) {
		times = append(times, calibration.GPUTimes{
			Size: use.Size, WallSeconds: rounded(use.Wall), GPUSeconds: rounded(use.GPU), EncodeSeconds: rounded(use.Encode),
			GapSeconds: rounded(use.Gap), LaunchEfficiency: rounded(use.Efficiency),
		})
	}
	return times
}

var verdicts = map[thresholds.Verdict]calibration.Verdict{
	thresholds.Unresolved: calibration.Unresolved,
	thresholds.Switches:   calibration.Crossover,
	thresholds.Always:     calibration.Always,
	thresholds.Tie:        calibration.Tie,
}
