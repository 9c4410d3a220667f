package plots

import (
	"cmp"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"io"
	"iter"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// resolution is in pixels per inch. It gives two pixels to a point, so that a chart is sharp on dense screens.
const resolution = 144

// Chart is a drawing that is laid out and ready to render.
type Chart struct {
	width, height vg.Length
	paint         func(draw.Canvas)
}

// Size returns the width and height of the chart, in points. One point is two pixels.
func (c *Chart) Size() (width, height vg.Length) { return c.width, c.height }

// Draw draws the chart with its lower left corner at the origin of the canvas.
func (c *Chart) Draw(canvas vg.Canvas) { c.paint(draw.NewCanvas(canvas, c.width, c.height)) }

// WriteTo writes the chart as a PNG image of 256 colours.
func (c *Chart) WriteTo(w io.Writer) (int64, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(resolution))
	c.Draw(canvas)
	counter := &countingWriter{w: w}
	// The best compression would take ten times as long, and its files would be 5 % smaller.
	err := png.Encode(counter, reduce(canvas.Image()))
	return counter.n, err
}

// reduce returns the image in 256 colours: the colours of charts, their blends with white in a few steps, and the most
// frequent others. Other blends along edges change a little. The file is a third as large.
func reduce(img image.Image) *image.Paletted {
	bounds := img.Bounds()
	counts := map[color.RGBA]int{}
	for c, run := range runs(img) {
		counts[c] += run.Dx()
	}
	palette := slices.Clone(basePalette)
	if red := color.RGBAModel.Convert(alarm); counts[red.(color.RGBA)] > 0 { // marks are too small to be among the most frequent
		palette = append(palette, red)
	}
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
	for c, run := range runs(img) {
		i := index[c]
		for x := run.Min.X; x < run.Max.X; x++ {
			out.SetColorIndex(x, run.Min.Y, i)
		}
	}
	return out
}

// runs yields the pixels of an image row by row. Neighbours of one colour are yielded together, because most of a chart is
// white.
func runs(img image.Image) iter.Seq2[color.RGBA, image.Rectangle] {
	bounds := img.Bounds()
	pixels, ok := img.(*image.RGBA) // the type that the drawing library makes
	if !ok {
		pixels = image.NewRGBA(bounds)
		imagedraw.Draw(pixels, bounds, img, bounds.Min, imagedraw.Src)
	}
	return func(yield func(color.RGBA, image.Rectangle) bool) {
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			row := pixels.Pix[pixels.PixOffset(bounds.Min.X, y):]
			for begin := 0; begin < bounds.Dx(); {
				pixel, end := [4]byte(row[4*begin:]), begin+1
				for end < bounds.Dx() && [4]byte(row[4*end:]) == pixel {
					end++
				}
				c := color.RGBA{R: pixel[0], G: pixel[1], B: pixel[2], A: pixel[3]}
				if !yield(c, image.Rect(bounds.Min.X+begin, y, bounds.Min.X+end, y+1)) {
					return
				}
				begin = end
			}
		}
	}
}

// basePalette holds white, the colours of charts, and their blends with white.
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

// countingWriter counts the bytes that it writes to w.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
