// Package surfaces fits the times that were measured at some shapes of an operation, so that those at all others can be
// predicted, and says how good the predictions are at shapes that were not fitted.
//
// The log-time of an implementation is a Gaussian process over features of the shape: a linear part, which is what a call
// pays for each byte and operation, and a smooth correction. The scales of the features are shared by the implementations
// and found by maximum a posteriori. Two implementations that were timed at the same shapes are so compared as if their
// ratio had been fitted, and what a machine does to all of them cancels.
//
// Source: C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, sections 2.2, 2.7 and 5.4.
package surfaces

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"crossover/calibration/surface"
)

// Point is what was measured at one shape.
type Point struct {
	Shape      []int
	LogSeconds []float64 // of a call, by implementation; NaN where it was not timed
}

// Problem is what is fitted.
type Problem struct {
	Axes            []string
	Features        []surface.Feature
	Implementations []string
	Points          []Point
}

// leastPoints is how many shapes an implementation is timed at before it is predicted.
const leastPoints = 6

// Fit is a fitted surface, and what it knows of its own errors.
type Fit struct {
	Surface *surface.Surface

	hyper hyper
	parts []part // by implementation of the surface
	x     [][]float64
	index []int // of the problem's implementations, by implementation of the surface
}

// part is one implementation's share of a fit.
type part struct {
	points []int // that it was timed at
	factor mat.Cholesky
}

// New fits a problem. Implementations that were timed at too few shapes are left out. New fails where none is left.
func New(p *Problem) (*Fit, error) { return newFit(p, nil, true) }

// More fits a problem that has more points than this fit. The search for the scales goes on from those of this fit, unless
// they are to be kept.
func (f *Fit) More(p *Problem, search bool) (*Fit, error) { return newFit(p, f, search) }

func newFit(p *Problem, from *Fit, search bool) (*Fit, error) {
	if len(p.Features) == 0 || len(p.Features) > surface.MostFeatures {
		return nil, fmt.Errorf("surfaces: %d features: want 1 to %d", len(p.Features), surface.MostFeatures)
	}
	f := &Fit{Surface: &surface.Surface{Axes: p.Axes, Features: p.Features}}
	for _, point := range p.Points {
		z := make([]float64, len(p.Features))
		for k := range p.Features {
			z[k] = p.Features[k].Of(point.Shape)
		}
		f.x = append(f.x, z)
		f.Surface.Shapes = append(f.Surface.Shapes, point.Shape...)
	}
	for i := range p.Implementations {
		if timed := timedAt(p, i); len(timed) >= leastPoints {
			f.index = append(f.index, i)
			f.parts = append(f.parts, part{points: timed})
		}
	}
	if len(f.parts) == 0 {
		return nil, errors.New("surfaces: no implementation was timed at enough shapes")
	}
	switch {
	case from == nil || !slices.Equal(from.index, f.index):
		f.hyper = f.search(p, f.prior(), 1, searchRounds)
	case search:
		f.hyper = f.search(p, from.hyper.clone(), 0.3, searchRounds/3)
	default:
		f.hyper = from.hyper
	}
	return f, f.solve(p)
}

// prior returns the hyperparameters that are most likely before there is a point.
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

// timedAt returns the points at which an implementation was timed.
func timedAt(p *Problem, implementation int) []int {
	var timed []int
	for k, point := range p.Points {
		if !math.IsNaN(point.LogSeconds[implementation]) {
			timed = append(timed, k)
		}
	}
	return timed
}

// hyper are the hyperparameters, as logarithms.
type hyper struct {
	scales []float64 // of the features
	own    []own     // by implementation of the surface
}

// own are the hyperparameters of one implementation, as logarithms of standard deviations of the log-time.
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

// What the hyperparameters are held to be before there is a point, as normal distributions of their logarithms: times bend
// over a factor of some twenty in size, the correction is about a factor of two, the noise three per cent.
var (
	priorScale     = normal{-1.5, 1}
	priorAmplitude = normal{math.Log(0.6), 1}
	priorNoise     = normal{math.Log(0.03), 0.75}
)

