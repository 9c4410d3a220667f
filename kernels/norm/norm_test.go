package norm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/rowwise"
)

func TestLayer(t *testing.T) {
	kerneltest.Run(t, &Layer, kerneltest.Options{Emulated: 128 << 10, Sizes: []int{1, 5, 33}, Lines: []kernels.Line{
		kernels.Along(layerAxes, "columns", kernels.Param{Name: "rows", Value: 3}),
		kernels.Along(layerAxes, "rows", kernels.Param{Name: "columns", Value: rowwise.FewRowsWholeUpTo + 5}),
	}})
}

func TestGroup(t *testing.T) {
	kerneltest.Run(t, &Group, kerneltest.Options{Sizes: []int{17, 129, 512}, Emulated: 40 << 10, Lines: []kernels.Line{
		kernels.Along(groupAxes, "batch", kernels.Param{Name: "channels", Value: 24}, kernels.Param{Name: "length", Value: 11}),
	}})
}

// Few long groups are cut into chunks.
func TestChunks(t *testing.T) {
	b := kerneltest.Backends(t)
	if b.GPUs == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, variant := range []string{"welford", "kahan", "standard"} {
		kerneltest.Shapes(t, &Group, b, kerneltest.GPUName+"/"+variant,
			kernels.Shape{batch: 1, channels: 16, length: 8500}, kernels.Shape{batch: 1, channels: 16, length: 9001})
	}
	kerneltest.Shapes(t, &Layer, b, kerneltest.GPUName, kernels.Shape{rows: 1, columns: 128 << 10}, kernels.Shape{rows: 2, columns: 50_257},
		kernels.Shape{rows: 2, columns: 33*4096 + 4}, kernels.Shape{rows: 1, columns: 600_001},
		kernels.Shape{rows: 1, columns: 513*4096 + 8})
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Layer, kerneltest.GPUName, kernels.Shape{rows: 1, columns: 4096},
		kernels.Shape{rows: 1, columns: rowwise.FewRowsWholeUpTo + 4}, kernels.Shape{rows: 1, columns: 33 * 4096})
}

// TestPyTorch compares with what PyTorch computed.
func TestPyTorch(t *testing.T) {
	read := func(name string) []float32 { return kerneltest.ReadArray[float32](t, "testdata/"+name+".npy") }
	kerneltest.Against(t, &Layer, LayerParams{read("layer_weight"), read("layer_bias")}, kernels.Shape{2, 1000},
		[][]float32{read("layer_x")}, kerneltest.ReadArray[float64](t, "testdata/layer_y.npy"), 2e-7)
	kerneltest.Against(t, &Group, GroupParams{Groups: 2, Weights: read("group_weight"), Bias: read("group_bias")}, kernels.Shape{1, 12, 512},
		[][]float32{read("group_x")}, kerneltest.ReadArray[float64](t, "testdata/group_y.npy"), 2e-7)
}

// The loops in Go and in vector code differ only by rounding. A calculation with another shift, or one value more or less, is
// far off.
func TestVectorLoopsMatchGo(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 2e-6*max(1, math.Abs(want))) {
			t.Errorf("%s: %g, in Go %g", what, got, want)
		}
	}
	fast := fastest()
	for _, n := range []int{32, 64, 96, 1024, 1000, 8, 7} {
		x, w, b := make([]float32, n), make([]float32, n), make([]float32, n)
		kernels.Noise(x, 1)
		kernels.Noise(w, 2)
		kernels.Noise(b, 3)
		if n%vector == 0 {
			s, q := fast.moments(x, 0.3)
			ws, wq := momentsGo(x, 0.3)
			near("sum", float64(s), float64(ws))
			near("squares", float64(q), float64(wq))
		}
		m, v := compensating(&fast, x)
		wm, wv := compensating(&inGo, x)
		near("mean", m, wm)
		near("variance", v, wv)
		got, want := make([]float32, n), make([]float32, n)
		fast.perColumn(got, x, w, b, 0.2, 3)
		perColumnGo(want, x, w, b, 0.2, 3)
		vectors(near, "per column", got, want)
		fast.scaled(got, x, w, 3)
		scaledGo(want, x, w, 3)
		vectors(near, "scaled", got, want)
		fast.perChannel(got, x, 0.2, 3, 0.7)
		perChannelGo(want, x, 0.2, 3, 0.7)
		vectors(near, "per channel", got, want)
	}
}

