package plots

import (
	"image/color"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// If the margin of a winner is below narrow or veryNarrow, its colour is drawn with the opacity narrowLeft or faded.
const (
	narrow, veryNarrow = 0.15, 0.05
	narrowLeft, faded  = 0.55, 0.25
)

// afarLine is the height of the white lines across cells that are afar. Lines along pixels make small files.
const afarLine = 2 * pixel

// onPixel rounds a coordinate to the edge of a pixel. So boxes that meet there leave no seam.
func onPixel(v vg.Length) vg.Length { return vg.Length(int(v/pixel+0.5)) * pixel }

// cellColor returns the colour of a cell with a known winner.
func (f *mapFigure) cellColor(at cell) color.NRGBA {
	c := f.colors[at.winner]
	switch {
	case at.margin < veryNarrow:
		return onWhite(c, faded)
	case at.margin < narrow:
		return onWhite(c, narrowLeft)
	}
	return c
}

// edges returns the coordinates of the edges of cells from low to high.
func edges(low, high vg.Length, cells int) []vg.Length {
	all := make([]vg.Length, cells+1)
	for i := range all {
		all[i] = onPixel(low + (high-low)*vg.Length(i)/vg.Length(cells))
	}
	return all
}

// paintCells fills a panel with the colours of the winners, hatches unknown cells, draws white lines across cells that are afar,
// and draws the borders.
func (f *mapFigure) paintCells(c draw.Canvas, p *mapPanel, frame vg.Rectangle) {
	x, y := edges(frame.Min.X, frame.Max.X, mapColumns), edges(frame.Min.Y, frame.Max.Y, mapRows)
	for row := range mapRows {
		cells := &p.cells[row]
		for begin := 0; begin < mapColumns; {
			end := begin + 1
			if cells[begin].winner < 0 {
				hatchCell(c, begin, row, x, y)
				begin = end
				continue
			}
			fill := f.cellColor(cells[begin])
			for end < mapColumns && cells[end].winner >= 0 && f.cellColor(cells[end]) == fill {
				end++
			}
			fillBox(c, fill, x[begin], y[row], x[end], y[row+1])
			begin = end
		}
	}
	for row := 0; row < mapRows; row += 2 {
		for column, at := range p.cells[row] {
			if at.afar {
				fillBox(c, white, x[column], y[row], x[column+1], y[row]+afarLine)
			}
		}
	}
	paintBorders(c, p, x, y)
}

// paintBorders draws a line between neighbouring cells with different winners.
func paintBorders(c draw.Canvas, p *mapPanel, x, y []vg.Length) {
	const line = pixel
	differ := func(a, b cell) bool { return a.winner >= 0 && b.winner >= 0 && a.winner != b.winner }
	for row := range mapRows {
		for column := range mapColumns {
			here := p.cells[row][column]
			if column > 0 && differ(p.cells[row][column-1], here) {
				fillBox(c, ink, x[column], y[row], x[column]+line, y[row+1])
			}
			if row > 0 && differ(p.cells[row-1][column], here) {
				fillBox(c, ink, x[column], y[row], x[column+1], y[row]+line)
			}
		}
	}
}

// hatchCell draws the part of diagonal lines that lies in one cell.
func hatchCell(c draw.Canvas, column, row int, x, y []vg.Length) {
	if (column-row+mapRows)%4 == 0 {
		c.StrokeLine2(draw.LineStyle{Color: quiet, Width: 0.5}, x[column], y[row], x[column+1], y[row+1])
	}
}

// regionLabel names an implementation inside its largest region on a panel.
type regionLabel struct {
	text string
	box  vg.Rectangle
}

var regionStyle = textStyle(9, ink)

// regionLabels returns labels of the implementations whose region on a panel has room for their name. The labels avoid marks
// if possible.
func regionLabels(p *mapPanel, frame vg.Rectangle, names []string) []regionLabel {
	size := frame.Size()
	cellWidth, cellHeight := size.X/mapColumns, size.Y/mapRows
	marks := covered(p)
	var labels []regionLabel
	for i, name := range names {
		name = fit(regionStyle, name, size.X/2)
		wide, tall := regionStyle.Width(name)+6, vg.Length(13)
		columns, rows := int(wide/cellWidth)+1, int(tall/cellHeight)+1
		column, row, ok := roomiest(p, i, columns, rows, marks)
		if !ok {
			continue
		}
		left, bottom := frame.Min.X+vg.Length(column)*cellWidth, frame.Min.Y+vg.Length(row)*cellHeight
		labels = append(labels, regionLabel{name, vg.Rectangle{
			Min: vg.Point{X: onPixel(left), Y: onPixel(bottom)}, Max: vg.Point{X: onPixel(left + wide), Y: onPixel(bottom + tall)},
		}})
	}
	return labels
}

func (l regionLabel) paint(c draw.Canvas) {
	fillBox(c, withAlpha(color.NRGBA{R: 255, G: 255, B: 255}, 0.85), l.box.Min.X, l.box.Min.Y, l.box.Max.X, l.box.Max.Y)
	write(c, regionStyle, (l.box.Min.X+l.box.Max.X)/2, text.XCenter, middle(regionStyle, (l.box.Min.Y+l.box.Max.Y)/2), l.text)
}

// sums holds, for each corner of the grid, a count over all cells below and left of the corner. It gives the count in any
// box.
type sums [mapRows + 1][mapColumns + 1]int

func (s *sums) add(count func(row, column int) int) {
	for row := range mapRows {
		for column := range mapColumns {
			s[row+1][column+1] = s[row][column+1] + s[row+1][column] - s[row][column] + count(row, column)
		}
	}
}

// in returns the count in a box of cells. Parts of the box outside of the panel count nothing.
func (s *sums) in(column, row, columns, rows int) int {
	left, right := max(column, 0), min(column+columns, mapColumns)
	bottom, top := max(row, 0), min(row+rows, mapRows)
	return s[top][right] - s[top][left] - s[bottom][right] + s[bottom][left]
}

// covered returns the sums of the marks of a panel.
func covered(p *mapPanel) *sums {
	var marks [mapRows][mapColumns]int
	for _, list := range [][]markAt{p.dots, p.rings} {
		for _, m := range list {
			marks[min(int(m.v*mapRows), mapRows-1)][min(int(m.u*mapColumns), mapColumns-1)]++
		}
	}
	s := new(sums)
	s.add(func(row, column int) int { return marks[row][column] })
	return s
}

// roomiest returns the place of a box of cells inside an implementation's region. The box covers as few marks as possible.
// Of several such places, roomiest returns the one with most of the region around it.
func roomiest(p *mapPanel, winner, columns, rows int, marks *sums) (column, row int, ok bool) {
	own := new(sums)
	own.add(func(row, column int) int {
		if p.cells[row][column].winner == winner {
			return 1
		}
		return 0
	})
	least, most := 0, -1
	for r := 0; r+rows <= mapRows; r++ {
		for c := 0; c+columns <= mapColumns; c++ {
			if own.in(c, r, columns, rows) < columns*rows {
				continue
			}
			const reach = 8 // cells around the box
			hidden := marks.in(c-1, r-1, columns+2, rows+2)
			around := own.in(c-reach, r-reach, columns+2*reach, rows+2*reach)
			if !ok || hidden < least || hidden == least && around > most {
				column, row, ok, least, most = c, r, true, hidden, around
			}
		}
	}
	return column, row, ok
}
