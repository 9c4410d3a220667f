// Package surface predicts how long the implementations of an operation take at any of its shapes.
//
// A surface is what a calibration keeps of measured shapes: flat lists of numbers. Package thresholds/surfaces fits them,
// the calibration file holds them, and package dispatch reads them. Each implementation has a cost model of the work and a
// Gaussian process over features of the shape, which are mostly logarithms. All implementations share the features, their scales and the shapes, so a
// prediction takes one pass over the shapes.
//
// Source: C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, sections 2.2 and 2.7.
package surface

import "math"

// Surface is the predicted time of every implementation over all shapes of an operation.
type Surface struct {
	// Axes are the names of a shape's values, in their order.
	Axes []string `json:"axes"`
	// Features are the numbers of a shape on which a prediction depends.
	Features []Feature `json:"features"`
	// Scales are factors of the features, one for each. The greater the factor, the faster times change along the feature.
	Scales []float64 `json:"scales"`
	// Shapes are the values of all fitted shapes, one shape after the other.
	Shapes []int `json:"shapes"`
	// Implementations are the predicted ones.
	Implementations []Implementation `json:"implementations"`
}

// Implementation is one implementation's part of a surface.
type Implementation struct {
	Name string `json:"name"`
	// Costs are the seconds of a cost model: of any call, then for each feature those of a unit of its work, which is 2 to the
	// power of the feature. The log-time is that of the sum of all costs, with the rest added. Costs is empty in files of
	// earlier versions, whose log-times are the rest alone.
	Costs []float64 `json:"costs,omitempty"`
	// Linear is the part of the log-time, in seconds, that is linear in the features: a constant, then one number for each
	// feature.
	Linear []float64 `json:"linear"`
	// Weights has a value for each shape. The shape adds its weight to the log-time, multiplied by its correlation with the
	// predicted shape. The weight is 0 at a shape at which the implementation was not timed.
	Weights []float64 `json:"weights"`
	// Risk is the logarithm of the mean ratio of measured to predicted times at shapes that were not fitted. It is added to
	// the log-time, which is a median, so that the expected time is predicted: what is sometimes far slower than predicted is
	// chosen less often.
	Risk float64 `json:"risk"`
}

// HasCosts reports whether all implementations have cost models. Predictions far outside of the fitted shapes are then as good
// as the models. Otherwise they are those of a line through logarithms.
func (s *Surface) HasCosts() bool {
	for k := range s.Implementations {
		if len(s.Implementations[k].Costs) == 0 {
			return false
		}
	}
	return true
}

// Predictor predicts the times of a surface. Several goroutines may use one at the same time.
type Predictor struct {
	surface *Surface
	points  []float64 // scaled features of all shapes, one shape after the other
	weights []float64 // weights of all implementations at a shape, one shape after the other
	shapes  int
}

// NewPredictor returns the predictor of a fitted surface, for which [Surface.Check] must return nil. The surface must not
// change afterwards.
func NewPredictor(s *Surface) *Predictor {
	axes, features := len(s.Axes), len(s.Features)
	p := &Predictor{surface: s, shapes: len(s.Shapes) / axes}
	p.points = make([]float64, p.shapes*features)
	for i := range p.shapes {
		p.scale(s.Shapes[i*axes:(i+1)*axes], p.points[i*features:(i+1)*features])
	}
	p.weights = make([]float64, 0, p.shapes*len(s.Implementations))
	for j := range p.shapes {
		for i := range s.Implementations {
			p.weights = append(p.weights, s.Implementations[i].Weights[j])
		}
	}
	return p
}

// scale writes the scaled features of a shape to z.
func (p *Predictor) scale(shape []int, z []float64) {
	for k := range p.surface.Features {
		z[k] = p.surface.Scales[k] * p.surface.Features[k].Of(shape)
	}
}

// Predict writes the logarithm of the expected seconds of every implementation at a shape, which has a positive value for
// every axis. If times of an implementation scatter more around the surface, its expected time is longer. Predict allocates
// nothing.
func (p *Predictor) Predict(shape []int, logSeconds []float64) {
	s := p.surface
	var features, scaled [MostFeatures]float64
	n := len(s.Features)
	logSeconds = logSeconds[:len(s.Implementations)]
	for k := range n {
		features[k] = s.Features[k].Of(shape)
		scaled[k] = s.Scales[k] * features[k]
	}
	for i := range s.Implementations {
		linear := s.Implementations[i].Linear
		sum := linear[0] + s.Implementations[i].Risk + LogCost(s.Implementations[i].Costs, features[:n])
		for k := range n {
			sum += linear[1+k] * features[k]
		}
		logSeconds[i] = sum
	}
	for j := range p.shapes {
		k := Kernel(scaled[:n], p.points[j*n:(j+1)*n])
		if k < negligible {
			continue
		}
		for i, w := range p.weights[j*len(logSeconds) : (j+1)*len(logSeconds)] {
			logSeconds[i] += k * w
		}
	}
}

// LogCost returns the logarithm of the seconds of a call by a cost model, which is an implementation's Costs, at some features.
// It is 0 if there is no model.
func LogCost(costs, features []float64) float64 {
	if len(costs) == 0 {
		return 0
	}
	sum := costs[0]
	for k, c := range costs[1:] {
		if c > 0 {
			sum += c * math.Exp2(features[k])
		}
	}
	return math.Log(sum)
}

// negligible is the correlation below which one shape says nothing about another.
const negligible = 1e-9

// Kernel is the correlation of the log-times at two shapes, from their scaled features. It is Matérn's kernel with ν = 5/2.
//
// Source: C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, MIT Press 2006, equation 4.17.
func Kernel(a, b []float64) float64 {
	squares := 0.0
	for i, v := range a {
		d := v - b[i]
		squares += d * d
	}
	r := math.Sqrt(5 * squares)
	return (1 + r + r*r/3) * math.Exp(-r)
}
