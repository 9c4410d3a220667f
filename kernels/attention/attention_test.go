package attention

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 2e-6

// with returns the operation with lines over queries, or over keys, of other heads.
func with(causal bool, lines ...kernels.Line) *kernels.Op[Params] {
	op := Op
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	op.Lines = lines
	op.Params = func(s kernels.Shape) Params { return Params{s[heads], s[width], causal} }
	return &op
}

func param(name string, value int) kernels.Param { return kernels.Param{Name: name, Value: value} }

// Widths are whole vectors or not. Numbers of queries and keys are around tiles and blocks. 300 keys are two tiles of the
// processor's.
func TestOp(t *testing.T) {
	o := kerneltest.Options{Sizes: []int{1, 3, 17, 65, 130, 300}, Most: 64 << 10, Emulated: 2 << 10}
	t.Run("all", func(t *testing.T) {
		kerneltest.Run(t, with(false,
			kernels.Along(axes, "keys", param("heads", 2), param("width", 12), param("steps", 5)),
			kernels.Along(axes, "steps", param("heads", 3), param("width", 7), param("keys", 70)),
			kernels.Along(axes, "steps", param("heads", 1), param("width", 140), param("keys", 2)),
		), o)
	})
	t.Run("causal", func(t *testing.T) {
		kerneltest.Run(t, with(true, kernels.Line{
			Name: "self", Axis: kernels.Axis{Name: "steps", Unit: "rows", Min: 1, Max: 300},
			At: func(n int) kernels.Shape { return kernels.Shape{2, 9, n, n} },
		}, kernels.Line{
			Name: "cache", Axis: kernels.Axis{Name: "steps", Unit: "rows", Min: 1, Max: 300},
			At: func(n int) kernels.Shape { return kernels.Shape{1, 16, n, n + 70} },
		}), kerneltest.Options{Sizes: o.Sizes, Most: o.Most, Emulated: o.Emulated})
	})
}

// forced returns the operation whose kernel text has a given number of queries in a threadgroup.
func forced(causal bool, rows int) *kernels.Op[Params] {
	op := with(causal, Op.Lines...)
	op.By = []kernels.Makers[Params]{kernels.KernelText("", func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		p.append(b, s, t, rows, nil)
	})}
	return op
}

// TestLayouts has both numbers of queries in a threadgroup, and every number of columns in a thread.
func TestLayouts(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it runs at once")
	}
	b := kerneltest.Backends(t)
	if len(b.GPUs) == 0 {
		t.Skip("no emulated GPU")
	}
	for _, causal := range []bool{false, true} {
		for _, rows := range []int{fewRows, manyRows} {
			kerneltest.Shapes(t, forced(causal, rows), b, kerneltest.GPUName,
				kernels.Shape{2, 30, 70, 140}, kernels.Shape{1, 64, 64, 64}, kernels.Shape{3, 128, 3, 67}, kernels.Shape{1, 256, 17, 129}, kernels.Shape{2, 133, 66, 66})
		}
	}
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, forced(false, manyRows), kerneltest.GPUName, kernels.Shape{1, 40, 64, 128})
}

