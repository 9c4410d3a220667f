// Package surfaces fits the times that were measured at some shapes of an operation, and predicts those at all others. It
// also judges choices by such predictions, at shapes that were not fitted, and decides which shape is measured next. It
// reads no clock and no file.
//
// The steps are
//
//  1. a [Planner] proposes the shapes that are measured;
//  2. [New] fits the [Points] of the samples that are [Fitted];
//  3. [Judge] and [Crossed] judge the choices by the fit, and [Promised] bounds the losses at other shapes;
//  4. on another day, an [Auditor] checks the choices at fresh shapes.
//
// The log-time of an implementation is that of a cost model, which is what a call pays for each byte and operation, and a
// Gaussian process over features of the shape, which is what the model lacks. The process has a linear part and a smooth
// correction. All implementations share the scales of the features, which are found by maximum a posteriori, and their cost
// models are alike before they are fitted. So implementations that were timed at the same shapes are compared as if their
// ratios had been fitted, and what the machine does to all of them cancels.
//
// Operations of a family have the same axes and much the same work, as a transform and its inverse have. What was measured of
// one then says nearly as much of the other. So a fit may have points of other operations, which take longer by a factor for
// each implementation. After one run beside an H200, choices at 721 shapes of a program lost 1.8 % with such points, and 2.3 %
// without.
//
// Source: C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, sections 2.2, 2.7 and 5.4.
package surfaces

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"crossover/calibration/surface"
	"crossover/timings"
)

// Point has the measured times at one shape.
type Point struct {
	Shape      []int
	LogSeconds []float64 // of a call, by implementation; NaN if it was not timed

	// Relative is 0 at a point of the operation itself. The points of each other operation of its family have another number.
	Relative int

	Disturbed bool // the machine was disturbed whenever the shape was measured
}

// Problem is the input of a fit.
type Problem struct {
	Axes            []string
	Features        []surface.Feature
	Implementations []string
	Points          []Point
}

// leastPoints is the least number of shapes at which a predicted implementation was timed. For an implementation on all cores,
// leastOnAll is enough if its counterpart on one core is predicted: the process of their ratio begins at none. Code in Go is not timed
// where it does not divide a call, so a short run may have few of these times. A first run of a machine that was in use timed rms-norm on
// both cores at three of eleven shapes. The implementation on both cores was then left out, and calls took twice as long.
const (
	leastPoints = 6
	leastOnAll  = 3
)

// Fit is a fitted surface, with what is needed to estimate the errors of its predictions.
type Fit struct {
	Surface *surface.Surface

	hyper     hyper
	parts     []part      // by implementation of the surface
	x         [][]float64 // features, by point
	at        [][]float64 // the same, each multiplied by its scale
	of        []int       // Relative, by point
	disturbed []bool      // Disturbed, by point
	index     []int       // index in the problem, by implementation of the surface
	slopes    []float64   // prior variances of the slopes, by feature
}

// part is the fit of one implementation.
type part struct {
	points []int        // at which it was timed
	costs  []float64    // its cost model
	serial int          // part of the same library on one core, −1 if there is none
	rest   []float64    // what the serial part adds to its costs, by point; nil until it is solved
	solved []float64    // the inverse of the covariance, times the values; nil until it is solved
	errors []float64    // of log-times, by point, each left out of the fit
	factor mat.Cholesky // of their covariance
}

// New fits a problem. It leaves out implementations that were timed at too few shapes. It fails if none is left.
//
// A time that is many times the one that the other shapes predict is left out: see mostError.
func New(p *Problem) (*Fit, error) { return trimmed(p, nil, true) }

// More fits a problem that has more points than this fit. If search is true, the search for the hyperparameters begins at
// those of this fit. Otherwise they are kept. If the two fits do not have the same implementations, the search begins anew.
func (f *Fit) More(p *Problem, search bool) (*Fit, error) { return trimmed(p, f, search) }

// trimmed fits a problem, and fits it again as long as it finds times to leave out.
func trimmed(p *Problem, from *Fit, search bool) (*Fit, error) {
	f, err := newFit(p, from, search)
	for n := 0; n < mostTrims && err == nil; n++ {
		rest := f.withoutOutliers(p)
		if rest == nil {
			break
		}
		p = rest
		f, err = newFit(p, f, search)
	}
	return f, err
}

