package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// untangle writes the kernel that ends the real transform.
func untangle() {
	TEXT("untangle", NOSPLIT, "func(low, high, reLow, imLow, reHigh, imHigh, tw *float32, groups int)")
	Doc("untangle makes bins k and h−k of the real transform, eight at a time, from Z[k] at reLow and imLow, ascending,",
		"and Z[h−k] at reHigh and imHigh, descending by groups of eight; low ascends and high descends the same way. tw",
		"holds −i·exp(−2πik/n)/2.")
	low, high := parameter("low", 0), parameter("high", 0)
	reLow, imLow := parameter("reLow", 0), parameter("imLow", 0)
	reHigh, imHigh := parameter("reHigh", 0), parameter("imHigh", 0)
	tw, groups := parameter("tw", 0), parameter("groups", 0)
	half, reverse := YMM(), YMM()
	VMOVUPS(constant("half", 0.5), half)
	VMOVUPS(permutation("reverse", 7, 6, 5, 4, 3, 2, 1, 0), reverse)
	Label("group")
	a, b := newValue(), newValue()
	VMOVUPS(Mem{Base: reLow}, a.re)
	VMOVUPS(Mem{Base: imLow}, a.im)
	VPERMPS(Mem{Base: reHigh}, reverse, b.re)
	VPERMPS(Mem{Base: imHigh}, reverse, b.im)
	lower, upper := symmetric(a, b, tw, half, false)
	VPERMPS(upper.re, reverse, upper.re)
	VPERMPS(upper.im, reverse, upper.im)
	storePairs(lower, Mem{Base: low})
	storePairs(upper, Mem{Base: high})
	for _, r := range []Register{reLow, imLow} {
		ADDQ(Imm(32), r)
	}
	for _, r := range []Register{reHigh, imHigh} {
		SUBQ(Imm(32), r)
	}
	ADDQ(Imm(line), low)
	SUBQ(Imm(line), high)
	ADDQ(Imm(line), tw)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// tangle writes the kernel that begins the inverse real transform.
func tangle() {
	TEXT("tangle", NOSPLIT, "func(dstLow, dstHigh, low, high, tw *float32, groups int)")
	Doc("tangle is the inverse of untangle: it makes conj(Z[k]) and conj(Z[h−k]) from bins k, ascending, and h−k,",
		"descending by groups of eight, all interleaved.")
	dstLow, dstHigh := parameter("dstLow", 0), parameter("dstHigh", 0)
	low, high := parameter("low", 0), parameter("high", 0)
	tw, groups := parameter("tw", 0), parameter("groups", 0)
	half, order, reverse, backwards := YMM(), YMM(), YMM(), YMM()
	VMOVUPS(constant("half", 0.5), half)
	VMOVUPS(permutation("pairsToOrder", 0, 1, 4, 5, 2, 3, 6, 7), order)
	VMOVUPS(permutation("pairsToReverse", 7, 6, 3, 2, 5, 4, 1, 0), backwards)
	VMOVUPS(permutation("reverse", 7, 6, 5, 4, 3, 2, 1, 0), reverse)
	Label("group")
	a, b := loadPairs(Mem{Base: low}), loadPairs(Mem{Base: high})
	VPERMPS(a.re, order, a.re)
	VPERMPS(a.im, order, a.im)
	VPERMPS(b.re, backwards, b.re)
	VPERMPS(b.im, backwards, b.im)
	lower, upper := symmetric(a, b, tw, half, true)
	VPERMPS(upper.re, reverse, upper.re)
	VPERMPS(upper.im, reverse, upper.im)
	storePairs(lower, Mem{Base: dstLow})
	storePairs(upper, Mem{Base: dstHigh})
	for _, r := range []Register{low, dstLow, tw} {
		ADDQ(Imm(line), r)
	}
	for _, r := range []Register{high, dstHigh} {
		SUBQ(Imm(line), r)
	}
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// symmetric returns sum + turned and conj(sum − turned), where sum = (a + conj(b))/2 and turned = (a − conj(b))·w. w is at
// tw. For the inverse, w and both results are conjugated.
func symmetric(a, b value, tw Register, half VecVirtual, inverse bool) (lower, upper value) {
	sum, diff := newValue(), newValue()
	VADDPS(b.re, a.re, sum.re)
	VSUBPS(b.im, a.im, sum.im)
	VSUBPS(b.re, a.re, diff.re)
	VADDPS(b.im, a.im, diff.im)
	wRe, wIm := Mem{Base: tw}, Mem{Base: tw, Disp: line / 2}
	turned := newValue()
	lower, upper = newValue(), newValue()
	if inverse {
		VMULPS(wIm, diff.im, turned.re)
		VFMADD231PS(wRe, diff.re, turned.re)
		VMULPS(wIm, diff.re, turned.im)
		VFMSUB231PS(wRe, diff.im, turned.im)
	} else {
		VMULPS(wIm, diff.im, turned.re)
		VFMSUB231PS(wRe, diff.re, turned.re)
		VMULPS(wIm, diff.re, turned.im)
		VFMADD231PS(wRe, diff.im, turned.im)
	}
	VMOVAPS(turned.re, lower.re)
	VFMADD231PS(half, sum.re, lower.re)
	VMOVAPS(turned.re, upper.re)
	VFMSUB231PS(half, sum.re, upper.re)
	VMOVAPS(turned.im, lower.im)
	VMOVAPS(turned.im, upper.im)
	if inverse {
		VFNMSUB231PS(half, sum.im, lower.im) // −(sum + turned)
		VFMSUB231PS(half, sum.im, upper.im)  // sum − turned
	} else {
		VFMADD231PS(half, sum.im, lower.im)  // sum + turned
		VFNMADD231PS(half, sum.im, upper.im) // turned − sum
	}
	return lower, upper
}
