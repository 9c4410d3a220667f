package conv1d

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// divided returns the operation with other implementations: ways to divide the work that a launch plan takes only for large
// problems.
func divided(mostTaps int) *kernels.Op[Params] {
	op := Op
	op.By = nil
	add := func(name string, describe func(b *gpu.Builder, p Params, n int, y, x *gpu.Buffer)) {
		op.By = append(op.By, kernels.KernelText(name, func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
			describe(b, p, s[samples], t[0], t[1])
		}))
	}
	for _, by := range []tiling{{wide, 1}, {wide, 3}, {narrow, 2}, {tile{32, 5, 2, 24}, 2}} {
		add(fmt.Sprintf("direct %+v", by), func(b *gpu.Builder, p Params, n int, y, x *gpu.Buffer) { appendTiled(b, p, n, by, y, x) })
	}
	if mostTaps <= 64 {
		add("windows of 64", func(b *gpu.Builder, p Params, n int, y, x *gpu.Buffer) { appendWindows(b, p, n, 64, y, x) })
	}
	for _, span := range []int{1, 2, 4} {
		add(fmt.Sprintf("blocks of 8, %d sums a thread", span), func(b *gpu.Builder, p Params, n int, y, x *gpu.Buffer) {
			appendBlocks(b, p, n, 8, span, y, x)
		})
	}
	return &op
}

// TestLaunch compares every algorithm, and every way to divide it, with the reference at sizes around every edge: vectors,
// the ring of registers, runs of taps, tiles, partitions, filters longer than signals.
func TestLaunch(t *testing.T) {
	b := kerneltest.Backends(t)
	if b.GPUs == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	for _, s := range []kernels.Shape{
		{1, 1}, {1, 5}, {5, 1}, {2, 2}, {3, 4}, {7, 3}, {16, 16}, {31, 64}, {64, 33}, {127, 8}, {257, 16},
		{1000, 17}, {31, 500}, {600, 257}, {513, 512},
	} {
		onProcessor := func(name string) bool { return !strings.HasPrefix(name, kerneltest.GPUName) }
		try(t, &Op, b, s, tolerance/2, onProcessor)
		try(t, divided(s[taps]), b, s, tolerance/2, onProcessor)
	}
}

// A NaN or an infinity, in the signal or in the filter, reaches the outputs of which it is a term. All other outputs are
// right.
func TestLaunchKeepsNaN(t *testing.T) {
	if kerneltest.UnderRace() {
		t.Skip("long, and about values: other tests make the same launches")
	}
	b := kerneltest.Backends(t)
	if b.GPUs == nil {
		t.Skip("no C++ compiler for the emulator")
	}
	op := divided(1000)
	op.By = append(op.By, kernels.KernelText("direct", appendDirect))
	for _, sizes := range [][2]int{{5, 200}, {200, 5}, {63, 64}, {300, 40}, {3, 3}, {70, 1000}, {2000, 600}} {
		n, count := sizes[0], sizes[1]
		for at := range []int{0, 1, 2, 3, 4, 5} {
			for k, special := range []float64{math.NaN(), math.Inf(1)} {
				x, taps := make([]float32, n), make([]float32, count)
				kernels.Noise(x, 1)
				kernels.Noise(taps, 2)
				data := [][]float32{x, taps}[(k+at)%2]
				data[at*(len(data)-1)/5] = float32(special)
				want := Reference(x, taps)
				for _, i := range op.CaseOf(b, op.Lines[0]).Implementations {
					if !strings.HasPrefix(i.Name, kerneltest.GPUName+"/direct") {
						continue
					}
					e, err := kernels.NewPlanOf(b, op, Params{taps}, i.Name)
					if err != nil {
						t.Fatal(err)
					}
					checkSpecials(t, fmt.Sprintf("%s, %v, %g", i.Name, sizes, special), convolved(t, e, x, count), want)
					e.Close()
				}
			}
		}
	}
}

// checkSpecials tests that outputs are right where want is finite, and not finite elsewhere.
func checkSpecials(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	for i, y := range got {
		off := math.Abs(float64(y) - want[i])
		switch special := math.IsNaN(want[i]) || math.IsInf(want[i], 0); {
		case special && (math.IsNaN(float64(y)) != math.IsNaN(want[i]) || math.IsInf(float64(y), 0) != math.IsInf(want[i], 0)),
			!special && !(off <= 1e-4):
			t.Errorf("%s: output %d is %g, want %g", what, i, y, want[i])
			return
		}
	}
}

