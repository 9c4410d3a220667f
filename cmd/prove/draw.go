package main

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"

	"crossover/cmd/internal/command"
	"crossover/lab/model"
	"crossover/lab/proof"
	"crossover/plots"
)

// draw draws the charts of the tables coverage and regret.
func draw(ctx context.Context, dir string, runs int, seed uint64) error {
	if err := command.Writable(dir); err != nil { // checked before any time is spent
		return err
	}
	coverage, err := proof.StudyCoverage(ctx, model.Scenarios(), runs, seed)
	if err != nil {
		return err
	}
	regret, err := proof.StudyRegret(ctx, model.Scenarios(), runs, seed)
	if err != nil {
		return err
	}
	if err := drawCoverage(filepath.Join(dir, "coverage.png"), coverage, runs); err != nil {
		return err
	}
	return drawRegret(filepath.Join(dir, "regret.png"), regret, runs)
}

// The colours of Okabe and Ito, without yellow, which is too light for a line on white.
var colours = []color.Color{
	color.NRGBA{0x00, 0x72, 0xb2, 0xff}, color.NRGBA{0xd5, 0x5e, 0x00, 0xff}, color.NRGBA{0x00, 0x9e, 0x73, 0xff},
	color.NRGBA{0xcc, 0x79, 0xa7, 0xff}, color.NRGBA{0xe6, 0x9f, 0x00, 0xff}, color.NRGBA{0x56, 0xb4, 0xe9, 0xff},
	color.NRGBA{0x00, 0x00, 0x00, 0xff},
}

// points are values with the standard error of each.
type points struct {
	plotter.XYs
	plotter.YErrors
}

// drawCoverage draws a point for each scenario, with two standard errors on each side, and the band from 93 to 97 %.
func drawCoverage(path string, rows []proof.Coverage, runs int) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("How often the 95 %% interval holds the true crossover\n(modelled machines, %d calibrations each; bars: two standard errors)", runs)
	p.Y.Label.Text = "intervals that hold the truth, %"
	p.Y.Min, p.Y.Max = 85, 100
	var data points
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Scenario
		data.XYs = append(data.XYs, plotter.XY{X: float64(i), Y: 100 * r.Holds.Value()})
		e := 200 * r.Holds.Error()
		data.YErrors = append(data.YErrors, struct{ Low, High float64 }{e, e})
	}
	band, err := plotter.NewPolygon(plotter.XYs{{X: -0.5, Y: 93}, {X: float64(len(rows)) - 0.5, Y: 93}, {X: float64(len(rows)) - 0.5, Y: 97}, {X: -0.5, Y: 97}})
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = color.NRGBA{0x00, 0x9e, 0x73, 0x26}, 0
	dots, err := plotter.NewScatter(data.XYs)
	if err != nil {
		return err
	}
	dots.GlyphStyle.Color, dots.GlyphStyle.Radius, dots.GlyphStyle.Shape = colours[0], vg.Points(4), plotutil.DefaultGlyphShapes[3]
	bars, err := plotter.NewYErrorBars(data)
	if err != nil {
		return err
	}
	bars.Color = colours[0]
	p.Add(band, bars, dots)
	p.NominalX(names...)
	return save(p, 4*vg.Inch, path)
}

// drawRegret draws the regret of each scenario over the blocks that each budget sufficed for. Both axes are logarithmic.
func drawRegret(path string, rows []proof.Regret, runs int) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("What the choices cost at sizes nobody measured\n(modelled machines, median of %d calibrations; a floor of 0.001 %%)", runs)
	p.X.Label.Text, p.Y.Label.Text = "blocks measured", "regret, %"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.XOffs = true, -vg.Points(12)
	const floor = 0.001
	series := 0
	for from := 0; from < len(rows); {
		to := from
		var line plotter.XYs
		for ; to < len(rows) && rows[to].Scenario == rows[from].Scenario; to++ {
			if r := rows[to]; r.Blocks > 0 && r.Mean < 1e3 {
				line = append(line, plotter.XY{X: float64(r.Blocks), Y: max(floor, 100*r.Mean)})
			}
		}
		if len(line) > 0 {
			l, dots, err := plotter.NewLinePoints(line)
			if err != nil {
				return err
			}
			l.Color, l.Width, l.Dashes = colours[series%len(colours)], vg.Points(1.5), plotutil.Dashes(series)
			dots.Color, dots.Shape = l.Color, plotutil.Shape(series)
			p.Add(l, dots)
			p.Legend.Add(rows[from].Scenario, l, dots)
		}
		series++
		from = to
	}
	goal := plotter.NewFunction(func(float64) float64 { return 100 * proof.Goal })
	goal.Color, goal.Dashes = color.Gray{0x80}, []vg.Length{vg.Points(2), vg.Points(2)}
	p.Add(goal)
	p.Legend.Add("2 %", goal)
	return save(p, 5*vg.Inch, path)
}

// save writes a chart to a PNG file.
func save(p *plot.Plot, height vg.Length, path string) error {
	return command.Replace(path, func(w io.Writer) error {
		_, err := plots.NewChart(8*vg.Inch, height, p.Draw).WriteTo(w)
		return err
	})
}
