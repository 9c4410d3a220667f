package calibration

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"crossover/calibration/surface"
)

// Operation is the result for an operation over all of its shapes, with the data of its calls in one placement.
type Operation struct {
	Name      string `json:"name"`      // "stft"
	Placement string `json:"placement"` // "caller" or "shared"
	Axes      []Axis `json:"axes"`      // in the order of a shape's values, with the measured range

	// Family is what operations have in common whose surfaces are also fitted to each other's shapes; "" if there is no other.
	Family string `json:"family,omitempty"`

	// Implementations are those that took part. The surface predicts the ones that were timed at enough shapes.
	Implementations []Implementation `json:"implementations"`

	// Created is when the newest run began that measured shapes; nil if that is not known, as in files of version 2.0.
	Created *time.Time `json:"created,omitempty"`
	// Degraded says that the machine was quiet in none of the runs that measured shapes.
	Degraded bool   `json:"degraded,omitempty"`
	Blocks   int    `json:"blocks"`
	Samples  string `json:"samples,omitempty"` // digest of the sample file

	// Surface has only axes and features if there were too few samples for a fit.
	Surface surface.Surface `json:"surface"`
	HeldOut HeldOut         `json:"held_out"`

	// Asked are the shapes that somebody asked for and that were measured exactly, sorted, each once.
	Asked []Asked `json:"asked,omitempty"`
}

// HeldOut says how good choices are at shapes that were measured and not fitted: the choices by a surface that is fitted to
// the other shapes, before all are fitted.
//
// The bounds promise what a benchmark of 32 other shapes finds; each holds in 95 of 100 benchmarks. They also rest on the
// fitted shapes, at which fits without them chose, and on what the host's other operations lose.
type HeldOut struct {
	Shapes  int `json:"shapes"`            // number of held-out shapes; 0 if nothing is known
	Crossed int `json:"crossed,omitempty"` // number of fitted shapes at which fits without them chose
	// Regret is the time with the surface's choices divided by that with the best choices, minus 1, as a geometric mean over
	// the shapes. RegretUpper is its upper bound.
	Regret      float64 `json:"regret"`
	RegretUpper float64 `json:"regret_upper"`
	// Within is the share of shapes at which the choice takes at most 5 % longer than the best one. WithinLower is its lower
	// bound.
	Within      float64 `json:"within_5_percent"`
	WithinLower float64 `json:"within_5_percent_lower"`
	// Worst is the greatest regret at a shape, and WorstShape is that shape. Few shapes say nothing of the worst of all shapes.
	// NineInTenUpper is the upper bound of the regret at nine of ten shapes; 0 without Crossed.
	Worst          float64 `json:"worst"`
	WorstShape     []int   `json:"worst_shape,omitempty"`
	NineInTenUpper float64 `json:"nine_in_ten_upper,omitempty"`
	// Points are the values of all held-out shapes, one shape after the other. Losses are the regrets at the shapes. Charts
	// draw them.
	Points []int     `json:"points,omitempty"`
	Losses []float64 `json:"losses,omitempty"`
}

// NewestRun returns when the newest run began that measured an operation of the host: its shapes, or, if that is not known, one
// of its cases.
func (h *Host) NewestRun(o *Operation) time.Time {
	if o.Created != nil {
		return *o.Created
	}
	newest := time.Time{}
	for i := range h.Cases {
		if c := &h.Cases[i]; c.Operation == o.Name {
			if created := h.RunOf(c).Created; created.After(newest) {
				newest = created
			}
		}
	}
	if newest.IsZero() {
		return h.Created
	}
	return newest
}

// ShapeOf returns the shape of the operation at a size of one of its cases. Axes that the case does not fix have the size, as all axes
// of square matrices have.
func (o *Operation) ShapeOf(c *Case, size int) []int {
	shape := make([]int, len(o.Axes))
	for i, a := range o.Axes {
		shape[i] = size
		if value, fixed := c.Parameters[a.Name]; fixed {
			shape[i] = value
		}
	}
	return shape
}

// Operation returns the result for an operation in a placement, or nil if there is none. It points into the host.
func (h *Host) Operation(name, placement string) *Operation {
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Name == name && o.Placement == placement {
			return o
		}
	}
	return nil
}

func byNameAndPlacement(a, b Operation) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Placement, b.Placement))
}

func (o *Operation) normalise() {
	o.Implementations = cleanedImplementations(o.Implementations)
	if o.Created != nil {
		o.Created = new(o.Created.UTC().Truncate(time.Second))
	}
	if s := &o.Surface; !s.Fitted() {
		s.Scales, s.Shapes, s.Implementations = []float64{}, []int{}, []surface.Implementation{} // so that the file has no null
	}
	if len(o.HeldOut.WorstShape) == 0 {
		o.HeldOut.WorstShape = nil // not in the file, and read back as nil; likewise the next two
	}
	if len(o.HeldOut.Points) == 0 {
		o.HeldOut.Points = nil
	}
	if len(o.HeldOut.Losses) == 0 {
		o.HeldOut.Losses = nil
	}
	o.normaliseAsked()
}

// checkOperations checks that operations are there once in each placement and do not contradict the cases.
func (h *Host) checkOperations() error {
	for i := range h.Operations {
		o := &h.Operations[i]
		if err := checkName(o.Name); err != nil {
			return fmt.Errorf("operations[%d]: name %w", i, err)
		}
		if err := oneOf("placement", o.Placement, "caller", "shared"); err != nil {
			return fmt.Errorf("operation %s: %w", quoted(o.Name), err)
		}
		if h.Operation(o.Name, o.Placement) != o {
			return fmt.Errorf("operation %s, %s: is there twice", quoted(o.Name), o.Placement)
		}
		err := o.check()
		if err == nil {
			err = h.checkAgainstCases(o)
		}
		if err != nil {
			return fmt.Errorf("operation %s, %s: %w", quoted(o.Name), o.Placement, err)
		}
	}
	return nil
}

