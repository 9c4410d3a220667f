//go:build (darwin || linux) && (amd64 || arm64)

package metal_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/kernels"
)

// noise fills x with values in [-1, 1).
func noise(x []float32, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
}

// multiplied returns alpha·A·op(B) + beta·C in float64.
func multiplied(a, b, c []float32, m, n, k int, transposed bool, alpha, beta float32) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			var sum float64
			for l := range k {
				w := b[l*n+j%n]
				if transposed {
					w = b[j*k+l]
				}
				sum += float64(a[i*k+l]) * float64(w)
			}
			out[i*n+j] = float64(alpha)*sum + float64(beta)*float64(c[i*n+j])
		}
	}
	return out
}

// gemm returns the matrix multiplication of the device, or skips the test.
func gemm(t *testing.T, d *gpu.Device) gpu.GEMM {
	t.Helper()
	g := d.Driver().(gpu.GEMM)
	if err := g.GEMMMissing(); err != nil {
		t.Skip(err)
	}
	return g
}

func TestGEMM(t *testing.T) {
	d := device(t)
	g := gemm(t, d)
	if version := g.GEMMVersion(); !strings.HasPrefix(version, "Metal Performance Shaders, macOS ") {
		t.Errorf("version %q", version)
	}
	for _, test := range []struct {
		m, n, k     int
		transposed  bool
		alpha, beta float32
	}{
		{1, 1, 1, false, 1, 0},
		{5, 7, 3, false, 1, 0},
		{5, 7, 3, true, 1, 0},
		{17, 16, 33, true, -0.5, 2},
		{64, 31, 20, false, 2, 0.25},
	} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			b := d.NewPlan()
			left, right := b.Input(gpu.Float, test.m*test.k), b.Input(gpu.Float, test.k*test.n)
			result := b.State(gpu.Float, test.m*test.n)
			b.Encode(func() (gpu.External, error) {
				return g.NewProduct(gpu.Product{C: result.Region(), A: left.Region(), B: right.Region(), M: test.m, N: test.n, K: test.k, TransposeB: test.transposed, Alpha: test.alpha, Beta: test.beta})
			})
			p := build(t, b)
			noise(left.Floats(), 1)
			noise(right.Floats(), 2)
			noise(result.Floats(), 3)
			want := multiplied(left.Floats(), right.Floats(), result.Floats(), test.m, test.n, test.k, test.transposed, test.alpha, test.beta)
			times, err := p.Time(false)
			if err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(result.Floats(), want); !(e < 1e-6) {
				t.Errorf("relative error %g", e)
			}
			if times.Kernel != 1 || times.Busy <= 0 {
				t.Errorf("%+v", times)
			}
		})
	}
}

// TestTransposedA has a transposed A.
func TestTransposedA(t *testing.T) {
	const m, n, k = 17, 16, 33
	d := device(t)
	g := gemm(t, d)
	for _, transposed := range []bool{false, true} {
		b := d.NewPlan()
		left, right, result := b.Input(gpu.Float, m*k), b.Input(gpu.Float, k*n), b.State(gpu.Float, m*n)
		b.Encode(func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: result.Region(), A: left.Region(), B: right.Region(), M: m, N: n, K: k,
				TransposeA: true, TransposeB: transposed, Alpha: -0.5, Beta: 2})
		})
		p := build(t, b)
		noise(left.Floats(), 1)
		noise(right.Floats(), 2)
		noise(result.Floats(), 3)
		a := make([]float32, m*k)
		for i := range m {
			for l := range k {
				a[i*k+l] = left.Floats()[l*m+i]
			}
		}
		want := multiplied(a, right.Floats(), result.Floats(), m, n, k, transposed, -0.5, 2)
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(result.Floats(), want); !(e < 1e-6) {
			t.Errorf("B transposed %t: relative error %g", transposed, e)
		}
	}
}

