// Package emit writes the functions of package approx as AVX2 and FMA code: on eight values at a time, line by line and
// without branches, with the same constants. Commands that generate assembly import it. Programs do not.
//
// Each function appends instructions to the text that package avo builds, and returns the register of its result. It leaves
// the registers of its arguments as they are.
package emit

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"crossover/kernels/elementwise/approx"
)

// Lanes is the number of float32 values in a vector, and Bytes is its length.
const (
	Lanes = 8
	Bytes = 32
)

// Predicates of VCMPPS: quiet. With a NaN, Unordered and NotLessThan are true, and the others are false.
var (
	Equal       = Imm(0x00)
	LessThan    = Imm(0x11)
	Unordered   = Imm(0x03)
	NotEqual    = Imm(0x04)
	NotLessThan = Imm(0x15)
)

// Ways of VROUNDPS to round, without exceptions.
var (
	ToNearest = Imm(0x08)
	ToZero    = Imm(0x0b)
)

var infinity = float32(math.Inf(1))

const signBit = 1 << 31

var constants = map[string]Mem{}

// constant returns a read-only vector that is filled with a value. The assembler gets its bits, because it would read a
// whole number as an integer.
func constant(name string, value Constant, times, bytes int) Mem {
	m, known := constants[name]
	if !known {
		m = GLOBL(name, RODATA|NOPTR)
		for i := range times {
			DATA(i*bytes, value)
		}
		constants[name] = m
	}
	return m
}

// Words returns a vector of eight times v.
func Words(v uint32) Mem { return constant(fmt.Sprintf("word%08x", v), U32(v), Lanes, 4) }

// Floats returns a vector of eight times v.
func Floats(v float32) Mem { return Words(math.Float32bits(v)) }

// Quads returns a vector of four times v.
func Quads(v uint64) Mem { return constant(fmt.Sprintf("quad%016x", v), U64(v), Lanes/2, 8) }

// Doubles returns a vector of four times v.
func Doubles(v float64) Mem { return Quads(math.Float64bits(v)) }

// polynomial returns the polynomial of x with the given coefficients, the lowest first, by Horner's rule.
func polynomial(x reg.VecVirtual, coefficients []float32) reg.VecVirtual {
	p := YMM()
	last := len(coefficients) - 1
	VMOVUPS(Floats(coefficients[last]), p)
	for i := last - 1; i >= 0; i-- {
		VFMADD213PS(Floats(coefficients[i]), x, p)
	}
	return p
}

// polynomial64 is polynomial in float64, on four values.
func polynomial64(x reg.VecVirtual, coefficients []float64) reg.VecVirtual {
	p := YMM()
	last := len(coefficients) - 1
	VMOVUPD(Doubles(coefficients[last]), p)
	for i := last - 1; i >= 0; i-- {
		VFMADD213PD(Doubles(coefficients[i]), x, p)
	}
	return p
}

// split returns t and e of x = (1+t)·2^e for positive finite x.
func split(x reg.VecVirtual) (t, e reg.VecVirtual) {
	Comment("Lift what is below the normal numbers.")
	small, lifted, normal := YMM(), YMM(), YMM()
	VCMPPS(LessThan, Floats(approx.SmallestNormal), x, small)
	VMULPS(Floats(approx.Lift), x, lifted)
	VBLENDVPS(small, lifted, x, normal)
	return splitNormal(normal, func(e reg.VecVirtual) {
		VANDPS(Floats(approx.LiftExponent), small, small)
		VSUBPS(small, e, e)
	})
}

// splitNormal is split for numbers that are normal. lower appends instructions that correct e.
func splitNormal(x reg.VecVirtual, lower func(e reg.VecVirtual)) (t, e reg.VecVirtual) {
	Comment("x = (1+t)·2^e")
	bits := YMM()
	t, e = YMM(), YMM()
	VPSUBD(Words(approx.SqrtHalfBits), x, bits)
	VPSRAD(Imm(approx.FractionBits), bits, e)
	VCVTDQ2PS(e, e)
	lower(e)
	VPAND(Words(approx.FractionMask), bits, bits)
	VPADDD(Words(approx.SqrtHalfBits), bits, bits)
	VSUBPS(Floats(1), bits, t)
	return t, e
}