// mostError is the greatest error of a log-time that is fitted. In a call that takes longer, the implementation waited for
// something that was not there, such as a core that another program had. Such a call says nothing of others, and one of 400
// times the usual time, at one of a hundred shapes, made an implementation seem three times as slow everywhere. A slow path
// that more shapes take is predicted from these.
var mostError = math.Log(8)

const (
	mostTrims    = 3  // greatest number of fits with fewer times
	trimmedShare = 20 // of so many times of an implementation, at most one is left out in a fit, or one of all
)

// withoutOutliers returns the problem without the times whose errors are above mostError, or nil if there are none. It leaves
// every implementation enough times of the operation itself to be fitted.
func (f *Fit) withoutOutliers(p *Problem) *Problem {
	rest, found := *p, false
	rest.Points = slices.Clone(p.Points)
	counterparts := timings.Counterparts(p.Implementations)
	for n := range f.parts {
		of := &f.parts[n]
		var out []int
		for k, e := range of.errors {
			if e > mostError {
				out = append(out, k)
			}
		}
		slices.SortFunc(out, func(a, b int) int { return cmp.Compare(of.errors[b], of.errors[a]) })
		own, least := f.own(of.points), f.least(p, counterparts[f.index[n]])
		for _, k := range out[:min(len(out), max(1, len(of.points)/trimmedShare))] {
			if f.of[of.points[k]] == 0 {
				if own <= least {
					continue
				}
				own--
			}
			found = true
			point := &rest.Points[of.points[k]]
			point.LogSeconds = slices.Clone(point.LogSeconds)
			point.LogSeconds[f.index[n]] = math.NaN()
		}
	}
	if !found {
		return nil
	}
	return &rest
}

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
		f.of = append(f.of, point.Relative)
		f.disturbed = append(f.disturbed, point.Disturbed)
		f.Surface.Shapes = append(f.Surface.Shapes, point.Shape...)
	}
	counterparts := timings.Counterparts(p.Implementations)
	for i := range p.Implementations {
		if timed := timedAt(p, i); f.own(timed) >= f.least(p, counterparts[i]) {
			f.index = append(f.index, i)
			f.parts = append(f.parts, part{points: timed})
		}
	}
	for n, i := range f.index {
		f.parts[n].serial = slices.Index(f.index, counterparts[i])
	}
	if len(f.parts) == 0 {
		return nil, errors.New("surfaces: no implementation was timed at enough shapes")
	}
	for i, c := range costs(p, f.index, f.x) {
		f.parts[i].costs = c
	}
	f.slopes = slopeVariances(p.Features)
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

