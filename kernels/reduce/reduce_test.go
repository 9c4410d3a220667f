package reduce

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// lengths have remainders modulo strides, blocks and chunks.
var lengths = []int{1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 4095, 4096, 4097, 4160, 8192, 8193, aloneUpTo, aloneUpTo + 1, 100_003, 1 << 20}

// ops are the operations of the package.
var ops = []*kernels.Op[Params]{&Sum, &Mean, &Max, &Min, &ArgMax}

func TestOps(t *testing.T) {
	for _, op := range ops {
		t.Run(op.Name, func(t *testing.T) { kerneltest.Run(t, op, kerneltest.Options{Sizes: lengths}) })
	}
}

// A threadgroup must not read what its simdgroups have found before it is written, in the first launch and in the last.
func TestBarriers(t *testing.T) {
	for _, op := range ops {
		t.Run(op.Name, func(t *testing.T) {
			kerneltest.Barriers(t, op, kerneltest.GPUName, kernels.Shape{elements: 1000}, kernels.Shape{elements: aloneUpTo + 67})
		})
	}
}

// by returns what a plan reduces x to, as a number.
func by(t *testing.T, op *kernels.Op[Params], p *kernels.Plan[Params], x []float32) float64 {
	t.Helper()
	var y [1]float32
	if err := p.Run(kernels.Shape{elements: len(x)}, kernels.Args{y[:], x}); err != nil {
		t.Fatal(err)
	}
	if op == &ArgMax {
		return float64(math.Float32bits(y[0]))
	}
	return float64(y[0])
}

// Each value counts once. Sums of powers of two in a slice of zeros are exact, wherever the powers stand. An extreme is found
// wherever it stands.
func TestEveryValueCountsOnce(t *testing.T) {
	for _, op := range ops {
		for name, p := range kerneltest.Plans(t, op, Params{}) {
			for _, n := range []int{7, 130, 4096 + 67, 20_000} {
				x := make([]float32, n)
				step := 1
				if name == kerneltest.GPUName {
					step = n/29 + 1 // emulation is slow; TestLaunchEveryValueCountsOnce has all places
				}
				for i := 0; i < n; i += step {
					x[i] = 1
					if op == &Min {
						x[i] = -1
					}
					want := map[string]float64{"sum": 1, "mean": float64(float32(1 / float64(n))), "max": 1, "min": -1, "argmax": float64(i)}[op.Name]
					if got := by(t, op, p, x); got != want {
						t.Fatalf("%s by %s: %g with one value at %d of %d, want %g", op.Name, name, got, i, n, want)
					}
					x[i] = 0
				}
			}
		}
	}
}

// Of equal values the first counts, also if they stand in different blocks, chunks, threads and threadgroups. Both zeros are
// equal, and so are all NaNs, which are greater than all numbers.
func TestExtremesOfSpecialValues(t *testing.T) {
	inf, nan, minusZero := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	const least = math.SmallestNonzeroFloat32
	type value struct {
		at int
		v  float32
	}
	for _, n := range []int{5, 33, 3000, aloneUpTo + 67, 100_003} {
		for _, test := range []struct {
			name     string
			fill     float32
			values   []value
			max, min float32
			at       int
		}{
			{"equal", 3, nil, 3, 3, 0},
			{"equal at two places", 0, []value{{n / 3, 2}, {n - 1, 2}}, 2, 0, n / 3},
			{"only -Inf", -inf, nil, -inf, -inf, 0},
			{"+Inf", 1, []value{{n / 2, inf}, {n - 2, inf}}, inf, 1, n / 2},
			{"-Inf", 1, []value{{n / 2, -inf}}, 1, -inf, 0},
			{"both infinities", 1, []value{{n / 2, -inf}, {n - 1, inf}}, inf, -inf, n - 1},
			{"a NaN", 1, []value{{0, inf}, {n / 2, nan}, {n - 1, 2}}, nan, nan, n / 2},
			{"NaNs", -inf, []value{{n / 2, nan}, {n - 1, nan}}, nan, nan, n / 2},
			{"a negative NaN", 1, []value{{n - 1, float32(math.Copysign(math.NaN(), -1))}}, nan, nan, n - 1},
			{"only NaNs", nan, nil, nan, nan, 0},
			{"zeros", minusZero, []value{{n / 2, 0}}, 0, 0, 0},
			{"denormals", -least, []value{{n / 2, least}, {n / 4, minusZero}}, least, -least, n / 2},
			{"negative", -2, []value{{n / 2, -1}, {n / 4, -math.MaxFloat32}}, -1, -math.MaxFloat32, n / 2},
		} {
			x := make([]float32, n)
			for i := range x {
				x[i] = test.fill
			}
			for _, v := range test.values {
				x[v.at] = v.v
			}
			for _, op := range []*kernels.Op[Params]{&Max, &Min, &ArgMax} {
				want := map[string]float64{"max": float64(test.max), "min": float64(test.min), "argmax": float64(test.at)}[op.Name]
				if reference := op.Reference(Params{}, kernels.Shape{n}, &kernels.Args{1: x})[0]; !same(reference, want) {
					t.Errorf("n=%d, %s: the reference of %s is %g, want %g", n, test.name, op.Name, reference, want)
				}
				for name, p := range kerneltest.Plans(t, op, Params{}) {
					if got := by(t, op, p, x); !same(got, want) {
						t.Errorf("n=%d, %s: %s by %s is %g, want %g", n, test.name, op.Name, name, got, want)
					}
				}
			}
		}
	}
}

func same(a, b float64) bool { return a == b || a != a && b != b }

