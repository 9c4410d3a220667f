package accelerate

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

// TestMain replaces the framework by a library that implements Apple's documentation, unless the framework is there.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if runtime.GOOS != "darwin" {
		dir, err := os.MkdirTemp("", "accelerate")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		library := filepath.Join(dir, "accelerate.so")
		if out, err := exec.Command("cc", "-O1", "-shared", "-fPIC", "-o", library, "testdata/fake.c", "-lm").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "no stand-in for Accelerate, its tests are skipped: %v %s\n", err, out)
		} else {
			os.Setenv(Environment, library)
		}
	}
	debug.SetGCPercent(-1) // a collection empties the pools of argument lists, whose next use allocates
	return m.Run()
}

func need(t *testing.T) {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skip(err)
	}
}

func noise(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Fatalf("%s is %g, want %g", what, got, want)
	}
}

func TestVectors(t *testing.T) {
	need(t)
	x := noise(37, 1)
	y := make([]float32, len(x))
	sum, squares, most, least := 0.0, 0.0, math.Inf(-1), math.Inf(1)
	for i := range x {
		x[i] += 1.5
		sum += float64(x[i])
		squares += float64(x[i]) * float64(x[i])
		most, least = max(most, float64(x[i])), min(least, float64(x[i]))
	}
	for _, test := range []struct {
		name string
		run  func()
		want func(x float64) float64
	}{
		{"Scale", func() { Scale(y, x, 1.25, -3) }, func(x float64) float64 { return 1.25*x - 3 }},
		{"Add", func() { Add(y, x, -3) }, func(x float64) float64 { return x - 3 }},
		{"Multiply", func() { Multiply(y, x, 7) }, func(x float64) float64 { return 7 * x }},
		{"MultiplyBy", func() { Multiply(y, x, 2); MultiplyBy(y, x) }, func(x float64) float64 { return 2 * x * x }},
		{"MultiplyAdd", func() { Multiply(y, x, 2); MultiplyAdd(y, x, x) }, func(x float64) float64 { return 2*x*x + x }},
		{"Log", func() { Log(y, x) }, math.Log},
		{"Exp", func() { Exp(y, x) }, math.Exp},
		{"Abs", func() { Multiply(y, x, -1); Abs(y, y) }, math.Abs},
		{"Subtract", func() { Multiply(y, x, 3); Subtract(y, y, x) }, func(x float64) float64 { return 2 * x }},
		{"AtLeast", func() { Raise(y, x, 1.25) }, func(x float64) float64 { return max(x, 1.25) }},
		{"Log1p", func() { Log1p(y, x) }, math.Log1p},
		{"Log10", func() { Log10(y, x) }, math.Log10},
		{"Raise", func() { Raise(y, x, 1.5) }, func(x float64) float64 { return max(x, 1.5) }},
		{"Tanh", func() { Tanh(y, x) }, math.Tanh},
		{"Pow", func() { Pow(y, x, -1.5) }, func(x float64) float64 { return math.Pow(x, -1.5) }},
	} {
		test.run()
		for i := range x {
			near(t, fmt.Sprintf("%s of %g", test.name, x[i]), float64(y[i]), test.want(float64(x[i])), 2e-6*(1+math.Abs(float64(y[i]))))
		}
	}
	copy(y, x)
	AddTo(y, x)
	for i := range x {
		near(t, "x + x", float64(y[i]), 2*float64(x[i]), 0)
	}
	near(t, "Sum", float64(Sum(x)), sum, 1e-4)
	near(t, "Mean", float64(Mean(x)), sum/float64(len(x)), 1e-6)
	near(t, "MeanSquare", float64(MeanSquare(x)), squares/float64(len(x)), 1e-6)
	near(t, "Max", float64(Max(x)), most, 0)
	near(t, "Min", float64(Min(x)), least, 0)
	if v, at := MaxAt(append(x, x...)); float64(v) != most || x[at] != v {
		t.Errorf("MaxAt is %g at %d, want %g at the first of two places", v, at, most)
	}
	low := []float32{float32(math.Inf(-1)), float32(math.Inf(-1))}
	if v, at := MaxAt(low); v != low[0] || at != 0 {
		t.Errorf("MaxAt of infinities is %g at %d", v, at)
	}
	if got := testing.AllocsPerRun(20, func() { MaxAt(x) }); got != 0 {
		t.Errorf("MaxAt: %v allocations", got)
	}
}

