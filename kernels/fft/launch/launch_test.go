package launch

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/fft/double"
	"crossover/kernels/fft/ffttest"
	"crossover/kernels/kerneltest"
)

// launched runs a launch plan on an input of one type and returns its output of another type.
func launched(t *testing.T, x []float32, in gpu.Type, n int, out gpu.Type, m int, launch func(b *gpu.Builder, dst, src *gpu.Buffer)) []float32 {
	t.Helper()
	got, err := tryLaunch(emulator.Open(t), x, in, n, out, m, launch)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func tryLaunch(d *gpu.Device, x []float32, in gpu.Type, n int, out gpu.Type, m int, launch func(b *gpu.Builder, dst, src *gpu.Buffer)) ([]float32, error) {
	b := d.NewPlan()
	src, dst := b.Input(in, n), b.Output(out, m)
	launch(b, dst, src)
	p, err := b.Build()
	if err != nil {
		return nil, err
	}
	defer p.Close()
	copy(src.Floats(), x)
	if err := p.Run(); err != nil {
		return nil, err
	}
	return slices.Clone(dst.Floats()), nil
}

// tolerance is that of the operation.
const tolerance = 1e-6

// TestComplex transforms by the definition, in one threadgroup at each length that has a shape, in two steps, and by
// Bluestein's algorithm in one threadgroup and in several. mixed_test.go has the other lengths.
func TestComplex(t *testing.T) {
	for _, tc := range []struct {
		n, batches []int
		inverse    bool // too
	}{
		{[]int{1, 2, 3, 7}, []int{1, 2, 300}, true},
		{[]int{8}, []int{1, 63, 64, 65}, true},
		{[]int{16, 32, 64, 128}, []int{1, 7, 33}, false},
		{[]int{97}, []int{1, 7}, true},
		{[]int{256, 512, 1024, 2048, 4096, 1009}, []int{3}, false},
		{[]int{8192, 2503}, []int{2}, true},
	} {
		for _, n := range tc.n {
			for _, inverse := range []bool{false, true} {
				if inverse && !tc.inverse {
					continue
				}
				t.Run(fmt.Sprintf("n=%d,inverse=%v", n, inverse), func(t *testing.T) {
					t.Parallel()
					for _, batch := range tc.batches {
						x := ffttest.ComplexNoise(n * batch)
						got := launched(t, kernels.ComplexWords(x), gpu.Float2, len(x), gpu.Float2, len(x), func(b *gpu.Builder, dst, src *gpu.Buffer) {
							Complex(b, dst, src, n, batch, inverse)
						})
						ffttest.Expect(t, fmt.Sprintf("batch %d", batch), got, ffttest.Complex(x, n, inverse), tolerance)
					}
				})
			}
		}
	}
}

// TestLongRows has the lengths that one threadgroup transforms on some devices only, and lengths of three steps.
func TestLongRows(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and about values: TestComplex, TestReal and TestFixedLengths launch at once, too")
	}
	small := func(radices ...int) shape { return shape{radices: radices, points: 8, side: 8, split: true} }
	for name, tc := range map[string]struct {
		n      int
		launch func(b *gpu.Builder, dst, src gpu.Argument, rows int, inverse bool)
	}{
		"rows of 8192": {8192, func(b *gpu.Builder, dst, src gpu.Argument, rows int, inverse bool) {
			appendComplexRows(b, dst, src, rowShape(8192), rows, inverse)
		}},
		"rows of 16384": {16384, func(b *gpu.Builder, dst, src gpu.Argument, rows int, inverse bool) {
			appendComplexRows(b, dst, src, rowShape(16384), rows, inverse)
		}},
		"three steps": {16 * 8 * 32, division{small(8, 2), small(4, 2), small(8, 4)}.launch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, inverse := range []bool{false, true} {
				if inverse && tc.n == 16384 {
					continue // as it is at 8192
				}
				const rows = 2
				x := ffttest.ComplexNoise(tc.n * rows)
				got := launched(t, kernels.ComplexWords(x), gpu.Float2, len(x), gpu.Float2, len(x), func(b *gpu.Builder, dst, src *gpu.Buffer) {
					tc.launch(b, dst, src, rows, inverse)
				})
				ffttest.Expect(t, fmt.Sprintf("inverse %v", inverse), got, ffttest.Complex(x, tc.n, inverse), tolerance)
			}
		})
	}
}

