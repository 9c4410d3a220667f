package plots

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"io"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// resolution is the number of dots an inch: two pixels a point, so that a chart stays sharp on dense screens.
const resolution = 144

// Chart is a drawing that is laid out and ready to be rendered.
type Chart struct {
	width, height vg.Length
	paint         func(draw.Canvas)
}

// Size returns the width and height of the chart. One point becomes two pixels.
func (c *Chart) Size() (width, height vg.Length) { return c.width, c.height }

// Draw draws the chart with its lower left corner at the origin of a canvas.
func (c *Chart) Draw(canvas vg.Canvas) { c.paint(draw.NewCanvas(canvas, c.width, c.height)) }

// WriteTo writes the chart as a PNG image of 256 colours.
func (c *Chart) WriteTo(w io.Writer) (int64, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(resolution))
	c.Draw(canvas)
	counter := &countingWriter{w: w}
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	err := encoder.Encode(counter, reduce(canvas.Image()))
	return counter.n, err
}

// reduce returns the image in 256 colours: those that charts are drawn with, those blended with white in a few steps,
// and the most frequent others. Little but blends along edges is lost, and the file is a third as large.
func reduce(img image.Image) *image.Paletted {
	bounds := img.Bounds()
	counts := map[color.RGBA]int{}
	last, alike := rgba(img, bounds.Min.X, bounds.Min.Y), 0 // most pixels have the colour of the one before, and maps are slow
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := rgba(img, x, y)
			if c != last {
				counts[last] += alike
				last, alike = c, 0
			}
			alike++
		}
	}
	counts[last] += alike
	palette := slices.Clone(basePalette)
	index := make(map[color.RGBA]uint8, len(counts))
	for i, c := range palette {
		index[c.(color.RGBA)] = uint8(i)
	}
	colors := make([]color.RGBA, 0, len(counts))
	for c := range counts {
		if _, have := index[c]; !have {
			colors = append(colors, c)
		}
	}
	slices.SortFunc(colors, func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B), int(a.A)-int(b.A))
	})
	for _, c := range colors {
		if len(palette) < 256 {
			index[c] = uint8(len(palette))
			palette = append(palette, c)
		} else {
			index[c] = uint8(palette.Index(c))
		}
	}
	out := image.NewPaletted(bounds, palette)
	entry := index[last]
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			if c := rgba(img, x, y); c != last {
				last, entry = c, index[c]
			}
			out.SetColorIndex(x, y, entry)
		}
	}
	return out
}

// basePalette holds white, the colours that charts are drawn with, and their blends with white.
var basePalette = func() color.Palette {
	palette := color.Palette{color.RGBA{R: 255, G: 255, B: 255, A: 255}}
	for _, c := range []color.NRGBA{
		black, orange, skyBlue, bluishGreen, yellow, blue, vermillion, reddishPurple, ink, muted, quiet, faint, rust,
	} {
		for _, share := range []float64{1, 0.85, 0.7, 0.55, 0.4, 0.25, 0.12} {
			palette = append(palette, color.RGBAModel.Convert(onWhite(c, share)))
		}
	}
	return palette
}()

// rgba returns a pixel. The drawing library paints on image.RGBA, where that costs little.
func rgba(img image.Image, x, y int) color.RGBA {
	if direct, ok := img.(*image.RGBA); ok {
		return direct.RGBAAt(x, y)
	}
	return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
}

// countingWriter counts what it passes on.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
