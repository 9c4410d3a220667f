package autocorrelation

import (
	"errors"
	"math"
	"strings"
	"testing"

	"crossover/gpu"
	"crossover/gpu/emulator"
	"crossover/kernels"
	"crossover/kernels/kerneltest"
)

// allowed is the greatest relative error of an implementation. The operation's tolerance is larger.
const allowed = 1e-6

func TestOp(t *testing.T) {
	op := Op
	op.Tolerance = func(kernels.Shape) float64 { return allowed }
	rows := kernels.Along(axes, "batch", kernels.Param{Name: "n", Value: 33})
	kerneltest.Run(t, &op, kerneltest.Options{Sizes: []int{1, 2, 3, 5, 17, 33, 513}, Emulated: 8 << 10, Infinite: true,
		Lines: []kernels.Line{rows}})
}

// Long rows are divided among the cores.
func TestLongRow(t *testing.T) {
	for _, name := range []string{"go-parallel", "fftw-parallel"} {
		for _, i := range Op.CaseOf(kerneltest.Backends(t), Op.Lines[0]).Implementations {
			if i.Name == name && i.Missing() == nil {
				kerneltest.Shapes(t, &Op, kerneltest.Backends(t), name, kernels.Shape{100_000, 1}, kernels.Shape{12_345, 2}, kernels.Shape{50_000, 6})
			}
		}
	}
}

// TestLibrosa compares with librosa.autocorrelate of the same samples in float64.
func TestLibrosa(t *testing.T) {
	x := kerneltest.Signal(4096)
	want := kerneltest.ReadArchived[float64](t, "testdata/librosa.npz", "autocorrelation_4096")
	kerneltest.Against(t, &Op, Params{len(x)}, kernels.Shape{len(x), 1}, [][]float32{x}, want, allowed)
}

// TestReferenceAgainstPlainSum compares the reference with the definition.
func TestReferenceAgainstPlainSum(t *testing.T) {
	for _, n := range []int{1, 2, 3, 31, 64} {
		x := make([]float32, n)
		kernels.Noise(x, uint64(n))
		for k, got := range NewReference(n)(widened(x)) {
			var want float64
			for j := range n - k {
				want += float64(x[j]) * float64(x[j+k])
			}
			if math.Abs(got-want) > 1e-13 {
				t.Errorf("%d samples, lag %d: %v, want %v", n, k, got, want)
			}
		}
	}
}

func TestPlan(t *testing.T) {
	plan, err := New(nil, Params{N: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer plan.Close()
	x, got := make([]float32, 300), make([]float32, 300)
	kernels.Noise(x, 1)
	err = plan.Transform(got, x)
	if e := kernels.RelativeError(got, Op.Reference(Params{100}, kernels.Shape{100, 3}, &kernels.Args{1: x})); err != nil || !(e <= allowed) {
		t.Errorf("relative error %.2g, %v", e, err)
	}
	if err := plan.Transform(nil, nil); err != nil {
		t.Errorf("no rows: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for a part of a row")
		}
	}()
	plan.Transform(got[:150], x[:150])
}

func TestNewRefuses(t *testing.T) {
	if _, err := New(nil, Params{N: mostN}); err != nil {
		t.Error(err)
	}
	if _, err := New(nil, Params{N: mostN + 1}); err == nil || err.Error() != "autocorrelation: N is 536870913: want 1 to 536870912" {
		t.Errorf("one more than fit: %v", err)
	}
	if _, err := New(nil, Params{}); err == nil || !strings.Contains(err.Error(), "N is 0") {
		t.Errorf("rows of no samples: %v", err)
	}
}

// questioned notes what a vendor's library is asked for, and fails at the second question.
type questioned struct {
	gpu.FFT
	gpu.Transform
	forward [2]gpu.Region // dst and src
	back    [2]gpu.Region
}

var errAsked = errors.New("asked")

type nothing struct{}

func (nothing) Encode(uintptr) error { return nil }
func (nothing) Close()               {}

func (q *questioned) NewFFT(dst, src gpu.Region, t gpu.Transform) (gpu.External, error) {
	if !t.Inverse {
		q.Transform, q.forward = t, [2]gpu.Region{dst, src}
		return nothing{}, nil
	}
	q.back = [2]gpu.Region{dst, src}
	if t.N != q.N || t.Batch != q.Batch {
		return nil, errors.New("the two transforms differ")
	}
	return nil, errAsked
}

// TestVendor checks what a vendor's library is asked for. What the library computes is tested on machines that have it.
func TestVendor(t *testing.T) {
	library, p := &questioned{}, Params{N: 50}
	vendor, err := newVendor(nil, library, p)
	if err != nil {
		t.Fatal(err)
	}
	b := emulator.Open(t).NewPlan()
	vendor(b, p, kernels.Shape{50, 3}, []*gpu.Buffer{b.Output(gpu.Float, 152), b.Input(gpu.Float, 152)})
	if _, err := b.Build(); !errors.Is(err, errAsked) {
		t.Errorf("the library's error became %v", err)
	}
	if library.N != 128 || library.Batch != 3 || library.forward[1].Bytes != 4*3*128 || library.forward[0].Bytes != 8*3*65 ||
		library.back != [2]gpu.Region{library.forward[1], library.forward[0]} {
		t.Errorf("the library was asked for %+v", library)
	}
}

// Kernels refuse a call that is too large for them, so that another implementation computes it.
func TestLaunchRefuses(t *testing.T) {
	b := emulator.Open(t).NewPlan()
	appendRows(b, Params{N: 1 << 20}, kernels.Shape{1 << 20, 1 << 10}, nil)
	if err := b.Err(); !errors.Is(err, kernels.ErrRefused) || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
}

func BenchmarkTransform(b *testing.B) {
	kerneltest.Benchmark(b, &Op, Op.Lines[0], 1024, 65536)
	kerneltest.Benchmark(b, &Op, Op.Lines[1], 64)
}
