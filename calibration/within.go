package calibration

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Within is the result of a case among the implementations that err by at most a bound.
type Within struct {
	MaxError float64   `json:"max_error"`
	Verdict  Verdict   `json:"verdict"`
	Reason   string    `json:"reason"`
	Segments []Segment `json:"segments"`
}

// holds reports whether an implementation promises the bound.
func (w *Within) holds(m *Implementation) bool { return m.ErrorBound > 0 && m.ErrorBound <= w.MaxError }

// Among returns the case as it is among the fewest implementations that include all of the given names that competed. It
// returns the part that decides then, or the case itself and nil if the whole case does. No names stand for all.
func (c *Case) Among(names []string) (*Case, *Within) {
	if len(names) == 0 {
		return c, nil
	}
	for k := range c.Within { // the least bound first
		w := &c.Within[k]
		if slices.ContainsFunc(c.Implementations, func(m Implementation) bool {
			return m.Excluded == "" && slices.Contains(names, m.Name) && !w.holds(&m)
		}) {
			continue
		}
		part := *c
		part.Verdict, part.Reason, part.Segments = w.Verdict, w.Reason, w.Segments
		return &part, w
	}
	return c, nil
}

// Bounds returns the error bounds below the greatest one of the implementations that competed, ascending. Each has a
// [Within].
func (c *Case) Bounds() []float64 {
	var bounds []float64
	for i := range c.Implementations {
		if m := &c.Implementations[i]; m.Excluded == "" && m.ErrorBound > 0 {
			bounds = append(bounds, m.ErrorBound)
		}
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	return bounds[:max(0, len(bounds)-1)]
}

// normaliseWithin copies what Within has, so that no array is null in the file.
func (c *Case) normaliseWithin() {
	c.Within = slices.Clone(c.Within)
	if len(c.Within) == 0 {
		c.Within = nil // not in the file, and read back as nil
	}
	for k := range c.Within {
		w := &c.Within[k]
		clean(&w.Reason)
		w.Segments = copiedSegments(w.Segments)
	}
}

// checkWithin checks that each part is a whole result of the case among implementations that promise its bound.
func (c *Case) checkWithin(competes map[string]bool) error {
	before := 0.0
	for k := range c.Within {
		w := &c.Within[k]
		if !(w.MaxError > before) || math.IsInf(w.MaxError, 1) {
			return fmt.Errorf("within[%d]: max_error is %v (want a finite number above %v)", k, w.MaxError, before)
		}
		before = w.MaxError
		if err := c.checkPart(w, competes); err != nil {
			return fmt.Errorf("within[%d]: %w", k, err)
		}
	}
	return nil
}

func (c *Case) checkPart(w *Within, competes map[string]bool) error {
	if len(w.Segments) == 0 {
		return errors.New("has no segments")
	}
	part := *c
	part.Verdict, part.Segments = w.Verdict, w.Segments
	if err := part.checkSegments(competes); err != nil {
		return err
	}
	if err := part.checkVerdict(); err != nil {
		return err
	}
	for i := range c.Implementations {
		m := &c.Implementations[i]
		if w.holds(m) {
			continue
		}
		for n := range w.Segments {
			s := &w.Segments[n]
			if s.Implementation == m.Name || slices.ContainsFunc(s.Next, func(a Alternative) bool { return a.Implementation == m.Name }) {
				return fmt.Errorf("segment %d names %s, which does not promise the bound", n+1, quoted(m.Name))
			}
		}
	}
	return nil
}
