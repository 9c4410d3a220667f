package reduce

import (
	"math"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// lengths have remainders modulo strides, blocks and chunks.
var lengths = []int{1, 2, 3, 4, 5, 7, 63, 64, 65, 4095, 4096, 4097, 4160, 8192, 8193, aloneUpTo, aloneUpTo + 1, 100_003, 1 << 20}

func TestOp(t *testing.T) { kerneltest.Run(t, &Sum, kerneltest.Options{Sizes: lengths}) }

// A threadgroup must not read the sums of its simdgroups before they are written.
func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Sum, kerneltest.EmulatorName, kernels.Shape{elements: 1000})
}

func sumBy(t *testing.T, p *kernels.Plan[Params], x []float32) float32 {
	t.Helper()
	var y [1]float32
	if err := p.Run(kernels.Shape{elements: len(x)}, kernels.Args{y[:], x}); err != nil {
		t.Fatal(err)
	}
	return y[0]
}

// Each value counts once. Sums of powers of two in a slice of zeros are exact, wherever the powers stand.
func TestEveryValueCountsOnce(t *testing.T) {
	for name, p := range kerneltest.Plans(t, &Sum, Params{}) {
		for _, n := range []int{130, 4096 + 67, 20_000} {
			x := make([]float32, n)
			step := 1
			if name == kerneltest.EmulatorName {
				step = n/29 + 1 // emulation is slow; TestLaunchEveryValueCountsOnce has all places
			}
			for i := 0; i < n; i += step {
				x[i] = 1
				if got := sumBy(t, p, x); got != 1 {
					t.Fatalf("%s: a 1 at %d of %d sums to %g", name, i, n, got)
				}
				x[i] = 0
			}
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
	for name, p := range kerneltest.Plans(t, &Sum, Params{}) {
		if name == kerneltest.EmulatorName {
			continue
		}
		if got := sumBy(t, p, x); got != long {
			t.Errorf("%s: %g, want %d", name, got, long)
		}
	}
}

// A block sums all of its values, in Go and in vector code. len(x) is a multiple of the stride.
func TestBlocksAgree(t *testing.T) {
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
}

func TestSum(t *testing.T) {
	plan := NewSum(nil)
	inf := float32(math.Inf(1))
	for _, test := range []struct {
		name string
		x    []float32
		want float32
	}{
		{"nothing", nil, 0},
		{"one", []float32{3}, 3},
		{"three", []float32{1, 2, -4}, -1},
		{"infinity", []float32{1, inf}, inf},
		{"no number", []float32{inf, -inf}, float32(math.NaN())},
	} {
		got, err := plan.Sum(test.x)
		if err != nil || got != test.want && !(got != got && test.want != test.want) {
			t.Errorf("%s: %g, want %g, error %v", test.name, got, test.want, err)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	kerneltest.Benchmark(b, &Sum, Sum.Lines[0], 1<<10, 1<<13, 1<<16, 1<<20, 1<<24)
}
