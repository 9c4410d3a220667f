// Package approx computes logarithms, exponentials, powers and hyperbolic tangents of float32 values by a range reduction and
// a polynomial.
//
// The package exists for two reasons. Go's math package computes in float64, which takes longer. And vector code is these
// functions line by line, with these constants: package emit writes it. Package approx has no vector code. NaNs, infinities
// and zeros are those of package math. Denormals are computed like all others.
//
// The reductions are those of J.-M. Muller, Elementary Functions, 3rd ed., Birkhäuser 2016, chapter 11: the constant
// ln 2 in two parts, of which the first has so few bits that its product with the exponent is exact. The polynomials
// are minimax fits of ours by the Remez exchange, weighted for the relative error of the result, with the coefficients
// then rounded to the precision in which they are used.
package approx

import "math"

// Ln2Hi and Ln2Lo add up to ln 2. Ln2Hi is 355/512.
const (
	Ln2Hi = 0.693359375
	Ln2Lo = -2.121944400546905827679e-4
)

// Constants of Log.
const (
	// SqrtHalfBits is √½ as IEEE 754 bits. The difference of the bits of x and SqrtHalfBits has e in the place of the
	// exponent, where x = m·2^e and m is in [√½, √2). So m is as close to 1 as possible.
	SqrtHalfBits = 0x3f3504f3
	// FractionMask selects the fraction of a float32. FractionBits is the width of the fraction.
	FractionMask = 0x007fffff
	FractionBits = 23
	// SmallestNormal is the least float32 of full precision. A smaller value is multiplied by Lift, and LiftExponent is
	// subtracted from its exponent.
	SmallestNormal = 0x1p-126
	Lift           = 1 << LiftExponent
	LiftExponent   = 23
)

// LogCoefficients are the coefficients of P, the lowest first, in ln(1+t) ≈ t − t²/2 + t³·P(t) on [√½−1, √2−1]. The relative
// error of the fit is at most 5.9e-9.
var LogCoefficients = [8]float32{
	0.3333333135, -0.2500081956, 0.2000122815, -0.1662335992,
	0.1420174390, -0.1316014528, 0.1276164353, -0.07634664327,
}

// Log returns the natural logarithm of x, with an error of at most 0.9 units of the last place. As in math.Log, the result
// is −Inf at 0, NaN below 0 and for NaN, and +Inf at +Inf. Denormals have finite logarithms.
func Log(x float32) float32 {
	if !(x > 0 && x <= math.MaxFloat32) {
		switch {
		case x == 0:
			return float32(math.Inf(-1))
		case x < 0:
			return float32(math.NaN())
		}
		return x
	}
	t, e := split(x)
	return logOf(t, e)
}

// split returns t and e of x = (1+t)·2^e, where 1+t is in [√½, √2). x is positive and finite.
func split(x float32) (t, e float32) {
	lifted := float32(0)
	if x < SmallestNormal {
		x *= Lift
		lifted = LiftExponent
	}
	bits := int32(math.Float32bits(x)) - SqrtHalfBits
	return math.Float32frombits(uint32(bits&FractionMask+SqrtHalfBits)) - 1, float32(bits>>FractionBits) - lifted
}

// logOf returns ln((1+t)·2^e).
func logOf(t, e float32) float32 {
	c := &LogCoefficients
	p := ((((((c[7]*t+c[6])*t+c[5])*t+c[4])*t+c[3])*t+c[2])*t+c[1])*t + c[0]
	square := t * t
	p = p*t*square + e*Ln2Lo
	p -= square * 0.5
	return (p + t) + e*Ln2Hi
}

// FourExponent is the exponent of 4 as a float32 has it.
const FourExponent = 129

// Log1p returns ln(1+x), with an error of at most 1.5 units of the last place, also where x is small. As in math.Log1p, the
// result is −Inf at −1, NaN below −1 and for NaN, +Inf at +Inf, and x at ±0.
func Log1p(x float32) float32 {
	if !(x > -1 && x <= math.MaxFloat32) || x == 0 {
		switch {
		case x == -1:
			return float32(math.Inf(-1))
		case x < -1:
			return float32(math.NaN())
		}
		return x
	}
	// 1+x rounded says e. t = (1+x)·2^−e − 1 is computed from x itself, and rounds once: as x·2^−e + (2^−e − 1). The power of
	// two comes from four times itself, because 2^−128 is denormal.
	e := (int32(math.Float32bits(1+x)) - SqrtHalfBits) >> FractionBits
	power := math.Float32frombits(uint32(FourExponent-e)<<FractionBits) * 0.25
	t := math.Float32frombits(uint32(int32(math.Float32bits(x))-e<<FractionBits)) + (power - 1)
	return logOf(t, float32(e))
}

