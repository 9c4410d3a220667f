package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

var (
	inf = float32(math.Inf(1))
	nan = float32(math.NaN())
)

func TestGreedy(t *testing.T) {
	kerneltest.Run(t, &Greedy, kerneltest.Options{Sizes: []int{1, 3, 32, 33, 1000, 4099, 20_000}, Lines: []kernels.Line{
		kernels.Along(axes[:best], "rows", kernels.Param{Name: "columns", Value: 1025}),
	}})
}

func TestTopK(t *testing.T) {
	kerneltest.Run(t, &TopK, kerneltest.Options{Sizes: []int{50, 257, 1025, 4100, 20_000}, Emulated: 32 << 10, Lines: []kernels.Line{
		kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 300}, kernels.Param{Name: "k", Value: 7}),
	}})
}

// Long rows take several threadgroups, or several launches, or pieces for several workers.
func TestLongRows(t *testing.T) {
	b := kerneltest.Backends(t)
	for _, name := range []string{"go-parallel", kerneltest.GPUName} {
		if name == kerneltest.GPUName && b.GPUs == nil {
			continue // no C++ compiler
		}
		kerneltest.Shapes(t, &Greedy, b, name, kernels.Shape{1, 128 << 10}, kernels.Shape{3, 50_257}, kernels.Shape{2, 32_000})
		kerneltest.Shapes(t, &TopK, b, name, kernels.Shape{1, 128 << 10, 50}, kernels.Shape{1, 50_257, 1}, kernels.Shape{1, 140_001, 128},
			kernels.Shape{2, 20_001, 33})
	}
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Greedy, kerneltest.GPUName, kernels.Shape{1, 4096})
	kerneltest.Barriers(t, &TopK, kerneltest.GPUName, kernels.Shape{1, 4096, 50}, kernels.Shape{1, 9000, 20})
}

// hostile are rows with few different values, in every order, and with values that compare in strange ways.
func hostile(rng *rand.Rand, n int) []float32 {
	kinds := [][]float32{
		{0, float32(math.Copysign(0, -1))},
		{1, 2},
		{-inf, inf},
		{nan, -nan, 1, inf},
		{math.Float32frombits(0xffc00001), math.Float32frombits(0x7f800001), -inf, 3},
		{1e-40, -1e-40, 0, 2e-40},
		{-1, -2, -3, -math.MaxFloat32},
		{math.MaxFloat32, math.MaxFloat32, -math.MaxFloat32},
		{5},
	}
	values := kinds[rng.IntN(len(kinds))]
	x := make([]float32, n)
	for i := range x {
		x[i] = values[rng.IntN(len(values))]
	}
	return x
}

// Equal values, zeros of both signs, NaNs, infinities and denormals: the first of equals is chosen, everywhere.
func TestHostileRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 7, 31, 64, 65, 300, 1200} {
		k := min(n, 20)
		p := TopKParams{Columns: n, K: k, Temperature: 2}
		greedy, topK := kerneltest.Plans(t, &Greedy, GreedyParams{n}), kerneltest.Plans(t, &TopK, p)
		for range 12 {
			x := hostile(rng, n)
			want := GreedyReference(x)
			for name, plan := range greedy {
				var y [1]uint32
				if err := plan.Run(kernels.Shape{1, n}, kernels.Args{kernels.Uint32Words(y[:]), x}); err != nil || int(y[0]) != want {
					t.Fatalf("greedy, %s, of %v: %d, want %d: %v", name, x[:min(n, 40)], y[0], want, err)
				}
			}
			for name, plan := range topK {
				a := kernels.Args{make([]float32, k), make([]float32, k), make([]float32, 1), x, {rng.Float32()}}
				s := kernels.Shape{1, n, k}
				if err := plan.Run(s, a); err != nil {
					t.Fatal(err)
				}
				tensors := TopK.IO(p, s)
				if off := TopK.Error(tensors[:2], &a, TopK.Reference(p, s, &a)[:2*k]); off != 0 {
					_, at := TopKReference(x, k)
					t.Fatalf("top-k, %s, of %v: %v, want %v", name, x[:min(n, 40)], kernels.Uint32s(a[1]), at)
				}
				if token := kernels.Uint32s(a[2])[0]; x[at0(a)]-x[at0(a)] != 0 && token != uint32(at0(a)) {
					t.Fatalf("top-k, %s: token %d is drawn, want the greatest, %d, which is %g", name, token, at0(a), x[at0(a)])
				}
			}
		}
	}
}

func at0(a kernels.Args) int { return int(kernels.Uint32s(a[1])[0]) }