// logOf returns ln((1+t)·2^e).
func logOf(t, e reg.VecVirtual) reg.VecVirtual {
	Comment("ln((1+t)·2^e) = t − t²/2 + t³·P(t) + e·ln 2")
	p, square := polynomial(t, approx.LogCoefficients[:]), YMM()
	VMULPS(t, t, square)
	VMULPS(t, p, p)
	VMULPS(square, p, p)
	VFMADD231PS(Floats(approx.Ln2Lo), e, p)
	VFNMADD231PS(Floats(0.5), square, p)
	VADDPS(t, p, p)
	VFMADD231PS(Floats(approx.Ln2Hi), e, p)
	return p
}

// Log is approx.Log.
func Log(x reg.VecVirtual) reg.VecVirtual {
	l := logOf(split(x))
	logSpecials(x, l, 0)
	return l
}

// LogNormal is approx.Log of positive normal numbers, and NaN for +Inf and NaN. Anything may come of other numbers.
func LogNormal(x reg.VecVirtual) reg.VecVirtual {
	l := logOf(splitNormal(x, func(reg.VecVirtual) {}))
	special := YMM()
	VCMPPS(NotLessThan, Floats(infinity), x, special)
	VORPS(special, l, l)
	return l
}

// logSpecials puts what a logarithm is at x into l: +Inf and NaN as they are, −Inf at pole, and NaN below it.
func logSpecials(x, l reg.VecVirtual, pole float32) {
	Comment("+Inf and NaN as they are, −Inf at the pole, NaN below it.")
	special := YMM()
	VCMPPS(NotLessThan, Floats(infinity), x, special)
	VBLENDVPS(special, x, l, l)
	VCMPPS(Equal, Floats(pole), x, special)
	VBLENDVPS(special, Floats(-infinity), l, l)
	VCMPPS(LessThan, Floats(pole), x, special)
	VORPS(special, l, l)
}

// Log1p is approx.Log1p.
func Log1p(x reg.VecVirtual) reg.VecVirtual {
	Comment("1+x rounded says e.")
	e, power, t := YMM(), YMM(), YMM()
	VADDPS(Floats(1), x, e)
	VPSUBD(Words(approx.SqrtHalfBits), e, e)
	VPSRAD(Imm(approx.FractionBits), e, e)

	Comment("t = x·2^−e + (2^−e − 1)")
	VMOVDQU(Words(approx.FourExponent), power)
	VPSUBD(e, power, power)
	VPSLLD(Imm(approx.FractionBits), power, power)
	VMULPS(Floats(0.25), power, power)
	VSUBPS(Floats(1), power, power)
	VPSLLD(Imm(approx.FractionBits), e, t)
	VPSUBD(t, x, t)
	VADDPS(power, t, t)
	VCVTDQ2PS(e, e)
	l := logOf(t, e)

	Comment("The sign of x, which is that of the logarithm and of −0.")
	sign := YMM()
	VANDPS(Words(signBit), x, sign)
	VORPS(sign, l, l)
	logSpecials(x, l, -1)
	return l
}

// ExpOf returns p and the integers e of e^x = (1+p)·2^e.
func ExpOf(x reg.VecVirtual) (p, e reg.VecVirtual) {
	Comment("x = e·ln 2 + r")
	r := YMM()
	e = YMM()
	VMULPS(Floats(approx.Log2E), x, e)
	VROUNDPS(ToNearest, e, e)
	VMOVAPS(x, r)
	VFNMADD231PS(Floats(approx.Ln2Hi), e, r)
	VFNMADD231PS(Floats(approx.Ln2Lo), e, r)

	Comment("e^r = 1 + r + r²·P(r)")
	p = polynomial(r, approx.ExpCoefficients[:])
	VMULPS(r, p, p)
	VFMADD213PS(r, r, p)
	VCVTPS2DQ(e, e)
	return p, e
}

// power returns 2^n of integers n.
func power(n reg.VecVirtual) reg.VecVirtual {
	p := YMM()
	VPSLLD(Imm(approx.FractionBits), n, p)
	VPADDD(Words(approx.OneBits), p, p)
	return p
}

