package elementwise

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"crossover/kernels"
)

// lengths have every remainder modulo the vectors, the unrolled vectors and the grains.
var lengths = []int{1, 2, 7, 8, 9, 15, 31, 32, 33, 1000, 8 << 10, 8<<10 + 1, 16<<10 + 1, 100_003}

// here returns the implementations that can run on this machine.
func here(all []kernels.Implementation) []kernels.Implementation {
	return slices.DeleteFunc(slices.Clone(all), func(i kernels.Implementation) bool { return i.Missing() != nil })
}

func TestImplementationsMatchReference(t *testing.T) {
	for _, c := range Cases() {
		for _, n := range lengths {
			p := c.Problem(n, kernels.GeneratedInput())
			want := p.Reference()
			for _, implementation := range here(c.Implementations) {
				call, err := p.Bind(implementation.Name)
				if err != nil {
					t.Fatal(err)
				}
				if err := call.Run(); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(call.Output(), want); !(e <= 3e-7) {
					t.Errorf("%s %s n=%d: relative error %.2g", c.Name, implementation.Name, n, e)
				}
				call.Release()
			}
		}
	}
}

// The loops are the same functions in Go and in vector code, up to the rounding that fusing saves.
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

// A value's result must not depend on where in the slice it is, nor on what implementation computes it.
func TestPositionDoesNotMatter(t *testing.T) {
	x := make([]float32, 40_001)
	for i := range x {
		x[i] = 0.37
	}
	for _, o := range []*operation{scaleOperation, logOperation} {
		for _, implementation := range here(contenders.Implementations()) {
			e, err := contenders.New(implementation.Name, function{o, 1.1, -0.3})
			if err != nil {
				t.Fatal(err)
			}
			y := make([]float32, len(x))
			if err := e.apply(y, x); err != nil {
				t.Fatal(err)
			}
			for i, v := range y {
				if v != y[0] {
					t.Fatalf("%s %s: element %d is %g, element 0 is %g", o.name, implementation.Name, i, v, y[0])
				}
			}
		}
	}
}

func TestApply(t *testing.T) {
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	scaled, err := NewScale(nil, 2, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	logged, err := NewLog(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		plan *Plan
		want []float64
	}{
		{"scale", scaled, ReferenceScale(x, 2, 0.5)},
		{"log", logged, ReferenceLog(x)},
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
			if got := recover(); got != "elementwise: dst and src differ in length" {
				t.Errorf("panic(%v)", got)
			}
		}()
		_ = scaled.Apply(make([]float32, 3), make([]float32, 4))
	})
}

func TestCallsDoNotAllocate(t *testing.T) {
	for _, c := range Cases() {
		p := c.Problem(50_000, kernels.GeneratedInput())
		for _, implementation := range here(c.Implementations) {
			call, err := p.Bind(implementation.Name)
			if err != nil {
				t.Fatal(err)
			}
			if got := testing.AllocsPerRun(20, func() { _ = call.Run() }); got != 0 {
				t.Errorf("%s %s: %v allocations per call", c.Name, implementation.Name, got)
			}
		}
	}
}

func TestBindUnknownImplementation(t *testing.T) {
	_, err := Cases()[0].Problem(16, kernels.Input{}).Bind("abacus")
	if !errors.Is(err, kernels.ErrUnknownImplementation) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkScale(b *testing.B) { benchmark(b, scaleOperation, scaleGo) }

func BenchmarkLog(b *testing.B) {
	benchmark(b, logOperation, func(dst, src []float32, _, _ float32) { logGo(dst, src) })
}

// benchmark times the contenders, and under the name plain-go the loop without vector code.
func benchmark(b *testing.B, o *operation, plain func(dst, src []float32, a, b float32)) {
	for _, n := range []int{1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 24} {
		p := newProblem(o, n, kernels.GeneratedInput())
		y := make([]float32, n)
		run := func(name string, f func() error) {
			b.Run(fmt.Sprintf("impl=%s/n=%d", name, n), func(b *testing.B) {
				b.SetBytes(8 * int64(n))
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("plain-go", func() error {
			plain(y, p.x, o.a, o.b)
			return nil
		})
		for _, implementation := range here(contenders.Implementations()) {
			call, err := p.Bind(implementation.Name)
			if err != nil {
				b.Fatal(err)
			}
			run(implementation.Name, call.Run)
		}
	}
}
