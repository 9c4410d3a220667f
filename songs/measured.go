package songs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"crossover/calibration"
)

// measured is what the calibration measured of whole calls of a graph. A stage takes longer or shorter in a pipeline than alone:
// its input is in a cache that the stage before has filled, and other cores may sleep. So a forecast multiplies what is predicted
// of a stage alone by a factor: what the stage took in the pipeline, divided by what was predicted there.
//
// Between two measured lengths, the logarithm of the factor is interpolated. So is the logarithm of the time itself, which is no
// worse an estimate, and knows nothing of what the prediction is off by. Their mean counts. Beyond the measured lengths, the
// factor goes on from the nearest one with a quarter of its slope.
type measured struct {
	lengths []calibration.PipelineLength // with parts; none if nothing was measured
	at      float64                      // where the forecast is: see position
	perByte float64                      // seconds, of tensors that the processor derives, where they were not measured
}

// position returns where a length is among others: the mean logarithm of its elements.
func position(elements []int) (sum float64) {
	for _, n := range elements {
		sum += math.Log(float64(max(1, n)))
	}
	return sum / float64(len(elements))
}

// own returns what was measured of the pipeline itself, for a forecast with so many elements of inputs and outputs. Parts of
// implementations that have changed since are left out.
func (p *Pipeline) own(elements []int) measured {
	m := measured{at: position(elements), perByte: p.dispatcher.MoveSeconds()}
	of, _ := p.dispatcher.Pipeline(p.w.Name, p.names)
	for _, l := range of.Lengths {
		l.Parts = p.believed(&l)
		if len(l.Parts) > 0 && len(l.Elements) == len(elements) {
			m.lengths = append(m.lengths, l)
		}
	}
	return m
}

// measurements returns what was measured of the pipeline, or else of the one that it is within, for a forecast with inputs of so
// many elements.
func (p *Pipeline) measurements(elements []int) (measured, error) {
	all, err := p.Elements(elements...)
	if err != nil {
		return measured{}, err
	}
	m := p.own(all)
	if len(m.lengths) > 0 || p.within == nil {
		return m, nil
	}
	return p.within.measurements(p.within.inputs(elements))
}

// names returns the names of the stages.
func (g *Graph) names() (all []string) {
	for i := range g.Stages {
		all = append(all, g.Stages[i].Name)
	}
	return all
}

// reference is what the time of a part is compared with: what was predicted, or the bytes.
func reference(p *calibration.Part) float64 {
	if p.Implementation == "" {
		return float64(p.Bytes)
	}
	return p.PredictedSeconds
}

// stage returns what a stage takes, of which so much is predicted alone. For an implementation that was not measured, the factor
// is the mean of those that were on its side, on the processor or on a GPU; 1 if there are none.
func (m *measured) stage(stage string, all []cost, k int) float64 {
	alone := all[k].alone
	if s, known := m.of(alone, func(p *calibration.Part) bool { return p.Name == stage && p.Implementation == all[k].implementation }); known {
		return s
	}
	s, known := m.factor(func(p *calibration.Part) bool {
		return p.Name == stage && slices.ContainsFunc(all, func(c cost) bool { return c.implementation == p.Implementation })
	})
	if !known {
		return alone
	}
	return alone * s
}

// derived returns how long a derived tensor of so many bytes takes.
func (m *measured) derived(name string, bytes int) float64 {
	s, known := m.of(float64(bytes), func(p *calibration.Part) bool { return p.Name == name && p.Implementation == "" })
	if !known {
		return m.perByte * float64(bytes)
	}
	return s
}

// point is a logarithm at a place.
type point struct{ at, value float64 }

// slopeOfFactors is the part of a factor's slope that goes on beyond the measured lengths, and slopeOfTimes is that of a time's.
const (
	slopeOfFactors = 0.25
	slopeOfTimes   = 1
)

// points returns the logarithms of what parts took over something, by length. Those of one length count by their mean.
func (m *measured) points(which func(*calibration.Part) bool, over func(*calibration.Part) float64) (all []point) {
	for i := range m.lengths {
		l, sum, n := &m.lengths[i], 0.0, 0
		for k := range l.Parts {
			if p := &l.Parts[k]; which(p) {
				sum, n = sum+math.Log(p.MedianSeconds/over(p)), n+1
			}
		}
		if n > 0 {
			all = append(all, point{position(l.Elements), sum / float64(n)})
		}
	}
	return all
}

// factor returns the factor of the parts that are asked for.
func (m *measured) factor(which func(*calibration.Part) bool) (factor float64, known bool) {
	all := m.points(which, reference)
	if len(all) == 0 {
		return 0, false
	}
	value, _ := between(all, m.at, slopeOfFactors)
	return math.Exp(value), true
}

