package matmul

import (
	"fmt"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
)

// launched runs a product with a bias, where it is not nil, in a tile and as many parts, and returns C. A tile without
// threads stands for the one that Launch chooses.
func launched(t *testing.T, d *gpu.Device, by tile, parts int, a, b, bias []float32, s shape, transposed bool) ([]float32, error) {
	t.Helper()
	builder := d.NewPlan()
	p := product{
		c: builder.Output(gpu.Float, s.m*s.n), a: builder.Input(gpu.Float, s.m*s.k), b: builder.Input(gpu.Float, s.k*s.n),
		m: s.m, n: s.n, k: s.k, transposed: transposed,
	}
	if bias != nil {
		p.bias = builder.Constant(gpu.Float, bias)
	}
	if by == (tile{}) {
		launchProduct(builder, p)
	} else {
		p.launch(builder, by, parts)
	}
	plan, err := builder.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	copy(p.a.Floats(), a)
	copy(p.b.Floats(), b)
	if err := plan.Run(); err != nil {
		return nil, err
	}
	return append([]float32(nil), p.c.Floats()...), nil
}

// operands returns seeded noise: A, B as it is stored, a bias, and A·B plus the bias in float64.
func operands(s shape, transposed bool) (a, b, bias []float32, want []float64) {
	a, b, bias = make([]float32, s.m*s.k), make([]float32, s.k*s.n), make([]float32, s.n)
	kernels.Noise(a, 1)
	kernels.Noise(b, 2)
	kernels.Noise(bias, 3)
	want = Reference(a, b, s.m, s.k, s.n)
	for i := range want {
		want[i] += float64(bias[i%s.n])
	}
	if transposed {
		stored := make([]float32, len(b))
		for l := range s.k {
			for j := range s.n {
				stored[j*s.k+l] = b[l*s.n+j]
			}
		}
		b = stored
	}
	return a, b, bias, want
}

func TestTiles(t *testing.T) {
	d := emulator.Open(t)
	for _, by := range []tile{large, medium, small, matrices} {
		for _, test := range []struct {
			s          shape
			parts      int
			transposed bool
		}{
			{shape{by.m, 2 * by.k, by.n}, 1, false},             // one tile, whole
			{shape{by.m + 1, by.k + 4, by.n + 4}, 1, true},      // one past a tile, in vectors
			{shape{2*by.m + 3, 3*by.k - 4, by.n - 4}, 2, false}, // in parts
			{shape{1, by.k + 1, 2*by.n + 3}, 2, true},           // no multiple of anything
			{shape{by.m - 1, by.k - 1, 1}, 1, false},
		} {
			if by == matrices {
				test.parts = 1
			}
			name := fmt.Sprintf("%dx%d,simdgroup=%t/%dx%dx%d/parts=%d/transposed=%t", by.m, by.n, by.simdgroup,
				test.s.m, test.s.k, test.s.n, test.parts, test.transposed)
			t.Run(name, func(t *testing.T) {
				a, b, bias, want := operands(test.s, test.transposed)
				got, err := launched(t, d, by, test.parts, a, b, bias, test.s, test.transposed)
				if err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(got, want); !(e <= Tolerance(test.s.k)) {
					t.Errorf("relative error %.2g, tolerance %.2g", e, Tolerance(test.s.k))
				}
			})
		}
	}
}

func TestLaunch(t *testing.T) {
	d := emulator.Open(t)
	sizes := []int{1, 2, 3, 7, 16, 31, 33, 64, 65, 100, 127, 129}
	var shapes []shape
	for i, n := range sizes {
		shapes = append(shapes, shape{n, n, n}, shape{n, sizes[(i+5)%len(sizes)], sizes[(i+8)%len(sizes)]})
	}
	for _, s := range shapes {
		for _, transposed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dx%dx%d/transposed=%t", s.m, s.k, s.n, transposed), func(t *testing.T) {
				a, b, bias, want := operands(s, transposed)
				got, err := launched(t, d, tile{}, 0, a, b, bias, s, transposed)
				if err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(got, want); !(e <= Tolerance(s.k)) {
					t.Errorf("relative error %.2g, tolerance %.2g", e, Tolerance(s.k))
				}
			})
		}
	}
}

// TestEngine multiplies two shapes in turn, as a program does, and looks at what the warm engine allocates.
func TestEngine(t *testing.T) {
	e, err := newLaunch(emulator.Open(t), Params{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, s := range []shape{{5, 7, 3}, {3, 5, 7}} {
			a, b, _, _ := operands(s, false)
			want := Reference(a, b, s.m, s.k, s.n)
			got := make([]float32, s.m*s.n)
			if err := e.multiply(got, a, b, s.m, s.k, s.n); err != nil {
				t.Fatal(err)
			}
			if off := kernels.RelativeError(got, want); !(off <= Tolerance(s.k)) {
				t.Errorf("%+v: relative error %.2g, tolerance %.2g", s, off, Tolerance(s.k))
			}
			if allocations := testing.AllocsPerRun(5, func() { e.multiply(got, a, b, s.m, s.k, s.n) }); allocations != 0 && !emulator.Racing() {
				t.Errorf("%+v: %g allocations a call, want 0", s, allocations)
			}
		}
	}
}

// TestMissingBarrier removes each barrier of the kernels in turn; the emulator must notice every time.
func TestMissingBarrier(t *testing.T) {
	d := emulator.Open(t)
	const barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);"
	s := shape{64, 192, 64}
	a, b, _, want := operands(s, false)
	for _, kernel := range []struct {
		name string
		text *string
		by   tile
	}{{"matmul", &text, small}, {"simdgroup", &simdgroupText, matrices}} {
		whole := *kernel.text
		pieces := strings.Split(whole, barrier)
		for i := 1; i < len(pieces); i++ {
			*kernel.text = strings.Join(pieces[:i], barrier) + ";" + strings.Join(pieces[i:], barrier)
			got, err := launched(t, d, kernel.by, 1, a, b, nil, s, false)
			if err == nil && kernels.RelativeError(got, want) <= Tolerance(s.k) {
				t.Errorf("%s: nothing fails without barrier %d of %d", kernel.name, i, len(pieces)-1)
			}
		}
		*kernel.text = whole
	}
}