func vectors(near func(string, float64, float64), what string, got, want []float32) {
	for i := range want {
		near(fmt.Sprintf("%s, value %d of %d", what, i, len(want)), float64(got[i]), float64(want[i]))
	}
}

// Each variant is as accurate as it promises at its worst: mean and variance of values whose mean is 64 standard deviations,
// also over the longest groups. In Go, without vector code, too.
func TestVariantsKeepTheirBounds(t *testing.T) {
	for _, n := range []int{6 * 16, 6 * 511, 6*64<<10 - 1} {
		x := make([]float32, n)
		kernels.Noise(x, 5)
		for i := range x {
			x[i] += 64 / 1.7320508
		}
		mean, variance := exactly(x)
		for name, l := range map[string]loops{"vector": fastest(), "Go": inGo} {
			for variant, test := range map[string]struct {
				of    statistics
				bound float64
			}{"standard": {standard, standardBound}, "kahan": {compensating, kahanBound}, "welford": {welford, welfordBound}} {
				m, v := test.of(&l, x)
				off := max(math.Abs(m-mean)/math.Sqrt(variance), math.Abs(v/variance-1)/2)
				if !(off <= test.bound) {
					t.Errorf("%s in %s, %d values: off by %.2g, want at most %.2g", variant, name, n, off, test.bound)
				}
			}
		}
	}
}

// Far from 0 the variants differ. This is why there are several: a mistake that makes one of them another is seen here.
func TestVariantsDiffer(t *testing.T) {
	x := make([]float32, 1<<14)
	kernels.Noise(x, 5)
	for i := range x {
		x[i] += 3000
	}
	_, variance := exactly(x)
	off := map[string]float64{}
	for name, of := range map[string]statistics{"standard": standard, "kahan": compensating, "welford": welford} {
		_, v := of(&inGo, x)
		off[name] = math.Abs(v/variance - 1)
	}
	if !(off["welford"] < 1e-3 && off["kahan"] > 10*off["welford"] && off["standard"] > 3*off["kahan"]) {
		t.Errorf("the variances are off by %v; want welford far better than kahan, and kahan than standard", off)
	}
}

func TestSpecialGroups(t *testing.T) {
	const n = 40 // values in a row: a vector, a simdgroup, and a rest
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	set := func(x []float32, v float32) []float32 {
		x = slices.Clone(x)
		x[n/2] = v
		return x
	}
	noise := make([]float32, n)
	kernels.Noise(noise, 1)
	constant := slices.Repeat([]float32{3}, n)
	weights, bias := slices.Repeat([]float32{2}, n), slices.Repeat([]float32{0.5}, n)
	for _, test := range []struct {
		name string
		x    []float32
		want float32 // of every value
	}{
		{"equal", constant, 0.5}, {"zeros", make([]float32, n), 0.5}, {"a NaN", set(noise, nan), nan},
		{"an infinity", set(noise, inf), nan}, {"minus infinity", set(constant, -inf), nan}, {"denormals", slices.Repeat([]float32{1e-40}, n), 0.5},
	} {
		check := func(name string, y []float32) {
			t.Helper()
			for i, v := range y {
				if !(math.Abs(float64(v-test.want)) <= 1e-4) && !(v != v && test.want != test.want) {
					t.Fatalf("%s, %s: value %d is %v, want %v", name, test.name, i, v, test.want)
				}
			}
		}
		y := make([]float32, n)
		for name, plan := range kerneltest.Plans(t, &Layer, LayerParams{weights, bias}) {
			if err := plan.Run(kernels.Shape{1, n}, kernels.Args{y, test.x}); err != nil {
				t.Fatal(err)
			}
			check("layer "+name, y)
		}
		for name, plan := range kerneltest.Plans(t, &Group, GroupParams{Groups: 1, Weights: weights[:4], Bias: bias[:4]}) {
			if err := plan.Run(kernels.Shape{1, 4, n / 4}, kernels.Args{y, test.x}); err != nil {
				t.Fatal(err)
			}
			check("group "+name, y)
		}
	}
	// A single value in a row, or in a group, is its own mean.
	for _, plan := range kerneltest.Plans(t, &Layer, LayerParams{weights[:1], bias[:1]}) {
		y := make([]float32, 2)
		if err := plan.Run(kernels.Shape{2, 1}, kernels.Args{y, {7, -1e10}}); err != nil || y[0] != 0.5 || y[1] != 0.5 {
			t.Errorf("%v, %v; want the biases", y, err)
		}
	}
}

