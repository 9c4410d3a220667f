package plots

import (
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
)

// Doubts are drawn as thin bars below the strip, in the colour of the implementation that may be faster. The bar is hatched
// if that depends on the state of the machine. If the two are tied, there are two lines, like an equals sign.
const (
	doubtHeight = 5
	doubtLeast  = 14 // least width, in a span that is as wide
)

// doubt is a part of a span in which another implementation may be faster.
type doubt struct {
	from, to       float64
	implementation string
	tie            bool
}

// doubtsOf returns the doubts of a segment that can be drawn.
func doubtsOf(s *calibration.Segment) []doubt {
	var all []doubt
	for _, d := range s.Doubts {
		if drawableSize(d.From) && drawableSize(d.To) && d.From <= d.To {
			all = append(all, doubt{float64(d.From), float64(d.To), d.Implementation, d.Tie})
		}
	}
	return all
}

// drawDoubt draws the mark of a doubt into a box.
func drawDoubt(c draw.Canvas, clr color.NRGBA, tie bool, x0, y0, x1, y1 vg.Length) {
	if tie {
		third := (y1 - y0) / 3
		fillBox(c, clr, x0, y0, x1, y0+third)
		fillBox(c, clr, x0, y1-third, x1, y1)
		return
	}
	fillBox(c, onWhite(clr, 0.25), x0, y0, x1, y1)
	hatch(c, clr, x0, y0, x1, y1)
}

// hatch fills a box with slanted lines that end at its edges.
func hatch(c draw.Canvas, clr color.Color, x0, y0, x1, y1 vg.Length) {
	const pitch, thick = 4, 1.8
	slant := y1 - y0 // 45 degrees
	for x := x0 - slant; x < x1; x += pitch {
		// A parallelogram, without its parts outside of the box.
		corners := []vg.Point{{X: x, Y: y0}, {X: x + thick, Y: y0}, {X: x + thick + slant, Y: y1}, {X: x + slant, Y: y1}}
		if corners = cutBeside(corners, x0, x1); len(corners) > 2 {
			c.FillPolygon(clr, corners)
		}
	}
}

// cutBeside returns the part of a convex polygon between two X coordinates.
func cutBeside(corners []vg.Point, left, right vg.Length) []vg.Point {
	for _, side := range []struct{ sign, edge vg.Length }{{1, left}, {-1, -right}} {
		var kept []vg.Point
		for i, to := range corners {
			from := corners[(i+len(corners)-1)%len(corners)]
			a, b := side.sign*from.X-side.edge, side.sign*to.X-side.edge // inside if not negative
			if (a < 0) != (b < 0) {
				kept = append(kept, from.Add(to.Sub(from).Scale(a/(a-b))))
			}
			if b >= 0 {
				kept = append(kept, to)
			}
		}
		corners = kept
	}
	return corners
}

// doubtKey explains the doubts of spans. It has one entry for doubts that depend on the state of the machine, and one for
// ties.
func doubtKey(spans []span, styles map[string]style) []keyEntry {
	var entries []keyEntry
	for _, kind := range []struct {
		tie   bool
		words string
	}{{false, " may be faster there: it depends on the state of the machine"}, {true, " is as fast there: a tie"}} {
		var names []string
		for _, s := range spans {
			for _, d := range s.doubts {
				if d.tie == kind.tie && !slices.Contains(names, d.implementation) {
					names = append(names, d.implementation)
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		clr := styles[names[0]].color
		entries = append(entries, keyEntry{strings.Join(names, " or ") + kind.words, 16, func(c draw.Canvas, left, mid vg.Length) {
			drawDoubt(c, clr, kind.tie, left, mid-doubtHeight/2, left+16, mid+doubtHeight/2)
		}})
	}
	return entries
}
