package conv1d

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/pool"
)

const scipy = "testdata/scipy.npz"

// generated is made once, because its sines take longer than most tests.
var generated = sync.OnceValue(kernels.GeneratedInput)

func isFFTW(implementation string) bool { return strings.HasPrefix(implementation, "fftw") }

func relativeError(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var diff, norm float64
	for i := range want {
		diff += (got[i] - want[i]) * (got[i] - want[i])
		norm += want[i] * want[i]
	}
	return math.Sqrt(diff / norm)
}

// TestReferenceAgainstSciPy compares the float64 reference with scipy.signal.fftconvolve.
func TestReferenceAgainstSciPy(t *testing.T) {
	got := Reference(kerneltest.Signal(8192), kerneltest.ReadArchived[float32](t, scipy, "fir_taps_512"))
	if e := relativeError(got, kerneltest.ReadArchived[float64](t, scipy, "convolve_8192_512")); e > 1e-13 {
		t.Errorf("relative error %.1e", e)
	}
}

// TestReferencePaths compares the transform that computes long references with the plain sum.
func TestReferencePaths(t *testing.T) {
	for _, size := range []struct{ n, taps int }{{1, 1}, {7, 3}, {3, 7}, {1000, 24}, {4096, 4096}, {20000, 700}} {
		t.Run(fmt.Sprintf("n=%d/taps=%d", size.n, size.taps), func(t *testing.T) {
			x, h := make([]float32, size.n), ImpulseResponse(size.taps)
			kernels.Noise(x, 1)
			if e := relativeError(transformConvolution(x, h), plainConvolution(x, h)); e > 1e-13 {
				t.Errorf("relative error %.1e", e)
			}
		})
	}
	if y := Reference(nil, []float32{1}); len(y) != 0 {
		t.Errorf("convolution of nothing has %d samples", len(y))
	}
}

// TestPortableFIRError tests the error of the Go kernel at the greatest number of taps, summed up run by run.
func TestPortableFIRError(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	h := ImpulseResponse(32768)
	x := randomFloats(rng, len(h)+width-1)
	got, want := make([]float32, width), make([]float64, width)
	for k := 0; k < len(h); k += run {
		end := min(k+run, len(h))
		firGo(got, x[len(h)-end:len(h)-k+width-1], h[k:end])
	}
	for j := range want {
		for k := range h {
			want[j] += float64(h[k]) * float64(x[j+len(h)-1-k])
		}
	}
	if e := kernels.RelativeError(got, want); e > tolerance {
		t.Errorf("relative error %.2g", e)
	}
}

func TestPlan(t *testing.T) {
	x, h := kerneltest.Signal(8192), kerneltest.ReadArchived[float32](t, scipy, "fir_taps_512")
	want := kerneltest.ReadArchived[float64](t, scipy, "convolve_8192_512")
	plan, err := New(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	clear(h) // the plan has its own copy
	y, err := plan.Convolve(nil, x)
	if err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(y, want); e > tolerance {
		t.Errorf("relative error %.2g", e)
	}
	defer plan.Close()
	if plan.Taps() != 512 {
		t.Errorf("Taps() = %d", plan.Taps())
	}

	kept := &y[0]
	if y, err = plan.Convolve(y, x[:100]); err != nil || len(y) != 611 || &y[0] != kept {
		t.Errorf("a long enough dst was not used: %d samples, %v", len(y), err)
	}
	if y, err = plan.Convolve(y, nil); err != nil || len(y) != 0 {
		t.Errorf("convolution of nothing: %d samples, %v", len(y), err)
	}
	if got := testing.AllocsPerRun(5, func() { y, err = plan.Convolve(y, x) }); got != 0 || err != nil {
		t.Errorf("%v allocations a call, %v", got, err)
	}
	if _, err := New(nil, nil); err == nil || !strings.Contains(err.Error(), "no taps") {
		t.Errorf("New without taps: %v", err)
	}
}

// TestOp tests every implementation along the two lines. The line over the taps has a shorter signal here.
func TestOp(t *testing.T) {
	op := Op
	op.Lines = []kernels.Line{kernels.Along(axes, "taps", kernels.Param{Name: "n", Value: 1000}), Op.Lines[overSamples]}
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 257, 1024}})
}

// try tests every implementation that can run here at a shape, except those that skip names.
func try[P any](t *testing.T, op *kernels.Op[P], b *kernels.Backends, s kernels.Shape, allowed float64, skip func(name string) bool) {
	t.Helper()
	p := op.Problem(b, s, kernels.Caller, generated())
	want := p.Reference()
	for _, i := range op.CaseOf(b, op.Lines[0]).Implementations {
		if i.Missing() != nil || skip(i.Name) {
			continue
		}
		call, err := p.Bind(i.Name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second call must not depend on what the first one left in memory
			if err := call.Run(); err != nil {
				t.Fatal(err)
			}
		}
		if off := call.ErrorAgainst(want); !(off <= allowed) {
			t.Errorf("%s, n=%d taps=%d: relative error %.2g", i.Name, s[samples], s[taps], off)
		}
		call.Release()
	}
}

