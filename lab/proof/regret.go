package proof

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"crossover/harness"
	"crossover/lab/model"
	"crossover/timings"
)

// logSizes returns n sizes spread evenly over the logarithm of the range, both ends included.
func logSizes(low, high, n int) []int {
	sizes := make([]int, n)
	for k := range sizes {
		sizes[k] = int(math.Round(float64(low) * math.Pow(float64(high)/float64(low), float64(k)/float64(n-1))))
	}
	return slices.Compact(sizes)
}

// judged is the number of sizes at which a choice is judged. They are drawn anew in every run, so that no choice can be
// fitted to them.
const judged = 300

// trueRegret returns what choices cost at fresh random sizes, by the undisturbed costs. mean is the geometric mean of the
// slowdowns, and worst is the greatest one, each minus 1.
func trueRegret(s *model.Scenario, choose func(size int) string, seed uint64) (mean, worst float64) {
	rng := rand.New(rand.NewPCG(seed, 5))
	sum := 0.0
	for range judged {
		size := int(math.Round(float64(s.Low) * math.Pow(float64(s.High)/float64(s.Low), rng.Float64())))
		slowdown := s.Slowdown(size, choose(size))
		sum += math.Log(slowdown)
		worst = max(worst, slowdown-1)
	}
	return math.Expm1(sum / judged), worst
}

// Regret says what the choices of a scenario cost after a given budget.
type Regret struct {
	Scenario string
	Budget   time.Duration // virtual time
	Blocks   int           // median over the runs
	Mean     float64       // median over the runs of the geometric mean of the slowdowns, minus 1
	Mean90   float64       // 90th percentile over the runs of the same
	Worst    float64       // median over the runs of the greatest slowdown, minus 1
	Worst90  float64
}

// Budgets are the budgets of StudyRegret.
var Budgets = []time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
	Budget,
}

// StudyRegret calibrates each scenario with each budget.
func StudyRegret(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Regret, error) {
	var rows []Regret
	for k := range scenarios {
		s := &scenarios[k]
		for _, budget := range Budgets {
			means, worsts, blocks := make([]float64, runs), make([]float64, runs), make([]float64, runs)
			if err := each(ctx, runs, func(run int) {
				seed := seedOf(seed, run)
				c := calibrate(s.Replay(run), seed, budget, 1)
				blocks[run] = float64(c.found().Blocks)
				means[run], worsts[run] = math.Inf(1), math.Inf(1)
				if len(c.found().Segments) > 0 {
					means[run], worsts[run] = trueRegret(s, c.choice.Choose, seed)
				}
			}); err != nil {
				return nil, err
			}
			rows = append(rows, Regret{
				s.Name, budget, int(median(blocks)), median(means), quantile(means, 0.9), median(worsts), quantile(worsts, 0.9),
			})
		}
	}
	return rows, nil
}

// Goal is the regret that the ways of measuring in StudyCost must reach.
const Goal = 0.02

// Cost is the number of blocks after which the median run reaches Goal.
type Cost struct {
	Scenario     string
	Ours         int
	Grid, Linear int // 0 if even the finest grid does not reach the goal
}

// StudyCost compares the blocks that three ways of measuring need. The first is our planner. The second is a grid of powers
// of two with 30 calls a size. The third is a linear grid like GPU-BLOB's, also with 30 calls a size. A grid is refined
// until it reaches Goal. Both grids choose by medians and take the best implementation of the nearest measured size below.
func StudyCost(ctx context.Context, scenarios []model.Scenario, runs int, seed uint64) ([]Cost, error) {
	var rows []Cost
	for k := range scenarios {
		s := &scenarios[k]
		ours := oursToGoal(ctx, s, runs, seed)
		grid := gridToGoal(ctx, s, runs, seed, func(points int) []int { return logSizes(s.Low, s.High, points) }, geometricPoints(s))
		linear := gridToGoal(ctx, s, runs, seed, func(points int) []int { return linearSizes(s.Low, s.High, points) }, linearPoints)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows = append(rows, Cost{Scenario: s.Name, Ours: ours, Grid: grid, Linear: linear})
	}
	return rows, nil
}