// The parts of more values than a block holds are taken apart block by block.
func TestMagnitudes(t *testing.T) {
	need(t)
	const n = 2*planarBlock + 5
	parts := noise(2*n, 2)
	x, y := make([]complex64, n), make([]float32, n)
	for i := range x {
		x[i] = complex(parts[2*i], parts[2*i+1])
	}
	for name, f := range map[string]func(){"Power": func() { Power(y, x) }, "Magnitude": func() { Magnitude(y, x) }} {
		f()
		for i := range x {
			want := cmplx.Abs(complex128(x[i]))
			if name == "Power" {
				want *= want
			}
			near(t, fmt.Sprintf("%s of value %d", name, i), float64(y[i]), want, 1e-6)
		}
		if got := testing.AllocsPerRun(5, f); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

func TestConvolve(t *testing.T) {
	need(t)
	taps := noise(5, 2)
	src := noise(20+len(taps)-1, 3)
	dst := make([]float32, 20)
	Convolve(dst, src, taps)
	for i := range dst {
		want := 0.0
		for j := range taps {
			want += float64(src[i+len(taps)-1-j]) * float64(taps[j])
		}
		near(t, fmt.Sprintf("value %d", i), float64(dst[i]), want, 1e-6)
	}
}

func TestDecimate(t *testing.T) {
	need(t)
	taps := noise(5, 2)
	src := noise(19*3+len(taps), 3)
	dst := make([]float32, 20)
	Decimate(dst, src, taps, 3)
	for i := range dst {
		want := 0.0
		for j := range taps {
			want += float64(src[3*i+j]) * float64(taps[j])
		}
		near(t, fmt.Sprintf("value %d", i), float64(dst[i]), want, 1e-6)
	}
}

func TestRealTransforms(t *testing.T) {
	need(t)
	// A power of two, 3, 5 and 15 times one, and lengths that vDSP does not have.
	for _, n := range []int{2, 4, 64, 1024, 48, 80, 240, 6, 14, 18, 90, 202, 1010} {
		r, err := NewReal(n)
		if err != nil {
			t.Fatal(err)
		}
		x := noise(n, uint64(n))
		bins := make([]complex64, n/2+1)
		r.Forward(bins, x)
		for k := range bins {
			var want complex128
			for j := range x {
				want += complex(float64(x[j]), 0) * cmplx.Rect(1, -2*math.Pi*float64(j*k%n)/float64(n))
			}
			if d := cmplx.Abs(complex128(bins[k]) - want); !(d <= 3e-6*math.Sqrt(float64(n))) {
				t.Fatalf("n=%d: bin %d is %v, want %v", n, k, bins[k], want)
			}
		}
		back := make([]float32, n)
		r.InverseUnscaled(back, bins)
		for i := range x {
			near(t, fmt.Sprintf("n=%d: sample %d of the round trip", n, i), float64(back[i])/float64(n), float64(x[i]), 3e-6)
		}
		if got := testing.AllocsPerRun(5, func() { r.Forward(bins, x); r.InverseUnscaled(back, bins) }); got != 0 {
			t.Errorf("n=%d: %v allocations", n, got)
		}
	}
	// For the last length, a power of two, the stand-in has no memory. The framework may have none either.
	for _, n := range []int{-2, 0, 1, 7, 1 << 29, 1 << 25} {
		if n == 1<<25 && os.Getenv(Environment) == "" {
			continue
		}
		if _, err := NewReal(n); err == nil {
			t.Errorf("a transform of %d samples was made", n)
		}
	}
}

func TestComplexTransforms(t *testing.T) {
	need(t)
	// Lengths that are too short for vDSP, powers of two, 3, 5 and 15 times one, and lengths that vDSP does not have.
	for _, n := range []int{1, 2, 4, 64, 1024, 24, 40, 240, 3, 6, 7, 45, 101, 202} {
		c, err := NewComplex(n)
		if err != nil {
			t.Fatal(err)
		}
		words := noise(2*n, uint64(n))
		x, y := make([]complex64, n), make([]complex64, n)
		for i := range x {
			x[i] = complex(words[2*i], words[2*i+1])
		}
		for direction, transform := range map[float64]func(dst, src []complex64){-1: c.Forward, 1: c.InverseUnscaled} {
			transform(y, x)
			for k := range y {
				var want complex128
				for j := range x {
					want += complex128(x[j]) * cmplx.Rect(1, direction*2*math.Pi*float64(j*k%n)/float64(n))
				}
				if d := cmplx.Abs(complex128(y[k]) - want); !(d <= 3e-6*math.Sqrt(float64(n))) {
					t.Fatalf("n=%d, direction %g: value %d is %v, want %v", n, direction, k, y[k], want)
				}
			}
		}
		if got := testing.AllocsPerRun(5, func() { c.Forward(y, x); c.InverseUnscaled(y, x) }); got != 0 {
			t.Errorf("n=%d: %v allocations", n, got)
		}
	}
	for _, n := range []int{-1, 0, 1 << 28, 1 << 25} {
		if n == 1<<25 && os.Getenv(Environment) == "" {
			continue
		}
		if _, err := NewComplex(n); err == nil {
			t.Errorf("a transform of %d values was made", n)
		}
	}
}

func TestGemm(t *testing.T) {
	need(t)
	const m, n, k = 3, 5, 4
	for _, transA := range []bool{false, true} {
		for _, transB := range []bool{false, true} {
			a, b, c := noise(m*k, 4), noise(k*n, 5), noise(m*n, 6)
			got := append([]float32{}, c...)
			Gemm(transA, transB, m, n, k, 2, a, b, 0.5, got)
			at := func(x []float32, trans bool, rows, columns, i, j int) float64 {
				if trans {
					return float64(x[j*rows+i])
				}
				return float64(x[i*columns+j])
			}
			for i := range m {
				for j := range n {
					want := 0.5 * float64(c[i*n+j])
					for p := range k {
						want += 2 * at(a, transA, m, k, i, p) * at(b, transB, k, n, p, j)
					}
					near(t, fmt.Sprintf("transA=%v transB=%v: C[%d,%d]", transA, transB, i, j), float64(got[i*n+j]), want, 1e-6)
				}
			}
		}
	}
	b, got := noise(2*2, 5), []float32{7, 7, 7, 7, 7, 7, 7, 7}
	GemmInto(false, false, 2, 2, 2, 1, []float32{1, 0, 0, 1}, b, 0, got, 5)
	if want := []float32{b[0], b[1], 7, 7, 7, b[2], b[3], 7}; !slices.Equal(got, want) {
		t.Errorf("with gaps between rows C = %v, want %v", got, want)
	}
	a := make([]float32, 16)
	if got := testing.AllocsPerRun(20, func() { Gemm(false, false, 4, 4, 4, 1, a, a, 0, a) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestBiquadContinues(t *testing.T) {
	need(t)
	s, err := NewBiquad([5]float64{0.2, 0.3, 0.1, -0.7, 0.25}, [5]float64{0.5, -0.2, 0.1, 0.3, 0.1})
	if err != nil {
		t.Fatal(err)
	}
	x := noise(100, 7)
	got := make([]float32, len(x))
	history := make([]float32, 6)
	s.Filter(got[:33], x[:33], history)
	s.Filter(got[33:], x[33:], history)
	var x1, x2, y1, y2, z1, z2 float64
	for i := range x {
		v := float64(x[i])
		y := 0.2*v + 0.3*x1 + 0.1*x2 + 0.7*y1 - 0.25*y2
		want := 0.5*y - 0.2*y1 + 0.1*y2 - 0.3*z1 - 0.1*z2
		x2, x1, y2, y1, z2, z1 = x1, v, y1, y, z1, want
		near(t, fmt.Sprintf("sample %d", i), float64(got[i]), want, 1e-5)
	}
	if got := testing.AllocsPerRun(20, func() { s.Filter(x, x, history) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestWrongLengthsPanic(t *testing.T) {
	need(t)
	for name, f := range map[string]func(){
		"Scale":       func() { Scale(make([]float32, 2), make([]float32, 3), 1, 1) },
		"Power":       func() { Power(make([]float32, 2), make([]complex64, 3)) },
		"MultiplyBy":  func() { MultiplyBy(make([]float32, 2), make([]float32, 3)) },
		"MultiplyAdd": func() { MultiplyAdd(make([]float32, 3), make([]float32, 3), make([]float32, 2)) },
		"Convolve":    func() { Convolve(make([]float32, 2), make([]float32, 3), make([]float32, 3)) },
		"Decimate":    func() { Decimate(make([]float32, 2), make([]float32, 5), make([]float32, 3), 3) },
		"Forward":     func() { c, _ := NewComplex(4); c.Forward(make([]complex64, 4), make([]complex64, 3)) },
		"GemmInto": func() {
			GemmInto(false, false, 2, 2, 2, 1, make([]float32, 4), make([]float32, 4), 0, make([]float32, 9), 1)
		},
		"Gemm": func() { Gemm(false, false, 2, 2, 2, 1, make([]float32, 4), make([]float32, 3), 0, make([]float32, 4)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s took slices of wrong lengths", name)
				}
			}()
			f()
		}()
	}
}
