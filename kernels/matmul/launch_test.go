package matmul

import (
	"errors"
	"fmt"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// shape is the shape of a product: A is m×k, B is k×n.
type shape struct{ m, k, n int }

// launched runs a product in a tile and parts, and returns C. The bias may be nil. A zero tile stands for the one that
// Launch chooses.
func launched(t *testing.T, d *gpu.Device, by tile, parts int, a, b, bias, before []float32, s shape, params Params) ([]float32, error) {
	t.Helper()
	builder := d.NewPlan()
	p := product{
		c: builder.Output(gpu.Float, s.m*s.n), a: builder.Input(gpu.Float, s.m*s.k), b: builder.Input(gpu.Float, s.k*s.n),
		m: s.m, n: s.n, k: s.k, params: params,
	}
	if params.Beta != 0 {
		p.before = builder.Constant(gpu.Float, before)
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

// operands returns seeded noise for A, for B as it is stored, and for a bias. It also returns A·B plus the bias in float64.
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
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
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
				got, err := launched(t, d, by, test.parts, a, b, bias, nil, test.s, Params{TransposeB: test.transposed, Alpha: 1})
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

// TestScaledTiles has every tile with transposes and factors, whole and with rests.
func TestScaledTiles(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	d := emulator.Open(t)
	for _, by := range []tile{large, medium, small, matrices} {
		for i, test := range []struct {
			s      shape
			parts  int
			params Params
		}{
			{shape{by.m, by.k, by.n}, 1, Params{true, false, 1, 0}},
			{shape{by.m + 4, by.k + 1, by.n + 4}, 2, Params{true, false, 0.5, 2}},
			{shape{by.m - 4, by.k + 8, by.n - 3}, 1, Params{true, true, 2, -1}},
			{shape{4, by.k + 4, by.n + 8}, 1, Params{true, true, 2, 0}},
			{shape{by.m - 4, by.k + 1, by.n - 4}, 1, Params{true, true, 1, 0}},
			{shape{by.m - 1, 2*by.k - 1, 5}, 2, Params{false, true, -1, 1}},
			{shape{8, by.k, 4}, 1, Params{false, false, 3, 0.5}},
		} {
			if by == matrices {
				test.parts = 1
			}
			t.Run(fmt.Sprintf("%dx%d,simdgroup=%t/%d", by.m, by.n, by.simdgroup, i), func(t *testing.T) {
				a, b, _, _ := operands(test.s, false)
				before := make([]float32, test.s.m*test.s.n)
				kernels.Noise(before, 4)
				want := ScaledReference(test.params, a, b, before, test.s.m, test.s.k, test.s.n)
				got, err := launched(t, d, by, test.parts, a, b, nil, before, test.s, test.params)
				if err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(got, want); !(e <= Tolerance(test.s.k)) {
					t.Errorf("%+v: relative error %.2g, tolerance %.2g", test, e, Tolerance(test.s.k))
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
				got, err := launched(t, d, tile{}, 0, a, b, bias, nil, s, Params{TransposeB: transposed, Alpha: 1})
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

// TestBarriers tests the barriers of each kernel text in the tile that needs all of them.
func TestBarriers(t *testing.T) {
	for name, by := range map[string]tile{"small": small, "matrices": matrices} {
		op := Op
		op.By = []kernels.Makers[Params]{kernels.KernelText(name, func(b *gpu.Builder, _ Params, s kernels.Shape, t []*gpu.Buffer) {
			product{c: t[0], a: t[1], b: t[2], m: s[rows], n: s[columns], k: s[terms], params: plain}.launch(b, by, 1)
		})}
		t.Run(name, func(t *testing.T) {
			kerneltest.Barriers(t, &op, kerneltest.GPUName+"/"+name, shapeOf(64, 192, 64))
		})
	}
}

func TestLaunchRefuses(t *testing.T) {
	for _, s := range []shape{{1 << 31, 1, 1}, {1, 1 << 31, 1}, {1, 1, 1 << 31}} {
		b := emulator.Open(t).NewPlan()
		Launch(b, b.Output(gpu.Float, 1), b.Input(gpu.Float, 1), b.Input(gpu.Float, 1), s.m, s.n, s.k, false)
		if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
			t.Errorf("%+v: error %v, want one that refuses the shape", s, err)
		}
	}
}

func TestVendor(t *testing.T) {
	kerneltest.Shapes(t, &Op, kerneltest.WithGEMM(t), "mps", shapeOf(16, 16, 16), shapeOf(3, 5, 7), shapeOf(7, 1, 2))
}

// TestScaledVendor has every transpose, and factors.
func TestScaledVendor(t *testing.T) {
	b := kerneltest.WithGEMM(t)
	for turns := range 4 {
		for _, scale := range scales {
			checkScaled(t, b, Params{turns&1 != 0, turns&2 != 0, scale.alpha, scale.beta}, shapeOf(5, 7, 3))
		}
	}
}
