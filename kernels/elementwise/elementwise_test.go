package elementwise

import (
	"fmt"
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/elementwise/approx"
	"crossover/kernels/kerneltest"
)

// lengths have every remainder modulo vectors, unrolled vectors and grains.
var lengths = []int{1, 2, 7, 8, 9, 15, 31, 32, 33, 1000, 8 << 10, 8<<10 + 1, 16<<10 + 1, 100_003}

// tests are the operations of the package, with their loops in Go, constants, and the greatest error of the loops in units of
// the last place.
var tests = []struct {
	op     *kernels.Op[Params]
	inGo   loop
	params []Params
	ulps   float64
}{
	{&Scale, scaleGo, []Params{{A: 1.1}}, 0.5}, // without an offset, which would cancel
	{&Gain, gainGo, []Params{{A: 0.7}}, 0.5},
	{&Abs, absGo, []Params{{}}, 0},
	{&SoftClip, softClipGo, []Params{{A: 1}, {A: 4}}, 2.5}, // a power of two, because tanh takes a rounded product
	{&Exp, each(approx.Exp), []Params{{}}, 1},
	{&Log, each(approx.Log), []Params{{}}, 0.9},
	{&Log1p, each(approx.Log1p), []Params{{}}, 1.5},
	{&Pow, powGo, []Params{{A: 0.3}, {A: -1.7}, {A: 2}, {A: 3}, {A: -1}, {A: 1e6}, {A: 0}, {A: float32(math.Inf(1))}, {A: float32(math.NaN())}}, 0.6},
	{&GELU, each(approx.GELU), []Params{{}}, 11},
	{&GELUTanh, each(approx.GELUTanh), []Params{{}}, 220},
	{&Power, powerGo, []Params{{}}, 1.5},
	{&Magnitude, magnitudeGo, []Params{{}}, 1.5},
}

func TestOps(t *testing.T) {
	for _, test := range tests {
		t.Run(test.op.Name, func(t *testing.T) {
			kerneltest.Run(t, test.op, kerneltest.Options{Sizes: lengths, Emulated: 40 << 10})
		})
	}
}

// No loop touches memory beyond its slices.
func TestTouchesNothingElse(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for _, test := range tests {
			words := n
			if test.op == &Power || test.op == &Magnitude {
				words = 2 * n
			}
			compute := fastest(test.op.Name, test.inGo)
			src, moreSrc := kerneltest.Guarded(t, words)
			dst, moreDst := kerneltest.Guarded(t, n)
			compute(dst, src, test.params[0])
			compute(moreDst, moreSrc, test.params[0])
		}
	}
}

// TestAccuracy compares both loops with the references over the whole range of float32: every exponent, denormals, infinities
// and NaNs.
func TestAccuracy(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	const step = 20011
	var x []float32
	for bits := uint32(0); bits < math.MaxUint32-step; bits += step {
		x = append(x, math.Float32frombits(bits))
	}
	inf := float32(math.Inf(1))
	x = append(x, inf, -inf, 0, float32(math.Copysign(0, -1)), 1, -1, -2, -3, math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-126)
	for _, test := range tests {
		for _, p := range test.params {
			for name, compute := range map[string]loop{"in Go": test.inGo, "fastest": fastest(test.op.Name, test.inGo)} {
				if name == "fastest" && test.op == &Pow && (p.A == 0 || p.A-p.A != 0) {
					continue // such exponents have no vector code
				}
				src := x
				if test.op == &Power || test.op == &Magnitude {
					src = pairs(x)
				}
				n := len(test.op.Reference(p, kernels.Shape{}, &kernels.Args{1: src}))
				got := make([]float32, n)
				compute(got, src, p)
				worst, at := 0.0, 0
				for i, want := range test.op.Reference(p, kernels.Shape{}, &kernels.Args{1: src}) {
					if e := kerneltest.ULPs(got[i], want); e > worst {
						worst, at = e, i
					}
				}
				what := fmt.Sprintf("%s by %+v, %s: worst %.3f ulp, %g from %g", test.op.Name, p, name, worst, got[at], src[at*len(src)/n:][:len(src)/n])
				if worst > test.ulps {
					t.Errorf("%s, want at most %g", what, test.ulps)
				}
				t.Log(what)
			}
		}
	}
}

// pairs returns complex values whose squares are normal numbers: neighbours with each other and with zeros.
func pairs(x []float32) []float32 {
	var y []float32
	for i, v := range x[1:] {
		if m := math.Abs(float64(v)); m > 1e-18 && m < 1e19 {
			y = append(y, v, x[i], v, 0, 0, v)
		}
	}
	return y
}

