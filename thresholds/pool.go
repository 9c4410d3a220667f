package thresholds

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// pool joins the results of several runs, each with sizes of its own, into one table.
//
// The log-ratios of each run are interpolated in log-size at the sizes of all runs. At each size, every run whose range has
// the size counts the same. So a run with many sizes does not outvote the others. A run that is off as a whole moves the
// mean a little everywhere, and makes no steps between its sizes and those of others.
type pool struct {
	sizes  []int     // of all runs, ascending
	places [][]place // by runs and sizes
}

// place is the place of a size among the sizes of a run: a share of the way from the size with index below to the next one.
type place struct {
	below int // −1 if the size is outside of the run's range
	share float64
}

func newPool(runs [][]group) *pool {
	p := &pool{}
	for _, groups := range runs {
		for _, g := range groups {
			p.sizes = append(p.sizes, g.size)
		}
	}
	slices.Sort(p.sizes)
	p.sizes = slices.Compact(p.sizes)
	for _, groups := range runs {
		places := make([]place, len(p.sizes))
		for s, size := range p.sizes {
			places[s] = placeOf(size, groups)
		}
		p.places = append(p.places, places)
	}
	return p
}

func placeOf(size int, groups []group) place {
	above, exact := slices.BinarySearchFunc(groups, size, func(g group, size int) int { return g.size - size })
	switch {
	case exact:
		return place{above, 0}
	case above == 0 || above == len(groups):
		return place{-1, 0}
	}
	low, high := float64(groups[above-1].size), float64(groups[above].size)
	return place{above - 1, math.Log(float64(size)/low) / math.Log(high/low)}
}

// at returns the value of a run's row at a place, or NaN if the run does not know it.
func (l place) at(row []float64) float64 {
	switch {
	case l.below < 0 || math.IsInf(row[l.below], 1):
		return math.NaN()
	case l.share == 0:
		return row[l.below]
	case math.IsInf(row[l.below+1], 1):
		return math.NaN()
	}
	return (1-l.share)*row[l.below] + l.share*row[l.below+1]
}

// join sets loss to the losses of the pool. runs are the losses of the runs: runs × implementations × the run's sizes.
func (p *pool) join(runs [][][]float64, loss [][]float64) {
	for s := range p.sizes {
		for i := range loss {
			sum, count := 0.0, 0
			for r, table := range runs {
				if v := p.places[r][s].at(table[i]); !math.IsNaN(v) {
					sum += v
					count++
				}
			}
			loss[i][s] = math.Inf(1)
			if count > 0 {
				loss[i][s] = sum / float64(count)
			}
		}
		subtractLeast(loss, s)
	}
}

// deviations returns how far the losses of each run are off the mean of the runs: runs × implementations × sizes. They are
// divided by the root of the number of runs minus 1, so that their sum, each times a standard normal deviate, has the
// variance and the covariances of a run. Where fewer than two runs know a size they are 0.
func (p *pool) deviations(runs [][][]float64, implementations int) [][][]float64 {
	out := make([][][]float64, len(runs))
	for r := range out {
		out[r] = newTable(implementations, len(p.sizes))
	}
	for s := range p.sizes {
		for i := range implementations {
			var values []float64
			var known []int
			for r, table := range runs {
				if v := p.places[r][s].at(table[i]); !math.IsNaN(v) {
					values, known = append(values, v), append(known, r)
				}
			}
			if len(values) < 2 {
				continue
			}
			mean := stat.Mean(values, nil)
			for k, r := range known {
				out[r][i][s] = (values[k] - mean) / math.Sqrt(float64(len(values)-1))
			}
		}
	}
	return out
}
