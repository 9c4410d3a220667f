// Command asm generates the AVX2 loop of package glu; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

func main() {
	TEXT("gateSIMD", NOSPLIT, "func(dst, a, b *float32, n int)")
	Pragma("noescape")
	Doc("gateSIMD sets dst[i] to a[i]·approx.Logistic(b[i]) for i from 0 to n−1. It needs AVX2 and FMA.")
	dst := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	b := Load(Param("b"), GP64())
	n := Load(Param("n"), GP64())
	Label("one")
	CMPQ(n, Imm(emit.Lanes))
	JL(LabelRef("rest"))
	v := YMM()
	VMOVUPS(Mem{Base: b}, v)
	y := emit.Logistic(v)
	VMULPS(Mem{Base: a}, y, y)
	VMOVUPS(y, Mem{Base: dst})
	for _, pointer := range []Register{dst, a, b} {
		ADDQ(Imm(emit.Bytes), pointer)
	}
	SUBQ(Imm(emit.Lanes), n)
	JMP(LabelRef("one"))

	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	Comment("The last values, less than a vector.")
	masks, mask, last := emit.Prefix(), YMM(), YMM()
	NEGQ(n)
	VMOVUPS(Mem{Base: masks, Index: n, Scale: 4, Disp: 2 * emit.Bytes}, mask)
	VMASKMOVPS(Mem{Base: b}, mask, last)
	y = emit.Logistic(last)
	VMASKMOVPS(Mem{Base: a}, mask, last)
	VMULPS(last, y, y)
	VMASKMOVPS(y, mask, Mem{Base: dst})
	Label("end")
	VZEROUPPER()
	RET()
	Generate()
}
