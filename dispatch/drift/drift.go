// Package drift finds out which of several series of timed calls departs from the others.
//
// A series has the timed calls of one implementation at similar shapes. Its values are log-ratios: the logarithm of the
// measured seconds divided by the predicted ones. A slower machine raises the values of all series, and changes no ranking. So
// each value is compared with the values of the other series beside it. The package reads no clock and knows no operation. The
// usual steps are
//
//  1. [Detector.Add] a series for each implementation at similar shapes;
//  2. [Series.Observe] each value, in the order of the calls;
//  3. ask [Series.Change] whether the series departs from the others.
//
// The deviation of a value is the median, over the other series that have a value beside it, of the difference of both values
// from their usual difference. Of two medians, it is the one nearer to 0. A two-sided CUSUM over clipped deviations decides: it
// accumulates what exceeds half of the slowdown that matters, and reports a change at a threshold. Clipping bounds what a
// disturbed call does.
//
// The usual difference is where bounded deviations have the mean 0. A median would not do: if a series has two states, its
// median lies in one of them, and the mean deviation, which the CUSUM accumulates, lies elsewhere. The first differences give the
// usual one, and later ones improve it as long as nothing speaks for a change. A machine that changes its speed in the meantime
// disturbs few of them.
//
// With two series, nobody can tell a slower one from another one that became faster while the machine became slower. Both are
// reported. With three, the median tells them apart. What cannot be promised is that every change is found within 64 calls: that
// depends on how well the usual difference is known, and on the scatter. With a scatter as great as the change, 64 calls of a
// series beside another one do not tell the two states apart. TestCaughtWithin64Calls has how often that happens.
//
// Sources: E. S. Page, Continuous inspection schemes, Biometrika 41 (1954), pages 100–115; for the mean of bounded deviations,
// P. J. Huber, Robust estimation of a location parameter, Annals of Mathematical Statistics 35 (1964), pages 73–101. The
// threshold and the clip are justified in the comments on the constants.
package drift

import (
	"math"
	"slices"
)

// MostSeries is the greatest number of series of a detector.
const MostSeries = 64

const (
	// settling is the number of values of each of two series that are called in turn, after which their usual difference is known.
	settling = 32
	// lot is how many differences improve a usual difference at once, and most is how many it rests on in the end. Then its
	// standard error is a sixteenth of the scatter. Later ones do not count, so that a slow drift is not taken for usual.
	lot, most = 32, 256
	// row is how many values of another series count by their median if they follow each other.
	row = 3
	// uses is how many values in a row one value of another series is compared with. If the machine becomes slower, at most so
	// many values of a series are compared with another one's value from before. Together they stay far below the threshold.
	uses = 2
	// lonely is the number of values in a row without another series beside them, from which on a series counts as alone.
	lonely = 32
	// mostLog is the greatest value that can be a ratio of times: a year to a nanosecond.
	mostLog = 40
	// kept is the number of deviations from which the size of a change is estimated.
	kept = 15
)

// Matters is the slowdown that the detector is made for, as a log-ratio: calls take 1.3 times as long.
var Matters = math.Log(1.3)

var (
	// allowance is taken from each deviation. It is half of the change that matters, as is usual.
	allowance = Matters / 2
	// steady is the mean deviation of a lot from which on it speaks for a change. One of 1.3 times is far above it, and what the
	// first differences leave below.
	steady = 0.75 * allowance
	// clip bounds a deviation, so that a single one is far from the threshold: it takes 10 disturbed calls in a row to reach the threshold.
	clip = 1.5 * Matters
	// threshold is reached by 20 deviations of the size that matters. With normal noise of 10 %, a false change takes some
	// exp(2·allowance·threshold/0.1²) = exp(66) values, and with noise of 25 % some exp(10). The tests have what it takes with
	// the noise of real calls and with a load that comes and goes.
	threshold = 2.5
	// ceiling bounds the sums, so that a change that is over is noticed.
	ceiling = 1.25 * threshold
	// over is the sum below which a change is over.
	over = threshold / 2
)

// Detector compares series. The zero Detector has none. It is not safe for concurrent use.
type Detector struct {
	series [MostSeries]*Series
}

// Series is the values of one implementation at similar shapes.
type Series struct {
	of     *Detector
	at     int
	limit  float64
	values int
	last   [row]float64 // values, by their number
	pairs  [MostSeries]pair

	sinceBeside int  // values since the last one with another series beside it
	settled     bool // some usual difference is known
	compared    bool // the usual differences were compared with the limit
	predicted   *Change
	beside      cusum
	alone       cusum
	first       []float64 // values of a series that is alone, until there are enough
	centre      float64   // of a series that is alone
}

