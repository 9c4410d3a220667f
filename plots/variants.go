package plots

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Variants of an implementation, which are algorithms within it, have its hue and its marker. Lightness and dash tell them
// apart.

// root returns what stands before the slash of a variant's name: the implementation.
func root(implementation string) string {
	name, _, _ := strings.Cut(implementation, "/")
	return name
}

// fixedLooks are the looks of the algorithms that several implementations have. An algorithm that is not named here gets one
// by its name.
var fixedLooks = map[string]int{"direct": 0, "partitioned": 1, "fft": 2}

// variantDashes are the dashes of variants. Their number and that of the shades have no common divisor.
var variantDashes = [][]vg.Length{
	nil, {6, 2}, {1.5, 1.8}, {8, 2, 1.5, 2}, {3, 1.5}, {12, 2.5}, {5, 1.5, 1.5, 1.5, 1.5, 1.5}, {11, 2, 3.5, 2},
}

// shades are the colours of variants: as it is, darker, and lighter.
var shades = []func(color.NRGBA) color.NRGBA{
	func(c color.NRGBA) color.NRGBA { return c },
	func(c color.NRGBA) color.NRGBA { return onBlack(c, 0.66) },
	func(c color.NRGBA) color.NRGBA { return onWhite(c, 0.72) },
}

// onBlack returns c darkened to a share of its light.
func onBlack(c color.NRGBA, share float64) color.NRGBA {
	mix := func(v uint8) uint8 { return uint8(math.Round(share * float64(v))) }
	return color.NRGBA{R: mix(c.R), G: mix(c.G), B: mix(c.B), A: 255}
}

// variantLooks returns a look for each of the names that is a variant. The fixed looks are the same in every chart. Of the
// others no two of one implementation are the same, nor have the same dash, as long as there are enough. names are sorted.
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
		case !variant: // it may look like the first one
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

// variantKey explains shades where no name stands beside them.
func variantKey() keyEntry {
	return keyEntry{"shades of a colour: variants", 16, func(c draw.Canvas, left, mid vg.Length) {
		for k, shade := range shades {
			at := left + vg.Length(k)*16/3
			fillBox(c, shade(bases["cuda"].color), at, mid-4, at+16/3.0, mid+4)
		}
	}}
}
