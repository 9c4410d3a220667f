// Command asm generates the AVX2 loops of package phase; go generate runs it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/emit"
)

const (
	vector = emit.Lanes
	ymm    = emit.Bytes

	// A turn takes several vectors. Their instructions alternate, because a processor does not look far enough ahead to begin
	// with a vector while it waits for results of the one before.
	several = 4

	// An increment is a whole number of high parts and a rest, a whole number of low parts. A high part is 2^−highBits of a
	// cycle, so that the number of an increment below 2 cycles fits into 32 bits. A low part is 2^−lowBits of a high part.
	highBits = 30
	lowBits  = 23

	// A sum is in units of 2^−64 of a cycle. A high part has 2^highShift of them, and a low part 2^lowShift.
	highShift = 64 - highBits
	lowShift  = highShift - lowBits

	// A phase has the upper phaseBits of a sum.
	phaseBits = 24

	// half is the number of bits in half a lane of 64 bits.
	half = 32
)

func main() {
	accumulate()
	advance()
	Generate()
}

// accumulate writes a loop over pairs of increments. A lane of 64 bits has a pair: even has the first increments, and odd the
// second ones.
func accumulate() {
	TEXT("accumulateSIMD", NOSPLIT, "func(dst, src *float32, n int, units *uint64) (left int)")
	Pragma("noescape")
	Doc(
		"accumulateSIMD adds increments src[i] to a sum in units of 2⁻⁶⁴ of a cycle, and sets dst[i] to the phase after each of them,",
		"for i from 0 to n−1. It stops in front of eight increments if one of them has a magnitude of at least 2 or is NaN, and returns",
		"how many are left. dst may be src. n must be a multiple of 8. It needs AVX2.",
	)
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, units := Load(Param("n"), GP64()), Load(Param("units"), GP64())
	zero, sum := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VBROADCASTSD(Mem{Base: units}, sum)
	loop(src, n, func(vectors int) {
		even, odd := inUnits(parts(src, vectors))

		Comment("In each lane, the sum of all increments up to the pair: at first of one lane, then of two, then of four.")
		up := emit.Abreast(vectors, func(i int, to VecVirtual) { VPADDQ(odd[i], even[i], to) })
		below := emit.Abreast(vectors, func(i int, to VecVirtual) { VUNPCKLPD(up[i], zero, to) })
		up = emit.Abreast(vectors, func(i int, to VecVirtual) { VPADDQ(below[i], up[i], to) })
		const lowerAsUpper, lastLane = 0x20, 0xff
		below = emit.Abreast(vectors, func(i int, to VecVirtual) { VPERM2F128(Imm(lowerAsUpper), up[i], zero, to) })
		below = emit.Abreast(vectors, func(i int, to VecVirtual) { VUNPCKHPD(below[i], below[i], to) })
		up = emit.Abreast(vectors, func(i int, to VecVirtual) { VPADDQ(below[i], up[i], to) })
		all := emit.Abreast(vectors, func(i int, to VecVirtual) { VPERMPD(Imm(lastLane), up[i], to) })
		up = emit.Abreast(vectors, func(i int, to VecVirtual) {
			VPADDQ(sum, up[i], to)
			VPADDQ(all[i], sum, sum)
		})

		Comment("The phases after the first increments of pairs, and those after the second ones.")
		first := emit.Abreast(vectors, func(i int, to VecVirtual) { VPSUBQ(odd[i], up[i], to) })
		first = emit.Abreast(vectors, func(i int, to VecVirtual) { VPSRLQ(Imm(2*half-phaseBits), first[i], to) })
		second := emit.Abreast(vectors, func(i int, to VecVirtual) { VPSRLQ(Imm(half-phaseBits), up[i], to) })
		y := emit.Abreast(vectors, func(i int, to VecVirtual) { VPBLENDD(Imm(0b10101010), second[i], first[i], to) })
		y = emit.Abreast(vectors, func(i int, to VecVirtual) { VCVTDQ2PS(y[i], to) })
		y = emit.Abreast(vectors, func(i int, to VecVirtual) { VMULPS(emit.Floats(1.0/(1<<phaseBits)), y[i], to) })
		for i := range y {
			VMOVUPS(y[i], Mem{Base: dst, Disp: i * ymm})
		}
		ADDQ(U32(vectors*ymm), dst)
	})
	VMOVSD(sum.AsX(), Mem{Base: units})
	emit.End(n)
}

