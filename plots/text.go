package plots

import (
	"image/color"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bold is golang.org/x/image/font.WeightBold.
const bold = 3

// textStyle is Liberation Sans, which gonum.org/v1/plot contains. So charts do not depend on the fonts of the system.
func textStyle(size vg.Length, c color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color:   c,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: plot.DefaultTextHandler,
	}
}

func boldStyle(size vg.Length, c color.Color) draw.TextStyle {
	s := textStyle(size, c)
	s.Font.Weight = bold
	return s
}

// write draws one line of text with its baseline at y. align says which part of the text is at x.
func write(c draw.Canvas, sty draw.TextStyle, x vg.Length, align text.XAlignment, y vg.Length, txt string) {
	sty.XAlign = align
	// The handler takes the bottom of a box. The box's top is one ascent above the baseline, and its height is the font
	// size.
	c.FillText(sty, vg.Point{X: x, Y: y + sty.FontExtents().Ascent - sty.Font.Size}, txt)
}

// middle returns the baseline of text whose capitals are centred on y.
func middle(sty draw.TextStyle, y vg.Length) vg.Length { return y - 0.36*sty.Font.Size }

// oneLine returns s as valid UTF-8 without control characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// fit shortens text to a width. Text that was cut ends with an ellipsis.
func fit(sty draw.TextStyle, txt string, width vg.Length) string {
	return shorten(sty, txt, width, func(runes []rune, n int) string {
		return strings.TrimRight(string(runes[:n]), " ") + "…"
	})
}

// fitEnds shortens text to a width and puts an ellipsis in the middle. Names of cases often differ only at their ends, which
// have the placement.
func fitEnds(sty draw.TextStyle, txt string, width vg.Length) string {
	return shorten(sty, txt, width, func(runes []rune, n int) string {
		return string(runes[:n-n/2]) + "…" + string(runes[len(runes)-n/2:])
	})
}

// shorten returns the text if it fits into a width. Otherwise it returns keep for the greatest number of characters that
// fits.
func shorten(sty draw.TextStyle, txt string, width vg.Length, keep func(runes []rune, n int) string) string {
	const longest = 1000 // runes; more never fit, and measuring them takes time
	runes := []rune(oneLine(txt))
	if len(runes) <= longest && sty.Width(string(runes)) <= width {
		return string(runes)
	}
	low, high := 0, min(len(runes), longest)
	for low < high {
		if mid := (low + high + 1) / 2; sty.Width(keep(runes, mid)) <= width {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return keep(runes, low)
}

// flow joins parts with a separator into lines of at most width. Only a part that is wider than a line is cut. If the parts
// do not fit into most lines, the last line ends with an ellipsis.
func flow(sty draw.TextStyle, parts []string, separator string, width vg.Length, most int) []string {
	var lines []string
	line := ""
	for _, part := range parts {
		part = oneLine(part)
		switch longer := line + separator + part; {
		case part == "":
		case line == "":
			line = fit(sty, part, width)
		case sty.Width(longer) <= width || len(lines) == most-1:
			line = fit(sty, longer, width)
		default:
			lines = append(lines, line)
			line = fit(sty, part, width)
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
