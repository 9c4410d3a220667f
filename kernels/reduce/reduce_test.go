package reduce

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"crossover/kernels"
)

// lengths have remainders modulo the strides, the blocks and the chunks.
var lengths = []int{1, 7, 63, 64, 65, 4095, 4096, 4097, 4160, 8192, 8193, 100_003, 1 << 20}

// here returns the implementations that can run on this machine.
func here(all []kernels.Implementation) []kernels.Implementation {
	return slices.DeleteFunc(slices.Clone(all), func(i kernels.Implementation) bool { return i.Missing() != nil })
}

func TestImplementationsMatchReference(t *testing.T) {
	for _, c := range Cases() {
		for _, n := range lengths {
			p := c.Problem(n, kernels.Input{})
			want := p.Reference()
			for _, implementation := range here(c.Implementations) {
				call, err := p.Bind(implementation.Name)
				if err != nil {
					t.Fatal(err)
				}
				if err := call.Run(); err != nil {
					t.Fatal(err)
				}
				if e := kernels.RelativeError(call.Output(), want); !(e <= 2e-7) {
					t.Errorf("%s n=%d: relative error %.2g", implementation.Name, n, e)
				}
				call.Release()
			}
		}
	}
}

// Each value counts once: powers of two in a slice of zeros sum exactly, wherever they stand.
func TestEveryValueCountsOnce(t *testing.T) {
	for _, implementation := range here(contenders.Implementations()) {
		e, err := contenders.New(implementation.Name, params{})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{130, 4096 + 67, 20_000} {
			x := make([]float32, n)
			for i := range x {
				x[i] = 1
				got, err := e.sum(x[:n])
				if err != nil || got != 1 {
					t.Fatalf("%s: a 1 at %d of %d sums to %g, error %v", implementation.Name, i, n, got, err)
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
	for _, implementation := range here(contenders.Implementations()) {
		e, err := contenders.New(implementation.Name, params{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.sum(x); err != nil || got != long {
			t.Errorf("%s: %g, want %d, error %v", implementation.Name, got, long, err)
		}
	}
}

// A block sums all values: len(x) a multiple of the stride, in Go and in vector code.
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
	plan, err := NewSum(nil)
	if err != nil {
		t.Fatal(err)
	}
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

func TestCallsDoNotAllocate(t *testing.T) {
	for _, implementation := range here(contenders.Implementations()) {
		call, err := newProblem(100_000).Bind(implementation.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(20, func() { _ = call.Run() }); got != 0 {
			t.Errorf("%s: %v allocations per call", implementation.Name, got)
		}
	}
	plan, err := NewSum(nil)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 100_000)
	if got := testing.AllocsPerRun(20, func() { _, _ = plan.Sum(x) }); got != 0 {
		t.Errorf("%v allocations per Sum", got)
	}
}

func TestBindUnknownImplementation(t *testing.T) {
	if _, err := newProblem(16).Bind("abacus"); !errors.Is(err, kernels.ErrUnknownImplementation) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkSum times the contenders, and under the name plain-go the loop without vector code.
func BenchmarkSum(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 24} {
		p := newProblem(n)
		run := func(name string, f func() error) {
			b.Run(fmt.Sprintf("impl=%s/n=%d", name, n), func(b *testing.B) {
				b.SetBytes(4 * int64(n))
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		var kept float32
		run("plain-go", func() error {
			kept = sumBlockGo(p.x)
			return nil
		})
		_ = kept
		for _, implementation := range here(contenders.Implementations()) {
			call, err := p.Bind(implementation.Name)
			if err != nil {
				b.Fatal(err)
			}
			run(implementation.Name, call.Run)
		}
	}
}