// The number says which token is drawn: equal shares of [0, 1) for equal logits, and by the temperature otherwise.
func TestDraw(t *testing.T) {
	const n = 8
	half := float32(math.Log(2)) // a distance that halves the weight at the temperature 1
	for _, test := range []struct {
		name        string
		x           [n]float32
		k           int
		temperature float32
		want        map[float32]uint32 // token by number
	}{
		{"equal", [n]float32{}, 4, 1, map[float32]uint32{0: 0, 0.1: 0, 0.3: 1, 0.6: 2, 0.9: 3, 1: 3, -1: 0, 7: 3, nan: 0, inf: 3, -inf: 0}},
		{"halved", [n]float32{5: 3 * half, 2: 2 * half, 7: half, 0: half / 2}, 3, 1, map[float32]uint32{0.5: 5, 0.6: 2, 0.84: 2, 0.87: 7, 1: 7}},
		{"hot", [n]float32{5: 3 * half, 2: 2 * half, 7: half, 0: half / 2}, 3, 1e6, map[float32]uint32{0.3: 5, 0.4: 2, 0.6: 2, 0.7: 7}},
		{"cold", [n]float32{5: 3 * half, 2: 2 * half, 7: half, 0: half / 2}, 3, 0.005, map[float32]uint32{0: 5, 0.999: 5, 1: 5}},
		{"only one", [n]float32{3: 1}, 1, 1, map[float32]uint32{0: 3, 0.5: 3, 1: 3}},
	} {
		p := TopKParams{Columns: n, K: test.k, Temperature: test.temperature}
		for name, plan := range kerneltest.Plans(t, &TopK, p) {
			for u, want := range test.want {
				a := kernels.Args{make([]float32, test.k), make([]float32, test.k), make([]float32, 1), test.x[:], {u}}
				if err := plan.Run(kernels.Shape{1, n, test.k}, a); err != nil {
					t.Fatal(err)
				}
				if got := kernels.Uint32s(a[2])[0]; got != want {
					t.Errorf("%s, %s: %g draws %d, want %d", test.name, name, u, got, want)
				}
			}
		}
	}
}

// Drawn tokens have the frequencies of a softmax over the best ones.
func TestFrequencies(t *testing.T) {
	plan, err := NewTopK(nil, TopKParams{Columns: 5, K: 3, Temperature: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	const n = 3000
	x, u := slices.Repeat([]float32{0, 4, 1, 3, 2}, n), make([]float32, n)
	for i := range u {
		u[i] = (float32(i) + 0.5) / n
	}
	values, indices, tokens := make([]float32, 3*n), make([]uint32, 3*n), make([]uint32, n)
	if err := plan.Sample(values, indices, tokens, x, u); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(values[:3], []float32{4, 3, 2}) || !slices.Equal(indices[:3], []uint32{1, 3, 4}) {
		t.Errorf("the best are %v at %v", values[:3], indices[:3])
	}
	counts := map[uint32]int{}
	for _, token := range tokens {
		counts[token]++
	}
	total := 1 + math.Exp(-0.5) + math.Exp(-1)
	for token, weight := range map[uint32]float64{1: 1, 3: math.Exp(-0.5), 4: math.Exp(-1)} {
		if want := n * weight / total; math.Abs(float64(counts[token])-want) > 1.5 {
			t.Errorf("token %d is drawn %d times, want %.1f", token, counts[token], want)
		}
	}
}

// Vector code finds what the loops in Go find, whatever the length.
func TestLoops(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 200; n++ {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.IntN(3*n)) - float32(n)
		}
		most, isNaN := greatest(x)
		want, _ := greatestGo(x)
		if most != want || isNaN || position(x, want) != positionGo(x, want) {
			t.Fatalf("the greatest of %v is %g at %d (NaN: %t), want %g at %d", x, most, position(x, most), isNaN, want, positionGo(x, want))
		}
		x[rng.IntN(n)] = nan
		_, isNaN = greatest(x)
		if _, inGo := greatestGo(x); !isNaN || !inGo {
			t.Fatalf("the NaN in %v is not found: %t, in Go %t", x, isNaN, inGo)
		}
	}
	if keyOf(float32(math.Copysign(0, -1))) != keyOf(0) || keyOf(-1e-45) >= keyOf(0) || keyOf(inf) >= keyOf(-nan) || keyOf(-inf) >= keyOf(-math.MaxFloat32) {
		t.Error("keys are not in the order of values")
	}
}

