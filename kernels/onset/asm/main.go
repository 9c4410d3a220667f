// Command asm generates the AVX2 loop of package onset; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

func main() {
	const accumulators = 2
	TEXT("riseSIMD", NOSPLIT, "func(now, before *float32, n int) float32")
	Pragma("noescape")
	Doc(
		"riseSIMD returns the sum of max(0, now[i]−before[i]) for i from 0 to n−1, which is NaN if one of the differences is. n must",
		"be a multiple of 8. It needs AVX2.",
	)
	now, before, n := Load(Param("now"), GP64()), Load(Param("before"), GP64()), Load(Param("n"), GP64())
	zero := YMM()
	VXORPS(zero, zero, zero)
	var sums []VecVirtual
	for range accumulators {
		sum := YMM()
		VXORPS(sum, sum, sum)
		sums = append(sums, sum)
	}
	turn := func(vectors int) {
		for i := range vectors {
			v := YMM()
			VMOVUPS(Mem{Base: now, Disp: i * emit.Bytes}, v)
			VSUBPS(Mem{Base: before, Disp: i * emit.Bytes}, v, v)
			VMAXPS(v, zero, v) // the difference if it is NaN
			VADDPS(v, sums[i], sums[i])
		}
		ADDQ(Imm(uint64(vectors*emit.Bytes)), now)
		ADDQ(Imm(uint64(vectors*emit.Bytes)), before)
		SUBQ(Imm(uint64(vectors*emit.Lanes)), n)
	}
	Label("several")
	CMPQ(n, Imm(accumulators*emit.Lanes))
	JL(LabelRef("one"))
	turn(accumulators)
	JMP(LabelRef("several"))
	Label("one")
	TESTQ(n, n)
	JZ(LabelRef("sum"))
	turn(1)
	Label("sum")
	emit.End(emit.Fold(sums, VADDPS, VADDSS))
	Generate()
}
