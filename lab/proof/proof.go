// Package proof runs the real calibration and the real verification on modelled machines, many times. It counts how often an
// interval holds the true threshold and how often a crossover or a drift is reported that does not exist. It also says what
// choices cost at sizes that were not measured, and how many blocks that took.
//
// The package measures nothing on this machine and does not join the stages itself. Package harness calibrates and verifies,
// as it does for the commands. A dispatcher then chooses by the entry that would be in the file. A study is a function of
// the number of runs and a seed. The same seed gives the same table. When its context is cancelled, a study waits for the
// runs under way and returns the context's error.
package proof

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"crossover/calibration"
	"crossover/dispatch"
	"crossover/harness"
	"crossover/host"
	"crossover/kernels"
	"crossover/lab/model"
	"crossover/thresholds"
	"crossover/timings"
)

// Budget is the share of one of the catalogue's eighteen cases, rounded, in a calibration that gives them two minutes.
// VerifyBudget is that share of a verification of three minutes.
const (
	Budget       = 7 * time.Second
	VerifyBudget = 10 * time.Second
)

// calibrated is a modelled machine with the run that calibrated it.
type calibrated struct {
	machine *model.Machine
	run     *harness.Run
	choice  *dispatch.Case // made from the entry of the run
}

// calibrate runs one calibration of a scenario. resamples is the size of the final bootstrap. It is 1 for studies that do
// not use intervals.
func calibrate(s *model.Scenario, seed uint64, budget time.Duration, resamples int) *calibrated {
	machine := model.New(s, seed)
	run := harness.NewRun(modelled(), []kernels.Case{machine.Case()}, harness.Options{Budget: budget, Seed: seed})
	run.Resamples = resamples
	must(run.Measure(context.Background(), on(machine)))
	return fitted(machine, run)
}

// fitted fits a run and makes its dispatcher's case.
func fitted(machine *model.Machine, run *harness.Run) *calibrated {
	must(run.Fit(context.Background()))
	c := &calibrated{machine: machine, run: run}
	found := c.found()
	var names []string
	for _, i := range found.Implementations {
		names = append(names, i.Name)
	}
	c.choice = dispatcher(&run.Entry).Case(found.Name, names...)
	return c
}

// found returns the only case of the entry.
func (c *calibrated) found() *calibration.Case { return &c.run.Entry.Cases[0] }

// timings returns the timings of the only case.
func (c *calibrated) timings() *timings.Set { return c.run.Timings[c.found().Name] }

// modelled returns the host of a modelled machine, with the facts that a dispatcher needs.
func modelled() calibration.Host {
	facts := calibration.Facts{Chip: "Modelled machine", Family: "modelled", Architecture: "modelled", Cores: 1, GPU: "Modelled GPU"}
	return calibration.Host{
		ID: calibration.SimulatedPrefix + host.Facts(facts).ID(), Simulated: true, Facts: facts,
		Environment: calibration.Environment{Power: "unknown", Thermal: "unknown", Load: -1},
	}
}

// on returns a modelled machine in the form that the harness takes.
func on(m *model.Machine) harness.Machine { return harness.Machine{Clock: m, Sentinel: m.Sentinel} }

// dispatcher returns the dispatcher of a program that loads the entry. It panics if a calibration file would not accept the
// entry.
func dispatcher(entry *calibration.Host) *dispatch.Dispatcher {
	file := &calibration.File{SchemaVersion: calibration.SchemaVersion}
	must(file.Merge(*entry))
	d, err := dispatch.New(file, dispatch.WithHost(host.Facts(entry.Facts)), dispatch.AllowSimulated())
	must(err)
	return d
}

// must panics if err is not nil. On a modelled machine nothing is cancelled, saved or lost, so any error is our mistake.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// each calls f for 0 … runs−1 on all processors. When ctx is cancelled, each waits for the calls under way and returns ctx's
// error.
func each(ctx context.Context, runs int, f func(run int)) error {
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
		if ctx.Err() != nil {
			break
		}
		next <- run
	}
	close(next)
	wait.Wait()
	return ctx.Err()
}

// seedOf returns a seed of its own for each run of a study.
func seedOf(seed uint64, run int) uint64 { return seed*1_000_003 + uint64(run) }

// Share says how often something happened.
type Share struct {
	Count, Of int
}

// Value returns the share, or 0 if nothing was counted.
func (s Share) Value() float64 {
	if s.Of == 0 {
		return 0
	}
	return float64(s.Count) / float64(s.Of)
}

// Error returns the standard error of the share, or 0 if nothing was counted.
func (s Share) Error() float64 {
	if s.Of == 0 {
		return 0
	}
	p := s.Value()
	return math.Sqrt(p * (1 - p) / float64(s.Of))
}

// Coverage says how often the intervals of a scenario's thresholds were right.
type Coverage struct {
	Scenario string
	Holds    Share   // intervals that hold the true crossover, of all reported for one
	Missed   Share   // true crossovers for which no threshold was reported
	Width    float64 // median of high/low − 1
	Blocks   int     // median over the runs
}