// TestMpmath compares with values that mpmath 1.3 computed with 40 digits.
func TestMpmath(t *testing.T) {
	x := []float32{0.001, 0.1, 0.5, 1, 1.5, 2.718, 7.25, 20, 88}
	for _, test := range []struct {
		op   *kernels.Op[Params]
		a    float32
		want []float64
	}{
		{&Exp, 0, []float64{1.0010005002142533, 1.1051709197224806, 1.6487212707001281, 2.7182818284590452, 4.4816890703380648,
			15.149990958403438, 1408.1048482046956, 485165195.40979028, 1.6516362549940019e+38}},
		{&Log, 0, []float64{-6.9077552314846869, -2.3025850780928846, -0.69314718055994531, 0, 0.40546510810816438,
			0.9998962918695501, 1.9810014688665834, 2.995732273553991, 4.4773368144782065}},
		{&Log1p, 0, []float64{0.00099950038053353447, 0.095310181158975877, 0.40546510810816438, 0.69314718055994531,
			0.91629073187415507, 1.3131858718571183, 2.1102132003465896, 3.044522437723423, 4.4886363697321398}},
		{&SoftClip, 4, []float64{0.0039999788567899645, 0.37994896735522946, 0.96402758007581688, 0.99932929973906704,
			0.99998771165079557, 0.99999999927933902, 1, 1, 1}},
		{&Pow, 0.3, []float64{0.12589253260643404, 0.50118722211068904, 0.81225238964462787, 1, 1.1293469409155773,
			1.3498168269187272, 1.8117631085444003, 2.4564561399563238, 3.831288224629753}},
		{&Pow, -2.5, []float64{31622772.846680876, 316.22775423643595, 5.6568542494923802, 1, 0.36288736930121157,
			0.082106283587422448, 0.0070656965774859211, 0.00055901699437494742, 1.3765542120067822e-5}},
	} {
		t.Run(fmt.Sprintf("%s %g", test.op.Name, test.a), func(t *testing.T) {
			kerneltest.Against(t, test.op, Params{A: test.a}, kernels.Shape{len(x)}, [][]float32{x}, test.want, 1e-6)
		})
	}
}

// TestPyTorch compares with activations that PyTorch computed.
func TestPyTorch(t *testing.T) {
	x := kerneltest.ReadArray[float32](t, "testdata/x.npy")
	for name, op := range map[string]*kernels.Op[Params]{"gelu_erf": &GELU, "gelu_tanh": &GELUTanh} {
		want := kerneltest.ReadArray[float64](t, "testdata/"+name+".npy")
		kerneltest.Against(t, op, Params{}, kernels.Shape{len(x)}, [][]float32{x}, want, 3e-7)
	}
}

// What an implementation computes of a special value need not have the last digit of package math, but must be of the same
// kind. A GPU may compute with denormals, as the emulated one does, or take them for 0.
func TestSpecialValues(t *testing.T) {
	inf, nan, minusZero := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	const least = math.SmallestNonzeroFloat32
	x := []float32{0, minusZero, 1, -1, -1.0000001, -2, -0.5, least, -least, 5 * least, 0x1p-127, 0x1p-126, 1e-20, -1e-20,
		88.7, 88.8, -87, -104, 200, math.MaxFloat32, -math.MaxFloat32, inf, -inf, nan}
	for _, test := range tests {
		src := x
		if test.op == &Power || test.op == &Magnitude {
			src = []float32{0, 0, minusZero, 0, 1, inf, -inf, 1, inf, nan, nan, 1, 0, nan, 1e20, 0, 3, 4}
		}
		for _, p := range test.params {
			want := test.op.Reference(p, kernels.Shape{}, &kernels.Args{1: src})
			for name, plan := range kerneltest.Plans(t, test.op, p) {
				got := make([]float32, len(want))
				if err := plan.Run(kernels.Shape{elements: len(got)}, kernels.Args{got, src}); err != nil {
					t.Fatal(err)
				}
				for i, w := range want {
					if test.op == &Magnitude && w > 1.9e19 {
						w = math.Inf(1) // as its doc comment says
					}
					if w32 := float32(w); w32 == got[i] || math.IsNaN(w) && got[i] != got[i] {
						continue
					}
					if !(math.Abs(float64(got[i])-w) <= 2e-6*math.Abs(w)+2*least) || math.IsInf(float64(got[i]), 0) {
						t.Errorf("%s by %+v, %s: %g of value %d, %g; want %g", test.op.Name, p, name, got[i], i, src[i*len(src)/len(want)], w)
					}
				}
			}
		}
	}
}

