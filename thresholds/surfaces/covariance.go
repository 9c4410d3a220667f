package surfaces

import (
	"gonum.org/v1/gonum/mat"

	"crossover/calibration/surface"
)

// The constant and the slopes of the linear part have normal priors around 0, with these deviations. The linear part is what
// the cost model lacks, so the priors are narrow. A class is a feature that is no size, such as whether a length is a power of
// two. Features are centred at origin, which is about the middle of the values of sizes. Another operation of the family takes
// longer or shorter by a constant factor, whose logarithm is normal around 0 with a deviation, too.
const (
	constantDeviation = 1
	relativeDeviation = 0.3
	slopeDeviation    = 0.05
	classDeviation    = 0.1
	origin            = 8
)

// slopeVariances returns the prior variances of the slopes.
func slopeVariances(features []surface.Feature) []float64 {
	var out []float64
	for k := range features {
		switch features[k].Kind {
		case surface.Logarithm, surface.Length:
			out = append(out, slopeDeviation*slopeDeviation)
		default:
			out = append(out, classDeviation*classDeviation)
		}
	}
	return out
}

// linear returns the covariance of the linear part at two points.
func (f *Fit) linear(a, b []float64) float64 {
	sum := constantDeviation * constantDeviation * 1.0
	for k := range a {
		sum += f.slopes[k] * (a[k] - origin) * (b[k] - origin)
	}
	return sum
}

// scaled returns the features of all points, each multiplied by its scale.
func (f *Fit) scaled(scales []float64) [][]float64 {
	out := make([][]float64, len(f.x))
	for i, x := range f.x {
		out[i] = make([]float64, len(x))
		for k, v := range x {
			out[i][k] = scales[k] * v
		}
	}
	return out
}

// pairs has what the covariances at pairs of points are made of. Implementations differ only in the amplitude of their
// corrections, so they share it.
type pairs struct {
	of          []int     // Relative, by point
	disturbed   []bool    // Disturbed, by point
	needed      []int     // indexes of the pairs, the lower point first, of which an implementation was timed at both points
	linear      []float64 // covariance of the linear part, by pair
	correlation []float64 // of the corrections, by pair, with the scales of the last call of scale
}

func (f *Fit) pairs() *pairs {
	n := len(f.x)
	p := &pairs{of: f.of, disturbed: f.disturbed, linear: make([]float64, n*n), correlation: make([]float64, n*n)}
	needed := make([]bool, n*n)
	for i := range f.parts {
		points := f.parts[i].points
		for k, a := range points {
			for _, b := range points[k:] {
				needed[a*n+b] = true
			}
		}
	}
	for at, is := range needed {
		if is {
			p.needed = append(p.needed, at)
			p.linear[at] = f.linear(f.x[at/n], f.x[at%n])
		}
	}
	return p
}

// scale computes the correlations. scaled are the features of all points, each multiplied by its scale.
func (p *pairs) scale(scaled [][]float64) {
	const each = 1 << 10
	n := len(scaled)
	inParallel((len(p.needed)+each-1)/each, func(k int) {
		for _, at := range p.needed[k*each : min((k+1)*each, len(p.needed))] {
			p.correlation[at] = surface.Kernel(scaled[at/n], scaled[at%n])
		}
	})
}

// covariances returns the matrix of covariances of the log-times at some points, without the noise. Only its upper triangle is
// set.
func (p *pairs) covariances(variance float64, points []int) []float64 {
	n, all := len(points), len(p.of)
	out := make([]float64, n*n)
	for i, a := range points {
		for j, b := range points[i:] {
			v := p.linear[a*all+b] + variance*p.correlation[a*all+b]
			if p.of[a] == p.of[b] && p.of[a] > 0 {
				v += relativeDeviation * relativeDeviation
			}
			out[i*n+i+j] = v
		}
	}
	return out
}

// disturbedNoise is the factor of the noise's variance at a disturbed point. With four instead of one, choices on an EPYC lost 1.1
// instead of 1.2 % (1 364 shapes), and those beside an H200 as much as before.
const disturbedNoise = 4

// noisy is covariances with the noise.
func (p *pairs) noisy(o own, points []int) []float64 {
	out, noise := p.covariances(o.variance(), points), o.noiseVariance()
	for i, k := range points {
		if p.disturbed[k] {
			out[i*len(points)+i] += disturbedNoise * noise
		} else {
			out[i*len(points)+i] += noise
		}
	}
	return out
}

// factorise sets c to the Cholesky factor of the covariance of some points. It returns false if there is no such factor.
func (p *pairs) factorise(o own, points []int, c *mat.Cholesky) bool {
	return c.Factorize(mat.NewSymDense(len(points), p.noisy(o, points)))
}
