package plots

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"crossover/calibration"
	"crossover/calibration/surface"
)

// foreseenOpacity is how strong the colours of predicted choices are.
const foreseenOpacity = 0.4

// foreseen returns the choices that the surface of its operation predicts for a case that was measured at one size, at the sizes of
// another case of the same line. A dispatcher takes them at all sizes but that one. There are none if the case has more sizes, or
// if there is no surface of its placement.
func foreseen(h *calibration.Host, c, sizes *calibration.Case) (spans []span, o *calibration.Operation) {
	_, placement := cutPlacement(c.Name)
	o = h.Operation(c.Operation, placement)
	if len(c.Sizes) != 1 || o == nil || len(o.Axes) != len(o.Surface.Axes) || !o.Surface.Fitted() || o.Surface.Check() != nil {
		return nil, nil
	}
	from, to := sizes.Axis.From, sizes.Axis.To
	if !drawableSize(from) || !drawableSize(to) || to <= from {
		return nil, nil
	}
	gpus := onGPU(c)
	predictor, seconds := surface.NewPredictor(&o.Surface), make([]float64, len(o.Surface.Implementations))
	before := float64(from)
	for _, size := range foreseenSizes(from, to) {
		predictor.Predict(o.ShapeOf(c, size), seconds)
		best, _ := best(seconds)
		if best < 0 {
			return nil, nil
		}
		name, at := o.Surface.Implementations[best].Name, float64(size)
		if n := len(spans); n == 0 || spans[n-1].implementation != name {
			edge := math.Sqrt(before * at)
			if n > 0 {
				spans[n-1].to = edge
			}
			spans = append(spans, span{from: edge, to: at, implementation: name, onGPU: gpus[name]})
		} else {
			spans[n-1].to = at
		}
		before = at
	}
	return spans, o
}

// foreseenSizes returns powers of two between two sizes, and the two. Times of other lengths of transforms jump from one to the next.
func foreseenSizes(from, to int) []int {
	sizes := []int{from}
	for power := 1; power < to; power *= 2 {
		if power > from {
			sizes = append(sizes, power)
		}
	}
	return append(sizes, to)
}

// foreseenKey explains pale bars.
func foreseenKey() keyEntry {
	return keyEntry{"predicted", 16, func(c draw.Canvas, left, mid vg.Length) {
		fillBox(c, onWhite(bases["go"].color, foreseenOpacity), left, mid-5, left+16, mid+5)
	}}
}
