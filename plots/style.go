package plots

import (
	"hash/fnv"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours of Okabe and Ito, "Color Universal Design" (2008), https://jfly.uni-koeln.de/color/.
var (
	black         = color.NRGBA{A: 255}
	orange        = color.NRGBA{R: 0xE6, G: 0x9F, A: 255}
	skyBlue       = color.NRGBA{R: 0x56, G: 0xB4, B: 0xE9, A: 255}
	bluishGreen   = color.NRGBA{G: 0x9E, B: 0x73, A: 255}
	yellow        = color.NRGBA{R: 0xF0, G: 0xE4, B: 0x42, A: 255}
	blue          = color.NRGBA{G: 0x72, B: 0xB2, A: 255}
	vermillion    = color.NRGBA{R: 0xD5, G: 0x5E, A: 255}
	reddishPurple = color.NRGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 255}
)

// Everything that is not an implementation is drawn in greys, except for doubts.
var (
	ink   = color.NRGBA{R: 0x22, G: 0x22, B: 0x22, A: 255}
	muted = color.NRGBA{R: 0x66, G: 0x66, B: 0x66, A: 255}
	quiet = color.NRGBA{R: 0xB0, G: 0xB0, B: 0xB0, A: 255}
	faint = color.NRGBA{R: 0xE8, G: 0xE8, B: 0xE8, A: 255}
	rust  = color.NRGBA{R: 0xA8, G: 0x45, A: 255} // text of doubts
)

// withAlpha returns c with an opacity from 0 to 1.
func withAlpha(c color.NRGBA, opacity float64) color.NRGBA {
	c.A = uint8(math.Round(255 * opacity))
	return c
}

// onWhite returns the opaque colour that c has on white paper at an opacity from 0 to 1.
func onWhite(c color.NRGBA, opacity float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(math.Round(255 - opacity*float64(255-v))) }
	return color.NRGBA{R: mix(c.R), G: mix(c.G), B: mix(c.B), A: 255}
}

// readableOn returns the text colour that reads best on a filled area.
func readableOn(c color.NRGBA) color.Color {
	luminance := 0.299*float64(c.R) + 0.587*float64(c.G) + 0.114*float64(c.B)
	if luminance < 140 {
		return color.White
	}
	return ink
}

// style is the look of one implementation.
type style struct {
	color  color.NRGBA
	marker marker
	dashes []vg.Length
}

// line returns the style of the implementation's line.
func (s style) line(width vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: s.color, Width: width, Dashes: s.dashes}
}

// gap returns the style of the line across sizes at which the implementation was not timed.
func (s style) gap() draw.LineStyle {
	return draw.LineStyle{Color: withAlpha(s.color, 0.6), Width: 0.7, Dashes: []vg.Length{1, 3}}
}

// glyph returns the style of the implementation's marker.
func (s style) glyph(radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.color, Radius: radius, Shape: s.marker}
}

// bases are the implementations with a fixed look. Those that share a colour are never in one case: they belong to different
// vendors, or compute different operations. look is an index into markers and dashes, modulo their lengths.
var bases = map[string]struct {
	color color.NRGBA
	look  int
}{
	"go":                {skyBlue, 0},
	"go-parallel":       {blue, 1},
	"accelerate":        {bluishGreen, 2},
	"fftw":              {reddishPurple, 3},
	"openblas":          {reddishPurple, 3},
	"fftw-parallel":     {black, 4},
	"openblas-parallel": {black, 4},
	"metal":             {vermillion, 5},
	"cuda":              {vermillion, 5},
	"mps":               {orange, 6},
	"cufft":             {orange, 6},
	"cublas":            {orange, 6},
	"mpsgraph":          {yellow, 7},
}

// looks is the number of different pairs of marker and dash. The numbers of markers and of dashes have no common divisor.
var looks = len(markers) * len(dashes)

var dashes = [][]vg.Length{
	nil, {7, 2}, {7, 2, 1.5, 2}, {3.5, 1.5}, {11, 2, 3.5, 2}, {14, 2.5}, {1.5, 1.5}, {5, 1.5, 1.5, 1.5, 1.5, 1.5}, {2, 3},
}

