// Command asm generates the AVX2 loop of package mel; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

func main() {
	const word, pair = 4, 16 // bytes of a float32, and of two integers
	TEXT("bandsSIMD", NOSPLIT, "func(dst, x, weights *float32, spans *int, bands int)")
	Pragma("noescape")
	Doc(
		"bandsSIMD sets dst[8·m+f], for eight frames f, to the sum over the bins k of band m of their weights times x[8·k+f]. spans",
		"has the first bin and the number of bins of each band, and weights those of all bands. bands must be at least 1. It needs",
		"AVX2 and FMA.",
	)
	dst, x, weights := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("weights"), GP64())
	spans, bands := Load(Param("spans"), GP64()), Load(Param("bands"), GP64())
	at, count := GP64(), GP64()
	sums, weight := []VecVirtual{YMM(), YMM()}, YMM()

	Label("band")
	MOVQ(Mem{Base: spans}, at)
	MOVQ(Mem{Base: spans, Disp: pair / 2}, count)
	SHLQ(Imm(5), at)
	ADDQ(x, at)
	for _, sum := range sums { // two, because a sum waits for the one before it
		VXORPS(sum, sum, sum)
	}
	turn := func(bins int) {
		for k := range bins {
			VBROADCASTSS(Mem{Base: weights, Disp: k * word}, weight)
			VFMADD231PS(Mem{Base: at, Disp: k * emit.Bytes}, weight, sums[k])
		}
		ADDQ(Imm(uint64(bins*word)), weights)
		ADDQ(Imm(uint64(bins*emit.Bytes)), at)
	}
	Label("two")
	SUBQ(Imm(2), count)
	JL(LabelRef("last"))
	turn(2)
	JMP(LabelRef("two"))
	Label("last")
	ADDQ(Imm(2), count)
	JZ(LabelRef("sum"))
	turn(1)
	Label("sum")
	VADDPS(sums[1], sums[0], sums[0])
	VMOVUPS(sums[0], Mem{Base: dst})
	ADDQ(Imm(emit.Bytes), dst)
	ADDQ(Imm(pair), spans)
	DECQ(bands)
	JNZ(LabelRef("band"))
	VZEROUPPER()
	RET()
	Generate()
}
