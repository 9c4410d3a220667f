package thresholds

import (
	"math"
	"slices"
)

// pool joins the results of several runs, each with sizes of its own, into one table.
//
// The log-ratios of each run are interpolated in log-size at the sizes of all runs. A run counts as much as it knows: in full at
// its own sizes, and less between two of them where the gap is wide or where curves are seen to bend. A run with many sizes does
// not outvote the others where they know as much. Where few runs know a size, their log-ratios are corrected by how far they are
// off the other runs at the nearest sizes that several know. So a run that is off as a whole moves the mean a little everywhere,
// and makes no steps between its sizes and those of others.
type pool struct {
	sizes  []int     // of all runs, ascending
	places [][]place // by runs and sizes
}

// place is the place of a size among the sizes of a run: a share of the way from the size with index below to the next one.
type place struct {
	below  int // −1 if the size is outside of the run's range
	share  float64
	weight float64 // how much the run counts there, from 0 to 1: see weigh
}

// wideGap is the log-ratio of two sizes halfway between which a run counts half. On two hosts, a line from size to size was off
// by 7 to 9 % in the median in the middle of such a gap, which is about as much as runs differ, and by 12 to 14 % over a factor
// of 64.
var wideGap = math.Log(4)

// bentLine is the range of a line's errors, as log-ratios of several implementations, where a run that knows only the line counts
// half. It is twice the usual error in the middle of a gap of wideGap: a range of several errors is about twice as wide as one.
const bentLine = 0.16

// mayBeChosen is the loss of an implementation up to which its errors count: a factor of two. Those of a slower one seldom change
// a choice.
const mayBeChosen = math.Ln2

// newPool returns the pool of runs with these losses: runs × implementations × the run's sizes.
func newPool(runs [][]group, losses [][][]float64) *pool {
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
	for s := range p.sizes {
		p.weigh(runs, losses, s)
	}
	return p
}

// weigh sets the weights of the runs at a size. Between the same two sizes a curve bends the same in all runs, so those runs count
// together as one estimate with this error and with less noise. The error is what is usual in a gap of this width, or what the
// runs that measured the size saw, if that is more.
func (p *pool) weigh(runs [][]group, losses [][][]float64, s int) {
	sharing := map[gap]int{} // numbers of runs
	for r := range runs {
		if p.places[r][s].share > 0 {
			sharing[p.gapAround(runs, r, s)]++
		}
	}
	errors := map[gap]float64{} // of a line, relative to one at which a run counts half
	for between := range sharing {
		share := logShare(p.sizes[s], between)
		usual := math.Log(float64(between.high)/float64(between.low)) / wideGap * 4 * share * (1 - share)
		errors[between] = max(usual, p.bend(losses, between, s)/bentLine)
	}
	for r := range runs {
		l := &p.places[r][s]
		switch {
		case l.share > 0:
			between := p.gapAround(runs, r, s)
			l.weight = 1 / (1 + float64(sharing[between])*errors[between]*errors[between])
		case l.below >= 0:
			l.weight = 1
		}
	}
}

// gap is two sizes between which a run measured none.
type gap struct{ low, high int }

// gapAround returns the gap of a run that a size is in.
func (p *pool) gapAround(runs [][]group, r, s int) gap {
	below := p.places[r][s].below
	return gap{runs[r][below].size, runs[r][below+1].size}
}

// logShare returns how far a size is on the way through a gap, in log-size, from 0 to 1.
func logShare(size int, between gap) float64 {
	return math.Log(float64(size)/float64(between.low)) / math.Log(float64(between.high)/float64(between.low))
}

// bend returns how far off lines between the sizes of a gap are at a size: the median over the runs that measured the size, or 0
// if none of them knows the gap. In a run it is the range of the errors of the implementations that may be chosen there.
func (p *pool) bend(losses [][][]float64, between gap, s int) float64 {
	low, _ := slices.BinarySearch(p.sizes, between.low)
	high, _ := slices.BinarySearch(p.sizes, between.high)
	share := logShare(p.sizes[s], between)
	var bends []float64
	for r, loss := range losses {
		if l := p.places[r][s]; l.below < 0 || l.share > 0 {
			continue
		}
		least, most := math.Inf(1), math.Inf(-1)
		for _, row := range loss {
			here := p.places[r][s].at(row)
			off := here - (1-share)*p.places[r][low].at(row) - share*p.places[r][high].at(row)
			if here <= mayBeChosen && !math.IsNaN(off) {
				least, most = min(least, off), max(most, off)
			}
		}
		if least <= most {
			bends = append(bends, most-least)
		}
	}
	if len(bends) == 0 {
		return 0
	}
	return median(bends)
}

