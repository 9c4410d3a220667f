package plots

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"crossover/calibration"
)

// The number of cells of a panel of a map.
const (
	mapColumns = 96
	mapRows    = 64
)

// multiples is the greatest number of panels for values of a third axis.
const multiples = 3

// cell is a shape on a map. winner is the index of the fastest implementation, or -1 if it is unknown. margin is the ratio
// by which the next one takes longer. A cell that is afar has no measured shape near it on its panel.
type cell struct {
	winner int
	margin float64
	afar   bool
}

// mapPanel is the part of a map for one value of the third axis, or for one class of lengths.
type mapPanel struct {
	title string
	base  []int  // a value for each axis; the panel varies those that it shows
	class *class // of the lengths on the classed axis; nil if there is none
	cells [mapRows][mapColumns]cell
	dots  []markAt
	rings []markAt
}

// markAt is a measured shape on a panel. u and v are shares of the logarithmic ranges of the axes, from 0 to 1.
type markAt struct {
	u, v float64
	loss float64 // regret, if the shape was held out
}

// mapPanels returns the panels of an operation's map, each with its cells and its shapes.
func (s *surveyed) mapPanels(d directions) []mapPanel {
	base := make([]int, len(s.Axes))
	for axis := range base {
		base[axis] = s.usual(axis, 1)[0]
	}
	var panels []mapPanel
	switch {
	case d.classed >= 0:
		for k := range classes {
			panels = append(panels, mapPanel{title: oneLine(s.Axes[d.classed].Name) + ": " + classes[k].name, base: base, class: &classes[k]})
		}
	case d.third >= 0:
		for _, value := range s.usual(d.third, multiples) {
			mine := slices.Clone(base)
			mine[d.third] = value
			panels = append(panels, mapPanel{title: fmt.Sprintf("%s = %s", oneLine(s.Axes[d.third].Name), grouped(value)), base: mine})
		}
	default:
		panels = []mapPanel{{base: base}}
	}
	for _, shape := range s.fitted {
		p := &panels[d.panelOf(panels, shape)]
		p.dots = append(p.dots, s.mark(d, shape, 0))
	}
	for k, shape := range s.held {
		p := &panels[d.panelOf(panels, shape)]
		p.rings = append(p.rings, s.mark(d, shape, s.HeldOut.Losses[k]))
	}
	for k := range panels {
		s.fill(panels, k, d)
	}
	return panels
}

// mark returns the mark of a shape.
func (s *surveyed) mark(d directions, shape []int, loss float64) markAt {
	return markAt{share(s.Axes[d.x], shape[d.x]), share(s.Axes[d.y], shape[d.y]), loss}
}

// panelOf returns the index of the panel that shows a shape: the panel of the shape's class, or of the nearest value of the
// third axis.
func (d directions) panelOf(panels []mapPanel, shape []int) int {
	if d.classed >= 0 {
		return slices.IndexFunc(panels, func(p mapPanel) bool { return p.class.has(clampSize(shape[d.classed])) })
	}
	nearest, least := 0, math.Inf(1)
	for k := range panels {
		if d.third < 0 {
			break
		}
		far := math.Abs(math.Log(float64(panels[k].base[d.third]) / float64(clampSize(shape[d.third]))))
		if far < least {
			nearest, least = k, far
		}
	}
	return nearest
}

// fill predicts the cells of the k-th panel. Cells far from the measured shapes of all panels stay unknown.
func (s *surveyed) fill(all []mapPanel, k int, d directions) {
	p := &all[k]
	var wait sync.WaitGroup
	for row := range mapRows {
		wait.Go(func() {
			shape := slices.Clone(p.base)
			sum, predicted := make([]float64, len(s.Surface.Implementations)), make([]float64, len(s.Surface.Implementations))
			for column := range mapColumns {
				u, v := (float64(column)+0.5)/mapColumns, (float64(row)+0.5)/mapRows
				at := &p.cells[row][column]
				at.winner = -1
				if !nearMeasured(all, u, v, knownWithin) {
					continue
				}
				at.afar = !nearMeasured(all[k:k+1], u, v, nearWithin)
				shape[d.x], shape[d.y] = logBetween(s.Axes[d.x], u), logBetween(s.Axes[d.y], v)
				lengths := p.lengths(s.Axes, d, shape)
				clear(sum)
				for _, n := range lengths {
					if d.classed >= 0 {
						shape[d.classed] = n
					}
					s.predictor.Predict(shape, predicted)
					for i, v := range predicted {
						sum[i] += v / float64(len(lengths))
					}
				}
				at.winner, at.margin = best(sum)
			}
		})
	}
	wait.Wait()
}

// lengths returns the values of the classed axis that a cell stands for. Without a classed axis it returns one value, which
// the caller ignores.
func (p *mapPanel) lengths(axes []calibration.Axis, d directions, shape []int) []int {
	if d.classed < 0 {
		return []int{0}
	}
	from, to := axisRange(axes[d.classed])
	return p.class.near(float64(shape[d.classed]), from, to)
}

// knownWithin is the greatest distance of a known cell from a measured shape, and nearWithin that of a cell that is not afar, as
// shares of the ranges of the axes.
const (
	knownWithin = 0.25
	nearWithin  = 0.12
)

// nearMeasured reports whether a shape within a distance of a place on the map was measured, on any of the panels.
func nearMeasured(panels []mapPanel, u, v, within float64) bool {
	for k := range panels {
		for _, marks := range [][]markAt{panels[k].dots, panels[k].rings} {
			for _, m := range marks {
				if (m.u-u)*(m.u-u)+(m.v-v)*(m.v-v) <= within*within {
					return true
				}
			}
		}
	}
	return false
}

// share returns the place of a value in the logarithmic range of an axis, from 0 to 1.
func share(a calibration.Axis, value int) float64 {
	from, to := axisRange(a)
	return min(max(math.Log(float64(clampSize(value))/from)/math.Log(to/from), 0), 1)
}