// TestShapes tests every implementation on the processor at shapes around every edge in the code: blocks of 64 outputs, runs
// of 256 taps, partitions, filters longer than signals.
func TestShapes(t *testing.T) {
	b := kernels.Backends{Pool: pool.Shared(), Accelerate: kernels.Here().Accelerate}
	for _, s := range []kernels.Shape{
		{1, 1}, {1, 5}, {5, 1}, {2, 2}, {63, 63}, {63, 64}, {64, 63}, {64, 64}, {65, 64}, {127, 3}, {128, 65},
		{130, 130}, {1000, 31}, {31, 1000}, {64, 1000}, {1000, 513}, {1025, 1024}, {4096, 512}, {4097, 512},
		{4096, 4097}, {100, 9000}, {9000, 9000}, {30000, 100}, {40000, 129}, {20000, 2000},
	} {
		try(t, &Op, &b, s, tolerance, func(name string) bool {
			// go runs the same code, and FFTW would plan for each length.
			return isFFTW(name) && s[taps] != 1024 && s[taps] != 4097
		})
	}
}

// TestEnds tests the error at the ends of the lines, where sums are longest.
func TestEnds(t *testing.T) {
	b := kernels.Backends{Pool: pool.Shared(), Accelerate: kernels.Here().Accelerate}
	for i, line := range Op.Lines {
		for _, size := range []int{line.Axis.Min, line.Axis.Max} {
			try(t, &Op, &b, line.At(size), tolerance, func(name string) bool {
				return isFFTW(name) && (size > 1<<12 || i == overTaps) // FFTW plans for seconds; a sweep checks it too
			})
		}
	}
}

// TestLengthsChange calls one plan with signals that grow and shrink. Each needs another transform or another part of the
// plan's buffers.
func TestLengthsChange(t *testing.T) {
	h := ImpulseResponse(25)
	for name, plan := range kerneltest.Plans(t, &Op, Params{h}) {
		for _, n := range []int{488, 1000, 3, 1000, 488} { // transforms of 512, 1024 and 32 points
			x, y := make([]float32, n), make([]float32, n+len(h)-1)
			kernels.Noise(x, uint64(n))
			if err := plan.Run(kernels.Shape{n, len(h)}, kernels.Args{y, x}); err != nil {
				t.Fatal(err)
			}
			if e := kernels.RelativeError(y, Reference(x, h)); e > tolerance {
				t.Errorf("%s, n=%d: relative error %.2g", name, n, e)
			}
		}
	}
}

// TestJudged checks which of the two lines decides a call.
func TestJudged(t *testing.T) {
	for _, test := range []struct {
		taps, n, line, size int
	}{
		{512, 1, overSamples, 1}, {512, 32768, overSamples, 32768}, {512, 1 << 20, overSamples, 1 << 20},
		{511, 32768, overTaps, 511}, {511, 1000, overSamples, 1000}, {4096, 32768, overTaps, 4096},
		{4096, 512, overSamples, 512}, {8, 32000, overTaps, 8}, {1, 0, overSamples, 0},
	} {
		line, size := judged(Params{make([]float32, test.taps)}, kernels.Shape{test.n, test.taps})
		if line != test.line || size != test.size {
			t.Errorf("%d taps, %d samples go by line %d at %d, want line %d at %d", test.taps, test.n, line, size, test.line, test.size)
		}
	}
	plan, err := New(nil, make([]float32, 4096))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{32768: "conv1d/n=32768", 512: "conv1d/taps=512"} {
		if got := plan.Explain(n).Case; got != want {
			t.Errorf("%d samples are explained by %s, want %s", n, got, want)
		}
	}
}

func TestWork(t *testing.T) {
	s := kernels.Shape{1000, 512}
	if got, want := Op.Work(s, "").Bytes, 4.0*(1000+512+1511); got != want {
		t.Errorf("a call moves %v bytes, want %v", got, want)
	}
	if direct, whole := Op.Work(s, "direct"), Op.Work(s, "fft"); direct.Flops <= whole.Flops || direct.Bytes >= whole.Bytes {
		t.Errorf("direct %+v, fft %+v: want more operations and fewer bytes of direct", direct, whole)
	}
}

// A sweep may draw any number of taps, so no impulse response may nearly cancel the signal.
func TestNoNumberOfTapsIsUnlucky(t *testing.T) {
	if kerneltest.UnderRace() {
		t.Skip("long, and nothing in it runs at once")
	}
	b := kernels.Backends{Pool: pool.Shared()}
	for taps := 8; taps < 700; taps += 1 + taps/24 {
		try(t, &Op, &b, kernels.Shape{4096, taps}, tolerance/2, func(name string) bool { return !strings.HasPrefix(name, "go/") })
	}
}

func BenchmarkConvolve(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[overTaps], 8, 512, 8192)
	kerneltest.Benchmark(b, &Op, Op.Lines[overSamples], 1<<20)
}

func TestProgram(t *testing.T) { kerneltest.Programs(t, &Op, Program, 700) }
