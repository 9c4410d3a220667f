package songs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"crossover/calibration"
	"crossover/dispatch"
)

// measured is what the calibration measured of whole calls of a graph. A stage takes longer or shorter in a pipeline than alone:
// its input is in a cache that the stage before has filled, and other cores may sleep. So a forecast multiplies what is predicted
// of a stage alone by a factor: what the stage took in the pipeline, divided by what was predicted there. Between the measured
// lengths the logarithm of the factor is interpolated. Beyond them, that of the nearest length counts.
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

// measurements returns what was measured of a graph, for a forecast with so many elements of inputs and outputs.
func measurements(d *dispatch.Dispatcher, w *wiring, elements []int) measured {
	m := measured{at: position(elements), perByte: d.MoveSeconds()}
	if p, found := d.Pipeline(w.Name, w.names()); found {
		m.lengths = slices.DeleteFunc(slices.Clone(p.Lengths), func(l calibration.PipelineLength) bool {
			return len(l.Parts) == 0 || len(l.Elements) != len(elements)
		})
	}
	return m
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

// factor returns what the prediction of a stage is multiplied by. For an implementation that was not measured, it is the mean of
// those that were, on either side; 1 if there are none.
func (m *measured) factor(stage, implementation string) float64 {
	if f, known := m.of(func(p *calibration.Part) bool { return p.Name == stage && p.Implementation == implementation }); known {
		return f
	}
	f, known := m.of(func(p *calibration.Part) bool { return p.Name == stage && p.Implementation != "" })
	if !known {
		return 1
	}
	return f
}

// derived returns how long a derived tensor of so many bytes takes.
func (m *measured) derived(name string, bytes int) float64 {
	perByte, known := m.of(func(p *calibration.Part) bool { return p.Name == name && p.Implementation == "" })
	if !known {
		perByte = m.perByte
	}
	return perByte * float64(bytes)
}

// point is a logarithm at a place.
type point struct{ at, value float64 }

// of returns the factor of the parts that are asked for. Those of one length count by the mean of their logarithms.
func (m *measured) of(which func(*calibration.Part) bool) (factor float64, known bool) {
	var all []point
	for i := range m.lengths {
		l, sum, n := &m.lengths[i], 0.0, 0
		for k := range l.Parts {
			if p := &l.Parts[k]; which(p) {
				sum, n = sum+math.Log(p.MedianSeconds/reference(p)), n+1
			}
		}
		if n > 0 {
			all = append(all, point{position(l.Elements), sum / float64(n)})
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return math.Exp(between(all, m.at)), true
}

// besides returns what a call takes outside of its parts.
func (m *measured) besides() float64 {
	var all []point
	for i := range m.lengths {
		all = append(all, point{position(m.lengths[i].Elements), m.lengths[i].BetweenSeconds})
	}
	if len(all) == 0 {
		return 0
	}
	return between(all, m.at)
}

// between interpolates linearly between points, of which there is at least one. It sorts them.
func between(all []point, at float64) float64 {
	slices.SortFunc(all, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	i := slices.IndexFunc(all, func(p point) bool { return p.at >= at })
	switch {
	case i < 0:
		return all[len(all)-1].value
	case i == 0:
		return all[0].value
	}
	a, b := all[i-1], all[i]
	return a.value + (b.value-a.value)*(at-a.at)/(b.at-a.at)
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
	c := newCosts(p.backends, p.dispatcher, l, &measured{})
	t := c.take(r)
	for _, g := range p.w.group(t.onGPU) {
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
	c := newCosts(p.backends, p.dispatcher, l, &measured{lengths, position(all), p.dispatcher.MoveSeconds()})
	return c.seconds(r), nil
}
