// Command asm generates the AVX2 kernels of package norm; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

const (
	vector = 8  // float32 values in a YMM register
	ymm    = 32 // bytes of a YMM register
)

func main() {
	moments()
	compensated()
	perColumn()
	scaled()
	perChannel()
	Generate()
}

// zero returns registers of zeros.
func zero(n int) []VecVirtual {
	all := make([]VecVirtual, n)
	for i := range all {
		all[i] = YMM()
		VXORPS(all[i], all[i], all[i])
	}
	return all
}

func moments() {
	const accumulators = 4 // hide the latency of an addition, for each of the two sums
	TEXT("momentsSIMD", NOSPLIT, "func(x *float32, n int, shift float32) (sum, squares float32)")
	Pragma("noescape")
	Doc(
		"momentsSIMD returns the sums of x[i]−shift and of its squares, for i from 0 to n−1. n must be a multiple of 8. It needs",
		"AVX2 and FMA.",
	)
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	shift := emit.Parameter("shift")
	sums, squares := zero(accumulators), zero(accumulators)
	turn := func(vectors int) {
		for i := range vectors {
			v := YMM()
			VMOVUPS(Mem{Base: x, Disp: i * ymm}, v)
			VSUBPS(shift, v, v)
			VADDPS(v, sums[i], sums[i])
			VFMADD231PS(v, v, squares[i])
		}
		ADDQ(U32(vectors*ymm), x)
		SUBQ(Imm(uint64(vectors*vector)), n)
	}
	Label("momentsSeveral")
	CMPQ(n, Imm(accumulators*vector))
	JL(LabelRef("momentsOne"))
	turn(accumulators)
	JMP(LabelRef("momentsSeveral"))
	Label("momentsOne")
	TESTQ(n, n)
	JZ(LabelRef("momentsFold"))
	turn(1)
	JMP(LabelRef("momentsOne"))
	Label("momentsFold")
	emit.End(emit.Fold(sums, VADDPS, VADDSS), emit.Fold(squares, VADDPS, VADDSS))
}

// compensated is Kahan's sum of values and of squares in two vectors each.
func compensated() {
	const accumulators = 2 // more do not fit into the registers
	TEXT("compensatedSIMD", NOSPLIT, "func(sums, x *float32, n int)")
	Pragma("noescape")
	Doc(
		"compensatedSIMD adds x[i], for i from 0 to n−1, to the first 16 sums, and its square to the next 16. Their rounding",
		"errors, which are to be taken away, are in the 32 values behind. n must be a multiple of 16. It needs AVX2.",
	)
	p := Load(Param("sums"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	at := func(sum, i int) Mem { return Mem{Base: p, Disp: (sum*accumulators + i) * ymm} }
	var sums, errors [2][accumulators]VecVirtual
	for k := range sums {
		for i := range accumulators {
			sums[k][i], errors[k][i] = YMM(), YMM()
			VMOVUPS(at(k, i), sums[k][i])
			VMOVUPS(at(k+2, i), errors[k][i])
		}
	}
	Label("compensatedTurn")
	TESTQ(n, n)
	JZ(LabelRef("compensatedEnd"))
	for i := range accumulators {
		v, square := YMM(), YMM()
		VMOVUPS(Mem{Base: x, Disp: i * ymm}, v)
		VMULPS(v, v, square)
		for k, added := range []VecVirtual{v, square} {
			next := YMM()
			VSUBPS(errors[k][i], added, added)
			VADDPS(added, sums[k][i], next)
			VSUBPS(sums[k][i], next, errors[k][i])
			VSUBPS(added, errors[k][i], errors[k][i])
			VMOVAPS(next, sums[k][i])
		}
	}
	ADDQ(U32(accumulators*ymm), x)
	SUBQ(Imm(accumulators*vector), n)
	JMP(LabelRef("compensatedTurn"))
	Label("compensatedEnd")
	for k := range sums {
		for i := range accumulators {
			VMOVUPS(sums[k][i], at(k, i))
			VMOVUPS(errors[k][i], at(k+2, i))
		}
	}
	VZEROUPPER()
	RET()
}

func perColumn() {
	TEXT("perColumnSIMD", NOSPLIT, "func(dst, src, weights, bias *float32, n int, mean, factor float32)")
	Pragma("noescape")
	Doc(
		"perColumnSIMD sets dst[i] to (src[i]−mean)·factor·weights[i] + bias[i] for i from 0 to n−1. n must be a multiple of 8.",
		"It needs AVX2 and FMA.",
	)
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	weights := Load(Param("weights"), GP64())
	bias := Load(Param("bias"), GP64())
	n := Load(Param("n"), GP64())
	mean, factor := emit.Parameter("mean"), emit.Parameter("factor")
	v, w := YMM(), YMM()
	Label("perColumnTurn")
	TESTQ(n, n)
	JZ(LabelRef("perColumnEnd"))
	VMOVUPS(Mem{Base: src}, v)
	VSUBPS(mean, v, v)
	VMULPS(factor, v, v)
	VMOVUPS(Mem{Base: weights}, w)
	VFMADD213PS(Mem{Base: bias}, w, v)
	VMOVUPS(v, Mem{Base: dst})
	for _, pointer := range []Register{dst, src, weights, bias} {
		ADDQ(Imm(ymm), pointer)
	}
	SUBQ(Imm(vector), n)
	JMP(LabelRef("perColumnTurn"))
	Label("perColumnEnd")
	VZEROUPPER()
	RET()
}

func scaled() {
	TEXT("scaledSIMD", NOSPLIT, "func(dst, src, weights *float32, n int, factor float32)")
	Pragma("noescape")
	Doc("scaledSIMD sets dst[i] to src[i]·factor·weights[i] for i from 0 to n−1. n must be a multiple of 8. It needs AVX2.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	weights := Load(Param("weights"), GP64())
	n := Load(Param("n"), GP64())
	factor, v := emit.Parameter("factor"), YMM()
	Label("scaledTurn")
	TESTQ(n, n)
	JZ(LabelRef("scaledEnd"))
	VMULPS(Mem{Base: src}, factor, v)
	VMULPS(Mem{Base: weights}, v, v)
	VMOVUPS(v, Mem{Base: dst})
	for _, pointer := range []Register{dst, src, weights} {
		ADDQ(Imm(ymm), pointer)
	}
	SUBQ(Imm(vector), n)
	JMP(LabelRef("scaledTurn"))
	Label("scaledEnd")
	VZEROUPPER()
	RET()
}

func perChannel() {
	TEXT("perChannelSIMD", NOSPLIT, "func(dst, src *float32, n int, mean, weight, bias float32)")
	Pragma("noescape")
	Doc("perChannelSIMD sets dst[i] to (src[i]−mean)·weight + bias for i from 0 to n−1. n must be a multiple of 8. It needs AVX2 and FMA.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	mean, weight, bias := emit.Parameter("mean"), emit.Parameter("weight"), emit.Parameter("bias")
	v := YMM()
	Label("perChannelTurn")
	TESTQ(n, n)
	JZ(LabelRef("perChannelEnd"))
	VMOVUPS(Mem{Base: src}, v)
	VSUBPS(mean, v, v)
	VFMADD213PS(bias, weight, v)
	VMOVUPS(v, Mem{Base: dst})
	ADDQ(Imm(ymm), src)
	ADDQ(Imm(ymm), dst)
	SUBQ(Imm(vector), n)
	JMP(LabelRef("perChannelTurn"))
	Label("perChannelEnd")
	VZEROUPPER()
	RET()
}