// pair compares a series with another one.
type pair struct {
	value int // of the other series, that was last compared: its number from 1, 0 for none
	since int // number of values up to that one, behind the one that was compared before
	used  int // how often
	usual *usual
}

// usual is the usual difference of two series. Both have it: it is how much greater values of the one that was added first are,
// or of the one in its place.
type usual struct {
	first      []float64 // differences, until there are enough
	difference float64
	known      bool
	n          int     // number of differences that it rests on
	sum        float64 // of the bounded deviations of the present lot
	filled     int     // number of them
	before     float64 // the sum of the lot before
	waits      bool    // the lot before was quiet, and does not count yet
}

// Change says how a series departs from the others.
type Change struct {
	Log    float64 // of how many times as long calls take as they usually do beside the others; below 0 if they became faster
	Values int     // number of values since the change began
	// Predicted says that the series departed from the others from its first values on: Log is the difference from what was
	// predicted, and not from usual values.
	Predicted bool
	// Alone says that no other series had values beside these. Nobody can know whether the implementation changed or the
	// machine.
	Alone bool
}

// Add adds a series. limit is the greatest |log-ratio| by which the prediction of the series may be off beside those of the
// others. It returns nil if there are [MostSeries] series.
func (d *Detector) Add(limit float64) *Series {
	at := slices.Index(d.series[:], nil)
	if at < 0 {
		return nil
	}
	s := &Series{of: d, at: at, limit: limit}
	d.series[at] = s
	return s
}

// Remove removes the series. It must not be used afterwards.
func (s *Series) Remove() {
	s.Forget()
	s.of.series[s.at] = nil
}

// Forget makes what the series now does its usual state: a change is over, and the usual differences are found anew.
func (s *Series) Forget() {
	s.pairs = [MostSeries]pair{}
	for _, other := range s.of.series {
		if other != nil {
			other.pairs[s.at] = pair{}
		}
	}
	s.beside, s.alone, s.first, s.predicted, s.compared, s.settled = cusum{}, cusum{}, nil, nil, true, false
}

// Observe adds a value. Values that are no numbers, or beyond what can be a ratio of times, count for nothing.
func (s *Series) Observe(value float64) {
	if !(math.Abs(value) <= mostLog) {
		return
	}
	s.values++
	s.last[s.values%row] = value
	deviation, compared, settled := s.deviation(value)
	switch {
	case settled:
		s.sinceBeside, s.settled = 0, true
		s.comparePrediction()
		s.beside.add(deviation)
	case compared:
		s.sinceBeside = 0
	default:
		if s.sinceBeside++; s.sinceBeside > lonely {
			s.addAlone(value)
		}
	}
}

// deviation compares a value with those of the other series beside it. compared says that there are some, and settled that the
// usual difference from at least one of them is known.
func (s *Series) deviation(value float64) (deviation float64, compared, settled bool) {
	var all [MostSeries]float64
	n := 0
	for i, other := range s.of.series {
		if other == nil || other == s || other.values == 0 {
			continue
		}
		p := &s.pairs[i]
		if p.value != other.values {
			p.since, p.value, p.used = other.values-p.value, other.values, 0
		}
		if p.used == uses {
			continue
		}
		p.used++
		compared = true
		u, sign := s.usual(other), s.sign(other)
		difference := sign * (value - other.lately(p.since))
		if !u.known {
			u.settle(difference)
			continue
		}
		all[n] = sign * (difference - u.difference)
		u.improve(difference, max(s.beside.sum(), other.beside.sum()))
		n++
	}
	if n == 0 {
		return 0, compared, false
	}
	return middle(all[:n]), true, true
}

// usual returns the usual difference from another series.
func (s *Series) usual(other *Series) *usual {
	p := &s.pairs[other.at]
	if p.usual == nil {
		p.usual = &usual{}
		other.pairs[s.at].usual = p.usual
	}
	return p.usual
}

// sign is 1 if the usual difference is how much greater values of s are, and −1 if it is how much greater those of the other are.
func (s *Series) sign(other *Series) float64 {
	if s.at < other.at {
		return 1
	}
	return -1
}

// lately returns the median of the last values, of which so many lie beside a value of another series.
func (s *Series) lately(n int) float64 {
	n = min(n, row)
	var last [row]float64
	for k := range n {
		last[k] = s.last[(s.values-k)%row]
	}
	return median(last[:n])
}

// settle adds a difference to those that give the usual one.
func (u *usual) settle(difference float64) {
	u.first = append(u.first, difference)
	if n := len(u.first); n == 2*settling {
		u.difference, u.known, u.n, u.first = centre(u.first), true, n, nil
	}
}

