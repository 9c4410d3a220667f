package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// scale writes the kernel that multiplies values by a factor.
func scale() {
	const vectors = 4
	TEXT("scaleBy", NOSPLIT, "func(x *float32, groups int, by float32)")
	Doc("scaleBy multiplies groups of 32 values by a factor.")
	x, groups := parameter("x", 0), parameter("groups", 0)
	by := YMM()
	VBROADCASTSS(NewParamAddr("by", 16), by)
	Label("group")
	var scaled [vectors]VecVirtual
	for i := range scaled {
		scaled[i] = YMM()
		VMULPS(Mem{Base: x, Disp: 32 * i}, by, scaled[i])
	}
	for i := range scaled {
		VMOVUPS(scaled[i], Mem{Base: x, Disp: 32 * i})
	}
	ADDQ(Imm(32*vectors), x)
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}
