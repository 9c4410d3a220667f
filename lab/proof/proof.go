// Package proof runs the real calibration and the real verification on modelled machines, many times, and counts: how
// often an interval holds the truth, how often a crossover or a drift is claimed that is not there, what choices cost at
// sizes nobody measured, and how many blocks that took.
//
// It measures nothing on this machine and changes nothing of the method: sweeps, crossover and the auditor run as in the
// commands. A study is a function of runs and a seed; the same seed gives the same table.
package proof

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"crossover/kernels"
	"crossover/lab/model"
	"crossover/sweeps"
	"crossover/thresholds"
	"crossover/timings"
)

// Budget is what a calibration of the catalogue's seventeen cases in two minutes has for each, and VerifyBudget what a
// verification in three minutes has.
const (
	Budget       = 7 * time.Second
	VerifyBudget = 10 * time.Second
)

// calibration is what one run found.
type calibration struct {
	machine  *model.Machine
	set      *timings.Set
	fit      thresholds.Result
	degraded bool
}

// at returns the name of the implementation that the fit chooses at a size.
func (c *calibration) at(size int) string {
	segments := c.fit.Segments
	k := 0
	for k+1 < len(segments) && segments[k+1].From <= size {
		k++
	}
	return c.set.Implementations[segments[k].Implementation]
}

// calibrate runs one calibration of a scenario. resamples is the size of the final bootstrap; 1 where no interval is
// looked at.
func calibrate(s *model.Scenario, seed uint64, budget time.Duration, resamples int) *calibration {
	machine := model.New(s, seed)
	c := machine.Case()
	fit := thresholds.Options{Seed: seed, Resamples: resamples}
	result := sweep(machine, c, seed, budget, 0, thresholds.NewPlanner(thresholds.PlannerOptions{
		Low: c.Axis.Min, High: c.Axis.Max, Fit: thresholds.Options{Seed: seed},
	}))
	fit.Processors = thresholds.StudyProcessors(processors(s), []*timings.Set{&result.Samples})
	return &calibration{machine, &result.Samples, thresholds.Fit(&result.Samples, fit), result.Degraded}
}

// processors names the processor of each implementation.
func processors(s *model.Scenario) map[string]string {
	of := map[string]string{}
	for _, i := range s.Implementations {
		of[i.Name] = string(i.Processor)
	}
	return of
}

// sweep runs the harness on a modelled machine. share is Options.VisitShare.
func sweep(machine *model.Machine, c kernels.Case, seed uint64, budget time.Duration, share float64, p sweeps.Planner) *sweeps.Result {
	results, err := sweeps.Run(context.Background(), []kernels.Case{c}, sweeps.Options{
		Budget: budget, Seed: seed, Clock: machine, Sentinel: machine.Sentinel, Uncollected: true, VisitShare: share,
		Planner: func(*kernels.Case) sweeps.Planner { return p },
	})
	if err != nil {
		panic(err) // only a cancelled context or a failed save ends a sweep, and there is neither
	}
	return results[0]
}

// each calls f for 0 … runs−1 on all processors.
func each(runs int, f func(run int)) {
	var wait sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for run := range next {
				f(run)
			}
		})
	}
	for run := range runs {
		next <- run
	}
	close(next)
	wait.Wait()
}

// seedOf spreads the runs of a study over seeds of their own.
func seedOf(seed uint64, run int) uint64 { return seed*1_000_003 + uint64(run) }

// Share is how often something happened.
type Share struct {
	Count, Of int
}

// Value returns the share, 0 where there was nothing to count.
func (s Share) Value() float64 {
	if s.Of == 0 {
		return 0
	}
	return float64(s.Count) / float64(s.Of)
}

// Error returns the standard error of the share.
func (s Share) Error() float64 {
	if s.Of == 0 {
		return 0
	}
	p := s.Value()
	return math.Sqrt(p * (1 - p) / float64(s.Of))
}

// Coverage is how the intervals of a scenario's thresholds fared.
type Coverage struct {
	Scenario string
	Holds    Share   // intervals that hold the true crossover, over all crossovers of all runs
	Missed   Share   // true crossovers for which no threshold was reported
	Extra    Share   // runs that report more thresholds than there are
	Width    float64 // median of high/low − 1
	Blocks   int     // median
}

// StudyCoverage calibrates each scenario many times.
func StudyCoverage(scenarios []model.Scenario, runs int, seed uint64) []Coverage {
	var rows []Coverage
	for k := range scenarios {
		s := &scenarios[k]
		truth := s.Truth()
		found := make([]*calibration, runs)
		each(runs, func(run int) {
			c := calibrate(s, seedOf(seed, run), Budget, 1000)
			found[run] = c
		})
		row := Coverage{Scenario: s.Name}
		var widths, blocks []float64
		for _, c := range found {
			reported := c.fit.Segments[1:]
			row.Extra.Of++
			if len(reported) > len(truth) {
				row.Extra.Count++
			}
			blocks = append(blocks, float64(len(c.set.Blocks)))
			for n, edge := range truth {
				row.Missed.Of++
				t := nearest(reported, edge, s, truth, n, c.set.Implementations)
				if t == nil {
					row.Missed.Count++
					continue
				}
				row.Holds.Of++
				if t.Low <= edge && edge <= t.High {
					row.Holds.Count++
				}
				widths = append(widths, float64(t.High)/float64(t.Low)-1)
			}
		}
		row.Width, row.Blocks = median(widths), int(median(blocks))
		rows = append(rows, row)
	}
	return rows
}

