package plots

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Variants are algorithms within an implementation. They have the hue and the marker of the implementation, and differ in
// lightness and dash.

// root returns the part of a name before the slash: the implementation.
func root(implementation string) string {
	name, _, _ := strings.Cut(implementation, "/")
	return name
}

// fixedLooks are the looks of algorithms that several implementations have. The look of any other algorithm follows from its
// name.
var fixedLooks = map[string]int{"direct": 0, "partitioned": 1, "fft": 2}

// variantDashes are the dashes of variants. The numbers of dashes and of shades have no common divisor.
var variantDashes = [][]vg.Length{
	nil, {6, 2}, {1.5, 1.8}, {8, 2, 1.5, 2}, {3, 1.5}, {12, 2.5}, {5, 1.5, 1.5, 1.5, 1.5, 1.5}, {11, 2, 3.5, 2},
}

// shades change a colour for variants: not at all, darker, and lighter.
var shades = []func(color.NRGBA) color.NRGBA{
	func(c color.NRGBA) color.NRGBA { return c },
	func(c color.NRGBA) color.NRGBA { return onBlack(c, 0.66) },
	func(c color.NRGBA) color.NRGBA { return onWhite(c, 0.72) },
}

// onBlack returns c darkened to a share, from 0 to 1, of its light.
func onBlack(c color.NRGBA, share float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(math.Round(share * float64(v))) }
	return color.NRGBA{R: mix(c.R), G: mix(c.G), B: mix(c.B), A: 255}
}

// variantLooks returns a look for each variant among sorted names. Fixed looks are the same in every chart. The other
// variants of an implementation have different looks and different dashes, as long as there are enough.
func variantLooks(names []string) map[string]int {
	count := len(shades) * len(variantDashes)
	looks := map[string]int{}
	type use struct {
		root       string
		look, dash int
	}
	var used []use
	free := func(name string, look int, strict bool) bool {
		return !slices.ContainsFunc(used, func(u use) bool {
			return u.root == root(name) && (u.look == look || strict && u.dash == look%len(variantDashes))
		})
	}
	var others []string
	for _, name := range names {
		_, algorithm, variant := strings.Cut(name, "/")
		fixed, known := fixedLooks[algorithm]
		switch {
		case !variant: // an implementation without variants has the look of the first variant
			used = append(used, use{name, 0, 0})
		case known:
			looks[name] = fixed
			used = append(used, use{root(name), fixed, fixed})
		default:
			others = append(others, name)
		}
	}
	for _, name := range others {
		_, algorithm, _ := strings.Cut(name, "/")
		look := int(hash(algorithm) % uint32(count))
		for _, strict := range []bool{true, false} {
			for i := 0; i < count && !free(name, look, strict); i++ {
				look = (look + 1) % count
			}
			if free(name, look, strict) {
				break
			}
		}
		looks[name] = look
		used = append(used, use{root(name), look, look % len(variantDashes)})
	}
	return looks
}

// variant returns the style of an implementation's variant.
func (s style) variant(look int) style {
	s.color = shades[look%len(shades)](s.color)
	s.dashes = variantDashes[look%len(variantDashes)]
	return s
}

// variantKey explains shades on a chart that does not name variants.
func variantKey() keyEntry {
	return keyEntry{"shades of a colour: variants", 16, func(c draw.Canvas, left, mid vg.Length) {
		for k, shade := range shades {
			at := left + vg.Length(k)*16/3
			fillBox(c, shade(bases["cuda"].color), at, mid-4, at+16/3.0, mid+4)
		}
	}}
}
