package surfaces

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/samplemv"
)

// drawn returns the shapes at n points of a scrambled Halton sequence, which spreads points over a space with a number of
// axes. The shapes are in the order of the sequence. Points without a shape are left out. The shape of several points is
// returned several times.
//
// Source: A. Owen, A randomized Halton algorithm in R, 2017, arXiv:1706.02808.
func drawn(space Space, axes, n int, rng *rand.Rand) [][]int {
	points := mat.NewDense(n, axes, nil)
	samplemv.Halton{Kind: samplemv.Owen, Q: distmv.NewUnitUniform(axes, rng), Src: rng}.Sample(points)
	var shapes [][]int
	for k := range n {
		if shape, ok := space.Draw(points.RawRowView(k)); ok {
			shapes = append(shapes, slices.Clone(shape))
		}
	}
	return shapes
}