func placeOf(size int, groups []group) place {
	above, exact := slices.BinarySearchFunc(groups, size, func(g group, size int) int { return g.size - size })
	switch {
	case exact:
		return place{above, 0, 0}
	case above == 0 || above == len(groups):
		return place{-1, 0, 0}
	}
	return place{above - 1, logShare(size, gap{groups[above-1].size, groups[above].size}), 0}
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
	offs := newTable(len(runs), len(p.sizes))
	for i, mean := range loss {
		p.meanOfSeveral(runs, i, mean, offs)
		for r := range offs {
			p.fill(offs[r])
		}
		for s := range p.sizes {
			if math.IsInf(mean[s], 1) {
				mean[s] = p.meanAt(runs, i, s, offs)
			}
		}
	}
	for s := range p.sizes {
		subtractLeast(loss, s)
	}
}

// meanOfSeveral sets mean to the mean of the runs' losses of an implementation at each size that several runs know, and to +Inf
// at the others. It sets offs to how far the runs are off this mean, by runs and sizes, or to NaN. It returns the sums of the
// weights of the runs, by sizes.
func (p *pool) meanOfSeveral(runs [][][]float64, i int, mean []float64, offs [][]float64) (weights []float64) {
	weights = make([]float64, len(p.sizes))
	for s := range p.sizes {
		sum := 0.0
		for r, table := range runs {
			l := p.places[r][s]
			offs[r][s] = l.at(table[i])
			if !math.IsNaN(offs[r][s]) {
				sum += l.weight * offs[r][s]
				weights[s] += l.weight
			}
		}
		mean[s] = math.Inf(1)
		if weights[s] >= 2 {
			mean[s] = sum / weights[s]
		}
		for r := range runs {
			offs[r][s] -= mean[s]
			if math.IsInf(mean[s], 1) {
				offs[r][s] = math.NaN()
			}
		}
	}
	return weights
}

// meanAt returns the mean of the runs' losses of an implementation at a size, without how far each run is off, or +Inf if no run
// knows it.
func (p *pool) meanAt(runs [][][]float64, i, s int, offs [][]float64) float64 {
	sum, weight := 0.0, 0.0
	for r, table := range runs {
		l := p.places[r][s]
		if v := l.at(table[i]); !math.IsNaN(v) {
			sum += l.weight * (v - offs[r][s])
			weight += l.weight
		}
	}
	if weight == 0 {
		return math.Inf(1)
	}
	return sum / weight
}

// fill replaces NaNs by what the nearest sizes with a value have: interpolated in log-size between two, or else the value of the
// only one. If there is no value, it replaces them by 0.
func (p *pool) fill(values []float64) {
	last := -1
	for s, v := range values {
		if math.IsNaN(v) {
			continue
		}
		for k := last + 1; k < s; k++ {
			values[k] = v
			if last >= 0 {
				low, high := float64(p.sizes[last]), float64(p.sizes[s])
				share := math.Log(float64(p.sizes[k])/low) / math.Log(high/low)
				values[k] = (1-share)*values[last] + share*v
			}
		}
		last = s
	}
	for k := last + 1; k < len(values); k++ {
		values[k] = 0
		if last >= 0 {
			values[k] = values[last]
		}
	}
}

// deviations returns how far the losses of each run are off the mean of the runs: runs × implementations × sizes. They are
// divided by the root of the number of runs minus 1, so that their sum, each times a standard normal deviate, has the
// variance and the covariances of a run. A run that counts less adds less. At sizes that fewer than two runs know, they are as at
// the sizes beside them.
func (p *pool) deviations(runs [][][]float64, implementations int) [][][]float64 {
	out := make([][][]float64, len(runs))
	for r := range out {
		out[r] = newTable(implementations, len(p.sizes))
	}
	mean, offs := make([]float64, len(p.sizes)), make([][]float64, len(runs))
	for i := range implementations {
		for r := range out {
			offs[r] = out[r][i]
		}
		weights := p.meanOfSeveral(runs, i, mean, offs)
		for r := range offs {
			for s, weight := range weights {
				offs[r][s] *= math.Sqrt(p.places[r][s].weight / (weight - 1)) // NaN stays NaN
			}
			p.fill(offs[r])
		}
	}
	return out
}
