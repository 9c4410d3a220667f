package resample

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// portable is the loop without instructions that some processors lack.
var portable = kernels.Named("portable", func(_ *kernels.Backends, p Params) (kernels.Runner, error) {
	f := newPolyphase(p)
	return kernels.RunnerFunc(func(_ kernels.Shape, a *kernels.Args) error {
		y, x := a[0], a[1]
		lo, hi := f.inside(len(x), len(y))
		f.resample(y, x, 0, lo)
		f.groupsGo(y[lo:hi], x, lo)
		f.resample(y, x, hi, len(y))
		return nil
	}), nil
})

// strict is the operation with a tolerance just above the rounding errors.
func strict() *kernels.Op[Params] {
	op := Op
	op.By = append(slices.Clone(Op.By), portable)
	op.Tolerance = func(kernels.Shape) float64 { return 3e-7 }
	return &op
}

func line(up, down int) kernels.Line {
	return kernels.Along(axes, "n", kernels.Param{Name: "up", Value: up}, kernels.Param{Name: "down", Value: down})
}

func TestOp(t *testing.T) {
	kerneltest.Run(t, strict(), kerneltest.Options{Sizes: []int{1, 2, 7, 33, 128, 257, 1021, 4099}, Most: 60_000, Emulated: 12 << 10,
		Lines: []kernels.Line{line(2, 1), line(147, 160), line(3, 5), line(1, 1), line(1, 7), line(6, 4)}})
}

// TestRatios has every small ratio, so that groups of outputs begin in every row, and odd lengths.
func TestRatios(t *testing.T) {
	op := strict()
	b := kerneltest.Backends(t)
	for up := 1; up <= 9; up++ {
		for down := 1; down <= 9; down++ {
			for _, n := range []int{60 + up, 211 + down} {
				problem := op.Problem(b, kernels.Shape{up, down, n}, kernels.Caller, kernels.GeneratedInput())
				want := problem.Reference()
				for _, name := range []string{"go", "portable"} {
					call, err := problem.Bind(name)
					if err != nil {
						t.Fatal(err)
					}
					if err := call.Run(); err != nil {
						t.Fatal(err)
					}
					if off := call.ErrorAgainst(want); !(off <= 3e-7) {
						t.Errorf("%s, %d/%d, n=%d: relative error %.2g", name, up, down, n, off)
					}
					call.Release()
				}
			}
		}
	}
}

// TestSciPy compares with scipy.signal.resample_poly in float64.
func TestSciPy(t *testing.T) {
	const archive = "testdata/scipy.npz"
	signal := kerneltest.Signal(4096)
	for _, p := range []Params{{2, 1}, {1, 2}, {160, 147}, {147, 160}, {3, 5}, {1, 7}} {
		x := signal[:1500]
		if p.Up == 2 {
			x = signal
		}
		want := kerneltest.ReadArchived[float64](t, archive, fmt.Sprintf("%d_%d", p.Up, p.Down))
		kerneltest.Against(t, strict(), p, kernels.Shape{p.Up, p.Down, len(x)}, [][]float32{x}, want, 3e-7)
	}
}

// TestReduced has ratios that are not in lowest terms. The length of the output and the filter are those of the lowest.
func TestReduced(t *testing.T) {
	x := make([]float32, 300)
	kernels.Noise(x, 1)
	for _, test := range []struct{ whole, lowest Params }{{Params{48000, 44100}, Params{160, 147}}, {Params{6, 4}, Params{3, 2}}, {Params{5, 5}, Params{1, 1}}} {
		a, b := Reference(test.whole, x), Reference(test.lowest, x)
		if !slices.Equal(a, b) {
			t.Errorf("%v differs from %v", test.whole, test.lowest)
		}
		plan, err := New(nil, test.whole)
		if err != nil {
			t.Fatal(err)
		}
		y, err := plan.Resample(nil, x)
		if off := kernels.RelativeError(y, b); err != nil || !(off <= 3e-7) {
			t.Errorf("%v: relative error %.2g, %v", test.whole, off, err)
		}
		plan.Close()
	}
	for i, v := range Reference(Params{1, 1}, x) {
		if !(math.Abs(v-float64(x[i])) <= 1e-15) {
			t.Fatalf("at the same rate, output %d is %g, want %g", i, v, x[i])
		}
	}
}

