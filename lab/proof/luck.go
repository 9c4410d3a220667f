package proof

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"crossover/lab/model"
	"crossover/timings"
)

// MeasuredLuck returns the luck of visits and runs of a real host, for each case with several runs: the differences of
// log-ratios from their mean. dir is the folder of a run or of a host. The error wraps ErrOneRun if no case has two runs.
//
// The values are measured, and follow no formula. Nothing of package thresholds takes part. Each value also has the noise of
// its own median, so a replay is a little noisier than the host was.
func MeasuredLuck(dir string) ([]model.Luck, error) {
	h, err := loadSeveral(dir)
	if err != nil {
		return nil, err
	}
	return h.lucks(), nil
}

// leastSeen is the least number of a case's own values of visits. A case with fewer gets those of all cases. If all cases
// have fewer, they get those of the twins, because two bindings of one implementation differ like those of two
// implementations.
const leastSeen = 4

// lucks returns the luck of each case with several runs.
func (h *history) lucks() []model.Luck {
	var all []model.Luck
	var whole model.Luck
	for k := range h.cases {
		p := &h.cases[k]
		l := model.Luck{Runs: p.offRuns()}
		for _, set := range p.of(h.runs) {
			l.Visits = append(l.Visits, offVisits(set)...)
			l.Twins = append(l.Twins, offTwins(set)...)
		}
		whole.Visits, whole.Twins = append(whole.Visits, l.Visits...), append(whole.Twins, l.Twins...)
		if len(l.Runs) > 0 {
			all = append(all, l)
		}
	}
	if len(whole.Visits) < leastSeen {
		whole.Visits = whole.Twins
	}
	for k := range all {
		if len(all[k].Visits) < leastSeen {
			all[k].Visits = whole.Visits
		}
		if len(all[k].Twins) < leastSeen {
			all[k].Twins = whole.Twins
		}
	}
	return all
}

// competing is a log-ratio. Two implementations compete at a size if their log-ratio there is at most competing.
const competing = 0.4

// leastOfVisit is the least number of blocks of a visit that counts.
const leastOfVisit = 3

// byVisit returns the blocks of one size by visits, for visits with at least leastOfVisit blocks.
func byVisit(set *timings.Set, size int) [][]timings.Block {
	var visits [][]timings.Block
	number := map[int]int{}
	for _, b := range set.At(size) {
		k, known := number[b.Visit]
		if !known {
			k = len(visits)
			number[b.Visit], visits = k, append(visits, nil)
		}
		visits[k] = append(visits[k], b)
	}
	return slices.DeleteFunc(visits, func(v []timings.Block) bool { return len(v) < leastOfVisit })
}

// offVisits returns how far visits are from the mean of the visits to their size, in the log-ratio of the two fastest
// implementations there, if those compete.
func offVisits(set *timings.Set) []float64 {
	var offs []float64
	for _, size := range set.Sizes() {
		visits := byVisit(set, size)
		i, j := fastestTwo(set, size)
		if len(visits) < 2 || j < 0 {
			continue
		}
		var ratios []float64
		for _, v := range visits {
			if m := median(logRatios(v, j, i)); !math.IsNaN(m) {
				ratios = append(ratios, m)
			}
		}
		if len(ratios) > 0 && stat.Mean(ratios, nil) <= competing {
			offs = append(offs, offMean(ratios)...)
		}
	}
	return offs
}

// offTwins returns the log-ratio of each visit's twin to its implementation.
func offTwins(set *timings.Set) []float64 {
	var offs []float64
	for _, size := range set.Sizes() {
		for _, v := range byVisit(set, size) {
			var ratios []float64
			for n := range v {
				if b := &v[n]; b.Twin >= 0 && b.Timed(b.Twin) && b.TwinSeconds > 0 {
					ratios = append(ratios, math.Log(b.TwinSeconds/b.Seconds[b.Twin]))
				}
			}
			if len(ratios) >= leastOfVisit {
				offs = append(offs, median(ratios))
			}
		}
	}
	return offs
}

