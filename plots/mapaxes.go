package plots

import (
	"cmp"
	"math"
	"slices"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// surveyed is an operation whose surface can be drawn, with the predictor of its times.
type surveyed struct {
	*calibration.Operation
	predictor *surface.Predictor
	fitted    [][]int // shapes from which the surface was fitted
	held      [][]int // the shapes that were held out
}

// drawable reports whether an operation has a map: whether it has a valid surface over at least two axes that predicts at
// least two implementations. An operation of one axis has the charts of its cases.
func drawable(o *calibration.Operation) bool {
	return len(o.Axes) >= 2 && len(o.Axes) == len(o.Surface.Axes) && o.Surface.Fitted() && len(o.Surface.Implementations) >= 2 &&
		o.Surface.Check() == nil
}

// survey reads a drawable operation for its map.
func survey(o *calibration.Operation) *surveyed {
	s := &surveyed{Operation: o, predictor: surface.NewPredictor(&o.Surface), fitted: shapesOf(o.Surface.Shapes, len(o.Axes))}
	if len(o.HeldOut.Points) == len(o.Axes)*len(o.HeldOut.Losses) {
		s.held = shapesOf(o.HeldOut.Points, len(o.Axes))
	}
	return s
}

// shapesOf cuts a flat list of values into shapes.
func shapesOf(flat []int, axes int) [][]int { return slices.Collect(slices.Chunk(flat, axes)) }

// usual returns usual values of an axis, in ascending order. It divides the values of the fitted shapes into parts, and
// returns the most frequent value of each part. If there are fewer values than parts, it returns all of them. If prime
// factors matter on the axis, values without a prime factor above 7 are preferred: predictions at 110 hold for few lengths
// near 110.
func (s *surveyed) usual(axis, parts int) []int {
	var values []int
	for _, shape := range s.fitted {
		values = append(values, clampSize(shape[axis]))
	}
	if rough := func(n int) bool { return !smoothLength(n) }; axis == s.factored() && slices.ContainsFunc(values, smoothLength) {
		values = slices.DeleteFunc(values, rough)
	}
	slices.Sort(values)
	different := slices.Compact(slices.Clone(values))
	var picked []int
	for k := range parts {
		part := different[k*len(different)/parts : (k+1)*len(different)/parts]
		if len(part) == 0 {
			continue
		}
		begin, _ := slices.BinarySearch(values, part[0])
		end, _ := slices.BinarySearch(values, part[len(part)-1]+1)
		picked = append(picked, mode(values[begin:end]))
	}
	return picked
}

// mode returns the most frequent of ascending values. If several are equally frequent, it returns the one nearest to the
// middle.
func mode(values []int) int {
	found, most, near := 0, 0, 0
	for begin := 0; begin < len(values); {
		end := begin + 1
		for end < len(values) && values[end] == values[begin] {
			end++
		}
		far := max(begin+end-len(values), len(values)-begin-end)
		if n := end - begin; n > most || n == most && far < near {
			found, most, near = values[begin], n, far
		}
		begin = end
	}
	return found
}

// clampSize returns the drawable size nearest to a value.
func clampSize(n int) int { return min(max(n, 1), largestSize) }

// directions says how a map draws the axes of an operation.
type directions struct {
	x, y    int
	third   int // the axis with a panel for each of some values, -1 if there is none
	classed int // the axis with a panel for each class of lengths, -1 if there is none
}

// directionsOf returns the directions of an operation's map. The axis that varies along the operation's first case goes to
// the right, as on the chart of the case. Of the others, the one goes up along which keeping a choice costs most. An axis
// whose prime factors matter, such as the length of a transform, is not a continuous direction. If there are three axes, the
// map has panels at usual values of such an axis. If there are two, the map has a panel for each class of lengths.
func directionsOf(h *calibration.Host, s *surveyed) directions {
	d := directions{third: -1, classed: -1}
	order := make([]int, len(s.Axes))
	cost := make([]float64, len(s.Axes))
	for axis := range order {
		order[axis], cost[axis] = axis, s.stake(axis)
	}
	factored := s.factored()
	running := s.running(h)
	slices.SortStableFunc(order, func(a, b int) int {
		last := func(axis int) int {
			switch axis {
			case running:
				return -1
			case factored:
				return 1
			}
			return 0
		}
		if len(s.Axes) == 2 {
			return cmp.Or(min(last(a), 0)-min(last(b), 0), a-b)
		}
		return cmp.Or(last(a)-last(b), cmp.Compare(cost[b], cost[a]))
	})
	d.x, d.y = order[0], order[1]
	switch {
	case len(order) == 2:
		d.classed = factored
	case factored >= 0 && factored != d.x:
		d.third = factored
	default:
		d.third = order[2]
	}
	return d
}

// running returns the axis that varies along the operation's first case, or -1 if there is no such case.
func (s *surveyed) running(h *calibration.Host) int {
	for i := range h.Cases {
		if c := &h.Cases[i]; c.Operation == s.Name {
			if k := slices.Index(s.Surface.Axes, c.Axis.Name); k >= 0 {
				return k
			}
		}
	}
	return -1
}

// factored returns the axis whose prime factors are among the features of the surface, or -1 if there is none.
func (s *surveyed) factored() int {
	for _, f := range s.Surface.Features {
		switch f.Kind {
		case surface.Rough, surface.Exponent, surface.Largest, surface.Chirp, surface.Indivisible:
		default:
			continue
		}
		one := slices.IndexFunc(f.Weights, func(w float64) bool { return w != 0 })
		if one >= 0 && !slices.ContainsFunc(f.Weights[one+1:], func(w float64) bool { return w != 0 }) {
			return one
		}
	}
	return -1
}

// stake returns the cost of keeping the choice of a shape while one axis varies over its range. The cost is a sum of
// differences in log-time over some fitted shapes.
func (s *surveyed) stake(axis int) float64 {
	const mostShapes, values = 24, 5
	step := (len(s.fitted) + mostShapes - 1) / mostShapes
	predicted := make([]float64, len(s.Surface.Implementations))
	sum := 0.0
	for k := 0; k < len(s.fitted); k += step {
		shape := clampShape(s.fitted[k])
		s.predictor.Predict(shape, predicted)
		kept, _ := best(predicted)
		for i := range values {
			shape[axis] = logBetween(s.Axes[axis], (float64(i)+0.5)/values)
			s.predictor.Predict(shape, predicted)
			if now, _ := best(predicted); now >= 0 && kept >= 0 && predicted[kept] > predicted[now] {
				sum += min(predicted[kept]-predicted[now], 1)
			}
		}
	}
	return sum
}

func clampShape(shape []int) []int {
	clamped := slices.Clone(shape)
	for i := range clamped {
		clamped[i] = clampSize(clamped[i])
	}
	return clamped
}

// logBetween returns the value at a share, from 0 to 1, of an axis's logarithmic range.
func logBetween(a calibration.Axis, share float64) int {
	from, to := axisRange(a)
	return clampSize(int(math.Round(from * math.Pow(to/from, share))))
}

// axisRange returns the drawable range of an axis. The range of an axis with one value is one octave.
func axisRange(a calibration.Axis) (from, to float64) {
	from = float64(clampSize(a.From))
	if to = float64(clampSize(a.To)); to <= from {
		return widen(from, from, 0)
	}
	return from, to
}

// best returns the index of the least log-time, and by what ratio the next one takes longer. It returns -1 if there is no
// finite log-time.
func best(logSeconds []float64) (first int, margin float64) {
	first = -1
	second := math.Inf(1)
	for i, v := range logSeconds {
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
		case first < 0:
			first = i
		case v < logSeconds[first]:
			second, first = logSeconds[first], i
		default:
			second = min(second, v)
		}
	}
	if first < 0 {
		return -1, 0
	}
	return first, math.Expm1(second - logSeconds[first])
}