// Constants of Exp.
const (
	Log2E = 1.44269504088896340736
	// Below ExpLeast the exponential is 0 in float32, and above ExpMost it is +Inf.
	ExpLeast = -104
	ExpMost  = 89
	// Below ExpLow the exponential is denormal.
	ExpLow = -87.33654
	// OneBits is 1 as IEEE 754 bits. The difference of the bits of 2^n and OneBits is n in the place of the exponent.
	OneBits = 0x3f800000
)

// ExpCoefficients are the coefficients of P, the lowest first, in e^r ≈ 1 + r + r²·P(r) on [−ln 2/2, ln 2/2]. The relative
// error of the fit is at most 3.1e-9.
var ExpCoefficients = [5]float32{0.4999999404, 0.1666652113, 0.04166838899, 0.008368716575, 0.001381460577}

// Exp returns e^x, with an error of at most 1 unit of the last place. Results below 2^−126 are denormal. As in math.Exp, the
// result is 0 at −Inf, +Inf at +Inf, and NaN for NaN.
func Exp(x float32) float32 {
	p, n := expOf(min(max(x, ExpLeast), ExpMost))
	half := n >> 1 // 2^n alone may be beyond float32 where the result is not
	return (p + 1) * power(half) * power(n-half)
}

// expOf returns p and n of e^x = (1+p)·2^n.
func expOf(x float32) (p float32, n int32) {
	// Adding and then subtracting 1.5·2²³ rounds to the nearest integer, with ties to even, as the vector instruction does.
	const rounder = 3 << 22
	whole := float32(x*Log2E) + rounder
	whole -= rounder
	r := x - whole*Ln2Hi
	r -= whole * Ln2Lo
	c := &ExpCoefficients
	p = (((c[4]*r+c[3])*r+c[2])*r+c[1])*r + c[0]
	return p*r*r + r, int32(whole)
}

// power returns 2^n for a normal power of two.
func power(n int32) float32 { return math.Float32frombits(uint32(OneBits + n<<FractionBits)) }

// TanhMost is a magnitude from which on the hyperbolic tangent is ±1 in float32.
const TanhMost = 20

// Tanh returns the hyperbolic tangent of x, with an error of at most 2.5 units of the last place. As in math.Tanh, the result
// is ±1 at ±Inf, NaN for NaN, and x at ±0.
func Tanh(x float32) float32 {
	// With a = |x| and u = 1 − e^−2a, the tangent of a is u/(2−u). Where a is small, n is 0 and u = −p does not cancel.
	a := min(float32(math.Abs(float64(x))), TanhMost)
	p, n := expOf(-2 * a)
	scale := power(n)
	u := (1 - scale) - scale*p
	return float32(math.Copysign(float64(u/(2-u)), float64(x)))
}

// Logistic returns 1/(1+e^−x), with an error of at most 2.5 units of the last place. The result is 0 at −Inf, 1 at +Inf, and
// NaN for NaN.
func Logistic(x float32) float32 {
	p := Exp(-float32(math.Abs(float64(x)))) // at most 1, so that nothing overflows
	if x < 0 {
		return p / (1 + p)
	}
	return 1 / (1 + p)
}

// Constants of GELU.
const (
	// GELUMost is a magnitude from which on Φ(−a) is 0 in float32.
	GELUMost  = 16
	GELUScale = 0.305
)

// GELUCoefficients are the coefficients of P, the lowest first, in Φ(−a) ≈ e^(−a²/2)·t·P(t) with t = 1/(1 + GELUScale·a), for
// a from 0 to 14. The relative error of the fit is at most 1.2e-7. Source of the form: M. Abramowitz, I. Stegun, Handbook of
// Mathematical Functions, 1964, 26.2.17.
var GELUCoefficients = [8]float32{
	0.1216397285, 0.1224668622, 0.1034206375, 0.1210224032, -0.03797813505, 0.1857182384, -0.1529890448, 0.03669935465,
}

