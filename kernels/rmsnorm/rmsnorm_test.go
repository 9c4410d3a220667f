package rmsnorm

import (
	"testing"

	"crossover/kernels"
	"crossover/kernels/kerneltest"
	"crossover/kernels/rowwise"
)

func TestOp(t *testing.T) {
	kerneltest.Run(t, &Op, kerneltest.Options{Emulated: 256 << 10, Lines: []kernels.Line{
		kernels.Along(axes, "columns", kernels.Param{Name: "rows", Value: 3}),
		kernels.Along(axes, "rows", kernels.Param{Name: "columns", Value: 128 << 10}),
	}})
}

func TestBarriers(t *testing.T) {
	kerneltest.Barriers(t, &Op, kerneltest.GPUName, kernels.Shape{rows: 1, columns: 4096},
		kernels.Shape{rows: 1, columns: rowwise.FewRowsWholeUpTo + 4}, kernels.Shape{rows: 1, columns: 33 * 4096})
}

// TestPyTorch compares with rows that PyTorch computed.
func TestPyTorch(t *testing.T) {
	x, w := kerneltest.ReadArray[float32](t, "testdata/x.npy"), kerneltest.ReadArray[float32](t, "testdata/weight.npy")
	want := kerneltest.ReadArray[float64](t, "testdata/y.npy")
	kerneltest.Against(t, &Op, Params{w}, kernels.Shape{8, 1000}, [][]float32{x}, want, 2e-7)
}

// TestPlanCopies changes the weights of a plan.
func TestPlanCopies(t *testing.T) {
	w := []float32{2, 4}
	plan, err := New(nil, Params{w})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	clear(w)
	y := make([]float32, 2)
	if err := plan.Apply(y, []float32{100, 100}); err != nil {
		t.Fatal(err)
	}
	if e := kernels.RelativeError(y, []float64{2, 4}); !(e < 1e-4) {
		t.Errorf("%v after a change of the weights, want [2 4]", y)
	}
}