// TestImpulse checks every bin by itself. An impulse at j has the bins exp(−2πi·jk/n), each of magnitude 1.
func TestImpulse(t *testing.T) {
	const n = 1024
	at := []int{0, 1, 31, 32, 511, 512, 1023}
	x := make([]complex64, n*len(at))
	for row, j := range at {
		x[row*n+j] = 1
	}
	got := launched(t, kernels.ComplexWords(x), gpu.Float2, len(x), gpu.Float2, len(x), func(b *gpu.Builder, dst, src *gpu.Buffer) {
		Complex(b, dst, src, n, len(at), false)
	})
	for row, j := range at {
		for k := range n {
			v := complex(float64(got[2*(row*n+k)]), float64(got[2*(row*n+k)+1]))
			if d := cmplx.Abs(v - double.Root(j*k%n, n)); d > 1e-6 {
				t.Fatalf("impulse at %d: bin %d is off by %.2g", j, k, d)
			}
		}
	}
}

// TestReal transforms rows. Bins that must be real are exactly real.
func TestReal(t *testing.T) {
	for _, tc := range []struct {
		n, batches []int
	}{
		{[]int{1, 2, 7, 15}, []int{1, 2, 300}},
		{[]int{16, 32, 64, 128}, []int{1, 7, 65}},
		{[]int{101, 194}, []int{1, 7}},
		{[]int{45, 60, 486}, []int{1, 7}},
		{[]int{9000}, []int{2}},
		{[]int{256, 512, 1024, 2048, 4096, 8192}, []int{3}},
		{[]int{16384}, []int{2}},
	} {
		for _, n := range tc.n {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
				t.Parallel()
				for _, batch := range tc.batches {
					x := ffttest.Noise(n * batch)
					bins := launched(t, x, gpu.Float, len(x), gpu.Float2, batch*(n/2+1), func(b *gpu.Builder, dst, src *gpu.Buffer) {
						Real(b, dst, src, n, batch)
					})
					ffttest.Expect(t, fmt.Sprintf("batch %d", batch), bins, ffttest.Real(x, n), tolerance)
					ends := []int{0, n / 2}
					if n%2 != 0 {
						ends = ends[:1]
					}
					for row := range batch {
						for _, k := range ends {
							if imaginary := bins[2*(row*(n/2+1)+k)+1]; imaginary != 0 {
								t.Errorf("batch %d: bin %d of row %d has an imaginary part of %g", batch, k, row, imaginary)
							}
						}
					}
				}
			})
		}
	}
}

// TestInverseReal transforms rows of bins. Imaginary parts of bins that are real in the spectrum of a real row do not count.
func TestInverseReal(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and about values: TestComplex, TestReal and TestFixedLengths launch at once, too")
	}
	for _, tc := range []struct {
		n, batches []int
	}{
		{[]int{1, 2, 7, 14, 15}, []int{1, 2, 300}},
		{[]int{16, 32, 64, 128}, []int{1, 7, 65}},
		{[]int{101, 194}, []int{1, 7}},
		{[]int{45, 60, 486}, []int{1, 7}},
		{[]int{9000}, []int{2}},
		{[]int{256, 512, 1024, 2048, 4096, 8192}, []int{3}},
		{[]int{16384}, []int{2}},
	} {
		for _, n := range tc.n {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
				t.Parallel()
				for _, batch := range tc.batches {
					x := ffttest.Noise(n * batch)
					var bins []float32
					for i, v := range ffttest.Real(x, n) {
						if k := i % (2 * (n/2 + 1)); k == 1 || k == n+1 && n%2 == 0 {
							v = 1e3 // imaginary
						}
						bins = append(bins, float32(v))
					}
					got := launched(t, bins, gpu.Float2, len(bins)/2, gpu.Float, len(x), func(b *gpu.Builder, dst, src *gpu.Buffer) {
						InverseReal(b, dst, src, n, batch)
					})
					ffttest.Expect(t, fmt.Sprintf("batch %d", batch), got, ffttest.Widen(x), tolerance)
				}
			})
		}
	}
}

// TestScaled checks the kernels that do what a vendor's library leaves out.
func TestScaled(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8} {
		const batch = 3
		bins := n/2 + 1
		x := ffttest.Noise(2 * bins * batch)
		got := launched(t, x, gpu.Float2, bins*batch, gpu.Float2, bins*batch, func(b *gpu.Builder, dst, src *gpu.Buffer) {
			ScaledBins(b, dst, src, n, batch)
			Scale(b, dst, bins*batch, 0.25)
		})
		for i, v := range x {
			want := v * (float32(1/float64(n)) * 0.25)
			if k := i % (2 * bins); k == 1 || k == n+1 && n%2 == 0 {
				want = 0
			}
			if math.Abs(float64(got[i]-want)) > 1e-7 {
				t.Errorf("n=%d: word %d is %g, want %g", n, i, got[i], want)
			}
		}
	}
}