// of returns what the parts that are asked for take, by what their time is compared with.
func (m *measured) of(reference float64, which func(*calibration.Part) bool) (seconds float64, known bool) {
	factor, known := m.factor(which)
	if !known {
		return 0, false
	}
	times := m.points(which, func(*calibration.Part) float64 { return 1 })
	if value, inside := between(times, m.at, slopeOfTimes); inside {
		return math.Sqrt(factor * reference * math.Exp(value)), true
	}
	return factor * reference, true
}

// besides returns what a call takes outside of its parts. A length whose parts cover the call says nothing. Beyond the measured lengths,
// a shorter call takes no more than the nearest one, and a longer one no less. What lies outside is a small difference of long times,
// which may fall from length to length by chance.
func (m *measured) besides() float64 {
	var all []point
	for i := range m.lengths {
		if s := m.lengths[i].BetweenSeconds; s > 0 {
			all = append(all, point{position(m.lengths[i].Elements), math.Log(s)})
		}
	}
	if len(all) == 0 {
		return 0
	}
	value, inside := between(all, m.at, slopeOfTimes)
	if !inside {
		nearest, _ := between(all, m.at, 0)
		if m.at < all[0].at { // they are sorted now
			value = min(value, nearest)
		} else {
			value = max(value, nearest)
		}
	}
	return math.Exp(value)
}

// between interpolates linearly between points, of which there is at least one, and says whether the place is inside. Beyond the
// points, a part of the slope of the last two goes on. It sorts the points.
func between(all []point, at, slope float64) (value float64, inside bool) {
	slices.SortFunc(all, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	last := len(all) - 1
	inside = all[0].at <= at && at <= all[last].at
	if last == 0 || all[0].at == all[last].at {
		return all[0].value, inside
	}
	i := 1
	for i < last && all[i].at < at {
		i++
	}
	a, b := all[i-1], all[i]
	if !(a.at < b.at) {
		return a.value, inside // two lengths at one place
	}
	rises := (b.value - a.value) / (b.at - a.at)
	switch {
	case inside:
		return a.value + rises*(at-a.at), true
	case at < a.at:
		return a.value + slope*rises*(at-a.at), false
	}
	return b.value + slope*rises*(at-b.at), false
}

// Parts returns the parts of calls by a route that names an implementation for each stage, with inputs of so many elements, after
// so many calls, and the seconds that they cover. took has the seconds of a call by the names of its spans: see
// [Pipeline.Record]. A stage in a list of kernels gets that part of the list's time that it is predicted to have. A stage of which
// the calibration predicts nothing is no part. Parts fails if the graph does not take such inputs.
func (p *Pipeline) Parts(r Route, took map[string]float64, calls int, elements ...int) (all []calibration.Part, covered float64, err error) {
	l, err := p.arranged(elements, calls)
	if err != nil {
		return nil, 0, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	c := newCosts(p.backends, p.dispatcher, l, p.parts, &measured{})
	t := c.take(r)
	for _, g := range c.groups(t.onGPU) {
		stages := p.w.order[g.first:g.end]
		var names []string
		for _, i := range stages {
			names = append(names, p.names[i])
		}
		predicted, seconds := c.group(&g, t), took[strings.Join(names, " + ")]
		if seconds <= 0 || slices.ContainsFunc(stages, func(i int) bool { return t.alone[i] <= 0 }) {
			continue
		}
		covered += seconds
		for _, i := range stages {
			all = append(all, calibration.Part{Name: p.names[i], Implementation: r[i], PredictedSeconds: t.alone[i],
				MedianSeconds: t.alone[i] * seconds / predicted})
		}
	}
	for t, of := range p.w.tensors {
		if seconds := took[of.name]; of.derived >= 0 && p.w.Derived[of.derived].How != Last && seconds > 0 {
			covered += seconds
			all = append(all, calibration.Part{Name: of.name, MedianSeconds: seconds, Bytes: 4 * l.words[t]})
		}
	}
	return all, covered, nil
}

// ForecastBy predicts the seconds of a call by a route that names an implementation for each stage, with inputs of so many
// elements, after so many calls, by what was measured at the given lengths alone. A stage without a prediction counts 0. ForecastBy
// fails if the graph does not take such inputs.
func (p *Pipeline) ForecastBy(lengths []calibration.PipelineLength, r Route, calls int, elements ...int) (float64, error) {
	l, err := p.arranged(elements, calls)
	if err != nil {
		return 0, fmt.Errorf("songs: %s: %w", p.w.Name, err)
	}
	all, err := p.Elements(elements...)
	if err != nil {
		return 0, err
	}
	c := newCosts(p.backends, p.dispatcher, l, p.parts, &measured{lengths, position(all), p.dispatcher.MoveSeconds()})
	return c.seconds(r), nil
}