// improve adds a difference to a lot, which improves the usual difference unless something speaks for a change: a sum of the CUSUM
// of one of both series, the mean of the lot, or that of the lot after it. So what changes now is not taken for usual.
func (u *usual) improve(difference, sum float64) {
	if u.n >= most {
		return
	}
	u.sum += bounded(difference - u.difference)
	if u.filled++; u.filled < lot {
		return
	}
	quiet := sum < over && math.Abs(u.sum) < lot*steady
	if quiet && u.waits {
		u.n += lot
		u.difference += u.before / float64(u.n)
	}
	u.before, u.waits, u.sum, u.filled = u.sum, quiet, 0, 0
}

// centre sorts the values, and returns the point from which their bounded deviations have the mean 0.
func centre(values []float64) float64 {
	c := median(values)
	const steps = 20 // each comes nearer by the part of the values within the bound
	for range steps {
		sum := 0.0
		for _, v := range values {
			sum += bounded(v - c)
		}
		c += sum / float64(len(values))
	}
	return c
}

// bounded is closer than the clip, because there are no more than 32 first calls, and a tenth of calls may be disturbed.
func bounded(deviation float64) float64 { return min(max(deviation, -Matters), Matters) }

// comparePrediction compares the usual differences with the limit, once, when most of them are known.
func (s *Series) comparePrediction() {
	if s.compared {
		return
	}
	var all []float64
	unknown := 0
	for _, other := range s.of.series {
		if other == nil || s.pairs[other.at].usual == nil {
			continue
		}
		if u := s.pairs[other.at].usual; u.known {
			all = append(all, s.sign(other)*u.difference)
		} else {
			unknown++
		}
	}
	if unknown > len(all) {
		return
	}
	s.compared = true
	if off := median(all); math.Abs(off) > s.limit {
		s.predicted = &Change{Log: off, Values: settling, Predicted: true}
	}
}

// addAlone adds a value that no other series is beside.
func (s *Series) addAlone(value float64) {
	if len(s.first) < settling {
		if s.first = append(s.first, value); len(s.first) == settling {
			s.centre = centre(slices.Clone(s.first))
		}
		return
	}
	s.alone.add(value - s.centre)
}

// Change returns how the series departs from the others, and whether it does.
func (s *Series) Change() (Change, bool) {
	switch {
	case s.beside.changed:
		return s.beside.change(), true
	case s.predicted != nil:
		return *s.predicted, true
	case s.alone.changed && s.sinceBeside > lonely:
		c := s.alone.change()
		c.Alone = true
		return c, true
	}
	return Change{}, false
}

// Compared reports whether the last values of the series were compared with those of others. If not, a slower implementation
// looks like a slower machine.
func (s *Series) Compared() bool { return s.settled && s.sinceBeside <= lonely }

// Values returns the number of values.
func (s *Series) Values() int { return s.values }

// Enough is the number of values after which the usual difference of two series is known that are called in turn.
const Enough = 2 * settling

// cusum accumulates deviations in both directions.
type cusum struct {
	up, down side
	changed  bool
	recent   [kept]float64 // deviations
	n        int           // number of deviations
}

// side is one direction.
type side struct {
	sum    float64
	values int // since the sum was 0
}

func (c *cusum) add(deviation float64) {
	c.recent[c.n%kept] = deviation
	c.n++
	c.up.add(deviation)
	c.down.add(-deviation)
	switch sum := c.sum(); {
	case sum >= threshold:
		c.changed = true
	case sum < over:
		c.changed = false
	}
}

// sum returns the greater one of both sums.
func (c *cusum) sum() float64 { return max(c.up.sum, c.down.sum) }

func (s *side) add(deviation float64) {
	s.sum = min(s.sum+min(max(deviation, -clip), clip)-allowance, ceiling)
	if s.values++; s.sum <= 0 {
		*s = side{}
	}
}

// change describes the change.
func (c *cusum) change() Change {
	values := c.up.values
	if c.down.sum > c.up.sum {
		values = c.down.values
	}
	var last [kept]float64
	n := min(kept, values)
	for i := range n {
		last[i] = c.recent[(c.n-1-i)%kept]
	}
	return Change{Log: median(last[:n]), Values: values}
}

// middle sorts the values and returns their median. Of two values in the middle it returns the one nearer to 0, and 0 if they
// are on both sides: if there are two other series and one of them changes, it must not count.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	low, high := values[(n-1)/2], values[n/2]
	return max(low, min(high, 0))
}

// median sorts the values and returns their median.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
