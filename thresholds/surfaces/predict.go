package surfaces

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"crossover/calibration/surface"
)

// Prediction is the predicted time of one implementation at a shape.
type Prediction struct {
	Implementation int     // index in the problem
	LogSeconds     float64 // of a call, as surface.Predictor predicts it
	Deviation      float64 // standard deviation of a measured log-time from LogSeconds
}

// Predict returns the predictions at a shape, one for each implementation of the surface.
func (f *Fit) Predict(shape []int) []Prediction {
	z, correlations := f.seenFrom(shape)
	out := make([]Prediction, len(f.parts))
	variances := make([]float64, len(f.parts))
	for i := range f.parts {
		o := f.hyper.own[i]
		variances[i] = f.variance(i, z, correlations)
		out[i] = Prediction{f.index[i], f.logSeconds(i, z, correlations), math.Sqrt(variances[i] + o.noiseVariance())}
	}
	for i := range out {
		if m := f.parts[i].serial; m >= 0 {
			out[i].Deviation = math.Sqrt(out[i].Deviation*out[i].Deviation + variances[m])
		}
	}
	return out
}

// seenFrom returns the features of a shape, and the correlations of the corrections there with those at all points.
func (f *Fit) seenFrom(shape []int) (z, correlations []float64) {
	s := f.Surface
	z, scaled := make([]float64, len(s.Features)), make([]float64, len(s.Features))
	for k := range s.Features {
		z[k] = s.Features[k].Of(shape)
		scaled[k] = s.Scales[k] * z[k]
	}
	correlations = make([]float64, len(f.at))
	for k, at := range f.at {
		correlations[k] = surface.Kernel(scaled, at)
	}
	return z, correlations
}

// logSeconds returns the predicted log-time of an implementation of the surface.
func (f *Fit) logSeconds(implementation int, z, correlations []float64) float64 {
	of := &f.Surface.Implementations[implementation]
	mean := of.Linear[0] + of.Risk + surface.LogCost(of.Costs, z)
	for d, v := range z {
		mean += of.Linear[1+d] * v
	}
	for k, w := range of.Weights {
		if w != 0 {
			mean += correlations[k] * w
		}
	}
	return mean
}

// variance returns the variance of the process of an implementation of the surface, given what was measured.
func (f *Fit) variance(implementation int, z, correlations []float64) float64 {
	part, own := &f.parts[implementation], f.hyper.own[implementation].variance()
	k := make([]float64, len(part.points))
	for n, at := range part.points {
		k[n] = f.linear(z, f.x[at]) + own*correlations[at]
	}
	factor := part.factor.RawU().(mat.RawTriangular).RawTriangular()
	blas64.Trsv(blas.Trans, factor, blas64.Vector{N: len(k), Data: k, Inc: 1})
	return max(0, f.linear(z, z)+own-floats.Dot(k, k))
}

// Loss returns the expected loss of the choice at a shape, in log-time. It is the greatest expected gain of another
// implementation over the chosen one.
func Loss(of []Prediction) float64 {
	if len(of) < 2 {
		return 0
	}
	best := of[0]
	for _, p := range of[1:] {
		if p.LogSeconds < best.LogSeconds {
			best = p
		}
	}
	loss := 0.0
	for _, p := range of {
		if p.Implementation != best.Implementation {
			loss = max(loss, gain(p.LogSeconds-best.LogSeconds, math.Hypot(p.Deviation, best.Deviation)))
		}
	}
	return loss
}

// gain returns the mean of max(0, −d), where d is normal with the given mean and deviation.
//
// Source: D. Jones, M. Schonlau and W. Welch, Efficient Global Optimization of Expensive Black-Box Functions, Journal of
// Global Optimization 13, 1998, equation 15.
func gain(mean, deviation float64) float64 {
	if deviation == 0 {
		return max(0, -mean)
	}
	u := mean / deviation
	density := math.Exp(-u*u/2) / math.Sqrt(2*math.Pi)
	above := math.Erfc(u/math.Sqrt2) / 2
	return deviation*density - mean*above
}
