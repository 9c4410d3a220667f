package dispatch

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// predicted is an operation of the entry with a surface that predicts times at any shape. It never changes.
type predicted struct {
	*calibration.Operation
	predictor *surface.Predictor
	byFactors []bool // for each axis, whether times jump from each value to the next
	onGPU     []bool // by implementation of the surface
	costs     bool   // whether cost models tell times far outside of the measured shapes

	asked askedBy // who measured the shapes that somebody asked for
}

// askedBy is the entry with the shapes of an operation that somebody asked for.
type askedBy struct {
	entry entry
	of    *calibration.Operation
}

// created returns when the newest run began that measured such shapes.
func (a askedBy) created() time.Time { return a.entry.host.NewestRun(a.of) }

func newPredicted(o *calibration.Operation, asked askedBy) *predicted {
	p := &predicted{Operation: o, asked: asked, predictor: surface.NewPredictor(&o.Surface), byFactors: make([]bool, len(o.Axes)), costs: o.Surface.HasCosts()}
	for i := range o.Surface.Features {
		f := &o.Surface.Features[i]
		for axis, weight := range f.Weights {
			p.byFactors[axis] = p.byFactors[axis] || weight != 0 && f.ByFactors()
		}
	}
	for i := range o.Surface.Implementations {
		name := o.Surface.Implementations[i].Name
		p.onGPU = append(p.onGPU, slices.ContainsFunc(o.Implementations, func(i calibration.Implementation) bool {
			return i.Name == name && i.Processor == "gpu"
		}))
	}
	return p
}

// predictedFor returns the prediction for an operation with its data in a placement, nil if the entry behind it has none. The
// caller holds the lock.
func (d *Dispatcher) predictedFor(operation, placement string) *predicted {
	if p := d.knownFor(operation, placement); p != nil && p.Surface.Fitted() {
		return p
	}
	return nil
}

// knownFor is predictedFor for what may predict nothing and have shapes alone that somebody asked for.
func (d *Dispatcher) knownFor(operation, placement string) *predicted {
	e := d.entryFor(operation)
	if e.host == nil {
		return nil
	}
	o := e.host.Operation(operation, placement)
	asked := askedBy{e, o}
	if e.host != d.entry.host { // somebody may have asked for shapes on this host
		own := d.entry.host.Operation(operation, placement)
		if own != nil && len(own.Asked) > 0 && (o == nil || slices.Equal(own.Surface.Axes, o.Surface.Axes)) {
			asked = askedBy{d.entry, own} // those of the match are predicted like others
		}
	}
	if o == nil {
		o = asked.of
	}
	if o == nil || !o.Surface.Fitted() && len(asked.of.Asked) == 0 {
		return nil
	}
	known := d.entry.predicted[asked.of]
	if known == nil {
		known = newPredicted(withAsked(o, asked.of), asked)
		d.entry.predicted[asked.of] = known
	}
	return known
}

// withAsked returns an operation with the asked shapes of another entry in place of its own.
func withAsked(o, by *calibration.Operation) *calibration.Operation {
	if o == by {
		return o
	}
	joined := *o
	joined.Implementations = slices.Clone(o.Implementations)
	place := make([]int, len(by.Implementations)) // of an implementation in joined
	for i := range by.Implementations {
		name := by.Implementations[i].Name
		place[i] = slices.IndexFunc(joined.Implementations, func(m calibration.Implementation) bool { return m.Name == name })
		if place[i] < 0 {
			place[i] = len(joined.Implementations)
			joined.Implementations = append(joined.Implementations, by.Implementations[i])
		}
	}
	joined.Asked = slices.Clone(by.Asked)
	for k := range joined.Asked {
		seconds := joined.Asked[k].MedianSeconds
		joined.Asked[k].MedianSeconds = make([]float64, len(joined.Implementations))
		for i, s := range seconds {
			joined.Asked[k].MedianSeconds[place[i]] = s
		}
	}
	return &joined
}

