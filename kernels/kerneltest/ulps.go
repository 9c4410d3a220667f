package kerneltest

import "math"

// ULPs returns |got − want| in units of the last place of want as a float32. It returns +Inf if an infinity, a NaN or the
// sign of a zero is not met.
func ULPs(got float32, want float64) float64 {
	rounded := float32(want)
	if math.Signbit(float64(got)) != math.Signbit(want) && got == 0 && rounded == 0 {
		return math.Inf(1)
	}
	if got == rounded || got != got && want != want {
		return 0
	}
	if want != want || math.IsInf(float64(rounded), 0) {
		return math.Inf(1)
	}
	_, exponent := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(exponent-24, -149))
}