// fastestTwo returns the two fastest implementations at a size. An index is −1 if there are fewer.
func fastestTwo(set *timings.Set, size int) (first, second int) {
	first, second = -1, -1
	var least, next float64
	blocks := set.At(size)
	for i := range set.Implementations {
		var logs []float64
		for n := range blocks {
			if b := &blocks[n]; b.Timed(i) && b.Seconds[i] > 0 {
				logs = append(logs, math.Log(b.Seconds[i]))
			}
		}
		switch m := median(logs); {
		case math.IsNaN(m):
		case first < 0 || m < least:
			first, second, least, next = i, first, m, least
		case second < 0 || m < next:
			second, next = i, m
		}
	}
	return first, second
}

// offRuns returns how far runs are from the mean of the case's runs, in the log-ratios of all pairs of implementations that
// are the fastest somewhere. A log-ratio is the mean over the sizes at which the pair competes.
func (p *past) offRuns() []float64 {
	var numbers []int
	for number := range p.runs {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	var sizes, winners []int
	for _, set := range p.of(numbers) {
		for _, size := range set.Sizes() {
			sizes = append(sizes, size)
			if i, _ := fastestTwo(set, size); i >= 0 && !slices.Contains(winners, i) {
				winners = append(winners, i)
			}
		}
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	var offs []float64
	for a, i := range winners {
		for _, j := range winners[:a] {
			offs = append(offs, p.offRunsOf(numbers, sizes, i, j)...)
		}
	}
	return offs
}

// offRunsOf is offRuns for one pair of implementations.
func (p *past) offRunsOf(numbers, sizes []int, i, j int) []float64 {
	var sums []float64
	var curves []curve
	for _, set := range p.of(numbers) {
		if c := curveOf(set, i, j); len(c.sizes) > 0 {
			curves = append(curves, c)
		}
	}
	sums = make([]float64, len(curves))
	count := 0
	for _, size := range sizes {
		values := make([]float64, len(curves))
		for k := range curves {
			values[k] = curves[k].at(size)
		}
		if mean := stat.Mean(values, nil); math.Abs(mean) <= competing { // false for NaN, where a run does not reach the size
			for k := range values {
				sums[k] += values[k]
			}
			count++
		}
	}
	if count == 0 {
		return nil
	}
	for k := range sums {
		sums[k] /= float64(count)
	}
	return offMean(sums)
}

// curve is a log-ratio over the sizes of a run.
type curve struct {
	sizes  []int
	ratios []float64
}

func curveOf(set *timings.Set, i, j int) curve {
	var c curve
	for _, size := range set.Sizes() {
		if m := median(logRatios(set.At(size), i, j)); !math.IsNaN(m) {
			c.sizes, c.ratios = append(c.sizes, size), append(c.ratios, m)
		}
	}
	return c
}

// widest is the greatest ratio of two sizes between which a curve is interpolated. In a wider gap, the bend of the curve
// would look like a difference between runs.
const widest = 2

// at interpolates the curve in log-size. It returns NaN beyond the ends and in wide gaps.
func (c *curve) at(size int) float64 {
	k, exact := slices.BinarySearch(c.sizes, size)
	switch {
	case exact:
		return c.ratios[k]
	case k == 0 || k == len(c.sizes):
		return math.NaN()
	}
	low, high := float64(c.sizes[k-1]), float64(c.sizes[k])
	if high > widest*low {
		return math.NaN()
	}
	share := math.Log(float64(size)/low) / math.Log(high/low)
	return (1-share)*c.ratios[k-1] + share*c.ratios[k]
}

// offMean returns how far values are from their mean, scaled to the distances from the mean of very many values.
func offMean(values []float64) []float64 {
	n := float64(len(values))
	if n < 2 {
		return nil
	}
	mean := stat.Mean(values, nil)
	offs := make([]float64, len(values))
	for k, v := range values {
		offs[k] = (v - mean) * math.Sqrt(n/(n-1))
	}
	return offs
}
