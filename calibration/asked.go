package calibration

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Asked is a shape that somebody asked for, and what was measured there. It decides the calls at that shape.
type Asked struct {
	Shape []int `json:"shape"`
	Calls int64 `json:"calls"` // how often a program called it, or 1: its weight
	// MedianSeconds are the times of a call, one for each of the operation's implementations in their order; 0 for one that
	// was not timed there. There are none before the samples are fitted.
	MedianSeconds []float64 `json:"median_seconds,omitempty"`
	// Regret is the time under the choice over that of the best one, minus 1, where one half of the samples chooses and the
	// other one judges; nil if there are too few. It is never below 0: luck counts against the choice.
	Regret *float64 `json:"regret,omitempty"`
}

// MostAsked is how many asked shapes an operation has at most.
const MostAsked = 1024

// FindAsked returns the place of a shape in Asked, which is sorted, and whether the shape is there. It allocates nothing.
func (o *Operation) FindAsked(shape []int) (k int, found bool) {
	k = sort.Search(len(o.Asked), func(i int) bool { return slices.Compare(o.Asked[i].Shape, shape) >= 0 })
	return k, k < len(o.Asked) && slices.Equal(o.Asked[k].Shape, shape)
}

// normaliseAsked sorts the asked shapes, in an array of their own.
func (o *Operation) normaliseAsked() {
	if len(o.Asked) == 0 {
		o.Asked = nil // left out of the file, and read back as nil
		return
	}
	o.Asked = slices.SortedFunc(slices.Values(o.Asked), func(a, b Asked) int { return slices.Compare(a.Shape, b.Shape) })
	for i := range o.Asked {
		if len(o.Asked[i].MedianSeconds) == 0 {
			o.Asked[i].MedianSeconds = nil
		}
	}
}

// checkAsked accepts shapes of the operation, each once, with a time for each implementation.
func (o *Operation) checkAsked() error {
	if len(o.Asked) > MostAsked {
		return fmt.Errorf("asked has %d shapes (want at most %d)", len(o.Asked), MostAsked)
	}
	for i := range o.Asked {
		if err := o.Asked[i].check(o); err != nil {
			return fmt.Errorf("asked[%d]: %w", i, err)
		}
		if i > 0 && slices.Compare(o.Asked[i-1].Shape, o.Asked[i].Shape) >= 0 {
			return fmt.Errorf("asked[%d]: shape %v is not behind the one before, %v (want them sorted, each once)", i, o.Asked[i].Shape, o.Asked[i-1].Shape)
		}
	}
	return nil
}

func (a *Asked) check(of *Operation) error {
	switch {
	case len(a.Shape) != len(of.Axes):
		return fmt.Errorf("shape has %d values (want %d, one for each axis)", len(a.Shape), len(of.Axes))
	case slices.ContainsFunc(a.Shape, func(v int) bool { return v < 1 }):
		return errors.New("shape has a value below 1")
	case a.Calls < 1:
		return fmt.Errorf("calls is %d (want at least 1)", a.Calls)
	case len(a.MedianSeconds) != 0 && len(a.MedianSeconds) != len(of.Implementations):
		return fmt.Errorf("median_seconds has %d values (want none, or %d, one for each implementation)", len(a.MedianSeconds), len(of.Implementations))
	case a.Regret != nil && !(*a.Regret >= 0 && !math.IsInf(*a.Regret, 1)):
		return fmt.Errorf("regret is %v (want a finite number, at least 0)", *a.Regret)
	}
	for k, v := range a.MedianSeconds {
		switch i := &of.Implementations[k]; {
		case !(v >= 0) || math.IsInf(v, 1):
			return fmt.Errorf("median_seconds of %s is %v (want a finite number, at least 0)", quoted(i.Name), v)
		case v > 0 && i.Excluded != "":
			return fmt.Errorf("median_seconds of %s is %v, and that is excluded (want 0)", quoted(i.Name), v)
		}
	}
	return nil
}
