package approx

import (
	"math"
	"testing"
)

// ulps returns |got − want| in units of the last place of want as a float32.
func ulps(got float32, want float64) float64 {
	_, exponent := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(exponent-24, -149))
}

func TestLogAccuracy(t *testing.T) {
	worst, at := 0.0, float32(0)
	check := func(bits uint32) {
		x := math.Float32frombits(bits)
		if e := ulps(Log(x), math.Log(float64(x))); e > worst {
			worst, at = e, x
		}
	}
	for bits := uint32(1); bits < 0x7f800000; bits += 1009 { // every exponent, denormals too
		check(bits)
	}
	near := math.Float32bits(1)
	for d := uint32(1); d < 1<<16; d++ { // where cancellation would show
		check(near + d)
		check(near - d)
	}
	if worst > 0.9 {
		t.Errorf("off by %.3g ulp at %g", worst, at)
	}
	t.Logf("worst %.3f ulp at %g", worst, at)
}

func TestExpAccuracy(t *testing.T) {
	worst, at := 0.0, float32(0)
	for bits := uint32(0); ; bits += 1009 {
		x := math.Float32frombits(bits)
		if x > -ExpLow {
			break
		}
		for _, x := range []float32{x, -x} {
			if e := ulps(Exp(x), math.Exp(float64(x))); e > worst {
				worst, at = e, x
			}
		}
	}
	if worst > 1.1 {
		t.Errorf("off by %.3g ulp at %g", worst, at)
	}
	t.Logf("worst %.3f ulp at %g", worst, at)
}

func TestSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, test := range []struct {
		name    string
		f       func(float32) float32
		x, want float32
	}{
		{"log", Log, 0, -inf},
		{"log", Log, float32(math.Copysign(0, -1)), -inf},
		{"log", Log, -1, nan},
		{"log", Log, -math.SmallestNonzeroFloat32, nan},
		{"log", Log, -inf, nan},
		{"log", Log, nan, nan},
		{"log", Log, inf, inf},
		{"log", Log, 1, 0},
		{"log", Log, math.MaxFloat32, 88.722839},
		{"log", Log, math.SmallestNonzeroFloat32, -103.27893},
		{"exp", Exp, 0, 1},
		{"exp", Exp, -inf, 0},
		{"exp", Exp, -1e30, 0},
		{"exp", Exp, -88, 0},
		{"exp", Exp, nan, nan},
	} {
		got := test.f(test.x)
		if got != test.want && !(got != got && test.want != test.want) {
			t.Errorf("%s(%g) = %g, want %g", test.name, test.x, got, test.want)
		}
	}
}
