package thresholds

import (
	"math"
	"math/rand/v2"
)

// scatter holds a log-ratio by visits. Its slices have one entry for each visit.
type scatter struct {
	ratios        []float64 // medians over the visit's blocks
	squaredErrors []float64 // of those medians, estimated from the visit's own blocks
	typical       []float64 // usual squared errors of medians of that many blocks at the visit's size
	blocks        []int
}

// add adds the visits to one size. It returns their medians, which the caller may change in place. All visits to a size
// together give the typical squared error, because calls of one size vary alike.
func (s *scatter) add(visits [][]float64) []float64 {
	first := len(s.ratios)
	sum := 0.0
	for _, ratios := range visits {
		middle := median(ratios)
		squaredError := squaredErrorOfMedian(ratios, middle)
		s.ratios = append(s.ratios, middle)
		s.squaredErrors = append(s.squaredErrors, squaredError)
		s.blocks = append(s.blocks, len(ratios))
		sum += squaredError * float64(len(ratios))
	}
	for _, ratios := range visits {
		s.typical = append(s.typical, sum/float64(len(visits))/float64(len(ratios)))
	}
	return s.ratios[first:]
}

// join adds the visits of another scatter.
func (s *scatter) join(other scatter) {
	s.ratios = append(s.ratios, other.ratios...)
	s.squaredErrors = append(s.squaredErrors, other.squaredErrors...)
	s.typical = append(s.typical, other.typical...)
	s.blocks = append(s.blocks, other.blocks...)
}

// shift returns the standard deviation of visits beyond the errors of their own medians. A visit's squared log-ratio is on
// average shift² plus its own squared error. The shift is the value at which the weighted sum of the differences is zero.
// The weights, 1/(shift² + error²)², are those of a normal likelihood: a visit of many blocks says more about the shift than
// one of few. The weights use the typical error, so that a visit does not weigh more because its error is small by chance. A
// square is cut at outlier² of its mean, so that a visit beside another program does not decide.
func (s *scatter) shift() float64 {
	score := func(square float64) float64 {
		var sum float64
		for i, r := range s.ratios {
			v := square + s.typical[i]
			sum += (min(r*r, outlier*outlier*v) - meanCut*(square+s.squaredErrors[i])) / (v * v)
		}
		return sum
	}
	high := 0.0
	for i, r := range s.ratios {
		high = max(high, 2*r*r+s.squaredErrors[i]+s.typical[i])
	}
	if high == 0 {
		return 0
	}
	low := 1e-12 * high // keeps v above zero if visits have no errors
	if score(low) > 0 {
		for range 60 {
			middle := math.Sqrt(low * high)
			if score(middle) > 0 {
				low = middle
			} else {
				high = middle
			}
		}
	}
	return math.Sqrt(low)
}

const (
	// outlier is the greatest deviation of a visit that counts in full, in standard deviations.
	outlier = 2.5
	// meanCut is the mean of a standard normal square that is cut at outlier².
	meanCut = 0.978
)

// deviation is an estimate of a standard deviation, with its degrees of freedom.
type deviation struct {
	sd      float64
	freedom int
}

// draw draws a possible true deviation. Normal deviates times draws have Student's distribution.
func (d deviation) draw(rng *rand.Rand) float64 {
	if d.sd == 0 {
		return 0
	}
	var squares float64
	for range d.freedom {
		z := rng.NormFloat64()
		squares += z * z
	}
	return d.sd * math.Sqrt(float64(d.freedom)/squares)
}

// normalMAD is the ratio of the standard deviation of a normal distribution to its median absolute deviation.
const normalMAD = 1.4826

// squaredErrorOfMedian returns the squared standard error of the median of values: (π/2)·σ²/n for a normal σ. The
// median absolute deviation estimates σ, with the correction for few values, n/(n−0.8), of Croux and Rousseeuw,
// Time-efficient algorithms for two highly robust estimators of scale, 1992.
func squaredErrorOfMedian(values []float64, middle float64) float64 {
	deviations := make([]float64, len(values))
	for i, v := range values {
		deviations[i] = math.Abs(v - middle)
	}
	n := float64(len(values))
	sigma := n / (n - 0.8) * normalMAD * median(deviations)
	return math.Pi / 2 * sigma * sigma / n
}
