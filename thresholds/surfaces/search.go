package surfaces

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// hyper has the hyperparameters, as logarithms.
type hyper struct {
	scales []float64 // of the features
	own    []own     // by implementation of the surface
}

// own has the hyperparameters of one implementation, as logarithms of standard deviations of the log-time.
type own struct{ amplitude, noise float64 }

func (h hyper) clone() hyper { return hyper{slices.Clone(h.scales), slices.Clone(h.own)} }

func exponentials(of []float64) []float64 {
	out := make([]float64, len(of))
	for i, v := range of {
		out[i] = math.Exp(v)
	}
	return out
}

func (o own) variance() float64      { return math.Exp(2 * o.amplitude) }
func (o own) noiseVariance() float64 { return math.Exp(2*o.noise) + 1e-8 }

// The priors of the hyperparameters are normal distributions of their logarithms. By these, times bend over a factor of
// about twenty in size, the correction is about a third, and the noise is fifteen per cent. Noise is what another program, with
// other buffers and at another minute, finds at the same shape. With three per cent, which is what the blocks of one visit
// differ by, predictions followed single visits. Their choices then lost 1.9 % instead of 1.4 % at 584 shapes of a program on
// an EPYC, after one run, and 3.1 % instead of 2.0 % at 593 shapes beside an H200, after six.
var (
	priorScale     = normal{-1.5, 1}
	priorAmplitude = normal{math.Log(0.3), 1}
	priorNoise     = normal{math.Log(0.15), 0.75}
)

type normal struct{ mean, deviation float64 }

// cost returns the negative logarithm of the density, without its constant.
func (n normal) cost(x float64) float64 {
	d := (x - n.mean) / n.deviation
	return d * d / 2
}

// prior returns the hyperparameters that are most likely without any point.
func (f *Fit) prior() hyper {
	h := hyper{make([]float64, len(f.Surface.Features)), make([]own, len(f.parts))}
	for k := range h.scales {
		h.scales[k] = priorScale.mean
	}
	for i := range h.own {
		h.own[i] = own{priorAmplitude.mean, priorNoise.mean}
	}
	return h
}

// searchPoints is the greatest number of points of an implementation in the search for hyperparameters. The work of the
// search grows with the cube of the number.
const searchPoints = 96

// search finds the hyperparameters of the least cost. It moves one hyperparameter after the other, in a number of rounds, with
// steps that become shorter.
type search struct {
	*Fit               // with at most searchPoints points of each implementation
	pairs  *pairs      // with the scales
	values [][]float64 // see Fit.values, by implementation of the surface
	hyper  hyper
	costs  []float64 // by implementation of the surface
}

// search returns the hyperparameters of the least cost that a search finds which begins at h.
func (f *Fit) search(p *Problem, h hyper, step float64, rounds int) hyper {
	s := f.thinned(p, searchPoints)
	s.hyper = h
	s.pairs.scale(s.scaled(exponentials(h.scales)))
	s.costs = s.costsNow()
	for range rounds {
		for k := range h.scales {
			if !s.moveScale(k, step) {
				s.moveScale(k, -step)
			}
		}
		s.pairs.scale(s.scaled(exponentials(h.scales)))
		inParallel(len(h.own), func(i int) {
			for _, next := range h.own[i].around(step) {
				if cost := s.cost(i, next); cost < s.costs[i] {
					h.own[i], s.costs[i] = next, cost
				}
			}
		})
		step *= shorter
	}
	return h
}

// searchRounds is the number of rounds of a search that begins anew. shorter is the factor of the steps from round to round.
const (
	searchRounds = 9
	shorter      = 0.75
)

// moveScale moves a scale if that lowers the cost of all implementations together, and reports whether it did.
func (s *search) moveScale(k int, move float64) bool {
	before := s.hyper.scales[k]
	change := priorScale.cost(before+move) - priorScale.cost(before)
	s.hyper.scales[k] += move
	s.pairs.scale(s.scaled(exponentials(s.hyper.scales)))
	next := s.costsNow()
	for i := range next {
		change += next[i] - s.costs[i]
	}
	if !(change < 0) {
		s.hyper.scales[k] = before
		return false
	}
	s.costs = next
	return true
}

// costsNow returns the costs of the hyperparameters, by implementation of the surface.
func (s *search) costsNow() []float64 {
	costs := make([]float64, len(s.parts))
	inParallel(len(costs), func(i int) { costs[i] = s.cost(i, s.hyper.own[i]) })
	return costs
}

// cost returns the negative logarithm of the posterior density of an implementation's hyperparameters, without its constant.
func (s *search) cost(i int, o own) float64 {
	n := len(s.parts[i].points)
	factor, ok := lapack64.Potrf(blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: n, Data: s.pairs.noisy(o, s.parts[i].points)})
	if !ok {
		return math.Inf(1)
	}
	y := slices.Clone(s.values[i])
	blas64.Trsv(blas.Trans, factor, blas64.Vector{N: n, Data: y, Inc: 1})
	cost := floats.Dot(y, y) / 2
	for k := range n {
		cost += math.Log(factor.Data[k*n+k])
	}
	return cost + priorAmplitude.cost(o.amplitude) + priorNoise.cost(o.noise)
}

// around returns the hyperparameters that are one step away.
func (o own) around(step float64) []own {
	return []own{
		{o.amplitude + step, o.noise}, {o.amplitude - step, o.noise}, {o.amplitude, o.noise + step}, {o.amplitude, o.noise - step},
	}
}

// thinned returns a search with at most a number of points of each implementation, spread evenly over its points.
func (f *Fit) thinned(p *Problem, most int) *search {
	s := &search{Fit: &Fit{slopes: f.slopes}}
	chosen := make([]bool, len(f.x))
	for i := range f.parts {
		points, values := f.parts[i].points, f.values(p, i)
		var some part
		var of []float64
		every := max(1, float64(len(points))/float64(most))
		for at := 0.0; int(at) < len(points); at += every {
			k := points[int(at)]
			some.points, of, chosen[k] = append(some.points, k), append(of, values[int(at)]), true
		}
		s.parts, s.values = append(s.parts, some), append(s.values, of)
	}
	place := make([]int, len(f.x)) // of a chosen point
	for k, is := range chosen {
		if is {
			place[k] = len(s.x)
			s.x, s.of, s.disturbed = append(s.x, f.x[k]), append(s.of, f.of[k]), append(s.disturbed, f.disturbed[k])
		}
	}
	for i := range s.parts {
		for n, k := range s.parts[i].points {
			s.parts[i].points[n] = place[k]
		}
	}
	s.pairs = s.Fit.pairs()
	return s
}