// stylesOf returns the style of each name, and of the part before its slash. A name has the same colour whatever the other
// names are. The same is true of its marker and dash, unless two names without a fixed look want the same ones.
func stylesOf(names []string) map[string]style {
	styles := make(map[string]style, len(names))
	type use struct {
		color color.NRGBA
		look  int
	}
	var used []use
	put := func(name string, c color.NRGBA, look int) {
		used = append(used, use{c, look})
		styles[name] = style{color: c, marker: markers[look%len(markers)], dashes: dashes[look%len(dashes)]}
	}
	// free reports whether a look is not in use. If strict, it also reports whether no name of the same colour has the
	// marker or the dash.
	free := func(c color.NRGBA, look int, strict bool) bool {
		return !slices.ContainsFunc(used, func(u use) bool {
			near := u.look%len(markers) == look%len(markers) || u.look%len(dashes) == look%len(dashes)
			return u.look == look || strict && near && u.color == c
		})
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	var roots []string
	for _, name := range sorted {
		roots = append(roots, root(name))
	}
	slices.Sort(roots)
	roots = slices.Compact(roots)
	for _, name := range roots {
		if base, ok := bases[name]; ok {
			put(name, base.color, base.look)
		}
	}
	for _, name := range roots {
		if _, ok := styles[name]; ok {
			continue
		}
		c := palette[hash(name)%uint32(len(palette))]
		look := int(hash(name) % uint32(looks))
		for _, strict := range []bool{true, false} {
			for i := 0; i < looks && !free(c, look, strict); i++ {
				look = (look + 1) % looks
			}
			if free(c, look, strict) {
				break
			}
		}
		put(name, c, look)
	}
	for name, look := range variantLooks(sorted) {
		styles[name] = styles[root(name)].variant(look)
	}
	return styles
}

// palette has the colours of implementations without a fixed look. A hash of the name is the index.
var palette = []color.NRGBA{bluishGreen, reddishPurple, orange, skyBlue, vermillion, blue, yellow, black}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// marker is a shape around the origin, of radius 1.
type marker struct {
	corners []vg.Point
	hollow  bool
}

// crossMarker is the marker of labels without a curve.
const crossMarker = 6

// markers of implementations with a fixed look come first, and are filled.
var markers = []marker{
	{corners: polygon(24, 0, 0.9)},
	{corners: polygon(4, math.Pi/4, 1.15)},
	{corners: polygon(4, 0, 1.2)},
	{corners: polygon(3, math.Pi/2, 1.3)},
	{corners: polygon(3, -math.Pi/2, 1.3)},
	{corners: cross(0)},
	{corners: cross(math.Pi / 4)},
	{corners: polygon(5, math.Pi/2, 1.1)},
	{corners: polygon(24, 0, 0.9), hollow: true},
	{corners: polygon(4, math.Pi/4, 1.15), hollow: true},
	{corners: polygon(4, 0, 1.2), hollow: true},
	{corners: polygon(3, math.Pi/2, 1.3), hollow: true},
	{corners: polygon(3, -math.Pi/2, 1.3), hollow: true},
}

// polygon returns the corners of a regular polygon. The first is at angle start, in radians.
func polygon(n int, start, radius float64) []vg.Point {
	corners := make([]vg.Point, n)
	for i := range corners {
		sin, cos := math.Sincos(start + 2*math.Pi*float64(i)/float64(n))
		corners[i] = vg.Point{X: vg.Length(radius * cos), Y: vg.Length(radius * sin)}
	}
	return corners
}

// cross returns the outline of a plus sign, turned by an angle in radians.
func cross(turn float64) []vg.Point {
	const arm, half = 1.25, 0.38
	var corners []vg.Point
	for quarter := range 4 {
		sin, cos := math.Sincos(turn + math.Pi/2*float64(quarter))
		for _, p := range [][2]float64{{arm, -half}, {arm, half}, {half, half}} {
			corners = append(corners, vg.Point{X: vg.Length(p[0]*cos - p[1]*sin), Y: vg.Length(p[0]*sin + p[1]*cos)})
		}
	}
	return corners
}

// DrawGlyph implements draw.GlyphDrawer.
func (m marker) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, at vg.Point) {
	outline := make([]vg.Point, len(m.corners), len(m.corners)+1)
	for i, corner := range m.corners {
		outline[i] = at.Add(corner.Scale(sty.Radius))
	}
	if !m.hollow {
		c.FillPolygon(sty.Color, outline)
		return
	}
	c.FillPolygon(color.White, outline)
	c.StrokeLines(draw.LineStyle{Color: sty.Color, Width: 1}, append(outline, outline[0]))
}