// Exp is approx.Exp.
func Exp(x reg.VecVirtual) reg.VecVirtual {
	Comment("A NaN stays, because it is the second operand.")
	within := YMM()
	VMOVUPS(Floats(approx.ExpLeast), within)
	VMAXPS(x, within, within)
	most := YMM()
	VMOVUPS(Floats(approx.ExpMost), most)
	VMINPS(within, most, within)
	p, n := ExpOf(within)

	Comment("Times 2^n in two steps, because 2^n alone may be out of range.")
	half := YMM()
	VADDPS(Floats(1), p, p)
	VPSRAD(Imm(1), n, half)
	VPSUBD(half, n, n)
	VMULPS(power(half), p, p)
	VMULPS(power(n), p, p)
	return p
}

// Tanh is approx.Tanh.
func Tanh(x reg.VecVirtual) reg.VecVirtual {
	Comment("a = |x|; a NaN stays, because it is the second operand.")
	a, sign := YMM(), YMM()
	VANDPS(Words(^uint32(signBit)), x, a)
	most := YMM()
	VMOVUPS(Floats(approx.TanhMost), most)
	VMINPS(a, most, a)
	VMULPS(Floats(-2), a, a)
	p, n := ExpOf(a)

	Comment("u = 1 − e^−2a = (1 − 2^n) − 2^n·p, and tanh a = u/(2−u)")
	scale, u, rest := power(n), YMM(), YMM()
	VMOVUPS(Floats(1), u)
	VSUBPS(scale, u, u)
	VFNMADD231PS(p, scale, u)
	VMOVUPS(Floats(2), rest)
	VSUBPS(u, rest, rest)
	VDIVPS(rest, u, u)
	VANDPS(Words(signBit), x, sign)
	VORPS(sign, u, u)
	return u
}

// Logistic is approx.Logistic.
func Logistic(x reg.VecVirtual) reg.VecVirtual {
	negative, above := YMM(), YMM()
	VORPS(Words(signBit), x, negative)
	p := Exp(negative)
	Comment("p/(1+p) or 1/(1+p), by the sign of x")
	VMOVUPS(Floats(1), above)
	VBLENDVPS(x, p, above, above)
	VADDPS(Floats(1), p, p)
	VDIVPS(p, above, above)
	return above
}

// GELU is approx.GELU.
func GELU(x reg.VecVirtual) reg.VecVirtual {
	Comment("a = |x|; a NaN stays, because it is the second operand.")
	a, most, t := YMM(), YMM(), YMM()
	VANDPS(Words(^uint32(signBit)), x, a)
	VMOVUPS(Floats(approx.GELUMost), most)
	VMINPS(a, most, a)

	Comment("t = 1/(1 + c·a)")
	one := YMM()
	VMOVUPS(Floats(1), one)
	VMOVUPS(Floats(approx.GELUScale), t)
	VFMADD213PS(one, a, t)
	VDIVPS(t, one, t)
	p := polynomial(t, approx.GELUCoefficients[:])
	VMULPS(t, p, p)

	Comment("q = t·P(t)·e^(−a²/2), with the part of a² that its rounding takes away")
	square, rest := YMM(), YMM()
	VMULPS(a, a, square)
	VMOVAPS(a, rest)
	VFMSUB213PS(square, a, rest)
	VMULPS(Floats(0.5), rest, rest)
	VMULPS(Floats(-0.5), square, square)
	q := Exp(square)
	VMULPS(p, q, q)
	VFNMADD231PS(rest, q, q)

	Comment("x·q or x·(1 − q), by the sign of x")
	VSUBPS(q, one, one)
	VBLENDVPS(x, q, one, q)
	VMULPS(x, q, q)
	return q
}

// GELUTanh is approx.GELUTanh.
func GELUTanh(x reg.VecVirtual) reg.VecVirtual {
	u, linear := YMM(), YMM()
	VMULPS(x, x, u)
	VMOVUPS(Floats(approx.GELULinear), linear)
	VFMADD132PS(Floats(approx.GELUCubic), linear, u)
	VMULPS(x, u, u)
	y := Logistic(u)
	VMULPS(x, y, y)
	return y
}

// Exponent is the y of x^y, which is the same for many x: finite and not 0.
type Exponent struct {
	y             reg.VecVirtual // four times, in float64
	atZero, atInf reg.VecVirtual // 0^y and ∞^y
	oddSign       reg.VecVirtual // the bit of the sign if y is odd
	broken        reg.VecVirtual // all bits if y is not an integer
}

