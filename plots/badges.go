package plots

import (
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var tagStyle = boldStyle(9, readableOn(vermillion))

// tagWidth returns the width of a drawn tag.
func tagWidth(tag string) vg.Length { return tagStyle.Width(tag) + 10 }

// drawTag draws a word that must not be overlooked, on a warm ground, with its right end at right.
func drawTag(c draw.Canvas, right, baseline vg.Length, tag string) {
	fillBox(c, vermillion, right-tagWidth(tag), baseline-4, right, baseline+11)
	write(c, tagStyle, right-5, text.XRight, baseline, tag)
}

// drawWatermark writes SIMULATED across the chart, so that every part of it says that it is no measurement.
func drawWatermark(c draw.Canvas) {
	const word = "SIMULATED"
	size := c.Max.Sub(c.Min)
	sty := boldStyle(100, withAlpha(vermillion, 0.16))
	sty.Font.Size *= 0.72 * vg.Length(math.Hypot(float64(size.X), float64(size.Y))) / sty.Width(word)
	sty.Rotation = math.Atan2(float64(size.Y), float64(size.X))
	sty.XAlign, sty.YAlign = text.XCenter, text.YCenter
	c.FillText(sty, c.Center(), word)
}
