package plots

import (
	"cmp"
	"image"
	"image/color"
	imagedraw "image/draw"
	"image/png"
	"io"
	"iter"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// resolution is what the layout is for, in pixels per inch, and pixel is in points. A chart is 833 pixels wide. With 900 its file
// would be a tenth larger, and with 1200 three quarters.
const (
	resolution = 100
	pixel      = vg.Length(72) / resolution
)

// Compression is how the images are compressed. The best takes most of the time of a chart, so tests that draw many charts set
// another one before they begin. The pixels are the same.
var Compression = png.BestCompression

// Resolution is that of the images in pixels per inch. Tests that draw many charts and look at none set a lower one before
// they begin. The layout is the same.
var Resolution = resolution

// Chart is a drawing that is laid out and ready to render.
type Chart struct {
	width, height vg.Length
	paint         func(draw.Canvas)
}

// NewChart returns a chart of a size, in points, that is drawn by paint.
func NewChart(width, height vg.Length, paint func(draw.Canvas)) *Chart {
	return &Chart{width, height, paint}
}

// Size returns the width and height of the chart, in points. One point is 1.44 pixels.
func (c *Chart) Size() (width, height vg.Length) { return c.width, c.height }

// Draw draws the chart with its lower left corner at the origin of the canvas.
func (c *Chart) Draw(canvas vg.Canvas) { c.paint(draw.NewCanvas(canvas, c.width, c.height)) }

// WriteTo writes the chart as a PNG image of at most 256 colours.
func (c *Chart) WriteTo(w io.Writer) (int64, error) { return c.writeAt(w, Resolution) }

// writeAt is WriteTo at a resolution in pixels per inch.
func (c *Chart) writeAt(w io.Writer, resolution int) (int64, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(resolution))
	used := &colorCanvas{canvas, map[color.RGBA]bool{{R: 255, G: 255, B: 255, A: 255}: true}}
	c.Draw(used)
	counter := &countingWriter{w: w}
	err := (&png.Encoder{CompressionLevel: Compression}).Encode(counter, reduce(canvas.Image(), used.colors))
	return counter.n, err
}

// colorCanvas collects the colours that are drawn with, as they are on white paper.
type colorCanvas struct {
	vg.Canvas
	colors map[color.RGBA]bool
}

// SetColor implements vg.Canvas, by which nil is black.
func (c *colorCanvas) SetColor(clr color.Color) {
	if clr == nil {
		clr = color.Black
	}
	of := color.NRGBAModel.Convert(clr).(color.NRGBA)
	opacity := float64(of.A) / 255
	of.A = 255
	c.colors[color.RGBAModel.Convert(onWhite(of, opacity)).(color.RGBA)] = true
	c.Canvas.SetColor(clr)
}

// FillString implements vg.Canvas. Words begin on whole pixels, and letters on half pixels behind the beginning of their word. So
// a word has the same pixels wherever it stands, and is compressed better: the text takes two thirds of the file of a chart, and
// a quarter less of them than anywhere between pixels.
func (c *colorCanvas) FillString(f font.Face, at vg.Point, txt string) {
	at.Y = nearestMultiple(at.Y, pixel)
	word, begin := 0, nearestMultiple(at.X, pixel) // of the current word: its offset in txt, and where it is
	for i, r := range txt {
		if i > 0 && txt[i-1] == ' ' {
			word, begin = i, nearestMultiple(at.X+f.Width(txt[:i]), pixel)
		}
		if r != ' ' {
			c.Canvas.FillString(f, vg.Point{X: begin + nearestMultiple(f.Width(txt[word:i]), pixel/2), Y: at.Y}, string(r))
		}
	}
}

// nearestMultiple returns the multiple of a unit that is nearest to a length.
func nearestMultiple(length, unit vg.Length) vg.Length {
	return vg.Length(math.Round(float64(length/unit))) * unit
}

// reduce returns the image in few colours: those that were drawn with, and frequent blends that differ much from them. Other
// blends, along the edges of lines and letters, take the nearest of these. The file is a third as large as one of all colours.
func reduce(img image.Image, drawn map[color.RGBA]bool) *image.Paletted {
	const (
		near  = 3  // greatest distance between a transparent colour on paper and on the image
		alike = 24 // distance below which two colours that were drawn with become the more frequent one
		apart = 96 // least distance between a blend and the other colours of the palette
		most  = 16 // colours of the palette, which take half a byte a pixel; more if more were drawn with
	)
	counts := map[color.RGBA]int{}
	for c, run := range runs(img) {
		counts[c] += run.Dx()
	}
	byChannels := func(a, b color.RGBA) int {
		return cmp.Or(int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B), int(a.A)-int(b.A))
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return cmp.Or(counts[b]-counts[a], byChannels(a, b)) })
	isDrawn := func(c color.RGBA) bool {
		for of := range drawn {
			if distance(c, of) <= near {
				return true
			}
		}
		return false
	}
	var palette color.Palette
	for _, c := range colors {
		if len(palette) < 256 && isDrawn(c) && (len(palette) == 0 || distance(c, palette[nearest(palette, c)].(color.RGBA)) >= alike) {
			palette = append(palette, c)
		}
	}
	for _, c := range colors {
		if len(palette) < most && distance(c, palette[nearest(palette, c)].(color.RGBA)) >= apart {
			palette = append(palette, c)
		}
	}
	index := make(map[color.RGBA]uint8, len(colors))
	for _, c := range colors {
		index[c] = uint8(nearest(palette, c))
	}
	out := image.NewPaletted(img.Bounds(), palette)
	for c, run := range runs(img) {
		i := index[c]
		for x := run.Min.X; x < run.Max.X; x++ {
			out.SetColorIndex(x, run.Min.Y, i)
		}
	}
	return out
}

// distance returns how far two opaque colours are apart. Differences in hue count twice, so that a grey line stays grey among
// pale colours.
func distance(a, b color.RGBA) float64 {
	dr, dg, db := float64(a.R)-float64(b.R), float64(a.G)-float64(b.G), float64(a.B)-float64(b.B)
	grey := (dr + dg + db) / 3
	hue := (dr-grey)*(dr-grey) + (dg-grey)*(dg-grey) + (db-grey)*(db-grey)
	return math.Sqrt(3*grey*grey + 4*hue)
}

// nearest returns the index of the colour of a palette that is nearest to a colour.
func nearest(palette color.Palette, c color.RGBA) int {
	found, least := 0, math.Inf(1)
	for i := range palette {
		if d := distance(c, palette[i].(color.RGBA)); d < least {
			found, least = i, d
		}
	}
	return found
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