// NewExponent returns the exponent y, which is the same in all lanes.
func NewExponent(y reg.VecVirtual) Exponent {
	e := Exponent{YMM(), YMM(), YMM(), YMM(), YMM()}
	VCVTPS2PD(y.AsX(), e.y)
	Comment("0^y and ∞^y are 0 and +Inf, or +Inf and 0 if y < 0.")
	zero, negative := YMM(), YMM()
	VXORPS(zero, zero, zero)
	VCMPPS(LessThan, zero, y, negative)
	VANDPS(Floats(infinity), negative, e.atZero)
	VANDNPS(Floats(infinity), negative, e.atInf)

	Comment("y is odd if it is an integer and its half is not.")
	half, rounded := YMM(), YMM()
	VROUNDPS(ToZero, y, rounded)
	VCMPPS(NotEqual, rounded, y, e.broken)
	VMULPS(Floats(0.5), y, half)
	VROUNDPS(ToZero, half, rounded)
	VCMPPS(NotEqual, rounded, half, e.oddSign)
	VANDNPS(e.oddSign, e.broken, e.oddSign)
	VANDPS(Words(signBit), e.oddSign, e.oddSign)
	return e
}

// Pow is approx.Pow.
func Pow(x reg.VecVirtual, y Exponent) reg.VecVirtual {
	a := YMM()
	VANDPS(Words(^uint32(signBit)), x, a)
	t, e := split(a)
	result := power64(t.AsX(), e.AsX(), y)
	upperT, upperE := XMM(), XMM()
	VEXTRACTF128(Imm(1), t, upperT)
	VEXTRACTF128(Imm(1), e, upperE)
	VINSERTF128(Imm(1), power64(upperT, upperE, y).AsX(), result, result)

	Comment("0^y, ∞^y, NaN; the sign of an odd power; NaN if x is negative and finite and y is not an integer.")
	special, infinite := YMM(), YMM()
	VXORPS(special, special, special)
	VCMPPS(Equal, special, a, special)
	VBLENDVPS(special, y.atZero, result, result)
	VCMPPS(Equal, Floats(infinity), a, infinite)
	VBLENDVPS(infinite, y.atInf, result, result)
	VANDPS(y.oddSign, x, special)
	VORPS(special, result, result)
	VXORPS(special, special, special)
	VCMPPS(LessThan, special, x, special)
	VANDPS(y.broken, special, special)
	VANDNPS(special, infinite, special)
	VORPS(special, result, result)
	VCMPPS(Unordered, x, x, special)
	VORPS(special, result, result)
	return result
}

// power64 returns ((1+t)·2^e)^y for the four values of a half of a vector. It computes in float64.
func power64(halfT, halfE Op, y Exponent) reg.VecVirtual {
	Comment("log2((1+t)·2^e) = e + s·P(s²) with s = t/(2+t)")
	t, e, s, z := YMM(), YMM(), YMM(), YMM()
	VCVTPS2PD(halfT, t)
	VCVTPS2PD(halfE, e)
	VADDPD(Doubles(2), t, s)
	VDIVPD(s, t, s)
	VMULPD(s, s, z)
	l := polynomial64(z, approx.Log2Coefficients[:])
	VFMADD213PD(e, s, l)

	Comment("2^(y·log2) = P(f)·2^n")
	bound, n, f := YMM(), YMM(), YMM()
	VMULPD(y.y, l, l)
	VMOVUPD(Doubles(approx.PowMost), bound)
	VMINPD(l, bound, l)
	VMOVUPD(Doubles(-approx.PowMost), bound)
	VMAXPD(l, bound, l)
	VADDPD(Doubles(approx.Rounder), l, n)
	VSUBPD(Doubles(approx.Rounder), n, f)
	VSUBPD(f, l, f)
	p := polynomial64(f, approx.Exp2Coefficients[:])
	VPADDQ(Quads(approx.OneExponent64), n, n)
	VPSLLQ(Imm(approx.FractionBits64), n, n)
	VMULPD(n, p, p)
	result := YMM()
	VCVTPD2PSY(p, result.AsX())
	return result
}