// TestNaN checks which outputs a NaN or an infinity reaches: those that it is a term of, and those that are up to seven samples
// farther away. All others are right.
func TestNaN(t *testing.T) {
	for _, p := range []Params{{2, 1}, {1, 3}, {16, 15}} {
		for name, plan := range kerneltest.Plans(t, strict(), p) {
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
				const n, at = 400, 150
				x := make([]float32, n)
				kernels.Noise(x, 2)
				clean := Reference(p, x)
				x[at] = bad
				want := Reference(p, x)
				y := make([]float32, len(want))
				if err := plan.Run(kernels.Shape{p.Up, p.Down, n}, kernels.Args{y, x}); err != nil {
					t.Fatal(err)
				}
				reach := 10*max(p.Up, p.Down) + unit*p.Up // in steps of up times the rate
				for m, v := range y {
					number := !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
					distance := m*p.Down - at*p.Up
					switch {
					case math.IsNaN(want[m]) || math.IsInf(want[m], 0):
						if number {
							t.Fatalf("%s, %v: output %d is %g, want no number", name, p, m, v)
						}
					case distance < -reach || distance > reach:
						if !(math.Abs(float64(v)-clean[m]) <= 1e-5) {
							t.Fatalf("%s, %v: output %d is %g, want %g", name, p, m, v, clean[m])
						}
					}
				}
			}
		}
	}
}

// TestConstant checks the gain at 0 Hz far from the ends.
func TestConstant(t *testing.T) {
	x := make([]float32, 3000)
	for i := range x {
		x[i] = 1
	}
	for _, p := range []Params{{2, 1}, {1, 2}, {160, 147}} {
		y := Reference(p, x)
		if v := y[len(y)/2]; !(math.Abs(v-1) <= 1e-3) {
			t.Errorf("%v: a constant becomes %g", p, v)
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, Params{160, 147})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	x := make([]float32, 1470)
	kernels.Noise(x, 1)
	y, err := plan.Resample(nil, x)
	if err != nil || len(y) != 1600 || plan.Outputs(1470) != 1600 {
		t.Fatalf("%d outputs, Outputs says %d: %v", len(y), plan.Outputs(1470), err)
	}
	kept := &y[0]
	if y, err = plan.Resample(y, x[:1]); err != nil || len(y) != 2 || &y[0] != kept {
		t.Errorf("one sample becomes %d, %v", len(y), err)
	}
	if y, err = plan.Resample(y, nil); err != nil || len(y) != 0 {
		t.Errorf("no samples become %d, %v", len(y), err)
	}
	if n := testing.AllocsPerRun(5, func() { y, err = plan.Resample(y, x) }); n != 0 || err != nil {
		t.Errorf("%g allocations, %v", n, err)
	}
	for _, p := range []Params{{0, 1}, {1, 0}, {-2, 3}, {4097, 1}, {1, 5000}, {4097, 4096}} {
		if _, err := New(nil, p); err == nil || !strings.Contains(err.Error(), "want both from 1 to 4096") {
			t.Errorf("%v: %v", p, err)
		}
	}
}

// TestRefusedRatios takes the filter and the reference of ratios that New refuses.
func TestRefusedRatios(t *testing.T) {
	for _, p := range []Params{{}, {0, 1}, {1, 0}, {-2, 3}, {4097, 1}, {1, 1 << 60}} {
		if h, y := Filter(p), Reference(p, []float32{1, 2, 3}); h != nil || y != nil {
			t.Errorf("%v: a filter of %d values and %d outputs, want none", p, len(h), len(y))
		}
	}
}

func TestOutputs(t *testing.T) {
	for _, test := range []struct {
		p       Params
		n, want int
	}{
		{Params{2, 3}, 0, 0}, {Params{2, 3}, -3, 0}, {Params{2, 3}, 1, 1}, {Params{2, 3}, 3, 2}, {Params{2, 3}, 4, 3}, {Params{4, 6}, 4, 3},
		{Params{1, 1}, math.MaxInt, math.MaxInt}, {Params{2, 1}, math.MaxInt, math.MaxInt}, {Params{4096, 4095}, math.MaxInt, math.MaxInt},
		{Params{4096, 2047}, math.MaxInt, math.MaxInt}, {Params{2, 1}, 1 << 62, math.MaxInt}, {Params{2, 1}, 1<<62 - 1, math.MaxInt - 1}, {Params{1, 2}, math.MaxInt, 1 << 62},
		{Params{4095, 4096}, math.MaxInt, 9221120237041090560}, {Params{4096, 1}, math.MaxInt, math.MaxInt},
		{Params{1, math.MaxInt}, math.MaxInt, 1}, {Params{math.MaxInt, math.MaxInt - 1}, math.MaxInt, math.MaxInt}, {Params{2, 4}, 1 << 62, 1 << 61},
		{Params{}, 5, 0}, {Params{1, 0}, 5, 0}, {Params{0, 1}, 5, 0}, {Params{-1, -1}, 5, 0},
	} {
		if got := test.p.Outputs(test.n); got != test.want {
			t.Errorf("%+v: %d outputs of %d samples, want %d", test.p, got, test.n, test.want)
		}
	}
}

func TestProgram(t *testing.T) { kerneltest.Programs(t, &Op, Program, 700) }

func BenchmarkResample(b *testing.B) {
	for _, l := range Op.Lines {
		b.Run(l.Name, func(b *testing.B) { kerneltest.Benchmark(b, &Op, l, 512, 1<<16) })
	}
}
