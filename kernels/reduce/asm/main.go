// Command asm generates the AVX2 kernels of package reduce; go generate runs it.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

const (
	vector = emit.Lanes
	ymm    = emit.Bytes

	// accumulators is the number that hides the latency of an addition or a maximum, 3 or 4 cycles, at two per cycle.
	accumulators = 8
)

func main() {
	sum()
	extreme("max", "greatest", VMAXPS, math.Inf(-1))
	extreme("min", "least", VMINPS, math.Inf(1))
	index()
	Generate()
}

func sum() {
	TEXT("sumSIMD", NOSPLIT, "func(x *float32, n int) float32")
	Pragma("noescape")
	Doc("sumSIMD returns the sum of x[i] for i from 0 to n−1, in 64 partial sums. n must be a multiple of 64. It needs AVX2.")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	sums := make([]VecVirtual, accumulators)
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
	emit.End(emit.Fold(sums, VADDPS, VADDPS))
}

// extreme writes a kernel for the greatest or the least value. VMAXPS forgets a NaN at the next value, so comparisons look
// for NaNs: one says whether there is a NaN in either of two vectors.
func extreme(name, which string, better func(ops ...Op), none float64) {
	TEXT(name+"SIMD", NOSPLIT, "func(x *float32, n int) float32")
	Pragma("noescape")
	Doc(
		fmt.Sprintf("%sSIMD returns the %s of x[i] for i from 0 to n−1, and NaN if one of them is NaN. n must be at least 8. It needs", name, which),
		"AVX2.",
	)
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	most, broken := make([]VecVirtual, accumulators), YMM()
	VXORPS(broken, broken, broken)
	for i := range most {
		most[i] = YMM()
		VMOVUPS(emit.Floats(float32(none)), most[i])
	}
	take := func(a, b VecVirtual) {
		unordered := YMM()
		VCMPPS(emit.Unordered, a, b, unordered)
		VORPS(unordered, broken, broken)
	}

	Label("several")
	CMPQ(n, Imm(accumulators*vector))
	JL(LabelRef("one"))
	for i := 0; i < accumulators; i += 2 {
		a, b := YMM(), YMM()
		VMOVUPS(Mem{Base: x, Disp: i * ymm}, a)
		VMOVUPS(Mem{Base: x, Disp: (i + 1) * ymm}, b)
		better(a, most[i], most[i])
		better(b, most[i+1], most[i+1])
		take(a, b)
	}
	ADDQ(U32(accumulators*ymm), x)
	SUBQ(Imm(accumulators*vector), n)
	JMP(LabelRef("several"))

	last := YMM()
	Label("one")
	CMPQ(n, Imm(vector))
	JL(LabelRef("rest"))
	VMOVUPS(Mem{Base: x}, last)
	better(last, most[0], most[0])
	take(last, last)
	ADDQ(Imm(ymm), x)
	SUBQ(Imm(vector), n)
	JMP(LabelRef("one"))

	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("fold"))
	Comment("The last eight values, of which some count twice.")
	VMOVUPS(Mem{Base: x, Index: n, Scale: 4, Disp: -ymm}, last)
	better(last, most[0], most[0])
	take(last, last)

	Label("fold")
	result := emit.Fold(most, better, better)
	VORPS(emit.Fold([]VecVirtual{broken}, VORPS, VORPS), result, result)
	emit.End(result)
}

func index() {
	TEXT("indexSIMD", NOSPLIT, "func(x *float32, n int, value float32) int")
	Pragma("noescape")
	Doc(
		"indexSIMD returns the least i for which x[i] equals value, or n if there is none below n. n must be at least 8. It needs",
		"AVX2.",
	)
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	value, same := emit.Parameter("value"), YMM()
	at, left, found := GP64(), GP64(), GP32()
	XORQ(at, at)
	MOVQ(n, left)
	look := func() {
		VCMPPS(emit.Equal, Mem{Base: x, Index: at, Scale: 4}, value, same)
		VMOVMSKPS(same, found)
		TESTL(found, found)
		JNZ(LabelRef("found"))
	}

	Label("turn")
	CMPQ(left, Imm(vector))
	JL(LabelRef("rest"))
	look()
	ADDQ(Imm(vector), at)
	SUBQ(Imm(vector), left)
	JMP(LabelRef("turn"))

	Label("rest")
	Comment("The last eight values. Those that were looked at do not equal the value.")
	LEAQ(Mem{Base: n, Disp: -vector}, at)
	look()
	emit.End(n)

	Label("found")
	BSFL(found, found)
	ADDQ(found.As64(), at)
	emit.End(at)
}