// record returns what is known of the operation as of a case, without segments.
func (p *predicted) record() *calibration.Case {
	return &calibration.Case{Operation: p.Name, Implementations: p.Implementations}
}

// logSeconds is the logarithm of the predicted seconds of a call, by implementation of a surface.
type logSeconds [surface.MostImplementations]float64

// predict predicts the times at a shape. If the surface has no cost model, a value outside of the range of its axis counts as
// the nearest one inside, except on an axis along which times jump.
func (p *predicted) predict(shape []int, into *logSeconds) {
	if p.costs {
		p.predictor.Predict(shape, into[:])
		return
	}
	var inside [surface.MostAxes]int
	n := copy(inside[:len(p.Axes)], shape)
	for i := range n {
		if !p.byFactors[i] {
			inside[i] = min(max(inside[i], p.Axes[i].From), p.Axes[i].To)
		}
	}
	p.predictor.Predict(inside[:n], into[:])
}

// faster returns the implementations with less predicted time at a shape than chosen, and all of them if chosen is −1.
func (p *predicted) faster(chosen int, shape []int) []string {
	var times logSeconds
	p.predict(shape, &times)
	var names []string
	for i := range p.Surface.Implementations {
		if chosen < 0 || times[i] < times[chosen] {
			names = append(names, p.Surface.Implementations[i].Name)
		}
	}
	return names
}

// seconds returns the predicted time of an implementation of the surface at a shape.
func (p *predicted) seconds(shape []int, implementation int) float64 {
	var all logSeconds
	p.predict(shape, &all)
	return math.Exp(all[implementation])
}

// axis returns the place of an axis, −1 if there is none of that name.
func (p *predicted) axis(name string) int { return slices.Index(p.Surface.Axes, name) }

// basis says on how many shapes predictions are based, and how good they are.
func (p *predicted) basis() string {
	clause := " from " + countOfShapes(p.shapes())
	if held := &p.HeldOut; held.Shapes > 0 {
		clause += fmt.Sprintf(", with an expected loss of %.1f %% (at most %.1f %% at 95 %%, by %s held out)",
			100*max(0, held.Regret), 100*max(0, held.RegretUpper), countOfShapes(held.Shapes))
	}
	return clause
}

// countOfShapes writes a number of shapes.
func countOfShapes(n int) string {
	if n == 1 {
		return "1 shape"
	}
	return fmt.Sprintf("%d shapes", n)
}

// noteOf says that data in a placement lie elsewhere than the measured data, or returns "" if they do not.
func noteOf(measured, placement string) string {
	if placement != measured {
		return "; measured with data in " + measured + " memory"
	}
	return ""
}

// shapes returns the number of shapes to which the surface was fitted.
func (p *predicted) shapes() int { return len(p.Surface.Shapes) / len(p.Axes) }

// prediction returns the same as basis for programs.
func (p *predicted) prediction() *Prediction {
	held := &p.HeldOut
	return &Prediction{Shapes: p.shapes(), HeldOut: held.Shapes, Loss: held.Regret, LossUpper: held.RegretUpper}
}

// index returns the place of an implementation in the surface.
func (p *predicted) index(implementation string) int {
	return slices.IndexFunc(p.Surface.Implementations, func(i surface.Implementation) bool { return i.Name == implementation })
}

// beyond says which values of a shape are outside of what was measured, or returns "" if none is.
func (p *predicted) beyond(shape []int) string {
	var outside []string
	for i, a := range p.Axes {
		if shape[i] < a.From || shape[i] > a.To {
			outside = append(outside, fmt.Sprintf("%s is %d, measured from %d to %d", a.Name, shape[i], a.From, a.To))
		}
	}
	return strings.Join(outside, ", ")
}

// axisNames returns the names of the axes, in a list for a message.
func (p *predicted) axisNames() string { return strings.Join(p.Surface.Axes, ", ") }