// A value's result must not depend on where in the slice it is. Apple's framework does not promise that.
func TestPositionDoesNotMatter(t *testing.T) {
	for _, test := range tests {
		for name, p := range kerneltest.Plans(t, test.op, test.params[0]) {
			if name == "accelerate" {
				continue
			}
			y := make([]float32, 9001)
			x := make([]float32, 2*len(y))
			for i := range x {
				x[i] = 0.37
			}
			if test.op != &Power && test.op != &Magnitude {
				x = x[:len(y)]
			}
			if err := p.Run(kernels.Shape{elements: len(y)}, kernels.Args{y, x}); err != nil {
				t.Fatal(err)
			}
			for i, v := range y {
				if v != y[0] {
					t.Fatalf("%s %s: element %d is %g, element 0 is %g", test.op.Name, name, i, v, y[0])
				}
			}
		}
	}
}

func TestApply(t *testing.T) {
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	for _, test := range []struct {
		op     *kernels.Op[Params]
		params Params
		plan   *Plan
	}{
		{&Scale, Params{2, 0.5}, NewScale(nil, 2, 0.5)},
		{&Gain, Params{A: 2}, NewGain(nil, 2)},
		{&Abs, Params{}, NewAbs(nil)},
		{&SoftClip, Params{A: 0.25}, NewSoftClip(nil, 0.25)},
		{&Exp, Params{}, NewExp(nil)},
		{&Log, Params{}, NewLog(nil)},
		{&Log1p, Params{}, NewLog1p(nil)},
		{&Pow, Params{A: 1.5}, NewPow(nil, 1.5)},
		{&GELU, Params{}, NewGELU(nil)},
		{&GELUTanh, Params{}, NewGELUTanh(nil)},
	} {
		t.Run(test.op.Name, func(t *testing.T) {
			y := append([]float32{}, x...)
			if err := test.plan.Apply(y, y); err != nil { // in place
				t.Fatal(err)
			}
			if e := kernels.RelativeError(y, test.op.Reference(test.params, kernels.Shape{}, &kernels.Args{1: x})); !(e <= 3e-7) {
				t.Errorf("relative error %.2g", e)
			}
			if err := test.plan.Apply(nil, nil); err != nil {
				t.Errorf("empty slice: %v", err)
			}
			if got := testing.AllocsPerRun(100, func() { _ = test.plan.Apply(y, x) }); got != 0 {
				t.Errorf("%v allocations per Apply", got)
			}
		})
	}
	z := []complex64{3 + 4i, -5, 12i}
	for _, test := range []struct {
		name string
		plan *ComplexPlan
		want [3]float32
	}{
		{"power", NewPower(nil), [3]float32{25, 25, 144}},
		{"magnitude", NewMagnitude(nil), [3]float32{5, 5, 12}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var y [3]float32
			if err := test.plan.Apply(y[:], z); err != nil || y != test.want {
				t.Errorf("%v, %v, want %v", y, err, test.want)
			}
			if err := test.plan.Apply(nil, nil); err != nil {
				t.Errorf("empty slice: %v", err)
			}
			if got := testing.AllocsPerRun(100, func() { _ = test.plan.Apply(y[:], z) }); got != 0 {
				t.Errorf("%v allocations per Apply", got)
			}
		})
	}
}

func TestLengthsDiffer(t *testing.T) {
	for name, f := range map[string]func(){
		"scale: dst has 3 values, want as many as src, 4": func() { _ = NewScale(nil, 1, 1).Apply(make([]float32, 3), make([]float32, 4)) },
		"power: dst has 4 values, want as many as src, 3": func() { _ = NewPower(nil).Apply(make([]float32, 4), make([]complex64, 3)) },
	} {
		func() {
			defer func() {
				if got := recover(); got != name {
					t.Errorf("panic(%v), want %q", got, name)
				}
			}()
			f()
		}()
	}
}

func BenchmarkElementwise(b *testing.B) {
	for _, test := range tests {
		b.Run("op="+test.op.Name, func(b *testing.B) {
			kerneltest.Benchmark(b, test.op, test.op.Lines[0], 1<<10, 1<<13, 1<<16, 1<<20, 1<<24)
		})
	}
}

// Logs and Exps are the loops of the operations.
func TestLogsAndExps(t *testing.T) {
	x, got := make([]float32, 101), make([]float32, 101)
	kernels.Noise(x, 3)
	Exps(got, x)
	for i, v := range x {
		if off := math.Abs(float64(got[i])/math.Exp(float64(v)) - 1); !(off < 2e-7) {
			t.Fatalf("e^%g is %g", v, got[i])
		}
	}
	Logs(got, got)
	if off := kernels.RelativeError(got, float64s(x)); !(off < 1e-6) {
		t.Errorf("logarithms of exponentials are off by %.2g", off)
	}
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