// A GPU refuses more than mostK, and the processor computes.
func TestManyBest(t *testing.T) {
	const n, k = 700, mostK + 1
	p := TopKParams{Columns: n, K: k, Temperature: 1}
	for name, plan := range kerneltest.Plans(t, &TopK, p) {
		x := make([]float32, n)
		kernels.Noise(x, 1)
		a := kernels.Args{make([]float32, k), make([]float32, k), make([]float32, 1), x, {0}}
		err := plan.Run(kernels.Shape{1, n, k}, a)
		if refused := err != nil && strings.Contains(err.Error(), "the best 129, want at most 128"); refused != (name == kerneltest.GPUName) {
			t.Errorf("%s: %v", name, err)
		}
		if want, _ := TopKReference(x, k); err == nil && !slices.Equal(a[0], want) {
			t.Errorf("%s: wrong values", name)
		}
	}
}

func TestNew(t *testing.T) {
	for want, err := range map[string]error{
		"greedy: columns is 4611686018427387904, want 1 to 268435456":    second(NewGreedy(nil, GreedyParams{1 << 62})),
		"top-k: columns is 4611686018427387904 (want 1 to 268435456)":    second(NewTopK(nil, TopKParams{Columns: 1 << 62, K: 1})),
		"greedy: columns is 0, want 1 to 268435456":                      second(NewGreedy(nil, GreedyParams{})),
		"top-k: the best 0 of 5 tokens (want from 1 to all of them)":     second(NewTopK(nil, TopKParams{Columns: 5})),
		"top-k: the best 6 of 5 tokens (want from 1 to all of them)":     second(NewTopK(nil, TopKParams{Columns: 5, K: 6})),
		"top-k: the temperature is -1 (want 1e-6 to 1e6, or 0 for 1)":    second(NewTopK(nil, TopKParams{Columns: 5, K: 1, Temperature: -1})),
		"top-k: the temperature is NaN (want 1e-6 to 1e6, or 0 for 1)":   second(NewTopK(nil, TopKParams{Columns: 5, K: 1, Temperature: nan})),
		"top-k: the temperature is 1e-20 (want 1e-6 to 1e6, or 0 for 1)": second(NewTopK(nil, TopKParams{Columns: 5, K: 1, Temperature: 1e-20})),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	greedy, err := NewGreedy(nil, GreedyParams{3})
	if err != nil {
		t.Fatal(err)
	}
	topK, err := NewTopK(nil, TopKParams{Columns: 3, K: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := greedy.Choose(nil, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
	if err := topK.Sample(nil, nil, nil, nil, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
	for want, f := range map[string]func(){
		"greedy: 2 tokens of 3 columns got 5 values: want 3 for each token": func() { _ = greedy.Choose(make([]uint32, 2), make([]float32, 5)) },
		"top-k: 1 tokens, the best 2 of 3, got 2 values, 2 indices, 3 logits and 0 uniforms: want 2, 2, 3 and 1 for each token": func() {
			_ = topK.Sample(make([]float32, 2), make([]uint32, 2), make([]uint32, 1), make([]float32, 3), nil)
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("panic(%v), want %q", got, want)
				}
			}()
			f()
		}()
	}
	kerneltest.Programs(t, &Greedy, GreedyProgram, 3000)
	kerneltest.Programs(t, &TopK, TopKProgram, 3000)
}

func second[T any](_ T, err error) error { return err }

// Many short rows are worth dividing, although they have few values.
func TestShortRowsAreDivided(t *testing.T) {
	if pool.Shared().Workers() == 1 {
		t.Skip("a pool of one worker divides nothing")
	}
	for _, c := range []struct {
		rows, columns, k int // 0 for greedy
		want             bool
	}{{16, 32, 0, false}, {400, 32, 0, true}, {4, 300, 2, false}, {13, 1351, 40, true}, {18, 300, 5, true}} {
		b, words := &kernels.Backends{Pool: pool.Shared()}, kernels.Shape{c.rows, c.columns, c.k}
		problem := Greedy.Problem(b, words, kernels.Caller, kernels.Input{})
		if c.k > 0 {
			problem = TopK.Problem(b, words, kernels.Caller, kernels.Input{})
		}
		call, err := problem.Bind("go-parallel")
		if err != nil {
			t.Fatal(err)
		}
		before := call.Divided()
		for range 3 {
			if err := call.Run(); err != nil {
				t.Fatal(err)
			}
		}
		if divided := call.Divided() > before; divided != c.want {
			t.Errorf("%d rows of %d columns, of which %d are kept, are divided: %t, want %t", c.rows, c.columns, c.k, divided, c.want)
		}
		call.Release()
	}
}

func BenchmarkSampling(b *testing.B) {
	for _, columns := range []int{32, 1 << 10, 32 << 10, 128 << 10} {
		b.Run("op=greedy", func(b *testing.B) { kerneltest.Benchmark(b, &Greedy, Greedy.Lines[0], columns) })
		b.Run("op=top-k", func(b *testing.B) { kerneltest.Benchmark(b, &TopK, TopK.Lines[0], columns) })
	}
}
