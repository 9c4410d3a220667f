package linear

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

func TestFewRows(t *testing.T) {
	for _, test := range []struct{ in, out, want int }{{512, 512, 32}, {1024, 1024, 32}, {1024, 1025, 16}, {4096, 4096, 16}} {
		if got := (&Params{In: test.in, Out: test.out}).mostFewRows(); got != test.want {
			t.Errorf("%d×%d: few rows are up to %d, want %d", test.in, test.out, got, test.want)
		}
	}
}

func TestAppendBias(t *testing.T) {
	const n, out = 5, 300
	p := noise(kernels.Shape{inputs: 1, outputs: out})
	b := emulator.Open(t).NewPlan()
	y := b.Output(gpu.Float, n*out)
	p.appendBias(b, y, n)
	plan, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	if err := plan.Run(); err != nil {
		t.Fatal(err)
	}
	if want := slices.Repeat(p.Bias, n); !slices.Equal(y.Floats(), want) {
		t.Errorf("y = %v, want %v", y.Floats(), want)
	}
}

// TestVendor checks the product that a vendor's library adds to the bias, with W and with Wᵀ.
func TestVendor(t *testing.T) {
	b := kerneltest.WithGEMM(t)
	for _, n := range []int{1, libraryTransposedRows, libraryTransposedRows + 1, 33} {
		kerneltest.Shapes(t, &Op, b, "mps", kernels.Shape{inputs: 7, outputs: 300, rows: n}, kernels.Shape{inputs: 64, outputs: 5, rows: n})
	}
}

// TestRefuses has a number of rows that is too large for kernels.
func TestRefuses(t *testing.T) {
	p := noise(kernels.Shape{inputs: 1, outputs: 1})
	vendor, err := ByVendor(nil, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := ByText(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	for name, describe := range map[string]kernels.Append[Params]{"ours": ours, "vendor's": vendor} {
		b := emulator.Open(t).NewPlan()
		describe(b, p, kernels.Shape{inputs: 1, outputs: 1, rows: 1 << 31}, []*gpu.Buffer{b.Output(gpu.Float, 1), b.Input(gpu.Float, 1)})
		if _, err := b.Build(); !errors.Is(err, kernels.ErrRefused) {
			t.Errorf("%s: error %v, want one that refuses the shape", name, err)
		}
	}
}

// The weights are transposed for the first launch plan and not again.
func TestPlansShareTheirWeights(t *testing.T) {
	const width = 512
	p := noise(kernels.Shape{inputs: width, outputs: width})
	device := emulator.Open(t)
	ours, err := ByText(device, p)
	if err != nil {
		t.Fatal(err)
	}
	vendor, err := ByVendor(device, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	for name, describe := range map[string]kernels.Append[Params]{"ours": ours, "vendor's": vendor} {
		s := kernels.Shape{inputs: width, outputs: width, rows: 1}
		var before, after runtime.MemStats
		for range 2 {
			b := device.NewPlan()
			t := []*gpu.Buffer{b.Output(gpu.Float, width), b.Input(gpu.Float, width)}
			runtime.ReadMemStats(&before)
			describe(b, p, s, t)
			runtime.ReadMemStats(&after)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 4*width*width/2 {
			t.Errorf("%s: the second plan allocated %d bytes, and the weights have %d", name, got, 4*width*width)
		}
	}
}
