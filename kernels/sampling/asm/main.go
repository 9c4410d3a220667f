// Command asm generates the AVX2 loops of package sampling; go generate runs it.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

func main() {
	greatest()
	position()
	Generate()
}

func greatest() {
	const accumulators = 4 // hide the latency of a maximum
	TEXT("greatestSIMD", NOSPLIT, "func(x *float32, n int) (most float32, unordered uint32)")
	Pragma("noescape")
	Doc(
		"greatestSIMD returns the greatest of x[i] for i from 0 to n−1, and whether there is a NaN among them, which is not 0",
		"then. With a NaN, the greatest may be any value. n must be a multiple of 32 and above 0. It needs AVX2.",
	)
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	var most, unordered [accumulators]VecVirtual
	for i := range most {
		most[i], unordered[i] = YMM(), YMM()
		VMOVUPS(emit.Floats(float32(math.Inf(-1))), most[i])
		VXORPS(unordered[i], unordered[i], unordered[i])
	}
	Label("greatestTurn")
	for i := range most {
		v, nan := YMM(), YMM()
		VMOVUPS(Mem{Base: x, Disp: i * emit.Bytes}, v)
		VMAXPS(v, most[i], most[i])
		VCMPPS(emit.Unordered, v, v, nan)
		VORPS(nan, unordered[i], unordered[i])
	}
	ADDQ(U32(accumulators*emit.Bytes), x)
	SUBQ(Imm(accumulators*emit.Lanes), n)
	JNZ(LabelRef("greatestTurn"))
	for _, other := range unordered[1:] {
		VORPS(other, unordered[0], unordered[0])
	}
	mask := GP32()
	VMOVMSKPS(unordered[0], mask)
	emit.End(emit.Fold(most[:], VMAXPS, VMAXSS), mask)
}

func position() {
	TEXT("positionSIMD", NOSPLIT, "func(x *float32, n int, v float32) int")
	Pragma("noescape")
	Doc("positionSIMD returns the least i for which x[i] equals v, or at least n. n must be a multiple of 8. It needs AVX2.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	v := emit.Parameter("v")
	at, mask, equal := GP64(), GP32(), YMM()
	XORQ(at, at)
	Label("positionTurn")
	CMPQ(at, n)
	JGE(LabelRef("positionEnd"))
	VCMPPS(emit.Equal, Mem{Base: x, Index: at, Scale: 4}, v, equal)
	VMOVMSKPS(equal, mask)
	TESTL(mask, mask)
	JNZ(LabelRef("positionFound"))
	ADDQ(Imm(emit.Lanes), at)
	JMP(LabelRef("positionTurn"))
	Label("positionFound")
	BSFL(mask, mask)
	ADDQ(mask.As64(), at)
	Label("positionEnd")
	emit.End(at)
}