// axes are those of complexOp.
var axes = []kernels.Axis{
	{Name: "n", Unit: "values", Min: 64, Max: 1 << 20},
	{Name: "batch", Unit: "rows", Min: 1, Max: 1024},
}

// complexOp declares complex transforms on a GPU.
func complexOp(rows kernels.Append[kernels.Shape]) *kernels.Op[kernels.Shape] {
	return &kernels.Op[kernels.Shape]{
		Name:   "complex",
		Axes:   axes,
		Lines:  []kernels.Line{kernels.Along(axes, "n", kernels.Param{Name: "batch", Value: 1})},
		Params: func(s kernels.Shape) kernels.Shape { return s },
		IO: func(_, s kernels.Shape) []kernels.Tensor {
			return []kernels.Tensor{
				{Name: "X", Role: kernels.Out, Type: kernels.Complex64, Dims: []int{s[1], s[0]}},
				{Name: "x", Role: kernels.In, Type: kernels.Complex64, Dims: []int{s[1], s[0]}},
			}
		},
		Reference: func(_, s kernels.Shape, a *kernels.Args) []float64 {
			return ffttest.Complex(kernels.Complex(a[1]), s[0], false)
		},
		Tolerance: func(kernels.Shape) float64 { return tolerance },
		By:        []kernels.Makers[kernels.Shape]{kernels.KernelText("", rows)},
	}
}

// A thread must not overwrite what others of its threadgroup still have to read, nor read what is not written yet.
func TestBarriers(t *testing.T) {
	t.Run("powers of two", func(t *testing.T) {
		t.Parallel()
		op := complexOp(func(b *gpu.Builder, _, s kernels.Shape, t []*gpu.Buffer) {
			Complex(b, t[0], t[1], s[0], s[1], false)
		})
		kerneltest.Barriers(t, op, kerneltest.GPUName, kernels.Shape{256, 1})
	})
	t.Run("mixed", func(t *testing.T) {
		t.Parallel()
		op := complexOp(func(b *gpu.Builder, _, s kernels.Shape, t []*gpu.Buffer) {
			overwrites := s[1] == 2 // passes write over what they read
			launchRows(b, tile{[]int{5, 6, 8}, 1, rowTile, overwrites, false}, t[0], t[1], false, s[1], false)
		})
		kerneltest.Barriers(t, op, kerneltest.GPUName, kernels.Shape{240, 1}, kernels.Shape{240, 2})
	})
}

// TestFrames compares overlapping frames, at every alignment, with rows that are cut out before.
func TestFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and about values: TestComplex, TestReal and TestFixedLengths launch at once, too")
	}
	t.Parallel()
	const n = 64
	hann, blackman, flat := [3]float64{0.5, 0.5, 0}, [3]float64{0.42, 0.5, 0.08}, [3]float64{1, 0, 0}
	for _, f := range []Cut{
		{Count: 9, Hop: 16, Lead: 32, Samples: 131, Window: hann},
		{Count: 9, Hop: 17, Lead: 31, Samples: 131, Window: blackman},
		{Count: 3, Hop: 200, Lead: 0, Samples: 450, Window: hann},
		{Count: 1, Hop: 1, Lead: 0, Samples: 0, Window: hann},
		{Count: 9, Hop: 16, Lead: 32, Samples: 131, Window: flat, Reflected: true},
		{Count: 9, Hop: 17, Lead: 31, Samples: 131, Window: hann, Reflected: true},
		{Count: 5, Hop: 1, Lead: 32, Samples: 3, Window: blackman, Reflected: true}, // again and again
		{Count: 2, Hop: 1, Lead: 32, Samples: 1, Window: flat, Reflected: true},
		{Count: 1, Hop: 1, Lead: 32, Samples: 0, Window: flat, Reflected: true},
	} {
		x := ffttest.Noise(max(1, f.Samples))
		rows := make([]float32, n*f.Count)
		for r := range f.Count {
			for j := range n {
				at := r*f.Hop - f.Lead + j
				for f.Reflected && f.Samples > 1 && (at < 0 || at >= f.Samples) {
					if at < 0 {
						at = -at
					} else {
						at = 2*(f.Samples-1) - at
					}
				}
				if f.Reflected && f.Samples == 1 {
					at = 0
				}
				if 0 <= at && at < f.Samples {
					theta := 2 * math.Pi * float64(j) / n
					rows[r*n+j] = x[at] * float32(f.Window[0]-f.Window[1]*math.Cos(theta)+f.Window[2]*math.Cos(2*theta))
				}
			}
		}
		got := launched(t, x, gpu.Float, len(x), gpu.Float2, f.Count*(n/2+1), func(b *gpu.Builder, dst, src *gpu.Buffer) {
			Frames(b, dst, src, n, f)
		})
		ffttest.Expect(t, fmt.Sprintf("%+v", f), got, ffttest.Real(rows, n), tolerance)
	}
}

