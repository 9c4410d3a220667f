package elementwise

import (
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// lengths have every remainder modulo vectors, unrolled vectors and grains.
var lengths = []int{1, 2, 7, 8, 9, 15, 31, 32, 33, 1000, 8 << 10, 8<<10 + 1, 16<<10 + 1, 100_003}

// ops are the operations of the package.
var ops = []*kernels.Op[Params]{&Scale, &Log}

func TestOps(t *testing.T) {
	for _, op := range ops {
		t.Run(op.Name, func(t *testing.T) { kerneltest.Run(t, op, kerneltest.Options{Sizes: lengths, InPlace: true}) })
	}
}

// The loops in Go and in vector code differ only by the rounding that fused multiply-adds save.
func TestVectorLoopsMatchGo(t *testing.T) {
	x := make([]float32, 4099)
	kernels.Noise(x, 1)
	for i := range x {
		x[i] = 10 * (x[i] + 1.001)
	}
	for _, test := range []struct {
		name       string
		loop, inGo func(dst, src []float32)
	}{
		{"scale", func(d, s []float32) { scale(d, s, 1.1, -0.3) }, func(d, s []float32) { scaleGo(d, s, 1.1, -0.3) }},
		{"log", log, logGo},
	} {
		got, want := make([]float32, len(x)), make([]float32, len(x))
		test.loop(got, x)
		test.inGo(want, x)
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 4e-7*max(1, math.Abs(float64(want[i]))) {
				t.Fatalf("%s of %g: %g, in Go %g", test.name, x[i], got[i], want[i])
			}
		}
	}
}

var specialLog = func() (special struct{ x, want []float32 }) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	const least = math.SmallestNonzeroFloat32
	special.x = []float32{0, float32(math.Copysign(0, -1)), -1, -least, -inf, nan, inf, 1, least, 5 * least, 0x1p-127, 0x1p-126, math.MaxFloat32}
	special.want = []float32{-inf, -inf, nan, nan, nan, nan, inf, 0, -103.27893, -101.669495, -88.02969, -87.33655, 88.72284}
	return special
}()

func TestLogOfSpecialValues(t *testing.T) {
	for _, test := range []struct {
		name string
		loop func(dst, src []float32)
	}{{"log", log}, {"logGo", logGo}} {
		got := make([]float32, len(specialLog.x))
		test.loop(got, specialLog.x)
		for i, want := range specialLog.want {
			if got[i] != want && !(got[i] != got[i] && want != want) {
				t.Errorf("%s(%g) = %g, want %g", test.name, specialLog.x[i], got[i], want)
			}
		}
	}
}

// Apple's framework need not round as math.Log does.
func TestLogOfSpecialValuesEverywhere(t *testing.T) {
	for name, p := range kerneltest.Plans(t, &Log, Params{}) {
		got := make([]float32, len(specialLog.x))
		if err := p.Run(kernels.Shape{elements: len(got)}, kernels.Args{got, specialLog.x}); err != nil {
			t.Fatal(err)
		}
		for i, want := range specialLog.want {
			if math.Abs(float64(got[i]-want)) > 2e-7*math.Abs(float64(want)) || (got[i] != got[i]) != (want != want) {
				t.Errorf("%s: log(%g) = %g, want %g", name, specialLog.x[i], got[i], want)
			}
		}
	}
}

// A value's result must not depend on where in the slice it is. Apple's framework does not promise that.
func TestPositionDoesNotMatter(t *testing.T) {
	x := make([]float32, 40_001)
	for i := range x {
		x[i] = 0.37
	}
	for _, op := range ops {
		for name, p := range kerneltest.Plans(t, op, Params{1.1, -0.3}) {
			if name == "accelerate" {
				continue
			}
			y := make([]float32, len(x))
			if err := p.Run(kernels.Shape{elements: len(x)}, kernels.Args{y, x}); err != nil {
				t.Fatal(err)
			}
			for i, v := range y {
				if v != y[0] {
					t.Fatalf("%s %s: element %d is %g, element 0 is %g", op.Name, name, i, v, y[0])
				}
			}
		}
	}
}

func TestApply(t *testing.T) {
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	scaled, logged := NewScale(nil, 2, 0.5), NewLog(nil)
	for _, test := range []struct {
		name string
		plan *Plan
		want []float64
	}{
		{"scale", scaled, Scale.Reference(Params{2, 0.5}, kernels.Shape{}, &kernels.Args{1: x})},
		{"log", logged, Log.Reference(Params{}, kernels.Shape{}, &kernels.Args{1: x})},
	} {
		t.Run(test.name, func(t *testing.T) {
			y := append([]float32{}, x...)
			if err := test.plan.Apply(y, y); err != nil { // in place
				t.Fatal(err)
			}
			if e := kernels.RelativeError(y, test.want); !(e <= 3e-7) {
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
	t.Run("lengths differ", func(t *testing.T) {
		defer func() {
			if got := recover(); got != "scale: dst and src differ in length" {
				t.Errorf("panic(%v)", got)
			}
		}()
		_ = scaled.Apply(make([]float32, 3), make([]float32, 4))
	})
}

func BenchmarkElementwise(b *testing.B) {
	for _, op := range ops {
		b.Run("op="+op.Name, func(b *testing.B) { kerneltest.Benchmark(b, op, op.Lines[0], 1<<10, 1<<13, 1<<16, 1<<20, 1<<24) })
	}
}
