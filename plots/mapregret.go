package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The range of regrets on the chart of the distribution. Regrets outside lie on its edges.
const (
	leastRegret    = 1e-3
	greatestRegret = 1e2
)

// regretFigure is the distribution of the regret at held-out shapes: for each regret, the share of shapes with at most that
// regret.
type regretFigure struct {
	losses []float64 // in ascending order
	panel  *plot.Plot
	frame  vg.Rectangle
}

// newRegretFigure returns the distribution, or nil if there are no losses.
func newRegretFigure(losses []float64) *regretFigure {
	f := &regretFigure{}
	for _, loss := range losses {
		if !math.IsNaN(loss) {
			f.losses = append(f.losses, min(max(loss, leastRegret), greatestRegret))
		}
	}
	if len(f.losses) == 0 {
		return nil
	}
	slices.Sort(f.losses)
	const least = 0.2 // the axis goes at least that far
	f.panel = newPanel(leastRegret, 1.15*max(least, f.losses[len(f.losses)-1]), 0, 1)
	f.panel.Y.Scale = plot.LinearScale{}
	f.panel.Add(axes{x: regretTicks(f.panel.X.Max), y: []plot.Tick{{Value: 0, Label: "0"}, {Value: 0.5, Label: "50\u202f%"}, {Value: 1, Label: "100\u202f%"}}})
	return f
}

// regretTicks marks regrets: 0.1 % or less, 0.2 %, 0.5 %, 1 %.
func regretTicks(to float64) []plot.Tick {
	ticks := []plot.Tick{{Value: leastRegret, Label: "0.1\u202f% or less"}}
	for e := -3; e <= 2; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := power10(m, e)
			if v <= leastRegret || v > to {
				continue
			}
			tick := plot.Tick{Value: v, Label: percent(v)}
			if v >= 9.995 {
				tick.Label = grouped(int(math.Round(100*v))) + "\u202f%"
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// paint draws the distribution.
func (f *regretFigure) paint(c draw.Canvas) {
	inner := draw.Canvas{Canvas: c, Rectangle: f.frame}
	x, y := f.panel.Transforms(&inner)
	fillBox(c, withAlpha(bluishGreen, 0.22), f.frame.Min.X, f.frame.Min.Y, x(lossTold), f.frame.Max.Y)
	f.panel.Draw(inner)
	steps := []vg.Point{{X: f.frame.Min.X, Y: f.frame.Min.Y}}
	share := func(k int) vg.Length { return y(float64(k) / float64(len(f.losses))) }
	for k, loss := range f.losses {
		steps = append(steps, vg.Point{X: x(loss), Y: share(k)}, vg.Point{X: x(loss), Y: share(k + 1)})
	}
	steps = append(steps, vg.Point{X: f.frame.Max.X, Y: f.frame.Max.Y})
	c.StrokeLines(draw.LineStyle{Color: ink, Width: 1}, steps)
	for k, loss := range f.losses {
		drawHeldOut(c, vg.Point{X: x(loss), Y: share(k + 1)}, loss > lossTold, 1.7)
	}
	middle := (f.frame.Min.X + f.frame.Max.X) / 2
	write(c, axisStyle, middle, text.XCenter, f.frame.Min.Y-25, "regret at a held-out shape")
	write(c, axisStyle, margin, text.XLeft, f.frame.Max.Y+9, "held-out shapes with at most that regret")
}