type normal struct{ mean, deviation float64 }

// cost is the negative logarithm of the density, but for a constant.
func (n normal) cost(x float64) float64 {
	d := (x - n.mean) / n.deviation
	return d * d / 2
}

// The linear part: its constant and its slopes are normal, around 0, with these deviations. They are wide, so the data
// decide. Features are centred at origin, which is about the middle of the logarithms that there are.
const (
	constantDeviation = 10
	slopeDeviation    = 1
	origin            = 8
)

// covariance is that of the log-times at two points, without the noise.
func (o own) covariance(a, b, scaledA, scaledB []float64) float64 {
	return linear(a, b) + o.variance()*surface.Kernel(scaledA, scaledB)
}

// linear is the part of the covariance that is the linear part's.
func linear(a, b []float64) float64 {
	sum := constantDeviation * constantDeviation * 1.0
	for k := range a {
		sum += slopeDeviation * slopeDeviation * (a[k] - origin) * (b[k] - origin)
	}
	return sum
}

// scaled returns the features of all points, each times its scale.
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

// factorise returns the Cholesky factor of the covariance of some points.
func (f *Fit) factorise(o own, scaled [][]float64, points []int, c *mat.Cholesky) bool {
	n := len(points)
	k := mat.NewSymDense(n, nil)
	for i, a := range points {
		for j := i; j < n; j++ {
			b := points[j]
			v := o.covariance(f.x[a], f.x[b], scaled[a], scaled[b])
			if i == j {
				v += o.noiseVariance()
			}
			k.SetSym(i, j, v)
		}
	}
	return c.Factorize(k)
}

// values returns the log-times of an implementation at its points.
func (f *Fit) values(p *Problem, part int) []float64 {
	var y []float64
	for _, k := range f.parts[part].points {
		y = append(y, p.Points[k].LogSeconds[f.index[part]])
	}
	return y
}

// cost is the negative logarithm of the posterior density of an implementation's hyperparameters, but for a constant.
func (f *Fit) cost(p *Problem, i int, scaled [][]float64, o own) float64 {
	var c mat.Cholesky
	if !f.factorise(o, scaled, f.parts[i].points, &c) {
		return math.Inf(1)
	}
	y := mat.NewVecDense(len(f.parts[i].points), f.values(p, i))
	var a mat.VecDense
	if c.SolveVecTo(&a, y) != nil {
		return math.Inf(1)
	}
	return (mat.Dot(y, &a)+c.LogDet())/2 + priorAmplitude.cost(o.amplitude) + priorNoise.cost(o.noise)
}

// searchPoints is how many points at most the scales are found by: the work grows with their cube.
const searchPoints = 96

// search returns the hyperparameters of least cost that a search along one after the other finds. It begins at h and
// makes so many rounds, in steps that get shorter.
func (f *Fit) search(p *Problem, h hyper, step float64, rounds int) hyper {
	few := f
	if len(f.x) > searchPoints {
		few = f.thinned(searchPoints)
	}
	costs := make([]float64, len(f.parts))
	scaled := few.scaled(exponentials(h.scales))
	for i := range h.own {
		costs[i] = few.cost(p, i, scaled, h.own[i])
	}
	for range rounds {
		for k := range h.scales {
			for _, move := range []float64{step, -step} {
				if few.moveScale(p, &h, k, move, costs) {
					break
				}
			}
		}
		scaled = few.scaled(exponentials(h.scales))
		for i := range h.own {
			for _, next := range h.own[i].around(step) {
				if cost := few.cost(p, i, scaled, next); cost < costs[i] {
					h.own[i], costs[i] = next, cost
				}
			}
		}
		step *= shorter
	}
	return h
}

// searchRounds is how often the search goes along every hyperparameter, and shorter the factor of its steps from round to
// round.
const (
	searchRounds = 9
	shorter      = 0.75
)

