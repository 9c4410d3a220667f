package harness

import (
	"context"
	"math"
	"slices"

	"crossover/calibration"
	"crossover/thresholds"
	"crossover/timings"
)

// Fit fits the timings and fills into the entry what follows from them. It reads nothing of the entry but what a saved one
// holds, so that a run that was loaded gives the same entry as the one that was measured. It is called once. When ctx is
// cancelled it returns ctx's error after the case that it is at, and the run is of no use any more.
func (r *Run) Fit(ctx context.Context) error {
	entry := &r.Entry
	entry.Warnings = warnings(entry)
	bands := make([]float64, 1+len(entry.Runs)) // by Case.Run
	known := r.processors()
	r.Fits = make(map[string]thresholds.Result, len(entry.Cases))
	for k := range entry.Cases {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &entry.Cases[k]
		method := entry.RunOf(c).Method
		fit := thresholds.Fit(r.History(c.Name), thresholds.Options{
			Seed: method.Seed, Precision: method.Precision, Resamples: r.Resamples, Processors: known,
		})
		fill(c, r.Timings[c.Name], &fit)
		if r.Folder != "" {
			c.Samples = r.Timings[c.Name].Digest()
		}
		r.Fits[c.Name] = fit
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

// History returns the timings of a case run by run, the newest first: those of the implementations that it has today. What the
// newest run excludes, for wrong values or because it fails, has no times in the earlier runs either.
func (r *Run) History(name string) []*timings.Set {
	newest := r.Timings[name]
	all := []*timings.Set{newest}
	competing := newest.Implementations
	if k := slices.IndexFunc(r.Entry.Cases, func(c calibration.Case) bool { return c.Name == name }); k >= 0 {
		competing = competingOf(r.Entry.Cases[k].Implementations, competing)
	}
	for _, earlier := range r.Earlier[name] {
		all = append(all, earlier.For(competing).For(newest.Implementations))
	}
	return all
}

// EarlierThresholds returns the thresholds that each earlier run of a case gives by itself, in the order of Run.Earlier.
func (r *Run) EarlierThresholds(c *calibration.Case) [][]int {
	var all [][]int
	for k, set := range r.History(c.Name)[1:] {
		all = append(all, thresholds.Of(set, r.Entry.EarlierRun(c.Earlier[k]).Method.Seed))
	}
	return all
}

// processors returns what all cases together say of the machine's processors.
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

// warnings returns what a reader should know of the calibration as a whole.
func warnings(entry *calibration.Host) []string {
	var lines []string
	var sentinels []*calibration.Sentinel
	add := func(e *calibration.Environment) {
		for _, line := range Doubts(e) {
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
	if line := crowded(sentinels); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fill puts a fit into a case.
func fill(c *calibration.Case, set *timings.Set, r *thresholds.Result) {
	c.TieBand, c.Regret = r.TieBand, regret(r.Regret)
	if c.Regret != nil {
		c.ExpectedRegret = max(0, c.Regret.Mean)
	}
	c.Sizes, c.Blocks = r.Curves.Sizes, len(set.Blocks)
	if len(c.Sizes) > 0 {
		c.Axis.From, c.Axis.To = c.Sizes[0], c.Sizes[len(c.Sizes)-1]
	}
	c.Warnings = append(c.Warnings, r.Warnings...)
	c.Verdict = verdicts[r.Verdict]
	if c.Verdict != calibration.Always {
		// The reason that a saved entry carries is why one implementation wins everywhere; here it does not.
		c.Reason = r.Reason
	}
	for k := range c.Implementations {
		implementation := &c.Implementations[k]
		i := slices.Index(set.Implementations, implementation.Name)
		if i < 0 {
			continue
		}
		if i < len(r.Costs) && r.Costs[i].Valid() {
			cost := r.Costs[i]
			implementation.Cost = &calibration.Cost{
				FixedSeconds: cost.Fixed, SizeSeconds: cost.PerSize, Exponent: cost.Exponent, Residual: cost.Residual,
			}
		}
		implementation.GPUTimes = gpuTimes(set, i)
	}
	c.Segments = segments(set, r)
}

// segments returns the segments of a fit, as the file holds them.
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
				Implementation: set.Implementations[a.Implementation], Slowdown: a.Slowdown,
			})
		}
		all = append(all, segment)
	}
	return all
}

// regret returns a regret as the file holds it.
func regret(r thresholds.Regret) *calibration.Regret {
	if r.Parts == 0 {
		return nil
	}
	out := &calibration.Regret{Mean: r.Mean, Parts: r.Parts}
	if !math.IsNaN(r.Upper) {
		out.Upper = &r.Upper
	}
	return out
}

// gpuTimes returns where the time of implementation i goes that a GPU computes, as the file holds it.
func gpuTimes(set *timings.Set, i int) []calibration.GPUTimes {
	var times []calibration.GPUTimes
	for _, use := range thresholds.GPUUses(set, i) {
		times = append(times, calibration.GPUTimes{
			Size: use.Size, WallSeconds: use.Wall, GPUSeconds: use.GPU, EncodeSeconds: use.Encode, GapSeconds: use.Gap,
			LaunchEfficiency: use.Efficiency,
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