// TestSciPy compares every implementation with scipy.signal.fftconvolve.
func TestSciPy(t *testing.T) {
	x, h := kerneltest.Signal(8192), kerneltest.ReadArchived[float32](t, scipy, "fir_taps_512")
	want := kerneltest.ReadArchived[float64](t, scipy, "convolve_8192_512")
	for name, plan := range kerneltest.Plans(t, &Op, Params{h}) {
		y := make([]float32, len(want))
		if err := plan.Run(kernels.Shape{len(x), len(h)}, kernels.Args{y, x}); err != nil {
			t.Fatal(err)
		}
		if e := kernels.RelativeError(y, want); !(e <= tolerance) {
			t.Errorf("%s: relative error %.2g", name, e)
		}
	}
}

// A call with two runs of taps needs each barrier of the direct sum.
func TestBarriers(t *testing.T) {
	op := Op
	op.By = []kernels.Makers[Params]{kernels.KernelText("", func(b *gpu.Builder, p Params, s kernels.Shape, t []*gpu.Buffer) {
		appendTiled(b, p, s[samples], tiling{tile{64, 1, 4, 64}, 1}, t[0], t[1])
	})}
	kerneltest.Barriers(t, &op, kerneltest.GPUName, kernels.Shape{700, 600})
}

// A vendor's library is asked for two transforms of half as many points as the padded output has samples.
func TestVendor(t *testing.T) {
	library := &fakeLibrary{}
	b := emulator.Open(t).NewPlan()
	y, x := b.Output(gpu.Float, 512), b.Input(gpu.Float, 500)
	appendWhole(vendorTransform(library))(b, Params{make([]float32, 13)}, kernels.Shape{500, 13}, []*gpu.Buffer{y, x})
	if _, err := b.Build(); !errors.Is(err, errFake) {
		t.Errorf("the library's error became %v", err)
	}
	if library.Transform != (gpu.Transform{N: 256, Batch: 1, Complex: true}) {
		t.Errorf("the library was asked for %+v", library.Transform)
	}
}

var errFake = errors.New("no such plan")

// fakeLibrary notes the arguments of a call and fails.
type fakeLibrary struct {
	gpu.FFT
	gpu.Transform
}

func (l *fakeLibrary) NewFFT(_, _ gpu.Region, t gpu.Transform) (gpu.External, error) {
	l.Transform = t
	return nil, errFake
}

func TestTilingFor(t *testing.T) {
	for _, test := range []struct {
		outputs, taps, cores int
		want                 tiling
	}{
		{1 << 20, 512, 132, tiling{wide, 1}},
		{33279, 512, 132, tiling{narrow, 1}},
		{32775, 8, 132, tiling{wide, 1}},
		{65535, 32768, 132, tiling{wide, 36}},
		{1 << 20, 4096, 132, tiling{wide, 2}},
		{1 << 10, 1000, 132, tiling{wide, 4}},
		{1, 1, 0, tiling{wide, 1}},
		{9999, 9999, 0, tiling{wide, 1}},
	} {
		if got := tilingFor(test.outputs, test.taps, test.cores); got != test.want {
			t.Errorf("tilingFor(%d, %d, %d) = %+v, want %+v", test.outputs, test.taps, test.cores, got, test.want)
		}
	}
}

func TestWindows(t *testing.T) {
	for _, test := range []struct{ outputs, taps, window int }{
		{1, 1, 512}, {33279, 256, 512}, {33279, 257, 1024}, {1 << 20, 1, 1024}, {1 << 20, 512, 2048}, {1 << 20, 1000, 2048},
		{1 << 20, 2048, 4096}, {4000, 2049, 0}, {65535, 32768, 0},
	} {
		if got := windowFor(test.outputs, test.taps); got != test.window {
			t.Errorf("windowFor(%d, %d) = %d, want %d", test.outputs, test.taps, got, test.window)
		}
	}
	for _, test := range []struct{ outputs, taps, block, span int }{
		{36863, 4096, 1024, 4}, {36863, 8192, 1024, 1}, {65535, 32768, 2048, 1}, {1 << 20, 32768, 2048, 4},
	} {
		block, span := partitionsFor(test.outputs, test.taps)
		if block != test.block || span != test.span {
			t.Errorf("partitionsFor(%d, %d) = %d, %d, want %d, %d", test.outputs, test.taps, block, span, test.block, test.span)
		}
	}
}