func advance() {
	TEXT("advanceSIMD", NOSPLIT, "func(src *float32, n int, sums *[2][8]uint32) (left int)")
	Pragma("noescape")
	Doc(
		"advanceSIMD sets sums[0] and sums[1] to eight sums of increments src[i], for i from 0 to n−1. sums[0] counts 2⁻³⁰ of a cycle,",
		"modulo 4 cycles, and sums[1], which is less, 2⁻⁵³ of a cycle. It stops in front of eight increments if one of them has a",
		"magnitude of at least 2 or is NaN, and returns how many are left. n must be a multiple of 8. It needs AVX2.",
	)
	src, n, sums := Load(Param("src"), GP64()), Load(Param("n"), GP64()), Load(Param("sums"), GP64())
	highs, lows, carry := YMM(), YMM(), YMM()
	VXORPS(highs, highs, highs)
	VXORPS(lows, lows, lows)
	loop(src, n, func(vectors int) {
		high, low := parts(src, vectors)
		for i := range high {
			VPADDD(high[i], highs, highs)
			VPADDD(low[i], lows, lows)
		}
		VPSRAD(Imm(lowBits), lows, carry)
		VPADDD(carry, highs, highs)
		VPAND(emit.Words(1<<lowBits-1), lows, lows)
	})
	VMOVUPS(highs, Mem{Base: sums})
	VMOVUPS(lows, Mem{Base: sums, Disp: ymm})
	emit.End(n)
}

// loop appends a loop over the n values of src, in turns of several vectors and of one. At its end, n is the number of values
// that are left. turn appends what computes a number of vectors.
func loop(src, n Register, turn func(vectors int)) {
	whole := func(vectors int, otherwise string) {
		CMPQ(n, Imm(uint64(vectors*vector)))
		JL(LabelRef(otherwise))
		Comment("Magnitudes of at least 2 and NaNs are those with the highest bit of an exponent.")
		bits, some := YMM(), GP32()
		VMOVUPS(Mem{Base: src}, bits)
		for i := 1; i < vectors; i++ {
			VORPS(Mem{Base: src, Disp: i * ymm}, bits, bits)
		}
		VPSLLD(Imm(1), bits, bits)
		VMOVMSKPS(bits, some)
		TESTL(some, some)
		JNZ(LabelRef(otherwise))
		turn(vectors)
		ADDQ(U32(vectors*ymm), src)
		SUBQ(Imm(uint64(vectors*vector)), n)
		JMP(LabelRef("several"))
	}
	Label("several")
	whole(several, "one")
	Label("one")
	whole(1, "end")
	Label("end")
}

// parts returns increments as numbers of high parts and of low parts. Both numbers are rounded towards zero, and all else is
// exact. So an increment is rounded towards zero to a whole number of low parts.
func parts(src Register, vectors int) (high, low []VecVirtual) {
	low = emit.Abreast(vectors, func(i int, to VecVirtual) {
		VMOVUPS(Mem{Base: src, Disp: i * ymm}, to)
		VMULPS(emit.Floats(1<<highBits), to, to)
	})
	high = emit.Abreast(vectors, func(i int, to VecVirtual) { VCVTTPS2DQ(low[i], to) })
	whole := emit.Abreast(vectors, func(i int, to VecVirtual) { VROUNDPS(emit.ToZero, low[i], to) })
	low = emit.Abreast(vectors, func(i int, to VecVirtual) { VSUBPS(whole[i], low[i], to) })
	low = emit.Abreast(vectors, func(i int, to VecVirtual) { VMULPS(emit.Floats(1<<lowBits), low[i], to) })
	low = emit.Abreast(vectors, func(i int, to VecVirtual) { VCVTTPS2DQ(low[i], to) })
	return high, low
}

// inUnits returns increments as units of sums, modulo 1 cycle.
func inUnits(high, low []VecVirtual) (even, odd []VecVirtual) {
	vectors := len(high)
	factor := emit.Quads(1 << lowShift)
	lowEven := emit.Abreast(vectors, func(i int, to VecVirtual) { VPMULDQ(factor, low[i], to) })
	low = emit.Abreast(vectors, func(i int, to VecVirtual) { VMOVSHDUP(low[i], to) })
	lowOdd := emit.Abreast(vectors, func(i int, to VecVirtual) { VPMULDQ(factor, low[i], to) })
	even = emit.Abreast(vectors, func(i int, to VecVirtual) {
		VPSLLQ(Imm(highShift), high[i], to)
		VPADDQ(lowEven[i], to, to)
	})
	odd = emit.Abreast(vectors, func(i int, to VecVirtual) { VANDPS(emit.Quads((1<<half-1)<<half), high[i], to) })
	odd = emit.Abreast(vectors, func(i int, to VecVirtual) { VPSLLQ(Imm(highShift-half), odd[i], to) })
	odd = emit.Abreast(vectors, func(i int, to VecVirtual) { VPADDQ(lowOdd[i], odd[i], to) })
	return even, odd
}