// moveScale moves a scale where that lowers the cost of all implementations together, and reports whether it does.
func (f *Fit) moveScale(p *Problem, h *hyper, k int, move float64, costs []float64) bool {
	before := h.scales[k]
	change := priorScale.cost(before+move) - priorScale.cost(before)
	h.scales[k] += move
	scaled := f.scaled(exponentials(h.scales))
	next := make([]float64, len(costs))
	for i := range next {
		next[i] = f.cost(p, i, scaled, h.own[i])
		change += next[i] - costs[i]
	}
	if !(change < 0) {
		h.scales[k] = before
		return false
	}
	copy(costs, next)
	return true
}

// around returns the hyperparameters a step away.
func (o own) around(step float64) []own {
	return []own{
		{o.amplitude + step, o.noise}, {o.amplitude - step, o.noise}, {o.amplitude, o.noise + step}, {o.amplitude, o.noise - step},
	}
}

// thinned returns the fit with fewer points of each implementation.
func (f *Fit) thinned(most int) *Fit {
	few := &Fit{Surface: f.Surface, x: f.x, index: f.index}
	for _, whole := range f.parts {
		var some part
		every := max(1, float64(len(whole.points))/float64(most))
		for at := 0.0; int(at) < len(whole.points); at += every {
			some.points = append(some.points, whole.points[int(at)])
		}
		few.parts = append(few.parts, some)
	}
	return few
}

// solve computes the weights of every implementation.
func (f *Fit) solve(p *Problem) error {
	s := f.Surface
	s.Scales = exponentials(f.hyper.scales)
	scaled := f.scaled(s.Scales)
	for i := range f.parts {
		points, o := f.parts[i].points, f.hyper.own[i]
		if !f.factorise(o, scaled, points, &f.parts[i].factor) {
			return errors.New("surfaces: the shapes cannot be told apart")
		}
		var a mat.VecDense
		if err := f.parts[i].factor.SolveVecTo(&a, mat.NewVecDense(len(points), f.values(p, i))); illConditioned(err) != nil {
			return fmt.Errorf("surfaces: %w", err)
		}
		out := surface.Implementation{
			Name: p.Implementations[f.index[i]], Linear: make([]float64, 1+len(p.Features)), Weights: make([]float64, len(f.x)),
			Risk: f.leftOut(i, &a),
		}
		for n, k := range points {
			w := a.AtVec(n)
			out.Weights[k] = o.variance() * w
			out.Linear[0] += constantDeviation * constantDeviation * w
			for d := range p.Features {
				slope := slopeDeviation * slopeDeviation * w * (f.x[k][d] - origin)
				out.Linear[1+d] += slope
				out.Linear[0] -= slope * origin
			}
		}
		s.Implementations = append(s.Implementations, out)
	}
	return nil
}

// illConditioned returns an error that is none of a result that may have lost digits.
func illConditioned(err error) error {
	var condition mat.Condition
	if errors.As(err, &condition) {
		return nil
	}
	return err
}

// leftOut returns the logarithm of the mean ratio of measured to predicted times, at points that are left out one at a time.
// It is half the variance of the errors of log-times if these are normal. If a few times are far above their predictions,
// it is more.
//
// Source: C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, equations 5.10 to 5.12, and
// N. Duan, Smearing Estimate: A Nonparametric Retransformation Method, Journal of the American Statistical Association 78,
// 1983.
func (f *Fit) leftOut(i int, weights *mat.VecDense) float64 {
	var inverse mat.SymDense
	if err := f.parts[i].factor.InverseTo(&inverse); illConditioned(err) != nil {
		return f.hyper.own[i].noiseVariance() / 2
	}
	n := weights.Len()
	errors := make([]float64, n)
	for k := range n {
		errors[k] = weights.AtVec(k) / inverse.At(k, k)
	}
	return max(0, floats.LogSumExp(errors)-math.Log(float64(n)))
}
