package surface

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// MostAxes and MostImplementations are the greatest numbers of axes and implementations of a surface.
const (
	MostAxes            = 8
	MostImplementations = 64
)

// mostShapes is the greatest number of shapes of a surface.
const mostShapes = 4096

// Fitted reports whether the surface predicts anything. It does not if it has only axes and features.
func (s *Surface) Fitted() bool {
	return len(s.Shapes) > 0 || len(s.Scales) > 0 || len(s.Implementations) > 0
}

// Check returns nil if the surface can be used, or is not fitted. Otherwise it returns an error of one line that says what
// is wrong.
func (s *Surface) Check() error {
	if err := s.checkFeatures(); err != nil || !s.Fitted() {
		return err
	}
	axes, features := len(s.Axes), len(s.Features)
	switch {
	case len(s.Scales) != features:
		return fmt.Errorf("a surface with %d scales of %d features", len(s.Scales), features)
	case len(s.Shapes)%axes != 0 || len(s.Shapes) == 0 || len(s.Shapes)/axes > mostShapes:
		return fmt.Errorf("a surface with %d numbers of shapes of %d axes: want 1 to %d shapes", len(s.Shapes), axes, mostShapes)
	case len(s.Implementations) == 0 || len(s.Implementations) > MostImplementations:
		return fmt.Errorf("a surface of %d implementations: want 1 to %d", len(s.Implementations), MostImplementations)
	case slices.ContainsFunc(s.Shapes, func(v int) bool { return v < 1 }):
		return errors.New("a surface with a shape of size 0 or less")
	case !finite(s.Scales):
		return errors.New("a surface with a scale that is no number")
	}
	names := map[string]bool{}
	for k := range s.Implementations {
		i := &s.Implementations[k]
		switch {
		case i.Name == "" || names[i.Name]:
			return fmt.Errorf("a surface that has implementation %.80q twice or without a name", i.Name)
		case len(i.Linear) != features+1:
			return fmt.Errorf("a surface with %d linear terms of %.80q: want %d", len(i.Linear), i.Name, features+1)
		case len(i.Weights) != len(s.Shapes)/axes:
			return fmt.Errorf("a surface with %d weights of %.80q: want %d", len(i.Weights), i.Name, len(s.Shapes)/axes)
		case !validCosts(i.Costs, features):
			return fmt.Errorf("a surface with costs of %.80q that are none: want none, or a positive one and %d others", i.Name, features)
		case !finite(i.Linear) || !finite(i.Weights) || !(i.Risk >= 0) || math.IsInf(i.Risk, 0):
			return fmt.Errorf("a surface with a number of %.80q that is none", i.Name)
		}
		names[i.Name] = true
	}
	return nil
}

// validCosts reports whether an implementation may have these costs.
func validCosts(costs []float64, features int) bool {
	if len(costs) == 0 {
		return true
	}
	return len(costs) == 1+features && costs[0] > 0 && slices.Min(costs) >= 0 && finite(costs)
}

func (s *Surface) checkFeatures() error {
	axes, features := len(s.Axes), len(s.Features)
	switch {
	case axes == 0 || axes > MostAxes:
		return fmt.Errorf("a surface of %d axes: want 1 to %d", axes, MostAxes)
	case features == 0 || features > MostFeatures:
		return fmt.Errorf("a surface of %d features: want 1 to %d", features, MostFeatures)
	}
	for k := range s.Features {
		if err := s.Features[k].check(axes); err != nil {
			return fmt.Errorf("a surface whose feature %d is wrong: %w", k, err)
		}
	}
	return nil
}

func (f *Feature) check(axes int) error {
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("kind %.80q is not known", f.Kind)
	case len(f.Weights) != axes:
		return fmt.Errorf("%d weights of %d axes", len(f.Weights), axes)
	case !finite(f.Weights) || !finite([]float64{f.Offset}):
		return errors.New("a weight is no number")
	case (f.Kind == Rough || f.Kind == Exponent || f.Kind == Chirp || f.Kind == Indivisible) && (f.Prime < 2 || f.Prime > tried):
		return fmt.Errorf("prime %d: want 2 to %d", f.Prime, tried)
	}
	return nil
}

// finite reports whether all values are finite.
func finite(values []float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
