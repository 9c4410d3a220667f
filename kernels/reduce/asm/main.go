// Command asm generates the AVX2 kernel of package reduce; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	vector = 8  // float32 values in a YMM register
	ymm    = 32 // bytes of a YMM register

	// accumulators is the number that hides the latency of an addition, 3 or 4 cycles, at two additions per cycle.
	accumulators = 8
)

func main() {
	TEXT("sumAVX2", NOSPLIT, "func(x *float32, n int) float32")
	Pragma("noescape")
	Doc("sumAVX2 returns the sum of x[i] for i from 0 to n−1, in 64 partial sums. n must be a multiple of 64. It needs AVX2.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	var sums [accumulators]VecVirtual
	for i := range sums {
		sums[i] = YMM()
		VXORPS(sums[i], sums[i], sums[i])
	}

	Label("turn")
	TESTQ(n, n)
	JZ(LabelRef("fold"))
	for i := range sums {
		VADDPS(Mem{Base: x, Disp: i * ymm}, sums[i], sums[i])
	}
	ADDQ(U32(accumulators*ymm), x)
	SUBQ(Imm(accumulators*vector), n)
	JMP(LabelRef("turn"))

	Label("fold")
	for width := accumulators / 2; width > 0; width /= 2 {
		for i := range width {
			VADDPS(sums[i+width], sums[i], sums[i])
		}
	}
	low, high := sums[0].AsX(), XMM()
	VEXTRACTF128(Imm(1), sums[0], high)
	VADDPS(high, low, low)
	VMOVHLPS(low, low, high)
	VADDPS(high, low, low)
	VMOVSHDUP(low, high)
	VADDSS(high, low, low)
	Store(low, ReturnIndex(0))
	VZEROUPPER()
	RET()
	Generate()
}