func TestNew(t *testing.T) {
	one, two := []float32{1}, []float32{1, 2}
	for want, err := range map[string]error{
		"layer-norm: 1 biases, want as many as weights, 2":                       second(NewLayer(nil, LayerParams{two, one})),
		"layer-norm: columns is 0, want at least 1":                              second(NewLayer(nil, LayerParams{})),
		"group-norm: 0 weights and 0 biases (want one of each for each channel)": second(NewGroup(nil, GroupParams{Groups: 1})),
		"group-norm: 2 weights and 1 biases (want one of each for each channel)": second(NewGroup(nil, GroupParams{Groups: 1, Weights: two, Bias: one})),
		"group-norm: 0 groups of 2 channels (want a divisor)":                    second(NewGroup(nil, GroupParams{Weights: two, Bias: two})),
		"group-norm: 3 groups of 2 channels (want a divisor)":                    second(NewGroup(nil, GroupParams{Groups: 3, Weights: two, Bias: two})),
		"group-norm: a batch of -1 inputs (want 0 to 1048576)":                   second(NewGroup(nil, GroupParams{Groups: 1, Weights: two, Bias: two, Batch: -1})),
		"group-norm: a batch of 1048577 inputs (want 0 to 1048576)":              second(NewGroup(nil, GroupParams{Groups: 1, Weights: two, Bias: two, Batch: 1<<20 + 1})),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	plan, err := NewGroup(nil, GroupParams{Groups: 2, Weights: two, Bias: two, Batch: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Apply(nil, nil); err != nil {
		t.Errorf("no values: %v", err)
	}
	for _, lengths := range [][2]int{{8, 4}, {6, 6}} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "group-norm: 4 channels got src of") {
					t.Errorf("panic(%v)", got)
				}
			}()
			_ = plan.Apply(make([]float32, lengths[0]), make([]float32, lengths[1]))
		}()
	}
	x := []float32{1, 3, -5, 5, 2, 2, 0, 8}
	if err := plan.Apply(x, x); err != nil { // in place; each channel is a group
		t.Fatal(err)
	}
	if e := kernels.RelativeError(x, []float64{0, 2, 0, 4, 1, 1, 0, 4}); !(e < 1e-4) {
		t.Errorf("%v", x)
	}
}

// TestPlansCopy changes the parameters of plans.
func TestPlansCopy(t *testing.T) {
	w, b := []float32{2, 2}, []float32{1, 1}
	layer, err := NewLayer(nil, LayerParams{w, b})
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	group, err := NewGroup(nil, GroupParams{Groups: 1, Weights: w, Bias: b})
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	clear(w)
	clear(b)
	for name, apply := range map[string]func(dst, src []float32) error{"layer": layer.Apply, "group": group.Apply} {
		y := make([]float32, 2)
		if err := apply(y, []float32{100, -100}); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(y, []float64{3, -1}); !(e < 1e-4) {
			t.Errorf("%s: %v after a change of the parameters, want [3 -1]", name, y)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestPrograms(t *testing.T) {
	kerneltest.Programs(t, &Layer, LayerProgram, 7)
	kerneltest.Programs(t, &Group, GroupProgram, 100)
}

func BenchmarkNorm(b *testing.B) {
	b.Run("op=layer", func(b *testing.B) { kerneltest.Benchmark(b, &Layer, Layer.Lines[0], 1, 64, 4096) })
	b.Run("op=group", func(b *testing.B) { kerneltest.Benchmark(b, &Group, Group.Lines[0], 64, 1024, 16384) })
}
