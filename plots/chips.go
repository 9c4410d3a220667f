package plots

import (
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chip is a phrase with its place: a square in the colour of its implementation, and the words beside the square.
type chip struct {
	phrase
	x    vg.Length // left edge of the square, from the left edge of the text
	line int
}

// The size of a chip's square, the gap behind the square, and the gap between two chips, as parts of the font size.
const (
	chipSquare = 0.78
	chipGap    = 0.4
	chipApart  = 1.4
)

// flowChips sets phrases one after the other into lines of a width. There are at most most lines. flowChips returns the
// chips and the number of lines. An ellipsis replaces phrases that do not fit.
func flowChips(sty draw.TextStyle, phrases []phrase, width vg.Length, most int) ([]chip, int) {
	size := sty.Font.Size
	ellipsis := 2 * size
	var chips []chip
	x, line := vg.Length(0), 0
	for i, p := range phrases {
		indent := vg.Length(0)
		if p.implementation != "" {
			indent = (chipSquare + chipGap) * size
		}
		p.text = fit(sty, p.text, width-ellipsis-indent)
		wide := indent + sty.Width(p.text)
		room := width
		if line == most-1 && i < len(phrases)-1 {
			room -= ellipsis
		}
		if x > 0 && x+wide > room {
			if line == most-1 {
				chips = append(chips, chip{phrase{"", "…"}, x, line})
				break
			}
			x, line = 0, line+1
		}
		chips = append(chips, chip{p, x, line})
		x += wide + chipApart*size
	}
	return chips, line + 1
}

// drawChips draws chips. The first baseline is at y, and each further one is a pitch lower.
func drawChips(c draw.Canvas, sty draw.TextStyle, chips []chip, styles map[string]style, x, y, pitch vg.Length) {
	size := sty.Font.Size
	for _, chip := range chips {
		left, baseline := x+chip.x, y-vg.Length(chip.line)*pitch
		if chip.implementation != "" {
			fillBox(c, styles[chip.implementation].color, left, baseline-0.04*size, left+chipSquare*size, baseline+(chipSquare-0.04)*size)
			left += (chipSquare + chipGap) * size
		}
		write(c, sty, left, text.XLeft, baseline, chip.text)
	}
}
