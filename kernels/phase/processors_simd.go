//go:build amd64 || arm64

package phase

import "golang.org/x/sys/cpu"

// haveSIMD says whether this processor has the instructions of the vector code: AVX2 or NEON.
var haveSIMD = cpu.X86.HasAVX2 || cpu.ARM64.HasASIMD

const (
	// lanes is the number of increments that the vector code takes at a time.
	lanes = 8

	// highShift makes units of a sum from the multiples of 2⁻³⁰ of a cycle that advanceSIMD counts.
	highShift = 64 - 30
)

// accumulate is accumulateGo by the fastest instructions of this processor. The vector code stops at increments of magnitude 2
// or more. Go computes these, and those beside them.
func (s *sum) accumulate(dst, src []float32) {
	dst = dst[:len(src)]
	for haveSIMD && len(src) >= lanes && !s.lost {
		rest := len(src) % lanes
		left := accumulateSIMD(&dst[0], &src[0], len(src)-rest, &s.units)
		dst, src = dst[len(dst)-left-rest:], src[len(src)-left-rest:]
		if left > 0 {
			s.accumulateGo(dst[:lanes], src[:lanes])
			dst, src = dst[lanes:], src[lanes:]
		}
	}
	s.accumulateGo(dst, src)
}

// advance is advanceGo by the fastest instructions of this processor.
func (s *sum) advance(src []float32) {
	for haveSIMD && len(src) >= lanes {
		rest := len(src) % lanes
		var sums [2][lanes]uint32
		left := advanceSIMD(&src[0], len(src)-rest, &sums)
		for i, high := range sums[0] {
			s.units += uint64(high)<<highShift + uint64(sums[1][i])<<shift
		}
		src = src[len(src)-left-rest:]
		if left > 0 {
			s.advanceGo(src[:lanes])
			src = src[lanes:]
		}
	}
	s.advanceGo(src)
}