// Kernels run before and after a library's work, in one submission. The encoder is closed in between.
func TestGEMMBetweenKernels(t *testing.T) {
	const n = 16
	d := device(t)
	g := gemm(t, d)
	b := d.NewPlan()
	x, y := b.Input(gpu.Float, n*n), b.Output(gpu.Float, n*n)
	s, u := b.Scratch(gpu.Float, n*n), b.Scratch(gpu.Float, n*n)
	add := b.Kernel(arithmetic, "add")
	b.Dispatch(add, groups(n*n), threads, s, x, gpu.Values(n*n))
	b.Encode(func() (gpu.External, error) {
		return g.NewProduct(gpu.Product{C: u.Region(), A: s.Region(), B: s.Region(), M: n, N: n, K: n, TransposeB: true, Alpha: 1})
	})
	b.Dispatch(add, groups(n*n), threads, y, u, gpu.Values(n*n))
	p := build(t, b)
	noise(x.Floats(), 1)
	sum := make([]float32, n*n)
	for i, v := range x.Floats() {
		sum[i] = v + 1.5
	}
	want := multiplied(sum, sum, sum, n, n, n, true, 1, 0)
	for i := range want {
		want[i] += 1.5
	}
	for range 2 {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(y.Floats(), want); !(e < 1e-6) {
			t.Errorf("relative error %g", e)
		}
	}
}

// Arguments for which Metal Performance Shaders would end the process are an error here.
func TestGEMMRefuses(t *testing.T) {
	d := driver(t)
	g := d.(gpu.GEMM)
	if err := g.GEMMMissing(); err != nil {
		t.Skip(err)
	}
	m := allocate(t, d, gpu.Shared)
	whole := gpu.Region{Memory: m}
	floats := m.Bytes() / 4
	for name, try := range map[string]func() (gpu.External, error){
		"a is too short": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: whole, M: 1, N: 1, K: floats + 1, Alpha: 1})
		},
		"c is too short": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: whole, M: floats, N: 2, K: 1, Alpha: 1})
		},
		"b from an end": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: gpu.Region{Memory: m, Offset: 4 * floats}, M: 1, N: 1, K: 1, Alpha: 1})
		},
		"no rows": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: whole, M: 0, N: 1, K: 1, Alpha: 1})
		},
		"no columns": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: whole, M: 1, N: 0, K: 1, Alpha: 1})
		},
		"no terms": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: whole, M: 1, N: 1, K: 0, Alpha: 1})
		},
		"too many": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: whole, M: 1, N: 1 << 62, K: 1, Alpha: 1})
		},
		"too many to add": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: whole, A: whole, B: whole, M: 1<<31 - 1, N: 1<<31 - 1, K: 1<<31 - 1, Alpha: 1})
		},
		"foreign memory": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: gpu.Region{Memory: foreignMemory{}}, A: whole, B: whole, M: 1, N: 1, K: 1, Alpha: 1})
		},
		"negative offset": func() (gpu.External, error) {
			return g.NewProduct(gpu.Product{C: gpu.Region{Memory: m, Offset: -4}, A: whole, B: whole, M: 1, N: 1, K: 1, Alpha: 1})
		},
	} {
		if e, err := try(); err == nil {
			e.Close()
			t.Errorf("%s: no error", name)
		}
	}
}

// fft returns the Fourier transform of the device, or skips the test.
func fft(t *testing.T, d *gpu.Device) gpu.FFT {
	t.Helper()
	f := d.Driver().(gpu.FFT)
	if err := f.FFTMissing(); err != nil {
		t.Skip(err)
	}
	return f
}

// transformed returns the discrete Fourier transform of rows of n complex values, or n times the inverse one. It returns the
// first bins of each row.
func transformed(x []complex128, n, bins int, inverse bool) (out []float64) {
	turn := -2 * math.Pi / float64(n)
	if inverse {
		turn = -turn
	}
	for row := 0; row < len(x); row += n {
		for k := range bins {
			var sum complex128
			for i := range n {
				sum += x[row+i] * cmplx.Rect(1, turn*float64(i*k%n))
			}
			out = append(out, real(sum), imag(sum))
		}
	}
	return out
}

func TestRealFFT(t *testing.T) {
	d := device(t)
	f := fft(t, d)
	if version := f.FFTVersion(); !strings.HasPrefix(version, "MPSGraph, macOS ") {
		t.Errorf("version %q", version)
	}
	for _, test := range []struct{ n, batch int }{{2, 1}, {16, 1}, {256, 3}, {15, 2}, {101, 1}} {
		b := d.NewPlan()
		x := b.Input(gpu.Float, test.n*test.batch)
		y := b.Output(gpu.Float2, (test.n/2+1)*test.batch)
		b.Encode(func() (gpu.External, error) {
			return f.NewFFT(y.Region(), x.Region(), gpu.Transform{N: test.n, Batch: test.batch})
		})
		p := build(t, b)
		noise(x.Floats(), 4)
		var values []complex128
		for _, v := range x.Floats() {
			values = append(values, complex(float64(v), 0))
		}
		want := transformed(values, test.n, test.n/2+1, false)
		for range 2 {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(y.Floats(), want); !(e < 1e-6) {
				t.Errorf("%+v: relative error %g", test, e)
			}
		}
	}
}