// nearest returns the reported threshold that stands for the n-th true one: the closest in log-size to the same new
// winner; nil where there is none.
func nearest(reported []thresholds.Segment, edge int, s *model.Scenario, truth []int, n int, names []string) *thresholds.Segment {
	winner, _ := s.Best(truth[n])
	var best *thresholds.Segment
	least := math.Inf(1)
	for k := range reported {
		t := &reported[k]
		if names[t.Implementation] != winner {
			continue
		}
		if d := math.Abs(math.Log(float64(t.From) / float64(edge))); d < least {
			best, least = t, d
		}
	}
	return best
}

// Alarms is how often something is claimed that is not there.
type Alarms struct {
	Scenario string
	Claimed  Share
}

// StudySame calibrates machines with two identical implementations and counts claimed crossovers.
func StudySame(scenarios []model.Scenario, runs int, seed uint64) []Alarms {
	var rows []Alarms
	for k := range scenarios {
		claimed := make([]bool, runs)
		each(runs, func(run int) {
			claimed[run] = calibrate(&scenarios[k], seedOf(seed, run), Budget, 200).fit.Verdict == thresholds.Switches
		})
		rows = append(rows, Alarms{scenarios[k].Name, count(claimed)})
	}
	return rows
}

// Drift is how verification fared on a scenario.
type Drift struct {
	Scenario  string
	Unchanged Share   // verifications of an unchanged machine that say DRIFTED
	Shifted   Share   // verifications that say DRIFTED after a crossover has moved by a factor of two
	Factor    float64 // by which an implementation became slower for that
	Cost      float64 // greatest slowdown of the old choice on the changed machine, minus 1
}

// StudyDrift calibrates, then verifies twice: with the luck of another run, and on the calibrated machine after its first
// crossover has moved twofold. Scenarios whose crossover cannot move that far are left out.
func StudyDrift(scenarios []model.Scenario, runs int, seed uint64) []Drift {
	var rows []Drift
	for k := range scenarios {
		s := &scenarios[k]
		moved, winner, factor := shifted(s)
		if moved == nil {
			continue
		}
		unchanged, changed := make([]bool, runs), make([]bool, runs)
		each(runs, func(run int) {
			c := calibrate(s, seedOf(seed, run), Budget, 200)
			unchanged[run] = audit(c, s, seedOf(seed+1, run)) == thresholds.Drifted
			changed[run] = audit(c, c.machine.Own().Moved(winner, factor), seedOf(seed+2, run)) == thresholds.Drifted
		})
		rows = append(rows, Drift{s.Name, count(unchanged), count(changed), factor, cost(s, moved)})
	}
	return rows
}

// shifted returns the scenario with its first crossover moved by a factor of two, by making the implementation that wins
// above it slower, and that implementation and how much slower; nil where that is not to be had.
func shifted(s *model.Scenario) (moved *model.Scenario, winner string, factor float64) {
	truth := s.Truth()
	if len(truth) == 0 {
		return nil, "", 0
	}
	winner, _ = s.Best(truth[0])
	for factor = 1.01; factor < 4; factor *= 1.01 {
		moved = s.Moved(winner, factor)
		edges := moved.Truth()
		if len(edges) > 0 && float64(edges[0]) >= 2*float64(truth[0]) {
			if name, _ := moved.Best(edges[0]); name == winner {
				return moved, winner, factor
			}
		}
	}
	return nil, "", 0
}

// cost returns the greatest slowdown, on the changed machine, of what was best on the old one, minus 1.
func cost(s, moved *model.Scenario) float64 {
	worst := 1.0
	for _, size := range logSizes(s.Low, s.High, 400) {
		name, _ := s.Best(size)
		worst = max(worst, moved.Slowdown(size, name))
	}
	return worst - 1
}

// audit verifies a calibration on a machine, as the verify command does.
func audit(c *calibration, s *model.Scenario, seed uint64) thresholds.Finding {
	machine := model.New(s, seed)
	kase := machine.Case()
	fresh := thresholds.NewFresh(s.Low, s.High, nil, c.set.Sizes(), rand.New(rand.NewPCG(seed, 3)))
	var edges []int
	var unsure [][2]int
	for _, segment := range c.fit.Segments[1:] {
		edges = append(edges, segment.From)
		if c.fit.Verdict == thresholds.Unresolved {
			unsure = append(unsure, [2]int{segment.Low, segment.High})
		}
	}
	auditor := thresholds.NewAuditor(fresh.Sizes(edges), c.at, fresh.Near, c.fit.TieBand, unsure)
	result := sweep(machine, kase, seed, VerifyBudget, 0.5, auditor)
	return auditor.Judge(&result.Samples).Finding
}

func count(happened []bool) Share {
	s := Share{Of: len(happened)}
	for _, h := range happened {
		if h {
			s.Count++
		}
	}
	return s
}
