// Command asm generates the AVX2 kernels of package elementwise; go generate runs it.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"

	"crossover/kernels/elementwise/approx"
)

const (
	vector = 8  // float32 values in a YMM register
	ymm    = 32 // bytes of a YMM register
	unroll = 4  // vectors in a turn of the scale loop
)

// Predicates of VCMPPS: ordered and quiet. Comparisons with a NaN are false and raise no exception.
var (
	equal    = Imm(0x00)
	lessThan = Imm(0x11)
	// notLessThan is the negation of lessThan: true for NaN.
	notLessThan = Imm(0x15)
)

func main() {
	scale()
	log()
	Generate()
}

// scale is limited by loads and stores. With four vectors in a turn the loop counter does not matter.
func scale() {
	TEXT("scaleAVX2", NOSPLIT, "func(dst, src *float32, n int, a, b float32)")
	Pragma("noescape")
	Doc("scaleAVX2 sets dst[i] to src[i]·a + b for i from 0 to n−1. n must be a multiple of 8. It needs AVX2 and FMA.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	xa, xb := Load(Param("a"), XMM()), Load(Param("b"), XMM())
	a, b := YMM(), YMM()
	VBROADCASTSS(xa, a)
	VBROADCASTSS(xb, b)

	turn := func(vectors int) {
		for i := range vectors {
			v := YMM()
			VMOVUPS(Mem{Base: src, Disp: i * ymm}, v)
			VFMADD213PS(b, a, v)
			VMOVUPS(v, Mem{Base: dst, Disp: i * ymm})
		}
		ADDQ(Imm(uint64(vectors*ymm)), src)
		ADDQ(Imm(uint64(vectors*ymm)), dst)
		SUBQ(Imm(uint64(vectors*vector)), n)
	}
	Label("four")
	CMPQ(n, Imm(unroll*vector))
	JL(LabelRef("one"))
	turn(unroll)
	JMP(LabelRef("four"))
	Label("one")
	TESTQ(n, n)
	JZ(LabelRef("end"))
	turn(1)
	JMP(LabelRef("one"))
	Label("end")
	VZEROUPPER()
	RET()
}

// words returns a read-only vector of eight times v.
func words(name string, v uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range vector {
		DATA(4*i, U32(v))
	}
	return m
}

// floats is words for a float32. It writes the bits, because the assembler would read a whole number as an integer.
func floats(name string, v float32) Mem { return words(name, math.Float32bits(v)) }

// log is approx.Log on eight values at a time, without branches. Turns do not depend on each other, so the processor
// overlaps them.
func log() {
	sqrtHalf := words("sqrtHalf", approx.SqrtHalfBits)
	fraction := words("fraction", approx.FractionMask)
	smallestNormal := floats("smallestNormal", approx.SmallestNormal)
	lift := floats("lift", approx.Lift)
	liftExponent := floats("liftExponent", approx.LiftExponent)
	one := floats("one", 1)
	half := floats("half", 0.5)
	ln2Hi := floats("ln2Hi", approx.Ln2Hi)
	ln2Lo := floats("ln2Lo", approx.Ln2Lo)
	infinity := floats("infinity", float32(math.Inf(1)))
	minusInfinity := floats("minusInfinity", float32(math.Inf(-1)))
	var coefficients []Mem
	for i, c := range approx.LogCoefficients {
		coefficients = append(coefficients, floats(fmt.Sprintf("log%d", i), c))
	}

	TEXT("logAVX2", NOSPLIT, "func(dst, src *float32, n int)")
	Pragma("noescape")
	Doc(
		"logAVX2 sets dst[i] to the natural logarithm of src[i] for i from 0 to n−1, with the special cases of approx.Log.",
		"n must be a multiple of 8. It needs AVX2 and FMA.",
	)
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	zero := YMM()
	VXORPS(zero, zero, zero)

	Label("vector")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	x := YMM()
	VMOVUPS(Mem{Base: src}, x)

	Comment("Lift what is below the normal numbers.")
	small, lifted, normal := YMM(), YMM(), YMM()
	VCMPPS(lessThan, smallestNormal, x, small)
	VMULPS(lift, x, lifted)
	VBLENDVPS(small, lifted, x, normal)

	Comment("x = (1+t)·2^e")
	bits, e, t := YMM(), YMM(), YMM()
	VPSUBD(sqrtHalf, normal, bits)
	VPSRAD(Imm(approx.FractionBits), bits, e)
	VCVTDQ2PS(e, e)
	VANDPS(liftExponent, small, small)
	VSUBPS(small, e, e)
	VPAND(fraction, bits, bits)
	VPADDD(sqrtHalf, bits, bits)
	VSUBPS(one, bits, t)

	Comment("ln x = t − t²/2 + t³·P(t) + e·ln 2")
	p, square := YMM(), YMM()
	last := len(coefficients) - 1
	VMOVUPS(coefficients[last], p)
	for i := last - 1; i >= 0; i-- {
		VFMADD213PS(coefficients[i], t, p)
	}
	VMULPS(t, t, square)
	VMULPS(t, p, p)
	VMULPS(square, p, p)
	VFMADD231PS(ln2Lo, e, p)
	VFNMADD231PS(half, square, p)
	VADDPS(t, p, p)
	VFMADD231PS(ln2Hi, e, p)

	Comment("+Inf and NaN as they are, −Inf for 0, NaN below 0.")
	special := YMM()
	VCMPPS(notLessThan, infinity, x, special)
	VBLENDVPS(special, x, p, p)
	VCMPPS(equal, zero, x, special)
	VBLENDVPS(special, minusInfinity, p, p)
	VCMPPS(lessThan, zero, x, special)
	VORPS(special, p, p)

	VMOVUPS(p, Mem{Base: dst})
	ADDQ(Imm(ymm), src)
	ADDQ(Imm(ymm), dst)
	SUBQ(Imm(vector), n)
	JMP(LabelRef("vector"))
	Label("done")
	VZEROUPPER()
	RET()
}
