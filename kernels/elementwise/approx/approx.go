// Package approx computes logarithm and exponential in float32 by a range reduction and a polynomial.
//
// The package exists for two reasons. Go's math package computes in float64, which takes longer. And the vector kernels of
// packages elementwise and softmax are these functions line by line, with these constants. Package approx has no vector
// code.
//
// The reductions are those of J.-M. Muller, Elementary Functions, 3rd ed., Birkhäuser 2016, chapter 11: the constant
// ln 2 in two parts, of which the first has so few bits that its product with the exponent is exact. The polynomials
// are minimax fits of ours by the Remez exchange, weighted for the relative error of the result, with the coefficients
// then rounded to float32.
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
	lifted := float32(0)
	if x < SmallestNormal {
		x *= Lift
		lifted = LiftExponent
	}
	bits := int32(math.Float32bits(x)) - SqrtHalfBits
	e := float32(bits>>FractionBits) - lifted
	t := math.Float32frombits(uint32(bits&FractionMask+SqrtHalfBits)) - 1

	c := &LogCoefficients
	p := ((((((c[7]*t+c[6])*t+c[5])*t+c[4])*t+c[3])*t+c[2])*t+c[1])*t + c[0]
	square := t * t
	p = p*t*square + e*Ln2Lo
	p -= square * 0.5
	return (p + t) + e*Ln2Hi
}

// Constants of Exp.
const (
	Log2E = 1.44269504088896340736
	// From ExpLow to ExpHigh both e^x and the power of two in it are normal float32 numbers.
	ExpLow  = -87.33654
	ExpHigh = 88.37626
)

// ExpCoefficients are the coefficients of P, the lowest first, in e^r ≈ 1 + r + r²·P(r) on [−ln 2/2, ln 2/2]. The relative
// error of the fit is at most 3.1e-9.
var ExpCoefficients = [5]float32{0.4999999404, 0.1666652113, 0.04166838899, 0.008368716575, 0.001381460577}

// Exp returns e^x for x from ExpLow to ExpHigh, with an error of at most 1 unit of the last place. Below ExpLow, where e^x
// is a denormal, it returns 0. Above ExpHigh the result is undefined. For NaN it returns NaN.
func Exp(x float32) float32 {
	if x < ExpLow {
		return 0
	}
	if x != x {
		return x
	}
	// Adding and then subtracting 1.5·2²³ rounds to the nearest integer, with ties to even, as the vector instruction does.
	const rounder = 3 << 22
	n := float32(x*Log2E) + rounder
	n -= rounder
	r := x - n*Ln2Hi
	r -= n * Ln2Lo
	c := &ExpCoefficients
	p := (((c[4]*r+c[3])*r+c[2])*r+c[1])*r + c[0]
	p = p*r*r + r + 1
	return math.Float32frombits(uint32(int32(math.Float32bits(p)) + int32(n)<<FractionBits))
}
