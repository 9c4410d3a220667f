package kernels

import (
	"errors"
	"fmt"
	"math"

	"crossover/calibration/surface"
)

// Space is all shapes of an operation, with the data of its calls in one placement. A sweep measures some of them and
// predicts the others.
type Space struct {
	Operation string
	Placement Placement
	Axes      []Axis
	Features  []surface.Feature // what a prediction looks at
	Family    string            // of the operation: see Op

	// Case is measured in place of a line. Its sizes are those that Add returned.
	Case Case

	draw   func(at []float64) Shape
	work   func(s Shape) Work
	shapes map[int]Shape
}

// A shape is worth measuring where one call reads and writes no more than mostBytes and computes no more than mostFlops. A
// processor core takes some tenths of a second for as much, and what is larger behaves as that does.
const (
	mostBytes = 1 << 26
	mostFlops = 1 << 31
)

// Space returns the shapes of the operation on given backends. An operation with a single axis has none: its case says
// everything. Space then returns nil.
func (o *Op[P]) Space(b *Backends, placement Placement) *Space {
	if len(o.Axes) < 2 {
		return nil
	}
	s := &Space{
		Operation: o.Name, Placement: placement, Axes: o.Axes, Features: o.features(), Family: o.Family,
		draw:   o.Draw,
		work:   func(s Shape) Work { return o.Work(s, "") },
		shapes: map[int]Shape{},
	}
	if s.draw == nil {
		s.draw = func(at []float64) Shape { return Spread(o.Axes, at) }
	}
	line := Line{Axis: Axis{Name: "shape", Unit: "shape", Min: 1, Max: math.MaxInt}, At: func(key int) Shape { return s.shapes[key] }}
	s.Case = o.CaseOf(b, line)
	s.Case = s.Case.Placed(placement)
	s.Case.Shape = func(key int) []int { return s.Values(s.shapes[key]) }
	for _, axis := range o.Axes {
		s.Case.Axes = append(s.Case.Axes, axis.Name)
	}
	return s
}

// features returns the logarithms of the axes and of the shape's whole size, and what the operation declares beside them.
func (o *Op[P]) features() []surface.Feature {
	var all []surface.Feature
	for i := range o.Axes {
		weights := make([]float64, len(o.Axes))
		weights[i] = 1
		all = append(all, surface.Feature{Kind: surface.Logarithm, Weights: weights})
	}
	return append(all, o.Features...)
}

// Spread returns the shape at a point of the unit cube: the axes go from their least to their greatest value in equal
// factors, and half of the shapes have one of the axis' usual values.
func Spread(axes []Axis, at []float64) Shape {
	var s Shape
	for i, axis := range axes {
		s[i] = axis.at(at[i])
	}
	return s
}

// Power is a feature for [Op].Features: the logarithm of the product of the axes, each to the power of its weight.
func Power(weights ...float64) surface.Feature {
	return surface.Feature{Kind: surface.Logarithm, Weights: weights}
}

// usualShare is how many of the shapes have one of an axis' usual values.
const usualShare = 0.5

// at returns the value at a place from 0 to 1.
func (a Axis) at(u float64) int {
	if len(a.Usual) > 0 {
		if u < usualShare {
			return a.Usual[int(u/usualShare*float64(len(a.Usual)))]
		}
		u = (u - usualShare) / (1 - usualShare)
	}
	return int(math.Round(float64(a.Min) * math.Pow(float64(a.Max)/float64(a.Min), u)))
}

// Draw returns the shape at a point of the unit cube, which has as many coordinates as there are axes. It returns false
// where that is no shape worth measuring.
func (s *Space) Draw(at []float64) (Shape, bool) {
	shape := s.draw(at)
	if shape == (Shape{}) {
		return shape, false
	}
	w := s.work(shape)
	return shape, w.Bytes <= mostBytes && w.Flops <= mostFlops
}

// One call at a shape that somebody asks for moves and computes no more than this: some ten seconds on a processor core.
const (
	mostAskedBytes = 1 << 31
	mostAskedFlops = 1 << 37
	mostProduct    = 1 << 53 // of the axes, so that no size of a tensor overflows
)

// Affordable returns nil if a call at a shape with such axes is not too much to measure. work is asked only if no size can
// overflow.
func Affordable(shape []int, work func() Work) error {
	product := 1.0
	for _, v := range shape {
		product *= float64(v)
	}
	if product > mostProduct {
		return errors.New("a call of that shape is too much to be measured (its axes multiply to more than 2^53)")
	}
	if w := work(); !(w.Bytes <= mostAskedBytes && w.Flops <= mostAskedFlops) {
		return fmt.Errorf("a call of that shape is too much to be measured (%.2g bytes and %.2g operations; want at most %.2g and %.2g)",
			w.Bytes, w.Flops, float64(mostAskedBytes), float64(mostAskedFlops))
	}
	return nil
}

// Affordable returns nil if a call at a shape is not too much to measure.
func (s *Space) Affordable(shape Shape) error {
	return Affordable(s.Values(shape), func() Work { return s.work(shape) })
}

// Values returns a shape as a list of as many values as there are axes.
func (s *Space) Values(shape Shape) []int { return shape[:len(s.Axes):len(s.Axes)] }

// Add returns the size of the case that stands for a shape: the more work the shape is, the greater. It is the same for the
// same shapes in the same order.
func (s *Space) Add(shape Shape) int {
	w := s.work(shape)
	key := max(1, int(w.Bytes+w.Flops/flopsPerByte))
	for {
		known, taken := s.shapes[key]
		if !taken || known == shape {
			s.shapes[key] = shape
			return key
		}
		key++
	}
}

// flopsPerByte is how many operations take about as long as moving a byte.
const flopsPerByte = 4