// check checks that an operation's surface is complete, or not fitted, and has the operation's axes and implementations.
func (o *Operation) check() error {
	if err := o.checkAxes(); err != nil {
		return err
	}
	if o.Family != "" {
		if err := checkName(o.Family); err != nil {
			return fmt.Errorf("family %w", err)
		}
	}
	if o.Created != nil {
		if err := checkCreated(*o.Created); err != nil {
			return err
		}
	}
	competes, err := checkImplementations(o.Implementations)
	if err != nil {
		return err
	}
	for i := range o.Surface.Implementations {
		if err := checkCompetitor(o.Surface.Implementations[i].Name, competes); err != nil {
			return fmt.Errorf("surface %w", err)
		}
	}
	if err := o.Surface.Check(); err != nil {
		return err
	}
	if err := o.HeldOut.check(len(o.Axes)); err != nil {
		return fmt.Errorf("held_out: %w", err)
	}
	if err := o.checkAsked(); err != nil {
		return err
	}
	if !samplesDigest.MatchString(o.Samples) {
		return errNoDigest
	}
	return notNegative(quantity{"blocks", float64(o.Blocks)})
}

// checkAxes checks that each axis is there once, and that they are those of the surface.
func (o *Operation) checkAxes() error {
	if n := len(o.Axes); n == 0 || n > surface.MostAxes {
		return fmt.Errorf("has %d axes (want 1 to %d)", n, surface.MostAxes)
	}
	for i := range o.Axes {
		if err := o.Axes[i].check(); err != nil {
			return fmt.Errorf("axes[%d]: %w", i, err)
		}
		if first := slices.IndexFunc(o.Axes, func(a Axis) bool { return a.Name == o.Axes[i].Name }); first < i {
			return fmt.Errorf("axes[%d]: %s is axes[%d] too", i, quoted(o.Axes[i].Name), first)
		}
	}
	if !slices.EqualFunc(o.Axes, o.Surface.Axes, func(a Axis, name string) bool { return a.Name == name }) {
		return errors.New("the axes of its surface are others than its own (want the same in the same order)")
	}
	return nil
}

// checkAgainstCases checks that the cases of an operation, if there are any, have the surface's implementations.
func (h *Host) checkAgainstCases(o *Operation) error {
	processors := map[string]string{} // by implementation
	for i := range h.Cases {
		if h.Cases[i].Operation == o.Name {
			for _, m := range h.Cases[i].Implementations {
				processors[m.Name] = m.Processor
			}
		}
	}
	if len(processors) == 0 {
		return nil
	}
	for i := range o.Surface.Implementations {
		name := o.Surface.Implementations[i].Name
		if _, known := processors[name]; !known {
			return fmt.Errorf("surface names %s, which is in no case of the operation", quoted(name))
		}
	}
	for _, m := range o.Implementations {
		if processor, known := processors[m.Name]; known && processor != m.Processor {
			return fmt.Errorf("implementation %s runs on the %s, and in a case of the operation on the %s", quoted(m.Name), m.Processor, processor)
		}
	}
	return nil
}

// check checks that shares and regrets are in their ranges, and that lists have matching lengths.
func (r *HeldOut) check(axes int) error {
	notPositive := func(v int) bool { return v < 1 }
	switch {
	case r.Shapes < 0:
		return fmt.Errorf("shapes is %d (want at least 0)", r.Shapes)
	case r.Crossed < 0:
		return fmt.Errorf("crossed is %d (want at least 0)", r.Crossed)
	case !isRegret(r.Regret):
		return fmt.Errorf("regret is %v (want a finite number above -1)", r.Regret)
	case !isRegret(r.RegretUpper) || r.RegretUpper < r.Regret:
		return fmt.Errorf("regret_upper is %v (want a finite number, at least the regret, %v)", r.RegretUpper, r.Regret)
	case !(r.Within >= 0 && r.Within <= 1):
		return fmt.Errorf("within_5_percent is %v (want 0 to 1)", r.Within)
	case !(r.WithinLower >= 0 && r.WithinLower <= r.Within):
		return fmt.Errorf("within_5_percent_lower is %v (want 0 to within_5_percent, %v)", r.WithinLower, r.Within)
	case !isRegret(r.Worst):
		return fmt.Errorf("worst is %v (want a finite number above -1)", r.Worst)
	case !isRegret(r.NineInTenUpper):
		return fmt.Errorf("nine_in_ten_upper is %v (want a finite number above -1)", r.NineInTenUpper)
	case len(r.WorstShape) != 0 && len(r.WorstShape) != axes:
		return fmt.Errorf("worst_shape has %d values (want %d, one for each axis)", len(r.WorstShape), axes)
	case len(r.Points) != axes*len(r.Losses):
		return fmt.Errorf("points has %d values and losses %d (want %d values of each shape)", len(r.Points), len(r.Losses), axes)
	case len(r.Losses) != 0 && len(r.Losses) != r.Shapes:
		return fmt.Errorf("losses has %d values (want none, or %d, the number of shapes)", len(r.Losses), r.Shapes)
	case slices.ContainsFunc(r.WorstShape, notPositive) || slices.ContainsFunc(r.Points, notPositive):
		return errors.New("a shape has a value below 1")
	}
	for i, loss := range r.Losses {
		if !isRegret(loss) {
			return fmt.Errorf("losses[%d] is %v (want a finite number above -1)", i, loss)
		}
	}
	return nil
}

// isRegret reports whether v can be the ratio of two finite times, minus 1.
func isRegret(v float64) bool { return v > -1 && !math.IsInf(v, 1) }