func TestRowsFor(t *testing.T) {
	for _, test := range []struct{ heads, steps, cores, want int }{
		{64, 2048, 132, 64}, {16, 512, 132, 16}, {16, 1, 132, 16}, {16, 1024, 132, 64}, {1, 64, 1, 64},
	} {
		if got := rowsFor(test.heads, test.steps, test.cores); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

// A call is cut into tasks that cover all queries of all heads, whatever their numbers.
func TestDivide(t *testing.T) {
	for _, p := range []Params{{1, 64, false}, {2, 8, false}, {16, 64, true}, {77, 1, false}} {
		for _, n := range []int{1, 11, 12, 95, 97, 1000} {
			for _, m := range []int{1, 100, 5000} {
				for _, workers := range []int{1, 2, 64} {
					d := p.divide(n, m, workers)
					if d.rows < 1 || d.rows > mostRows || d.rows*d.blocks < n || d.rows*(d.blocks-1) >= n || d.heads < 1 || d.heads > 1 && d.blocks > 1 {
						t.Errorf("%+v, %d queries, %d keys, %d workers: %+v", p, n, m, workers, d)
					}
				}
			}
		}
	}
}

// Tasks of several heads, and of blocks of one head, compute the same bits as a single worker.
func TestParallelIsSerial(t *testing.T) {
	for _, s := range []kernels.Shape{{13, 16, 5, 40}, {1, 64, 200, 600}, {3, 20, 130, 130}} {
		p := Params{s[heads], s[width], s[steps] == s[keys]}
		var a kernels.Args
		for i, tensor := range Op.IO(p, s) {
			a[i] = make([]float32, tensor.Len())
		}
		Op.Fill(p, s, kernels.Input{}, &a)
		var want []float32
		for _, workers := range []int{1, 2, 5} {
			loop, err := inGo(p, workers)
			if err != nil {
				t.Fatal(err)
			}
			loop.Do(0, &s, &a, 0, loop.Rows(&s))
			if want == nil {
				want = slices.Clone(a[0])
			}
			if !slices.Equal(a[0], want) {
				t.Errorf("%v: %d workers compute other bits", s, workers)
			}
			clear(a[0])
		}
	}
}

// TestPyTorch compares with an attention that PyTorch computed in float64: 2 sequences of 4 heads, 50 queries and keys.
func TestPyTorch(t *testing.T) {
	var inputs [][]float32
	for _, name := range []string{"attention_q", "attention_k", "attention_v"} {
		inputs = append(inputs, kerneltest.ReadArchived[float32](t, "testdata/nn.npz", name))
	}
	want := kerneltest.ReadArchived[float64](t, "testdata/nn.npz", "attention")
	kerneltest.Against(t, &Op, Params{Heads: 8, Width: 32}, kernels.Shape{8, 32, 50, 50}, inputs, want, allowed)
	// The last query of a causal plan sees all keys, and the one before it all but the last.
	last := func(x []float32, count int) (y []float32) {
		for head := range 8 {
			y = append(y, x[(head*50+50-count)*32:(head+1)*50*32]...)
		}
		return y
	}
	var of []float64
	for head := range 8 {
		of = append(of, want[(head*50+49)*32:(head+1)*50*32]...)
	}
	kerneltest.Against(t, &Op, Params{Heads: 8, Width: 32, Causal: true}, kernels.Shape{8, 32, 1, 50}, [][]float32{last(inputs[0], 1), inputs[1], inputs[2]}, of, allowed)
}

// Every query of a causal plan computes what a plan without a mask computes from the keys that the query sees.
func TestCausalReference(t *testing.T) {
	const n, m = 4, 9
	p := Params{Heads: 1, Width: 5}
	x := make([]float32, (n+2*m)*5)
	kernels.Noise(x, 1)
	q, k, v := x[:n*5], x[n*5:(n+m)*5], x[(n+m)*5:]
	got := Reference(Params{1, 5, true}, q, k, v, n, m)
	for i := range n {
		count := m - n + i + 1
		if want := Reference(p, q[i*5:(i+1)*5], k[:count*5], v[:count*5], 1, count); !slices.Equal(got[i*5:(i+1)*5], want) {
			t.Errorf("query %d: %v, want %v", i, got[i*5:(i+1)*5], want)
		}
	}
}

var inf, nan = float32(math.Inf(1)), float32(math.NaN())

// TestSpecials has scores and values that are no numbers, in the first tile of keys, in the last one, and in all.
func TestSpecials(t *testing.T) {
	const n, m, of = 70, 400, 4
	for _, test := range []struct {
		name   string
		causal bool
		spoil  func(q, k, v []float32)
	}{
		{"a key of NaN", false, func(_, k, _ []float32) { k[3*of] = nan }},
		{"a late key of NaN", false, func(_, k, _ []float32) { k[399*of+1] = nan }},
		{"a query of NaN", false, func(q, _, _ []float32) { q[5*of] = nan }},
		{"a query of +Inf", false, func(q, _, _ []float32) { q[5*of] = inf }},
		{"scores of −Inf", false, func(q, k, _ []float32) { setColumn(q, 1); setColumn(k, -inf) }},
		{"scores of −Inf but for the last", false, func(q, k, _ []float32) { setColumn(q, 1); setColumn(k[:399*of], -inf) }},
		{"scores of −Inf but for the first", false, func(q, k, _ []float32) { setColumn(q, 1); setColumn(k[of:], -inf) }},
		{"a value of NaN", false, func(_, _, v []float32) { v[200*of+2] = nan }},
		{"a hidden value of NaN", true, func(_, _, v []float32) { v[390*of+2] = nan }},
		{"a hidden key of NaN", true, func(_, k, _ []float32) { k[390*of+2] = nan }},
		{"a hidden value of +Inf", true, func(_, _, v []float32) { v[350*of] = inf }},
		{"scores of −Inf with a mask", true, func(q, k, _ []float32) { setColumn(q, 1); setColumn(k[:350*of], -inf) }},
		{"great scores", false, func(q, k, _ []float32) { scale(q, 1e18); scale(k, 1e18) }},
	} {
		x := make([]float32, (n+2*m)*of)
		kernels.Noise(x, 1)
		q, k, v := x[:n*of], x[n*of:(n+m)*of], x[(n+m)*of:]
		test.spoil(q, k, v)
		p := Params{1, of, test.causal}
		want := Reference(p, q, k, v, n, m)
		for name, plan := range kerneltest.Plans(t, &Op, p) {
			got := make([]float32, n*of)
			if err := plan.Run(kernels.Shape{1, of, n, m}, kernels.Args{got, q, k, v}); err != nil {
				t.Fatal(err)
			}
			for i, w := range want {
				switch g := float64(got[i]); {
				case math.IsInf(w, 0):
					// A weight that underflows makes a NaN of an infinity.
					if !math.IsNaN(g) && g != w {
						t.Errorf("%s, %s: value %d is %g, want %g or NaN", test.name, name, i, g, w)
					}
				case math.IsNaN(g) != math.IsNaN(w) || math.Abs(g-w) > 1e-5:
					t.Fatalf("%s, %s: value %d is %g, want %g", test.name, name, i, g, w)
				}
			}
		}
	}
}

// setColumn sets the first column of rows of four.
func setColumn(x []float32, v float32) {
	for i := 0; i < len(x); i += 4 {
		x[i] = v
	}
}

func scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

func TestRefuses(t *testing.T) {
	for _, s := range []kernels.Shape{{1, mostWidth + 1, 1, 1}, {1, 1, 1 << 31, 1}, {1, 1, 1, 1 << 31}, {1 << 20, 1, 1 << 20, 1}} {
		b := emulator.Open(t).NewPlan()
		appendHeads(b, Params{s[heads], s[width], false}, s,
			[]*gpu.Buffer{b.Output(gpu.Float, 1), b.Input(gpu.Float, 1), b.Input(gpu.Float, 1), b.Input(gpu.Float, 1)})
		if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
			t.Errorf("%v: error %v, want one that refuses the shape", s, err)
		}
	}
}

func TestPlan(t *testing.T) {
	for _, p := range []Params{{0, 1, false}, {1, 0, true}, {1 << 32, 1 << 32, false}} {
		if _, err := New(nil, p); err == nil {
			t.Errorf("New takes %+v", p)
		}
	}
	plan, err := New(nil, Params{Heads: 2, Width: 3, Causal: true})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if err := plan.Attend(nil, nil, nil, nil); err != nil {
		t.Errorf("no queries: %v", err)
	}
	x := make([]float32, 5*6)
	kernels.Noise(x, 1)
	y := make([]float32, 2*6)
	call := func() {
		if err := plan.Attend(y, x[:12], x, x); err != nil {
			t.Fatal(err)
		}
	}
	call()
	if e := kernels.RelativeError(y, Reference(Params{2, 3, true}, x[:12], x, x, 2, 5)); !(e <= allowed) {
		t.Errorf("relative error %.2g", e)
	}
	if allocations := testing.AllocsPerRun(10, call); allocations != 0 {
		t.Errorf("%g allocations a call, want 0", allocations)
	}
	if line, size := Op.Judged(Params{4, 64, false}, kernels.Shape{4, 64, 100, 400}); line != 0 || size != 100 {
		t.Errorf("goes by size %d of line %d, want 100 of line 0", size, line)
	}
	for _, test := range []struct {
		name, want   string
		dst, q, k, v int
	}{
		{"half a query", "attention: 2 heads of width 3 got dst of 3, q of 3, k of 6 and v of 6 values", 3, 3, 6, 6},
		{"short dst", "attention: 2 heads of width 3 got dst of 6, q of 12, k of 12 and v of 12 values", 6, 12, 12, 12},
		{"long v", "attention: 2 heads of width 3 got dst of 6, q of 6, k of 6 and v of 12 values", 6, 6, 6, 12},
		{"no keys", "attention: 1 queries got 0 keys", 6, 6, 0, 0},
		{"few keys", "attention: 2 queries got 1 keys", 12, 12, 6, 6},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != test.want {
					t.Errorf("%s: panic %v, want %q", test.name, got, test.want)
				}
			}()
			_ = plan.Attend(make([]float32, test.dst), make([]float32, test.q), make([]float32, test.k), make([]float32, test.v))
		}()
	}
}

func TestProgram(t *testing.T) { kerneltest.Programs(t, &Op, Program, 20) }

func BenchmarkAttention(b *testing.B) { kerneltest.Benchmark(b, &Op, Op.Lines[0], 16, 64, 256, 1024) }
