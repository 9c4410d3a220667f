package approx

import (
	"fmt"
	"math"
	"testing"

	"crossover/kernels/kerneltest"
)

// TestAccuracy compares with package math in float64 over the whole range of float32: every exponent, denormals, infinities
// and NaNs.
func TestAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	type test struct {
		name  string
		f     func(x float32) float32
		exact func(x float64) float64
		most  float64   // ulps
		near  []float32 // where values are tried one after the other
	}
	tests := []test{
		{"log", Log, math.Log, 0.9, []float32{1}},
		{"log1p", Log1p, math.Log1p, 1.5, []float32{-1, -0.5, -0.2929, 0.4142, 1, 3}},
		{"exp", Exp, math.Exp, 1, []float32{-103.97, -87.33654, -1, 1, 88.37626, 88.72284}},
		{"tanh", Tanh, math.Tanh, 2.5, []float32{-0.1733, 0.1733, 0.5, 9.01, 20}},
	}
	tests = append(tests,
		test{"logistic", Logistic, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 2.5, []float32{-104, -88.7, -1, 0.1, 17}},
		test{"gelu", GELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, 11, []float32{-14.2, -13, -5, -0.1, 0.1, 1, 5.5}},
		test{"gelu-tanh", GELUTanh, geluTanh, 220, []float32{-10, -2, -0.1, 0.1, 1, 5.5}},
		test{"gelu-tanh above -2", func(x float32) float32 { return GELUTanh(max(x, -2)) }, func(x float64) float64 { return geluTanh(max(x, -2)) }, 5, nil})
	for _, y := range []float32{-2, -0.5, 1e-30, 0.3, 0.5, 1, 2.2, 3, 1e6, 1e30} {
		tests = append(tests, test{fmt.Sprintf("pow %g", y), func(x float32) float32 { return Pow(x, y) },
			func(x float64) float64 { return math.Pow(x, float64(y)) }, 0.6, []float32{1}})
	}
	for _, test := range tests {
		worst, at := 0.0, float32(0)
		check := func(x float32) {
			if e := kerneltest.ULPs(test.f(x), test.exact(float64(x))); e > worst {
				worst, at = e, x
			}
		}
		const step = 4001
		for bits := uint32(0); bits < math.MaxUint32-step; bits += step {
			check(math.Float32frombits(bits))
		}
		for _, near := range test.near {
			for d := range uint32(1 << 16) {
				check(math.Float32frombits(math.Float32bits(near) + d))
				check(math.Float32frombits(math.Float32bits(near) - d))
			}
		}
		if worst > test.most {
			t.Errorf("%s is off by %.3g ulp at %g, want at most %g", test.name, worst, at, test.most)
		}
		t.Logf("%s: worst %.3f ulp at %g", test.name, worst, at)
	}
}

func geluTanh(x float64) float64 {
	return x / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func TestSpecialValues(t *testing.T) {
	inf, nan, minusZero := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	const least = math.SmallestNonzeroFloat32
	pow := func(y float32) func(float32) float32 { return func(x float32) float32 { return Pow(x, y) } }
	for _, test := range []struct {
		name    string
		f       func(float32) float32
		x, want float32
	}{
		{"log", Log, 0, -inf},
		{"log", Log, minusZero, -inf},
		{"log", Log, -1, nan},
		{"log", Log, -least, nan},
		{"log", Log, -inf, nan},
		{"log", Log, nan, nan},
		{"log", Log, inf, inf},
		{"log", Log, 1, 0},
		{"log", Log, math.MaxFloat32, 88.722839},
		{"log", Log, least, -103.27893},
		{"log1p", Log1p, minusZero, minusZero},
		{"log1p", Log1p, least, least},
		{"log1p", Log1p, -least, -least},
		{"log1p", Log1p, -1, -inf},
		{"log1p", Log1p, -1.0000001, nan},
		{"log1p", Log1p, -inf, nan},
		{"log1p", Log1p, nan, nan},
		{"log1p", Log1p, inf, inf},
		{"log1p", Log1p, math.MaxFloat32, 88.722839},
		{"exp", Exp, 0, 1},
		{"exp", Exp, -inf, 0},
		{"exp", Exp, -1e30, 0},
		{"exp", Exp, -88, 6.054601e-39},
		{"exp", Exp, -103, least},
		{"exp", Exp, 89, inf},
		{"exp", Exp, inf, inf},
		{"exp", Exp, nan, nan},
		{"tanh", Tanh, minusZero, minusZero},
		{"tanh", Tanh, least, least},
		{"tanh", Tanh, 10, 1},
		{"tanh", Tanh, -math.MaxFloat32, -1},
		{"tanh", Tanh, -inf, -1},
		{"tanh", Tanh, inf, 1},
		{"tanh", Tanh, nan, nan},
		{"logistic", Logistic, -inf, 0},
		{"logistic", Logistic, inf, 1},
		{"logistic", Logistic, nan, nan},
		{"logistic", Logistic, minusZero, 0.5},
		{"logistic", Logistic, -100, 3.7834e-44},
		{"gelu", GELU, minusZero, minusZero},
		{"gelu", GELU, least, 0},
		{"gelu", GELU, -inf, nan},
		{"gelu", GELU, inf, inf},
		{"gelu", GELU, nan, nan},
		{"gelu", GELU, math.MaxFloat32, math.MaxFloat32},
		{"gelu", GELU, -math.MaxFloat32, minusZero},
		{"gelu-tanh", GELUTanh, minusZero, minusZero},
		{"gelu-tanh", GELUTanh, -inf, nan},
		{"gelu-tanh", GELUTanh, inf, inf},
		{"gelu-tanh", GELUTanh, nan, nan},
		{"gelu-tanh", GELUTanh, math.MaxFloat32, math.MaxFloat32},
		{"gelu-tanh", GELUTanh, -math.MaxFloat32, minusZero},
		{"pow 0", pow(0), nan, 1},
		{"pow NaN", pow(nan), 1, 1},
		{"pow NaN", pow(nan), 2, nan},
		{"pow +Inf", pow(inf), 0.5, 0},
		{"pow +Inf", pow(inf), -2, inf},
		{"pow -Inf", pow(-inf), 0.5, inf},
		{"pow 2", pow(2), -3, 9},
		{"pow 2", pow(2), -inf, inf},
		{"pow 3", pow(3), -2, -8},
		{"pow 3", pow(3), minusZero, minusZero},
		{"pow 3", pow(3), -inf, -inf},
		{"pow 3", pow(3), -least, minusZero},
		{"pow -1", pow(-1), minusZero, -inf},
		{"pow -1", pow(-1), least, inf},
		{"pow -1", pow(-1), math.MaxFloat32, 2.938736e-39},
		{"pow 0.5", pow(0.5), -1, nan},
		{"pow 0.5", pow(0.5), minusZero, 0},
		{"pow 0.5", pow(0.5), -inf, inf},
		{"pow 0.5", pow(0.5), least, 3.743392e-23},
		{"pow 0.5", pow(0.5), nan, nan},
		{"pow 1e30", pow(1e30), 1, 1},
		{"pow 1e30", pow(1e30), -1, 1},
		{"pow 16777216", pow(16777216), -1, 1},
	} {
		got := test.f(test.x)
		if math.Float32bits(got) != math.Float32bits(test.want) && !(got != got && test.want != test.want) {
			t.Errorf("%s of %g is %g, want %g", test.name, test.x, got, test.want)
		}
	}
}
