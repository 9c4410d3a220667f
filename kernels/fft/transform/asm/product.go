package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// product writes the kernel that multiplies two complex sequences.
func product() {
	TEXT("product", NOSPLIT, "func(dst, a, b *float32, groups int)")
	Doc("product writes the element-wise product of interleaved complex a and b to dst, four values a group. dst may be",
		"a or b.")
	dst, a, b := parameter("dst", 0), parameter("a", 0), parameter("b", 0)
	groups := parameter("groups", 0)
	Label("group")
	x, re, im, swapped := YMM(), YMM(), YMM(), YMM()
	VMOVUPS(Mem{Base: a}, x)
	VMOVSLDUP(Mem{Base: b}, re)
	VMOVSHDUP(Mem{Base: b}, im)
	VPERMILPS(U8(0xb1), x, swapped)
	VMULPS(im, swapped, swapped)
	VFMADDSUB231PS(re, x, swapped)
	VMOVUPS(swapped, Mem{Base: dst})
	for _, r := range []Register{dst, a, b} {
		ADDQ(Imm(32), r)
	}
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}