// oursToGoal returns the median over the runs of the number of blocks after which the regret reaches Goal and stays there
// for the rest of the sweep. When ctx is cancelled, the number means nothing.
func oursToGoal(ctx context.Context, s *model.Scenario, runs int, seed uint64) int {
	needed := make([]float64, runs)
	_ = each(ctx, runs, func(run int) {
		seed := seedOf(seed, run)
		c := calibrate(s.Replay(run), seed, Budget, 1)
		needed[run] = math.Inf(1)
		const step = 5
		for n := len(c.timings().Blocks); n > 0 && ctx.Err() == nil; n -= step {
			early := c.after(n)
			if len(early.found().Segments) == 0 {
				break
			}
			if mean, _ := trueRegret(s, early.choice.Choose, seed); mean > Goal {
				break
			}
			needed[run] = float64(n)
		}
	})
	return finite(median(needed))
}

// after returns the result that the run would have with only its first n blocks.
func (c *calibrated) after(n int) *calibrated {
	part := *c.timings()
	part.Blocks = part.Blocks[:n]
	run := &harness.Run{Entry: c.run.Entry, Timings: map[string]*timings.Set{part.Case: &part}, Resamples: c.run.Resamples}
	run.Entry.Cases = slices.Clone(run.Entry.Cases)
	return fitted(c.machine, run)
}

// gridRuns is the number of calls of each implementation at each size of a grid.
const gridRuns = 30

// geometricPoints returns the numbers of points of a grid of powers of two and of its refinements, each with half the step
// in log-size.
func geometricPoints(s *model.Scenario) []int {
	octaves := int(math.Round(math.Log2(float64(s.High) / float64(s.Low))))
	var points []int
	for k := 1; k <= 16; k *= 2 {
		points = append(points, k*octaves+1)
	}
	return points
}

// linearPoints are the numbers of points of the linear grids.
var linearPoints = []int{32, 64, 128, 256, 512, 1024}

func linearSizes(low, high, points int) []int {
	sizes := make([]int, points)
	for k := range sizes {
		sizes[k] = low + (high-low)*k/(points-1)
	}
	return slices.Compact(sizes)
}

// gridToGoal returns the number of blocks of the coarsest grid whose median regret is at most Goal, or 0 if there is none.
// When ctx is cancelled, the number means nothing.
func gridToGoal(ctx context.Context, s *model.Scenario, runs int, seed uint64, sizes func(points int) []int, points []int) int {
	for _, n := range points {
		grid := sizes(n)
		means := make([]float64, runs)
		_ = each(ctx, runs, func(run int) {
			seed := seedOf(seed, run)
			winners := measureGrid(s.Replay(run), grid, seed)
			means[run], _ = trueRegret(s, func(size int) string {
				k, exact := slices.BinarySearch(grid, size)
				if !exact {
					k--
				}
				return winners[max(k, 0)]
			}, seed)
		})
		if median(means) <= Goal {
			return len(grid) * gridRuns
		}
	}
	return 0
}

// measureGrid returns the winner at each size of a grid, by the median of gridRuns calls. Implementations are not
// interleaved, as in plain benchmarks.
func measureGrid(s *model.Scenario, grid []int, seed uint64) []string {
	machine := model.New(s, seed)
	c := machine.Case()
	winners := make([]string, len(grid))
	for k, size := range grid {
		problem := c.Problem(size, noInput)
		least := math.Inf(1)
		for _, i := range c.Implementations {
			call, err := problem.Bind(i.Name)
			if err != nil {
				panic(err) // a modelled implementation always binds
			}
			times := make([]float64, gridRuns)
			for r := range times {
				start := machine.Now()
				_ = call.Run()
				times[r] = (machine.Now() - start).Seconds()
			}
			if m := median(times); m < least {
				winners[k], least = i.Name, m
			}
		}
	}
	return winners
}

func finite(x float64) int {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	return int(x)
}
