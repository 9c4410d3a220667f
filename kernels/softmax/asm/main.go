// Command asm generates the AVX2 kernels of package softmax; go generate runs it.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/approx"
	"crossover/kernels/elementwise/emit"
)

const (
	vector = emit.Lanes
	ymm    = emit.Bytes

	// accumulators hide the latency of a maximum, which takes 4 cycles.
	accumulators = 4
)

func main() {
	largest()
	exponentials()
	scale()
	Generate()
}

func largest() {
	TEXT("maxSIMD", NOSPLIT, "func(x *float32, n int) float32")
	Pragma("noescape")
	Doc(
		"maxSIMD returns the greatest of x[i] for i from 0 to n−1; with a NaN among them, that or the greatest of some of",
		"the others. n must be a multiple of 8. It needs AVX2.",
	)
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	minusInfinity := emit.Floats(float32(math.Inf(-1)))
	var most [accumulators]VecVirtual
	for i := range most {
		most[i] = YMM()
		VMOVUPS(minusInfinity, most[i])
	}
	turn := func(vectors int) {
		for i := range vectors {
			VMAXPS(Mem{Base: x, Disp: i * ymm}, most[i], most[i])
		}
		ADDQ(U32(vectors*ymm), x)
		SUBQ(U32(vectors*vector), n)
	}
	Label("four")
	CMPQ(n, Imm(accumulators*vector))
	JL(LabelRef("one"))
	turn(accumulators)
	JMP(LabelRef("four"))
	Label("one")
	TESTQ(n, n)
	JZ(LabelRef("fold"))
	turn(1)
	JMP(LabelRef("one"))
	Label("fold")
	emit.End(emit.Fold(most[:], VMAXPS, VMAXSS))
}

// exponentials is approx.Exp on eight values at a time, without branches, but 0 where e^x is denormal.
func exponentials() {
	TEXT("expSIMD", NOSPLIT, "func(dst, src *float32, n int, shift float32) float32")
	Pragma("noescape")
	Doc(
		"expSIMD sets dst[i] to e^(src[i]−shift) for i from 0 to n−1 and returns the sum of dst. No src[i] may be greater",
		"than shift. n must be a multiple of 8. It needs AVX2 and FMA.",
	)
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	shift, sum := emit.Parameter("shift"), YMM()
	VXORPS(sum, sum, sum)

	Label("expVector")
	TESTQ(n, n)
	JZ(LabelRef("expFold"))
	v, under := YMM(), YMM()
	VMOVUPS(Mem{Base: src}, v)
	VSUBPS(shift, v, v)
	p, e := emit.ExpOf(v)
	VADDPS(emit.Floats(1), p, p)

	Comment("Add e to the exponent; 0 where there is none for it.")
	VPSLLD(Imm(approx.FractionBits), e, e)
	VPADDD(e, p, p)
	VCMPPS(emit.LessThan, emit.Floats(approx.ExpLow), v, under)
	VANDNPS(p, under, p)

	VADDPS(p, sum, sum)
	VMOVUPS(p, Mem{Base: dst})
	ADDQ(Imm(ymm), src)
	ADDQ(Imm(ymm), dst)
	SUBQ(Imm(vector), n)
	JMP(LabelRef("expVector"))

	Label("expFold")
	emit.End(emit.Fold([]VecVirtual{sum}, VADDPS, VADDSS))
}

func scale() {
	TEXT("scaleSIMD", NOSPLIT, "func(x *float32, n int, factor float32)")
	Pragma("noescape")
	Doc("scaleSIMD multiplies x[i] by factor for i from 0 to n−1. n must be a multiple of 8. It needs AVX2.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	factor, v := emit.Parameter("factor"), YMM()
	Label("scaleVector")
	TESTQ(n, n)
	JZ(LabelRef("scaleEnd"))
	VMULPS(Mem{Base: x}, factor, v)
	VMOVUPS(v, Mem{Base: x})
	ADDQ(Imm(ymm), x)
	SUBQ(Imm(vector), n)
	JMP(LabelRef("scaleVector"))
	Label("scaleEnd")
	VZEROUPPER()
	RET()
}