func TestComplexFFT(t *testing.T) {
	d := device(t)
	f := fft(t, d)
	for _, test := range []struct {
		n, batch int
		inPlace  bool
		inverse  bool
	}{{2, 1, false, false}, {64, 3, false, false}, {64, 3, false, true}, {64, 3, true, false}, {31, 2, true, true}} {
		b := d.NewPlan()
		x, y := b.State(gpu.Float2, test.n*test.batch), b.Output(gpu.Float2, test.n*test.batch)
		target := y
		if test.inPlace {
			target = x
		}
		b.Encode(func() (gpu.External, error) {
			return f.NewFFT(target.Region(), x.Region(), gpu.Transform{N: test.n, Batch: test.batch, Complex: true, Inverse: test.inverse})
		})
		p := build(t, b)
		noise(x.Floats(), 5)
		var values []complex128
		for i := 0; i < len(x.Floats()); i += 2 {
			values = append(values, complex(float64(x.Floats()[i]), float64(x.Floats()[i+1])))
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(target.Floats(), transformed(values, test.n, test.n, test.inverse)); !(e < 1e-6) {
			t.Errorf("%+v: relative error %g", test, e)
		}
	}
}

func TestInverseRealFFT(t *testing.T) {
	d := device(t)
	f := fft(t, d)
	for _, test := range []struct{ n, batch int }{{2, 1}, {16, 1}, {256, 3}, {15, 2}, {101, 1}} {
		bins := test.n/2 + 1
		b := d.NewPlan()
		x := b.State(gpu.Float2, bins*test.batch)
		y := b.Output(gpu.Float, test.n*test.batch)
		b.Encode(func() (gpu.External, error) {
			return f.NewFFT(y.Region(), x.Region(), gpu.Transform{N: test.n, Batch: test.batch, Inverse: true})
		})
		p := build(t, b)
		words := make([]float32, 2*bins*test.batch)
		noise(words, 4)
		var values []complex128
		for row := range test.batch {
			row := words[2*row*bins:][:2*bins]
			row[1] = 0
			if test.n%2 == 0 {
				row[2*bins-1] = 0
			}
			for k := range test.n {
				at, sign := 2*k, 1.0
				if k >= bins {
					at, sign = 2*(test.n-k), -1
				}
				values = append(values, complex(float64(row[at]), sign*float64(row[at+1])))
			}
		}
		var want []float64
		for i, v := range transformed(values, test.n, test.n, true) {
			if i%2 == 0 {
				want = append(want, v)
			}
		}
		for range 2 {
			copy(x.Floats(), words) // the library may overwrite its input
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(y.Floats(), want); !(e < 1e-6) {
				t.Errorf("%+v: relative error %g", test, e)
			}
		}
	}
}

// Arguments for which MPSGraph would end the process are an error here.
func TestFFTRefuses(t *testing.T) {
	d := driver(t)
	f := d.(gpu.FFT)
	if err := f.FFTMissing(); err != nil {
		t.Skip(err)
	}
	m := allocate(t, d, gpu.Shared)
	whole := gpu.Region{Memory: m}
	for name, try := range map[string]func() (gpu.External, error){
		"src is too short": func() (gpu.External, error) {
			return f.NewFFT(whole, whole, gpu.Transform{N: m.Bytes()/8 + 1, Batch: 1, Complex: true})
		},
		"dst is too short": func() (gpu.External, error) { return f.NewFFT(whole, whole, gpu.Transform{N: m.Bytes() / 4, Batch: 1}) },
		"bins too short": func() (gpu.External, error) {
			return f.NewFFT(whole, whole, gpu.Transform{N: m.Bytes() / 4, Batch: 1, Inverse: true})
		},
		"no rows":    func() (gpu.External, error) { return f.NewFFT(whole, whole, gpu.Transform{N: 16, Batch: 0}) },
		"no columns": func() (gpu.External, error) { return f.NewFFT(whole, whole, gpu.Transform{N: 0, Batch: 1}) },
		"an offset": func() (gpu.External, error) {
			return f.NewFFT(gpu.Region{Memory: m, Offset: 4}, whole, gpu.Transform{N: 16, Batch: 1})
		},
		"foreign memory": func() (gpu.External, error) {
			return f.NewFFT(whole, gpu.Region{Memory: foreignMemory{}}, gpu.Transform{N: 16, Batch: 1})
		},
	} {
		if e, err := try(); err == nil {
			e.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
