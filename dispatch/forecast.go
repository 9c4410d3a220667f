package dispatch

import (
	"math"
	"slices"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// forecast predicts how long calls of an operation take, by its implementations: those at one site, for a Watch, or those of a
// pipeline's stage, for Times.
type forecast struct {
	measured *calibration.Case // whose cost models predict last; nil for none
	line     *line             // of a case; nil if its shapes are not known
	of       *predicted        // nil if the operation has no surface, and no shapes that somebody asked for
	tieBand  float64           // of the case, 0 for an operation
	last     told
}

// told is what the [Forecast] of a call said last. It may take long to say it again.
type told struct {
	shape          [surface.MostAxes]int
	implementation string
	seconds        float64
	known          bool
}

// The standard deviations of log-ratios of time and prediction that are assumed where the calibration has none.
const (
	scatterMeasured  = 0.05 // at a shape that was measured exactly
	scatterPredicted = 0.1  // by a surface
	// sigmas is how many standard deviations the median of a normal distribution's absolute values is.
	sigmas = 0.6745
)

// forecastOf returns what the calibration predicts at a site.
func (d *Dispatcher) forecastOf(at site) forecast {
	d.mu.Lock()
	defer d.mu.Unlock()
	operation, fixed, placement := splitName(at.name())
	f := forecast{of: d.knownFor(operation, placement)}
	if f.of == nil && placement == shared {
		f.of = d.knownFor(operation, caller)
	}
	if at.of == nil {
		return f
	}
	from := d.sourceOf(at.of)
	f.line = from.line
	if f.line == nil && from.recorded != nil {
		f.measured, f.tieBand = from.recorded, from.recorded.TieBand
		if f.of != nil {
			f.line = f.of.lineOf(from.recorded)
		}
	}
	if f.line == nil && f.of != nil {
		f.line, _ = newLine(f.of, fixed)
	}
	return f
}

// at predicts the seconds of a call by an implementation, and returns by what standard deviation the logarithm may be off.
func (f *forecast) at(call *timed, implementation string) (seconds, scatter float64, known bool) {
	if call.forecast != nil {
		if f.last.shape != call.shape || f.last.implementation != implementation {
			f.last = told{shape: call.shape, implementation: implementation}
			f.last.seconds, f.last.known = call.forecast(implementation, call.shape[:call.values])
		}
		seconds, scatter, known = f.last.seconds, scatterPredicted, f.last.known
	} else if shape, found := f.shape(call); found {
		seconds, scatter, known = f.seconds(shape[:len(f.of.Axes)], call.size, implementation)
	} else {
		seconds, scatter, known = f.seconds(nil, call.size, implementation)
	}
	factor, told := call.factor(implementation)
	return factor * seconds, scatter, known && told
}

// seconds is at for a shape, nil if it is not known, and the size on the axis of the measured case. What was measured at this
// very shape comes first, then the surface, and last the cost model of the case. The surface comes before the case because it
// was fitted to the samples of the case too, and corrects its cost models where they are off: at the sizes of the measured
// cases of the committed EPYC it is off by 4.8 % in the median, and the cases' own models by 6.1 %.
func (f *forecast) seconds(shape []int, size int, implementation string) (seconds, scatter float64, known bool) {
	if shape != nil {
		if k, asked := f.of.FindAsked(shape); asked {
			i := slices.IndexFunc(f.of.Implementations, func(i calibration.Implementation) bool { return i.Name == implementation })
			if i >= 0 && i < len(f.of.Asked[k].MedianSeconds) && f.of.Asked[k].MedianSeconds[i] > 0 {
				return f.of.Asked[k].MedianSeconds[i], scatterMeasured, true
			}
		}
		if i := f.of.index(implementation); i >= 0 && f.of.Surface.Fitted() {
			if seconds := f.of.seconds(shape, i); seconds > 0 && !math.IsInf(seconds, 0) {
				return seconds, scatterPredicted, true
			}
		}
	}
	if f.measured != nil {
		for i := range f.measured.Implementations {
			if one := &f.measured.Implementations[i]; one.Name == implementation && one.Cost != nil {
				seconds := modelled(one.Cost)(size)
				return seconds, max(one.Cost.Residual/sigmas, scatterMeasured), seconds > 0
			}
		}
	}
	return 0, 0, false
}

// shape returns the shape of a call, if it is known.
func (f *forecast) shape(call *timed) (shape [surface.MostAxes]int, known bool) {
	switch {
	case f.of == nil:
		return shape, false
	case call.of == nil:
		return call.shape, call.values == len(f.of.Axes)
	case f.line == nil:
		return shape, false
	}
	shape = f.line.shape(call.size)
	for i := range f.of.Axes {
		if shape[i] == 0 { // this axis varies along the line, too
			shape[i] = call.size
		}
	}
	return shape, true
}

// implementations returns those for which something may be predicted: those of the measured case, and then those that only the
// operation has.
func (f *forecast) implementations() (all []calibration.Implementation) {
	if f.measured != nil {
		all = slices.Clone(f.measured.Implementations)
	}
	if f.of != nil {
		for _, i := range f.of.Implementations {
			if !slices.ContainsFunc(all, func(m calibration.Implementation) bool { return m.Name == i.Name }) {
				all = append(all, i)
			}
		}
	}
	return slices.DeleteFunc(all, func(i calibration.Implementation) bool { return i.Excluded != "" })
}
