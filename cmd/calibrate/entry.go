package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"crossover/calibration"
	"crossover/cmd/internal/command"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// entryFile is the name, beside a host's sample files, of what the samples do not hold: the entry without its
// segments, in the format of the calibration file. Samples and entry together refit to the same bytes.
const entryFile = "sweep.json"

// store saves a sweep while it runs.
type store struct {
	dir   string
	entry *calibration.Host
}

// save writes one case's samples, then the entry that lists it.
func (s *store) save(r *sweeps.Result) error {
	r.Samples.Simulated = s.entry.Simulated
	if err := r.Samples.Save(s.dir); err != nil {
		return fmt.Errorf("cannot save samples in %s: %w", s.dir, err)
	}
	s.describe(r)
	return s.write()
}

func (s *store) describe(r *sweeps.Result) {
	described := describe(r)
	for k := range s.entry.Cases {
		if s.entry.Cases[k].Name == described.Name {
			s.entry.Cases[k] = described
			return
		}
	}
	s.entry.Cases = append(s.entry.Cases, described)
}

func (s *store) write() error {
	file := &calibration.File{SchemaVersion: calibration.SchemaVersion, Hosts: []calibration.Host{*s.entry}}
	if err := calibration.Save(filepath.Join(s.dir, entryFile), file); err != nil {
		return fmt.Errorf("cannot save the sweep in %s: %w", s.dir, err)
	}
	return nil
}

// finish writes the entry once more, with every case and the time spent.
func (s *store) finish(results []*sweeps.Result) error {
	for _, r := range results {
		s.describe(r)
	}
	return s.write()
}

// describe turns a sweep's result into the part of the entry that is known before the fit.
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
		Warnings:   append([]string(nil), r.Warnings...),
	}
	for _, p := range r.Case.Params {
		c.Parameters[p.Name] = p.Value
	}
	for _, status := range r.Implementations {
		c.Implementations = append(c.Implementations, calibration.Implementation{
			Name: status.Name, Processor: string(status.Processor), Version: status.Version,
			RelativeError: status.RelativeError, Excluded: status.Excluded,
		})
	}
	if sizes := r.Samples.Sizes(); len(sizes) > 0 {
		c.Axis.From, c.Axis.To = sizes[0], sizes[len(sizes)-1]
		c.Sizes = sizes
		c.Blocks = len(r.Samples.Blocks)
	}
	return c
}

// load reads what a store wrote.
func load(dir string) (*calibration.Host, map[string]*timings.Set, error) {
	file, err := calibration.Load(filepath.Join(dir, entryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("%s holds no sweep: there is no %s in it (want a folder such as sweeps/data/HOST)", dir, entryFile)
	}
	if err != nil {
		return nil, nil, err
	}
	if len(file.Hosts) != 1 {
		return nil, nil, fmt.Errorf("%s: %d hosts in it, want 1", filepath.Join(dir, entryFile), len(file.Hosts))
	}
	entry := &file.Hosts[0]
	sets := map[string]*timings.Set{}
	for _, c := range entry.Cases {
		set, err := timings.Load(filepath.Join(dir, timings.FileName(c.Name)))
		if errors.Is(err, os.ErrNotExist) && c.Blocks == 0 {
			set, err = &timings.Set{Case: c.Name}, nil
		}
		if err != nil {
			return nil, nil, err
		}
		sets[c.Name] = set
	}
	return entry, sets, nil
}

// fit fills in what follows from the samples. It reads nothing of entry but what a saved entry holds.
func fit(entry *calibration.Host, sets map[string]*timings.Set) {
	entry.Warnings = warnings(entry)
	entry.Method.TieBand = thresholds.MinTieBand
	known := processors(entry, sets)
	for k := range entry.Cases {
		c := &entry.Cases[k]
		set := sets[c.Name]
		r := thresholds.Fit(set, thresholds.Options{
			Seed: entry.Method.Seed, Precision: entry.Method.Precision, Processors: known,
		})
		fill(c, set, &r)
		entry.Method.TieBand = max(entry.Method.TieBand, c.TieBand)
	}
}

// processors returns what all cases together say of the machine's processors.
func processors(entry *calibration.Host, sets map[string]*timings.Set) *thresholds.Processors {
	of := map[string]string{}
	var all []*timings.Set
	for _, c := range entry.Cases {
		for _, i := range c.Implementations {
			of[i.Name] = i.Processor
		}
		all = append(all, sets[c.Name])
	}
	return thresholds.StudyProcessors(of, all)
}

// crowdedAbove is the time of all processors at once over that of one alone from which on a calibration says so. It is 1.0
// where each has a core to itself and 1.95 on two threads of one core.
const crowdedAbove = 1.5

// warnings returns what a reader should know of the calibration as a whole.
func warnings(entry *calibration.Host) []string {
	lines := command.Doubts(&entry.Environment)
	if crowd := crowded(entry.Environment.Sentinel); crowd != "" {
		lines = append(lines, crowd)
	}
	return lines
}

// crowded says that processors do not reach their speed all at once, "" where they do or nobody looked. It may be the
// machine's nature or its state today, and the sweep cannot tell the one from the other.
func crowded(s *calibration.Sentinel) string {
	if s == nil {
		return ""
	}
	ratio := command.SentinelTimes(s).AllProcessorsRatio
	if !(ratio > crowdedAbove) {
		return ""
	}
	return fmt.Sprintf("all %d processors at once took %.2f times as long as one alone: "+
		"they share cores, differ in speed or were in use, and the thresholds of parallel implementations hold for a machine like that",
		s.Processors, ratio)
}

// fill puts a fit into a case.
func fill(c *calibration.Case, set *timings.Set, r *thresholds.Result) {
	c.TieBand, c.ExpectedRegret = r.TieBand, r.Regret
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
	for i, name := range set.Implementations {
		for k := range c.Implementations {
			implementation := &c.Implementations[k]
			if implementation.Name != name {
				continue
			}
			if cost := r.Costs; i < len(cost) && cost[i].Valid() {
				implementation.Cost = &calibration.Cost{
					FixedSeconds: cost[i].Fixed, SizeSeconds: cost[i].PerSize, Exponent: cost[i].Exponent, Residual: cost[i].Residual,
				}
			}
			implementation.GPUTimes = gpuTimes(set, i)
		}
	}
	c.Segments = nil
	for n, s := range r.Segments {
		segment := calibration.Segment{From: s.From, To: s.To, Implementation: set.Implementations[s.Implementation]}
		if n > 0 {
			segment.Interval = &calibration.Interval{Low: s.Low, High: s.High}
		}
		for _, a := range s.Next {
			segment.Next = append(segment.Next, calibration.Alternative{
				Implementation: set.Implementations[a.Implementation], Slowdown: a.Slowdown,
			})
		}
		c.Segments = append(c.Segments, segment)
	}
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
