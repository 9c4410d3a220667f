package recurrence

import (
	_ "embed"
	"math"
)

//go:embed follower.metal
var followerText string

// follower is the recurrence of [Envelope] on a processor. Processors guess well which of the two coefficients comes next,
// because a level rises or falls for many samples. Without a branch, one channel took twice as long.
// Products are rounded as in [tangent].
type follower struct{ attack, release float64 }

func newFollower(attack, release float64) follower { return follower{attack, release} }

// coefficient returns the coefficient of a step by d.
func (f follower) coefficient(d float64) float64 {
	if d > 0 {
		return f.attack
	}
	return f.release
}

// one follows the magnitudes of src.
func (f follower) one(state []float64, dst, src []float32) {
	e, dst := state[0], dst[:len(src)]
	for i, x := range src {
		d := magnitude(x) - e
		e += float64(f.coefficient(d) * d)
		dst[i] = float32(e)
	}
	state[0] = e
}

func (f follower) two(state []float64, dst0, dst1, src0, src1 []float32) {
	e0, e1 := state[0], state[1]
	dst0, dst1, src1 = dst0[:len(src0)], dst1[:len(src0)], src1[:len(src0)]
	for i, x := range src0 {
		d0, d1 := magnitude(x)-e0, magnitude(src1[i])-e1
		e0 += float64(f.coefficient(d0) * d0)
		e1 += float64(f.coefficient(d1) * d1)
		dst0[i], dst1[i] = float32(e0), float32(e1)
	}
	state[0], state[1] = e0, e1
}

func magnitude(x float32) float64 {
	return float64(math.Float32frombits(math.Float32bits(x) &^ (1 << 31)))
}
