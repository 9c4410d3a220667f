package plots

import (
	"bytes"
	"image"
	"image/color"
	"slices"
	"testing"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// TestAWordHasTheSamePixelsEverywhere draws a word at places between pixels, alone and behind others.
func TestAWordHasTheSamePixelsEverywhere(t *testing.T) {
	const word = "blocks"
	sty := textStyle(8, ink)
	drawn := func(before string, x, y vg.Length) [][]byte {
		canvas := vgimg.NewWith(vgimg.UseWH(200, 40), vgimg.UseDPI(resolution))
		chart := &Chart{200, 40, func(c draw.Canvas) { write(c, sty, x, text.XLeft, y, before+word) }}
		chart.Draw(&colorCanvas{canvas, map[color.RGBA]bool{}})
		return inked(canvas.Image(), int((x+sty.Width(before)-1)/pixel))
	}
	want := drawn("", 10, 10)
	if len(want) < 5 {
		t.Fatalf("the word has %d rows of ink", len(want))
	}
	for _, before := range []string{"", "in 6 ", "64: 1 "} {
		for _, shift := range []vg.Length{0, 0.1, 0.21, 0.43, 0.55} {
			if got := drawn(before, 10+shift, 10+shift); !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%q at %v behind %q has other pixels", word, 10+shift, before)
			}
		}
	}
}

// inked returns the grey pixels of an image behind a column, without white rows and columns around them.
func inked(img image.Image, column int) (rows [][]byte) {
	grey := func(x, y int) byte { return color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y }
	var of image.Rectangle
	for y := range img.Bounds().Dy() {
		for x := column; x < img.Bounds().Dx(); x++ {
			if grey(x, y) < 255 {
				of = of.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	for y := of.Min.Y; y < of.Max.Y; y++ {
		var row []byte
		for x := of.Min.X; x < of.Max.X; x++ {
			row = append(row, grey(x, y))
		}
		rows = append(rows, row)
	}
	return rows
}
