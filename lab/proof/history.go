package proof

import (
	"errors"
	"fmt"
	"slices"

	"crossover/harness"
	"crossover/thresholds"
	"crossover/timings"
)

// history holds the measured samples of a host, by runs.
type history struct {
	processors map[string]string // of each implementation
	cases      []past
	runs       []int // numbers of the runs, ascending
}

// past holds the samples of one case. All runs list the same implementations.
type past struct {
	name string
	runs map[int]*timings.Set // by numbers of runs
}

// loadHistory reads the newest run of a host, and the earlier runs that its entry has. dir is the folder of a run or of a
// host.
func loadHistory(dir string) (*history, error) {
	run, err := harness.Load(dir)
	if err != nil {
		return nil, err
	}
	h := &history{processors: map[string]string{}}
	for k := range run.Entry.Cases {
		c := &run.Entry.Cases[k]
		numbers := []int{c.Run}
		for _, e := range c.Earlier {
			numbers = append(numbers, e.Run)
		}
		p := past{c.Name, map[int]*timings.Set{}}
		for n, set := range thresholds.Current(run.History(c.Name)) {
			if len(set.Blocks) > 0 {
				p.runs[numbers[n]] = set
			}
		}
		for _, i := range c.Implementations {
			h.processors[i.Name] = i.Processor
		}
		for number := range p.runs {
			if !slices.Contains(h.runs, number) {
				h.runs = append(h.runs, number)
			}
		}
		h.cases = append(h.cases, p)
	}
	slices.Sort(h.runs)
	return h, nil
}

// ErrOneRun says that no case of a host has two runs, so that none can be compared with another.
var ErrOneRun = errors.New("one run of each case (want two or more; go run ./cmd/calibrate adds one)")

// loadSeveral reads a host with several runs of at least one case.
func loadSeveral(dir string) (*history, error) {
	h, err := loadHistory(dir)
	if err == nil && !slices.ContainsFunc(h.cases, func(p past) bool { return len(p.runs) > 1 }) {
		err = fmt.Errorf("%s holds %w", dir, ErrOneRun)
	}
	return h, err
}

// fit fits the given runs of each case, as the command calibrate does. Cases without samples keep the zero Result.
func (h *history) fit(runs []int) []thresholds.Result {
	sets := make([][]*timings.Set, len(h.cases))
	for k, p := range h.cases {
		sets[k] = p.of(runs)
	}
	known := thresholds.StudyProcessors(h.processors, sets)
	fits := make([]thresholds.Result, len(h.cases))
	for k := range h.cases {
		if len(sets[k]) > 0 {
			fits[k] = thresholds.Fit(sets[k], thresholds.Options{Seed: 1, Processors: known})
		}
	}
	return fits
}

// of returns the samples of the given runs, without runs that did not measure the case.
func (p *past) of(runs []int) []*timings.Set {
	var sets []*timings.Set
	for _, number := range runs {
		if set := p.runs[number]; set != nil {
			sets = append(sets, set)
		}
	}
	return sets
}