// GELU returns x·Φ(x), where Φ is the distribution function of the standard normal distribution, with an error of at most 11
// units of the last place. The result is +Inf at +Inf, and NaN at −Inf and for NaN.
func GELU(x float32) float32 {
	a := min(float32(math.Abs(float64(x))), GELUMost)
	t := 1 / (1 + GELUScale*a)
	c := &GELUCoefficients
	p := (((((((c[7]*t+c[6])*t+c[5])*t+c[4])*t+c[3])*t+c[2])*t+c[1])*t + c[0]) * t
	square := a * a
	rest := float32(float64(a)*float64(a) - float64(square)) // that rounding took from the square
	q := p * Exp(-0.5*square)
	q -= q * (0.5 * rest)
	if !(x < 0) {
		q = 1 - q
	}
	return x * q
}

// GELULinear and GELUCubic are 2·√(2/π) and 0.044715 times that.
const (
	GELULinear = 1.5957691216057308
	GELUCubic  = 0.07135481627159025
)

// GELUTanh returns x·½·(1 + tanh(√(2/π)·(x + 0.044715·x³))), which is close to GELU, with an error of at most 5 units of the
// last place where x is above −2, and of at most 220 where the result goes to 0. The result is +Inf at +Inf, and NaN at −Inf
// and for NaN.
func GELUTanh(x float32) float32 {
	return x * Logistic(x*(GELULinear+GELUCubic*(x*x))) // (1 + tanh u)/2 is the logistic function of 2u
}

// Constants of Pow.
const (
	// PowMost is a magnitude beyond which the logarithm to base 2 of a result is that of 0 or +Inf in float32.
	PowMost = 160
	// Rounder is 1.5·2⁵². Adding and then subtracting it rounds to the nearest integer. After the addition, the lowest bits
	// are those of the integer.
	Rounder = 3 << 51
	// OneExponent64 is the exponent of 1 as a float64 has it, and FractionBits64 the width of the fraction.
	OneExponent64  = 1023
	FractionBits64 = 52
)

// Log2Coefficients are the coefficients of P, the lowest first, in log2(1+t) ≈ s·P(s²) with s = t/(2+t), on
// [√½−1, √2−1]. The relative error of the fit is at most 4.3e-12.
var Log2Coefficients = [5]float64{
	2.8853900817900802, 0.96179667335006014, 0.57708358326944187, 0.41167282689514417, 0.34072800825968909,
}

// Exp2Coefficients are the coefficients of P, the lowest first, in 2^f ≈ P(f) on [−½, ½]. The relative error of the fit is at
// most 1.9e-9.
var Exp2Coefficients = [7]float64{
	1.0000000005541663, 0.69314720573725268, 0.24022646890639572, 0.055503287769976638, 0.0096184889565227916,
	0.001339993120947414, 0.00015345812158740182,
}

// Pow returns x^y, with an error of at most 0.6 units of the last place, by float64 arithmetic: the error of a logarithm in
// float32 would be multiplied by y. Special cases are those of math.Pow: the result is 1 if y is 0 or x is 1, NaN if x is
// negative and finite and y is not an integer, and NaN if one of the two is.
func Pow(x, y float32) float32 {
	a := float32(math.Abs(float64(x)))
	if !(a > 0 && a <= math.MaxFloat32) || y == 0 || y-y != 0 {
		return float32(math.Pow(float64(x), float64(y)))
	}
	sign := float32(1)
	if x < 0 {
		if half := float64(y) / 2; half != math.Trunc(half) {
			sign = -1
			if y != float32(math.Trunc(float64(y))) {
				return float32(math.NaN())
			}
		}
	}
	t, e := split(a)
	s := float64(t) / (float64(t) + 2)
	z := s * s
	l := &Log2Coefficients
	exponent := float64(float64(y) * ((((((l[4]*z+l[3])*z+l[2])*z+l[1])*z + l[0]) * s) + float64(e)))
	exponent = min(max(exponent, -PowMost), PowMost)
	n := exponent + Rounder
	f := exponent - (n - Rounder)
	c := &Exp2Coefficients
	p := (((((c[6]*f+c[5])*f+c[4])*f+c[3])*f+c[2])*f+c[1])*f + c[0]
	return sign * float32(p*math.Float64frombits((math.Float64bits(n)+OneExponent64)<<FractionBits64))
}