// The loops in vector code and in Go agree on every length, with a NaN at every place and without.
func TestLoopsAgree(t *testing.T) {
	x := make([]float32, block)
	kernels.Noise(x, 3)
	for n := stride; n <= block; n += stride {
		want := Reference(x[:n])
		for name, f := range map[string]func([]float32) float32{"sumBlock": sumBlock, "sumBlockGo": sumBlockGo} {
			if got := float64(f(x[:n])); math.Abs(got-want) > 1e-6*float64(n) {
				t.Fatalf("%s of %d values: %g, want %g", name, n, got, want)
			}
		}
	}
	for n := 1; n <= 200; n++ {
		y := append([]float32{}, x[:n]...)
		check := func(what string) {
			t.Helper()
			for name, pair := range map[string][2]float32{"greatest": {greatest(y), greatestGo(y)}, "least": {least(y), leastGo(y)}} {
				if !same(float64(pair[0]), float64(pair[1])) {
					t.Fatalf("%s of %d values %s is %g, in Go %g", name, n, what, pair[0], pair[1])
				}
			}
		}
		check("")
		for i := range y {
			if got, want := index(y, y[i]), indexGo(y, y[i]); got != want || want != i {
				t.Fatalf("value %d of %d is found at %d, in Go at %d", i, n, got, want)
			}
			y[i] = float32(math.NaN())
			check(fmt.Sprintf("with a NaN at %d", i))
			y[i] = x[i]
		}
		if got := index(y, 2); got != n {
			t.Fatalf("a value that is not there is found at %d of %d", got, n)
		}
	}
}

// No loop touches memory beyond its slice.
func TestTouchesNothingElse(t *testing.T) {
	for n := 1; n <= 200; n++ {
		atEnd, atBegin := kerneltest.Guarded(t, n)
		for _, x := range [][]float32{atEnd, atBegin} {
			sum(x)
			greatestAt(x)
			least(x)
			index(x, 1)
		}
	}
}

// A single float32 accumulator stops growing at 2²⁴.
func TestLongSumDoesNotSaturate(t *testing.T) {
	const long = 1<<24 + 4096
	x := make([]float32, long)
	for i := range x {
		x[i] = 1
	}
	for op, want := range map[*kernels.Op[Params]]float64{&Sum: long, &Mean: 1} {
		for name, p := range kerneltest.Plans(t, op, Params{}) {
			if name == kerneltest.GPUName {
				continue
			}
			if got := by(t, op, p, x); got != want {
				t.Errorf("%s by %s: %g, want %g", op.Name, name, got, want)
			}
		}
	}
}

// TestPython compares with what Python 3.11 computes of the same values: math.fsum, max, min and index, in float64.
//
//	s, x = 12345, []
//	for i in range(3000):
//	    s = (1664525*s + 1013904223) % 2**32
//	    x.append((s >> 8) / 2**23 - 0.75)
func TestPython(t *testing.T) {
	x := make([]float32, 3000)
	for i, s := 0, uint32(12345); i < len(x); i++ {
		s = 1664525*s + 1013904223
		x[i] = float32(s>>8)/(1<<23) - 0.75
	}
	for op, want := range map[*kernels.Op[Params]]float64{&Sum: 733.5931344032288, &Mean: 0.24453104480107626, &Max: 1.2498518228530884, &Min: -0.7498818635940552, &ArgMax: 116} {
		t.Run(op.Name, func(t *testing.T) {
			kerneltest.Against(t, op, Params{}, kernels.Shape{len(x)}, [][]float32{x}, []float64{want}, op.Tolerance(kernels.Shape{}))
		})
	}
}

func TestPlans(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, test := range []struct {
		name            string
		x               []float32
		sum, mean       float32
		max, min        float32
		argMax          int
		nothingGreatest bool
	}{
		{"nothing", nil, 0, nan, 0, 0, 0, true},
		{"one", []float32{3}, 3, 3, 3, 3, 0, false},
		{"three", []float32{1, 2, -6}, -3, -1, 2, -6, 1, false},
		{"infinity", []float32{1, inf}, inf, inf, inf, 1, 1, false},
		{"no number", []float32{inf, -inf}, nan, nan, inf, -inf, 0, false},
		{"NaN", []float32{inf, nan}, nan, nan, nan, nan, 1, false},
	} {
		for _, plan := range []struct {
			name string
			plan *Plan
			want float32
			none bool
		}{
			{"sum", NewSum(nil), test.sum, false},
			{"mean", NewMean(nil), test.mean, false},
			{"max", NewMax(nil), test.max, test.nothingGreatest},
			{"min", NewMin(nil), test.min, test.nothingGreatest},
		} {
			got, err := plan.plan.Of(test.x)
			if !same(float64(got), float64(plan.want)) || errors.Is(err, ErrEmpty) != plan.none || err != nil && !plan.none {
				t.Errorf("%s of %s: %g, want %g, error %v", plan.name, test.name, got, plan.want, err)
			}
			if n := testing.AllocsPerRun(10, func() { _, _ = plan.plan.Of(test.x) }); n != 0 {
				t.Errorf("%s: %v allocations", plan.name, n)
			}
		}
		at, err := NewArgMax(nil).Of(test.x)
		if at != test.argMax || errors.Is(err, ErrEmpty) != test.nothingGreatest || err != nil && !test.nothingGreatest {
			t.Errorf("argmax of %s: %d, want %d, error %v", test.name, at, test.argMax, err)
		}
	}
}

func BenchmarkReduce(b *testing.B) {
	for _, op := range ops {
		b.Run("op="+op.Name, func(b *testing.B) { kerneltest.Benchmark(b, op, op.Lines[0], 1<<10, 1<<13, 1<<16, 1<<20, 1<<24) })
	}
}