// TestShapes checks what the kernels assume of shapes, and the limits of every device.
func TestShapes(t *testing.T) {
	const memory = 32 << 10
	check := func(name string, s shape, n int, tile layout) {
		t.Helper()
		slices := max(s.slices, 1)
		for _, r := range s.radices {
			if r < 2 || r > 32 || !isPowerOfTwo(r) || s.points%r != 0 {
				t.Errorf("%s: radix %d of %d points", name, r, s.points)
			}
		}
		switch {
		case s.length() != n:
			t.Errorf("%s: radices %v make %d", name, s.radices, s.length())
		case !isPowerOfTwo(s.lanes()) || !isPowerOfTwo(s.side):
			t.Errorf("%s: %d lanes, %d at a time", name, s.lanes(), s.side)
		case s.threads() > 1024 || s.threads()%32 != 0:
			t.Errorf("%s: %d threads", name, s.threads())
		case s.points%slices != 0 || s.lastRadix()%slices != 0:
			t.Errorf("%s: %d slices", name, slices)
		case s.memory(tile) > memory:
			t.Errorf("%s: %d bytes of threadgroup memory", name, s.memory(tile))
		}
	}
	for n := shortestRow; n <= 16384; n *= 2 {
		check(fmt.Sprintf("rows of %d", n), rowShape(n), n, rowTile)
	}
	for n := shortestReal; n <= LongestReal; n *= 2 {
		for name, s := range map[string]shape{"real rows": realShape(n), "frames": frameShape(n)} {
			name = fmt.Sprintf("%s of %d", name, n)
			check(name, s, n/2, rowTile)
			if last := s.lastRadix(); s.points != last && s.points%(2*last) != 0 || s.points == last && s.lanes() > 32 {
				t.Errorf("%s: a thread does not meet the mirror images of its bins", name)
			}
		}
	}
	for n := 8192; n <= mostPoints; n *= 2 {
		d := divide(gpu.Facts{ThreadgroupBytes: memory}, n)
		product := 1
		for i, s := range d {
			product *= s.length()
			tile := columnTile
			if i == len(d)-1 {
				tile = turnedTile
			}
			check(fmt.Sprintf("step %d of %d", i, n), s, s.length(), tile)
			if len(s.radices) < 2 || s.side > d[0].length() || s.side > n/product && i < len(d)-1 {
				t.Errorf("step %d of %d: %d at a time", i, n, s.side)
			}
		}
		if product != n {
			t.Errorf("the steps of %d make %d", n, product)
		}
	}
}

func TestPanics(t *testing.T) {
	d := emulator.Open(t)
	for name, launch := range map[string]func(b *gpu.Builder, x *gpu.Buffer){
		"length 0":      func(b *gpu.Builder, x *gpu.Buffer) { Complex(b, x, x, 0, 1, false) },
		"no rows":       func(b *gpu.Builder, x *gpu.Buffer) { Real(b, x, x, 8, 0) },
		"no inverse":    func(b *gpu.Builder, x *gpu.Buffer) { InverseReal(b, x, x, 0, 1) },
		"too many rows": func(b *gpu.Builder, x *gpu.Buffer) { Real(b, x, x, 1<<20, 1<<20) },
		"frames of 60":  func(b *gpu.Builder, x *gpu.Buffer) { Frames(b, x, x, 60, Cut{Count: 1, Hop: 1, Samples: 1}) },
		"no frames":     func(b *gpu.Builder, x *gpu.Buffer) { Frames(b, x, x, 64, Cut{Count: 0, Hop: 1, Samples: 1}) },
		"frames beyond": func(b *gpu.Builder, x *gpu.Buffer) {
			Frames(b, x, x, 64, Cut{Count: 1 << 20, Hop: 1 << 20, Samples: 1})
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := d.NewPlan()
			x := b.Scratch(gpu.Float2, 64)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			launch(b, x)
		})
	}
}
