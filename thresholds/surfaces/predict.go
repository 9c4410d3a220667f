package surfaces

import (
	"math"

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
	s := f.Surface
	z, scaled := make([]float64, len(s.Features)), make([]float64, len(s.Features))
	for k := range s.Features {
		z[k] = s.Features[k].Of(shape)
		scaled[k] = s.Scales[k] * z[k]
	}
	all := f.scaled(s.Scales)
	out := make([]Prediction, len(f.parts))
	variances := make([]float64, len(f.parts))
	for i := range f.parts {
		points, o := f.parts[i].points, f.hyper.own[i]
		k := mat.NewVecDense(len(points), nil)
		mean := s.Implementations[i].Linear[0] + s.Implementations[i].Risk + surface.LogCost(s.Implementations[i].Costs, z)
		for d, v := range z {
			mean += s.Implementations[i].Linear[1+d] * v
		}
		for n, at := range points {
			correlation := surface.Kernel(scaled, all[at])
			k.SetVec(n, f.linear(z, f.x[at])+o.variance()*correlation)
		}
		for at, w := range s.Implementations[i].Weights {
			if w != 0 {
				mean += surface.Kernel(scaled, all[at]) * w
			}
		}
		variance := f.linear(z, z) + o.variance()
		var solved mat.VecDense
		if illConditioned(f.parts[i].factor.SolveVecTo(&solved, k)) == nil {
			variance -= mat.Dot(k, &solved)
		}
		variances[i] = max(variance, 0)
		out[i] = Prediction{f.index[i], mean, math.Sqrt(max(variance, 0) + o.noiseVariance())}
	}
	for i := range out {
		if m := f.parts[i].serial; m >= 0 {
			out[i].Deviation = math.Sqrt(out[i].Deviation*out[i].Deviation + variances[m])
		}
	}
	return out
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