// StudyCoverage calibrates each scenario as often as runs says.
func StudyCoverage(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Coverage, error) {
	var rows []Coverage
	for k := range scenarios {
		s := &scenarios[k]
		truth := s.Truth()
		found := make([]*calibrated, runs)
		if err := each(ctx, runs, func(run int) {
			found[run] = calibrate(s.Replay(run), seedOf(seed, run), Budget, 1000)
		}); err != nil {
			return nil, err
		}
		row := Coverage{Scenario: s.Name}
		var widths, blocks []float64
		for _, c := range found {
			reported := thresholdsOf(c.found().Segments)
			blocks = append(blocks, float64(c.found().Blocks))
			for n, edge := range truth {
				row.Missed.Of++
				t := nearest(reported, edge, s, truth, n)
				if t == nil {
					row.Missed.Count++
					continue
				}
				row.Holds.Of++
				if t.Interval.Low <= edge && edge <= t.Interval.High {
					row.Holds.Count++
				}
				widths = append(widths, float64(t.Interval.High)/float64(t.Interval.Low)-1)
			}
		}
		row.Width, row.Blocks = median(widths), int(median(blocks))
		rows = append(rows, row)
	}
	return rows, nil
}

// nearest returns the reported threshold that is closest to edge in log-size, of those with the same new winner as the n-th
// true threshold. It returns nil if there is none.
func nearest(reported []calibration.Segment, edge int, s *model.Scenario, truth []int, n int) *calibration.Segment {
	winner, _ := s.Best(truth[n])
	var best *calibration.Segment
	least := math.Inf(1)
	for k := range reported {
		t := &reported[k]
		if t.Implementation != winner {
			continue
		}
		if d := math.Abs(math.Log(float64(t.From) / float64(edge))); d < least {
			best, least = t, d
		}
	}
	return best
}

// AimExtra is the greatest share of runs with too many thresholds that we aim at.
const AimExtra = 0.02

// Extra says how often a run has more thresholds than are true.
type Extra struct {
	Scenario string
	TooMany  Share
	Most     int // greatest number of thresholds of a run
	True     int
}

// StudyExtra calibrates each scenario as often as runs says and counts thresholds. Two identical implementations have none.
func StudyExtra(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Extra, error) {
	var rows []Extra
	for k := range scenarios {
		s := &scenarios[k]
		counts := make([]int, runs)
		if err := each(ctx, runs, func(run int) {
			counts[run] = len(thresholdsOf(calibrate(s.Replay(run), seedOf(seed, run), Budget, 200).found().Segments))
		}); err != nil {
			return nil, err
		}
		rows = append(rows, extraOf(s, counts))
	}
	return rows, nil
}

// extraOf counts the runs of a scenario that have more thresholds than are true.
func extraOf(s *model.Scenario, counts []int) Extra {
	row := Extra{Scenario: s.Name, Most: slices.Max(counts), True: len(s.Truth())}
	for _, n := range counts {
		row.TooMany.Of++
		if n > row.True {
			row.TooMany.Count++
		}
	}
	return row
}

// Drift says how often verification was right about a scenario.
type Drift struct {
	Scenario  string
	Unchanged Share   // verifications of an unchanged machine that say DRIFTED
	Shifted   Share   // verifications that say DRIFTED after a crossover has moved by a factor of two
	Disturbed Share   // verifications after the same move that say AMBIGUOUS, because the machine was disturbed
	Factor    float64 // factor by which one implementation became slower in that move
	Cost      float64 // greatest slowdown of the old choice on the changed machine, minus 1
}

// StudyDrift calibrates and then verifies twice: with the luck of another run, and on the calibrated machine after its first
// crossover has moved by a factor of two. It leaves out scenarios whose crossover cannot move that far.
func StudyDrift(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Drift, error) {
	var rows []Drift
	for k := range scenarios {
		s := &scenarios[k]
		moved, winner, factor := shifted(s)
		if moved == nil {
			continue
		}
		unchanged, changed, disturbed := make([]bool, runs), make([]bool, runs), make([]bool, runs)
		if err := each(ctx, runs, func(run int) {
			s := s.Replay(run)
			c := calibrate(s, seedOf(seed, run), Budget, 200)
			unchanged[run] = verify(c, s, seedOf(seed+1, run)).Audit.Finding == thresholds.Drifted
			check := verify(c, c.machine.Own().Moved(winner, factor), seedOf(seed+2, run))
			changed[run] = check.Audit.Finding == thresholds.Drifted
			disturbed[run] = check.Audit.Finding == thresholds.Ambiguous && check.Result.Degraded
		}); err != nil {
			return nil, err
		}
		rows = append(rows, Drift{s.Name, count(unchanged), count(changed), count(disturbed), factor, cost(s, moved)})
	}
	return rows, nil
}

// shifted returns the scenario with its first crossover moved up by a factor of two. For that it makes the implementation
// that wins above the crossover slower, and returns that implementation and the factor. The scenario is nil if no factor
// moves the crossover that far.
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

// cost returns the greatest slowdown of the old best choices on the changed machine, minus 1.
func cost(s, moved *model.Scenario) float64 {
	worst := 1.0
	for _, size := range logSizes(s.Low, s.High, 400) {
		name, _ := s.Best(size)
		worst = max(worst, moved.Slowdown(size, name))
	}
	return worst - 1
}

// verify verifies the entry of a run on a machine.
func verify(c *calibrated, s *model.Scenario, seed uint64) *harness.Check {
	machine, entry := model.New(s, seed), &c.run.Entry
	every := func(string) bool { return true }
	v := harness.NewVerification(entry, []kernels.Case{machine.Case()}, every, entry.Environment)
	must(v.Measure(context.Background(), on(machine), dispatcher(entry), harness.VerifyOptions{Budget: VerifyBudget, Seed: seed}))
	return v.Checks[0]
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
