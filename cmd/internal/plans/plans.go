// Package plans holds what a program gets from a typed plan against what a sweep times: both are run by the sweep itself,
// in the same blocks, each on data of its own in the same placement. The two are the same when nothing that a program
// pays is left out of a calibration, and nothing that it does not pay is in it.
package plans

import (
	"context"
	"math"
	"slices"
	"time"

	"crossover/kernels"
	"crossover/sweeps"
	"crossover/timings"
)

// Row is one implementation of one case at one size.
type Row struct {
	Case           string  `json:"case"`
	Implementation string  `json:"implementation"`
	Size           int     `json:"size"`
	Unit           string  `json:"unit"`
	Sweep          float64 `json:"sweep_seconds"`   // a call as a sweep times it: the median of the blocks
	Program        float64 `json:"program_seconds"` // a call of the typed plan
	Ratio          float64 `json:"ratio"`           // the median over the blocks of program ÷ sweep
	Blocks         int     `json:"blocks"`
}

// Options of Compare.
type Options struct {
	Sizes  int           // of each case, spread over its axis
	Blocks int           // at each size
	Budget time.Duration // for everything
	Seed   uint64

	Progress func(sweeps.Progress) // may be nil
}

// Most and Least are the ratios within which the two count as the same for one row, and as the same in the median.
const (
	Least, Most             = 0.85, 1.15
	LeastMedian, MostMedian = 0.95, 1.05
)

// Compare times the cases that have typed plans. What could not be timed within the budget has no row.
func Compare(ctx context.Context, cases []kernels.Case, o Options) ([]Row, error) {
	var both []kernels.Case
	for _, c := range cases {
		if c, ok := c.WithPrograms(); ok {
			both = append(both, c)
		}
	}
	results, err := sweeps.Run(ctx, both, sweeps.Options{
		Budget: o.Budget, Seed: o.Seed, Input: kernels.GeneratedInput(), Progress: o.Progress,
		Trim: func() { kernels.Here().Trim() },
		Planner: func(c *kernels.Case) sweeps.Planner {
			return &visits{slices.Repeat(spread(c.Axis, o.Sizes), visitsPerSize), max(2, o.Blocks/visitsPerSize)}
		},
	})
	var rows []Row
	for _, r := range results {
		rows = append(rows, rowsOf(r)...)
	}
	return rows, err
}

// visitsPerSize is how often each size is visited: where a visit's buffers happen to lie makes some of them faster than
// others.
const visitsPerSize = 3

// spread returns sizes at even distances on a logarithmic axis, its ends left out: the smallest sizes take less than a
// clock can tell, and the largest ones take their time.
func spread(a kernels.Axis, n int) []int {
	var sizes []int
	low, high := math.Log(float64(a.Min)), math.Log(float64(a.Max))
	for i := range n {
		at := (float64(i) + 0.5) / float64(n)
		if size := a.Nearest(int(math.Exp(low + at*(high-low)))); !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// visits is a planner of some sizes.
type visits struct {
	left   []int
	blocks int
}

func (v *visits) Next(*timings.Set) (size, blocks int, worth float64) {
	if len(v.left) == 0 {
		return 0, 0, 0
	}
	return v.left[0], v.blocks, 1
}

func (v *visits) Visited(int) { v.left = v.left[1:] }

func (v *visits) Limit(high int) {
	v.left = slices.DeleteFunc(v.left, func(size int) bool { return size > high })
}

func rowsOf(r *sweeps.Result) []Row {
	var rows []Row
	names := r.Samples.Implementations
	for program, name := range names {
		implementation, isProgram := kernels.ProgramOf(name)
		sweep := slices.Index(names, implementation)
		if !isProgram || sweep < 0 {
			continue
		}
		for _, size := range r.Samples.Sizes() {
			row := Row{Case: r.Case.Name, Implementation: implementation, Size: size, Unit: r.Case.Axis.Unit}
			var a, b, ratios []float64
			for i := range r.Samples.Blocks {
				block := &r.Samples.Blocks[i]
				if block.Size == size && block.Timed(sweep) && block.Timed(program) {
					a, b = append(a, block.Seconds[sweep]), append(b, block.Seconds[program])
					ratios = append(ratios, block.Seconds[program]/block.Seconds[sweep])
				}
			}
			if row.Blocks = len(ratios); row.Blocks == 0 {
				continue
			}
			row.Sweep, row.Program, row.Ratio = median(a), median(b), median(ratios)
			rows = append(rows, row)
		}
	}
	return rows
}

// Summary is what the rows say together.
type Summary struct {
	Rows          int     `json:"rows"`
	Median        float64 `json:"median_ratio"`
	Lowest        float64 `json:"lowest_ratio"`
	Highest       float64 `json:"highest_ratio"`
	Outside       int     `json:"outside"` // rows whose ratio is below Least or above Most
	TellsTheTruth bool    `json:"tells_the_truth"`
}

// Sum sums rows up. Of none nothing is true.
func Sum(rows []Row) Summary {
	s := Summary{Rows: len(rows)}
	if len(rows) == 0 {
		return s
	}
	ratios := make([]float64, len(rows))
	for i, r := range rows {
		ratios[i] = r.Ratio
		if r.Ratio < Least || r.Ratio > Most {
			s.Outside++
		}
	}
	s.Median, s.Lowest, s.Highest = median(ratios), slices.Min(ratios), slices.Max(ratios)
	s.TellsTheTruth = s.Outside == 0 && LeastMedian <= s.Median && s.Median <= MostMedian
	return s
}

// median returns the median of values, which it sorts.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