// least returns how many own points an implementation needs. counterpart is the same one on one core, −1 if there is none.
func (f *Fit) least(p *Problem, counterpart int) int {
	if counterpart >= 0 && f.own(timedAt(p, counterpart)) >= leastPoints {
		return leastOnAll
	}
	return leastPoints
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

// own returns how many of some points are of the operation itself.
func (f *Fit) own(points []int) (count int) {
	for _, k := range points {
		if f.of[k] == 0 {
			count++
		}
	}
	return count
}

// values returns the log-times of an implementation at its points, relative to its cost model. If it has a serial part, they
// are also relative to what that part adds to its own costs: as measured, and as fitted once the part is solved.
func (f *Fit) values(p *Problem, part int) []float64 {
	own := &f.parts[part]
	var y []float64
	for n, k := range own.points {
		v := f.beside(p, part, k)
		if own.rest != nil {
			v -= own.rest[n]
		} else if own.serial >= 0 {
			if serial := f.beside(p, own.serial, k); !math.IsNaN(serial) {
				v -= serial
			}
		}
		y = append(y, v)
	}
	return y
}

// beside returns the log-time of a part at a point, relative to its cost model. It is NaN if it was not timed there.
func (f *Fit) beside(p *Problem, part, point int) float64 {
	return p.Points[point].LogSeconds[f.index[part]] - surface.LogCost(f.parts[part].costs, f.x[point])
}

// solve computes the linear part, the weights and the risk of every implementation.
func (f *Fit) solve(p *Problem) error {
	s := f.Surface
	s.Scales = exponentials(f.hyper.scales)
	f.at = f.scaled(s.Scales)
	s.Implementations = make([]surface.Implementation, len(f.parts))
	pairs := f.pairs()
	pairs.scale(f.at)
	for _, some := range f.inOrder() {
		failed := make([]error, len(some))
		inParallel(len(some), func(k int) { failed[k] = f.solvePart(p, some[k], pairs) })
		if err := errors.Join(failed...); err != nil {
			return err
		}
	}
	return nil
}

// solvePart does the same for one implementation, whose serial part is solved.
func (f *Fit) solvePart(p *Problem, i int, pairs *pairs) error {
	s, points, o := f.Surface, f.parts[i].points, f.hyper.own[i]
	m := f.parts[i].serial
	if m >= 0 {
		f.parts[i].rest = f.restAt(points, m)
	}
	if !pairs.factorise(o, points, &f.parts[i].factor) {
		return errors.New("surfaces: the shapes cannot be told apart")
	}
	var a mat.VecDense
	if err := f.parts[i].factor.SolveVecTo(&a, mat.NewVecDense(len(points), f.values(p, i))); illConditioned(err) != nil {
		return fmt.Errorf("surfaces: %w", err)
	}
	f.parts[i].solved = a.RawVector().Data
	out := surface.Implementation{
		Name: p.Implementations[f.index[i]], Linear: make([]float64, 1+len(p.Features)), Weights: make([]float64, len(f.x)),
		Costs: f.parts[i].costs, Risk: f.leftOut(i, &a),
	}
	variance := o.variance()
	for n, k := range points {
		w := a.AtVec(n)
		out.Weights[k] = variance * w
		out.Linear[0] += constantDeviation * constantDeviation * w
		for d := range p.Features {
			slope := f.slopes[d] * w * (f.x[k][d] - origin)
			out.Linear[1+d] += slope
			out.Linear[0] -= slope * origin
		}
	}
	if m >= 0 {
		floats.Add(out.Weights, s.Implementations[m].Weights)
		floats.Add(out.Linear, s.Implementations[m].Linear)
	}
	s.Implementations[i] = out
	return nil
}

// illConditioned returns err, or nil if err says only that the result may have lost digits.
func illConditioned(err error) error {
	var condition mat.Condition
	if errors.As(err, &condition) {
		return nil
	}
	return err
}

// leftOut returns the logarithm of the mean ratio of measured to predicted times, at points that are left out of the fit one
// at a time. It is at least 0, and is made less if the points are few. If the errors of log-times are normal, it is half
// their variance. If a few times are far above their predictions, it is more.
//
// Source: C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, equations 5.10 to 5.12, and
// N. Duan, Smearing Estimate: A Nonparametric Retransformation Method, Journal of the American Statistical Association 78,
// 1983.
func (f *Fit) leftOut(i int, weights *mat.VecDense) float64 {
	var inverse mat.SymDense
	if err := f.parts[i].factor.InverseTo(&inverse); illConditioned(err) != nil {
		return f.hyper.own[i].noiseVariance() / 2
	}
	errors, own := make([]float64, weights.Len()), []float64(nil)
	for k := range errors {
		errors[k] = weights.AtVec(k) / inverse.At(k, k)
	}
	f.parts[i].errors = errors
	for k, at := range f.parts[i].points {
		if f.of[at] > 0 {
			continue
		}
		e := errors[k]
		if m := f.parts[i].serial; m >= 0 {
			if n := slices.Index(f.parts[m].points, at); n >= 0 {
				e += f.parts[m].errors[n]
			}
		}
		own = append(own, e)
	}
	n := float64(len(own))
	return max(0, floats.LogSumExp(own)-math.Log(n)) * n / (n + fewErrors)
}

// fewErrors is the number of points of which half of the risk is believed. The mean of a few ratios is mostly the luck of the
// greatest one.
const fewErrors = 20
